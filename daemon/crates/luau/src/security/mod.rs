//! Security scan: finds code that reaches outside of the place or hides what it does, for human
//! review.
//!
//! The scan works on a script's syntax tree. Values are followed through variables, fields and the
//! script's own functions, and constant texts and numbers are folded. It assists reviewers and
//! proves nothing: data that arrives at run time is unknown, and harmless lines may be reported. It
//! must not run or fetch anything, and does not decide what happens to a finding.

mod api_names;
mod call_flow;
mod encoded_text;
mod escapes;
mod evaluator;
mod external_access;
mod hidden_code;
mod imitation;
mod logical_calls;
mod lower;
mod lower_exprs;
mod model;
mod network;
mod side_effects;
mod standard_library;
mod statement_hash;
mod table_leaks;
mod table_lookup;
mod tree;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::lexer::{Token, TokenKind, string_content, tokenize};
use super::nesting::{self, ParsePurpose, StackSize, UnfitReason};

pub use self::imitation::find_imitated_service;
pub use self::model::{ModelContent, ModelFinding, ModelInstance, ModelValue, scan_model};

use self::call_flow::CallFlow;
use self::evaluator::Evaluator;
use self::logical_calls::LogicalCall;
use self::model::ModelContext;
use self::statement_hash::StatementHashes;
use self::table_leaks::TableLeaks;
use self::tree::{ExprId, FunctionId, ScanTree};

/// Maximum number of findings per script on a card; people do not read more.
const MAX_LISTED: usize = 30;

/// Maximum number of calls of flagged functions to report, and of functions that a call goes
/// through.
const MAX_CALLERS: usize = 2_000;
const MAX_CALL_DEPTH: usize = 3;

/// A location in a script that deserves review.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanFinding {
    /// The line number, from 1.
    line: u32,
    message: String,
    /// The hash of the flagged code regardless of layout, to distinguish a change from a move.
    code_hash: u64,
    /// The hash of the flagged code in the called function, if this finding is a call of it.
    called_hash: Option<u64>,
}

impl ScanFinding {
    fn new(line: u32, message: impl Into<String>, code_hash: u64) -> Self {
        Self { line, message: message.into(), code_hash, called_hash: None }
    }
}

impl std::fmt::Display for ScanFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Line {} {}.", self.line, self.message)
    }
}

/// A script as tokens.
struct TokenView<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    /// The line of each token, from 1.
    token_lines: Vec<u32>,
}

impl<'a> TokenView<'a> {
    fn new(source: &'a str) -> Self {
        let tokens = tokenize(source);
        let (mut line, mut at) = (1, 0);
        let count = |token: &Token| {
            let start = token.start as usize;
            line += memchr::memchr_iter(b'\n', &source.as_bytes()[at..start]).count() as u32;
            at = start;
            line
        };
        let token_lines = tokens.iter().map(count).collect();
        Self { source, tokens, token_lines }
    }

    fn token_text(&self, token: &Token) -> &'a str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    fn has_name(&self, name: &str) -> bool {
        self.tokens
            .iter()
            .any(|token| token.kind == TokenKind::Name && self.token_text(token) == name)
    }
}

/// A script as a syntax tree, with its evaluated values.
struct TreeView<'a> {
    tokens: &'a TokenView<'a>,
    tree: &'a ScanTree,
    parents: Vec<Option<ExprId>>,
    flow: &'a CallFlow,
    evaluator: Evaluator<'a>,
    hashes: StatementHashes<'a>,
    calls: Vec<LogicalCall>,
}

impl TreeView<'_> {
    /// Creates a finding for an expression, with the hash of its statement.
    fn make_finding(&mut self, at: ExprId, message: impl Into<String>) -> ScanFinding {
        let code = self.hashes.statement_hash(at);
        ScanFinding::new(self.tree.node(at).line, message, code)
    }
}

/// Scans a whole script. Returns its findings in order.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack, such as those that
/// draft proposals.
pub fn scan_script(source: &str) -> Vec<ScanFinding> {
    added_findings(&[], find_all(source, None))
}

/// Finds what a script does beyond the place while it runs on one of Roblox's servers, in order of lines.
/// Code of a script that cannot be read is a finding too.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn find_side_effects(source: &str) -> Vec<ScanFinding> {
    if source.is_empty() {
        return Vec::new();
    }
    let source = normalize_line_ends(source);
    let tokens = TokenView::new(&source);
    let mut found = Vec::new();
    match parse_tree(&source, &tokens.tokens) {
        Ok(tree) => scan_view(&tokens, &tree, None, |view| {
            side_effects::find_effects(view, &mut found);
        }),
        // What does not compile does not run.
        Err(NOT_COMPILED) => {}
        Err(why) => {
            found.push(ScanFinding::new(1, why, statement_hash::hash_text(&source)));
            side_effects::find_effect_words(&tokens, &mut found);
        }
    }
    found.sort();
    found.dedup_by(|one, other| one.line == other.line && one.message == other.message);
    found
}

/// Scans a change of a script. Findings in `before` for the same code are left out, even if the
/// code has moved. A new call of a script's own function that contains a finding is a finding
/// itself.
pub fn scan_change(before: &str, after: &str) -> Vec<ScanFinding> {
    added_findings(&find_all(before, None), find_all(after, None))
}

/// All findings of a script, including calls of functions that contain findings. `context` is the
/// model that it is in, if it is known.
fn find_all(source: &str, context: Option<ModelContext<'_>>) -> Vec<ScanFinding> {
    if source.is_empty() {
        return Vec::new();
    }
    let source = normalize_line_ends(source);
    let tokens = TokenView::new(&source);
    let mut found = Vec::new();
    hidden_code::find_hidden_code(&tokens, &mut found);
    encoded_text::find_encoded_literals(&tokens, &mut found);
    match parse_tree(&source, &tokens.tokens) {
        Ok(tree) => scan_view(&tokens, &tree, context, |view| scan_tree(view, &mut found)),
        Err(why) => {
            found.push(ScanFinding::new(1, why, statement_hash::hash_text(&source)));
            external_access::find_flagged_words(&tokens, &mut found);
        }
    }
    let studio_check = tokens.tokens.iter().position(|it| tokens.token_text(it) == "IsStudio");
    if let Some(studio_check) =
        studio_check.filter(|_| found.iter().any(|it| it.called_hash.is_none()))
    {
        let message = "asks whether it runs in Studio (IsStudio): what is named here may do nothing \
                    before the game is published";
        found.push(ScanFinding::new(tokens.token_lines[studio_check], message, 0));
    }
    found.sort();
    merge_equal_findings(found)
}

/// The reason a script that does not compile has no tree.
const NOT_COMPILED: &str = "does not compile, so only its words were looked through";

/// Evaluates a script and visits the result.
fn scan_view<T>(
    tokens: &TokenView<'_>,
    tree: &ScanTree,
    context: Option<ModelContext<'_>>,
    visit: impl FnOnce(&mut TreeView<'_>) -> T,
) -> T {
    let flow = CallFlow::from_tree(tree);
    let parents = tree.parent_ids();
    let tables = TableLeaks::from_tree(tree, &parents);
    let mut evaluator = Evaluator::new(tree, &flow, &tables, context);
    let calls = logical_calls::collect_calls(tree, &mut evaluator);
    let fingerprints = StatementHashes::new(tree, &tables);
    let flow = &flow;
    let mut view = TreeView { tokens, tree, parents, flow, evaluator, hashes: fingerprints, calls };
    visit(&mut view)
}

fn scan_tree(view: &mut TreeView<'_>, found: &mut Vec<ScanFinding>) {
    let mut reached = Vec::new();
    external_access::find_external_access(view, &mut reached);
    network::find_requests(view, &mut reached);
    let callers = find_callers(view, &reached);
    found.extend(reached.into_iter().map(|(_, finding)| finding));
    found.extend(callers);
    encoded_text::find_assembled_text(view, found);
}

/// The calls of the functions that contain findings.
fn find_callers(view: &mut TreeView<'_>, found: &[(ExprId, ScanFinding)]) -> Vec<ScanFinding> {
    let mut callers = Vec::new();
    let mut seen: HashSet<(ExprId, u64)> = HashSet::new();
    for (at, finding) in found {
        let mut reached: Vec<FunctionId> =
            view.tree.statement_of(*at).function.into_iter().collect();
        if callers.len() == MAX_CALLERS {
            break;
        }
        for _ in 0..MAX_CALL_DEPTH {
            let mut next = Vec::new();
            for function in reached {
                let name = view.tree.function(function).name.clone();
                let sites = view.flow.sites.get(&function).into_iter().flatten();
                let mentions = view.flow.references.get(&function).into_iter().flatten();
                let calls = sites.map(|site| (site.call, "calls"));
                for (at, verb) in calls.chain(mentions.map(|at| (*at, "hands on"))) {
                    if callers.len() == MAX_CALLERS || !seen.insert((at, finding.code_hash)) {
                        continue;
                    }
                    let name = name.as_deref().unwrap_or("a function");
                    let message = format!("{verb} {name}, which {}", finding.message);
                    let mut caller = view.make_finding(at, message);
                    caller.called_hash = Some(finding.code_hash);
                    callers.push(caller);
                    next.extend(view.tree.statement_of(at).function);
                }
            }
            reached = next;
        }
    }
    callers
}

/// Removes the byte order mark and normalizes line breaks for the parser, because Luau ends
/// comments at a lone carriage return.
fn normalize_line_ends(source: &str) -> Cow<'_, str> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if !source.contains('\r') {
        return Cow::Borrowed(source);
    }
    Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Parses a script, or returns the reason it has no tree.
fn parse_tree(source: &str, tokens: &[Token]) -> Result<ScanTree, &'static str> {
    if !super::compile_errors(source).is_empty() {
        return Err(NOT_COMPILED);
    }
    let too_deep = "is nested too deeply to be looked through: read all of it";
    let unknown = "has syntax that could not be looked through: read all of it";
    // If Luau and the parser disagree about what is code, the parser may have been deceived.
    let same = nesting::check_same_tokens(source, tokens, ParsePurpose::Outline, StackSize::Large);
    same.map_err(|unfit| match unfit {
        UnfitReason::TooDeep | UnfitReason::TooManyNames => too_deep,
        UnfitReason::UnknownSyntax(..) => unknown,
    })?;
    let parsed = full_moon::parse_fallible(source, full_moon::LuaVersion::luau());
    if !parsed.errors().is_empty() {
        return Err(unknown);
    }
    let mut tree = lower::lower_ast(parsed.ast());
    table_leaks::add_library_writes(&mut tree);
    Ok(tree)
}

/// Merges findings with the same line and message, combining their hashes.
fn merge_equal_findings(found: Vec<ScanFinding>) -> Vec<ScanFinding> {
    let mut merged: Vec<ScanFinding> = Vec::new();
    for finding in found {
        match merged.last_mut() {
            Some(last)
                if last.line == finding.line
                    && last.message == finding.message
                    && last.called_hash == finding.called_hash =>
            {
                if last.code_hash != finding.code_hash {
                    last.code_hash = last.code_hash.rotate_left(1) ^ finding.code_hash;
                }
            }
            _ => merged.push(finding),
        }
    }
    merged
}

/// The new findings that are not among the old ones.
fn added_findings(old: &[ScanFinding], new: Vec<ScanFinding>) -> Vec<ScanFinding> {
    let mut known: HashMap<(String, u64), usize> = HashMap::new();
    for finding in old {
        *known.entry((finding.message.clone(), finding.code_hash)).or_default() += 1;
    }
    let mut added = Vec::new();
    for finding in new {
        match known.get_mut(&(finding.message.clone(), finding.code_hash)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => added.push(finding),
        }
    }
    // If a finding is reported in the function itself, its calls need not be.
    let named: HashSet<u64> =
        added.iter().filter(|it| it.called_hash.is_none()).map(|it| it.code_hash).collect();
    added.retain(|it| it.called_hash.is_none_or(|called| !named.contains(&called)));
    added
}

/// The messages that fit on a card, and the number of those left out.
pub fn format_findings(findings: Vec<ScanFinding>) -> Vec<String> {
    let mut sentences: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let more = sentences.len().saturating_sub(MAX_LISTED);
    sentences.truncate(MAX_LISTED);
    if more > 0 {
        sentences.push(format!("{more} more places are like these; read all of it."));
    }
    sentences
}
