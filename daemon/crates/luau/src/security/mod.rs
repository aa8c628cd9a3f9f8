//! Code that a person should look at twice: it reaches outside the place or hides what it does.
//!
//! The scan reads a script's syntax tree: values are followed through variables, fields and the
//! script's own functions, and constant texts and numbers are folded. It is a help for reviewers and
//! proves nothing: what arrives only as the script runs is not known here, and a harmless line may be
//! named. Nothing is run and nothing is fetched, and what a finding leads to is decided elsewhere.

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
mod network;
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

use super::index::lexer::{Token, TokenKind, tokenize};
use super::nesting::{self, ParsePurpose, StackSize, UnfitReason};

pub use self::imitation::find_imitated_service;

use self::call_flow::CallFlow;
use self::evaluator::Evaluator;
use self::logical_calls::LogicalCall;
use self::statement_hash::StatementHashes;
use self::table_leaks::TableLeaks;
use self::tree::{ExprId, FunctionId, ScanTree};

/// Findings of one script that a card lists; a person reads no more.
const MAX_LISTED: usize = 30;

/// Calls of a flagged function that are followed, and functions that one is called through.
const MAX_CALLERS: usize = 2_000;
const MAX_CALL_DEPTH: usize = 3;

/// A place in a script that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanFinding {
    /// The line number, from 1.
    line: u32,
    message: String,
    /// A hash of the code that it is about, without its layout: it tells a change from a move.
    code_hash: u64,
    /// The code that this one calls, where the finding itself is there and this is a call of it.
    called_hash: Option<u64>,
}

impl ScanFinding {
    fn new(line: u32, what: impl Into<String>, code_hash: u64) -> Self {
        Self { line, message: what.into(), code_hash, called_hash: None }
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

/// A script as a tree, with what is known of its values.
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
    /// A finding about an expression and the statement that it stands in.
    fn make_finding(&mut self, at: ExprId, what: impl Into<String>) -> ScanFinding {
        let code = self.hashes.statement_hash(at);
        ScanFinding::new(self.tree.node(at).line, what, code)
    }
}

/// What a person should look at in a script, in order.
///
/// The parser recurses: call it on a thread with at least 64 MB of stack, as proposals are drafted on.
pub fn scan_script(source: &str) -> Vec<ScanFinding> {
    added_findings(&[], find_all(source))
}

/// What a person should look at in a script because it has become another: what stood there before
/// for the same code is left out, wherever it stands now. A new call of one of the script's own
/// functions that does something worth a look is worth one itself.
pub fn scan_change(before: &str, after: &str) -> Vec<ScanFinding> {
    added_findings(&find_all(before), find_all(after))
}

/// The findings of a script, also those about calls of functions in which something was found.
fn find_all(source: &str) -> Vec<ScanFinding> {
    if source.is_empty() {
        return Vec::new();
    }
    let source = normalize_line_ends(source);
    let tokens = TokenView::new(&source);
    let mut found = Vec::new();
    hidden_code::find_hidden_code(&tokens, &mut found);
    encoded_text::find_encoded_literals(&tokens, &mut found);
    match parse_tree(&source, tokens.tokens.len() - 1) {
        Ok(tree) => scan_tree(&tokens, &tree, &mut found),
        Err(why) => {
            found.push(ScanFinding::new(1, why, statement_hash::hash_text(&source)));
            external_access::find_flagged_words(&tokens, &mut found);
        }
    }
    let asks = tokens.tokens.iter().position(|it| tokens.token_text(it) == "IsStudio");
    if let Some(asks) = asks.filter(|_| found.iter().any(|it| it.called_hash.is_none())) {
        let what = "asks whether it runs in Studio (IsStudio): what is named here may do nothing \
                    before the game is published";
        found.push(ScanFinding::new(tokens.token_lines[asks], what, 0));
    }
    found.sort();
    merge_equal_findings(found)
}

fn scan_tree(tokens: &TokenView<'_>, tree: &ScanTree, found: &mut Vec<ScanFinding>) {
    let flow = CallFlow::from_tree(tree);
    let parents = tree.parent_ids();
    let tables = TableLeaks::from_tree(tree, &parents);
    let mut evaluator = Evaluator::new(tree, &flow, &tables);
    let calls = logical_calls::collect_calls(tree, &mut evaluator);
    let fingerprints = StatementHashes::new(tree, &tables);
    let flow = &flow;
    let mut view = TreeView { tokens, tree, parents, flow, evaluator, hashes: fingerprints, calls };
    let mut reached = Vec::new();
    external_access::find_external_access(&mut view, &mut reached);
    network::find_requests(&mut view, &mut reached);
    let callers = find_callers(&mut view, &reached);
    found.extend(reached.into_iter().map(|(_, finding)| finding));
    found.extend(callers);
    encoded_text::find_assembled_text(&mut view, found);
}

/// The calls of the functions in which something was found.
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
                    let what = format!("{verb} {name}, which {}", finding.message);
                    let mut caller = view.make_finding(at, what);
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

/// The text without a mark of the byte order, and with line ends as the parser knows them: Luau ends
/// comments at a lone carriage return.
fn normalize_line_ends(source: &str) -> Cow<'_, str> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if !source.contains('\r') {
        return Cow::Borrowed(source);
    }
    Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The tree of a script, or why there is none.
fn parse_tree(source: &str, tokens: usize) -> Result<ScanTree, &'static str> {
    if !super::compile_errors(source).is_empty() {
        return Err("does not compile, so only its words were looked through");
    }
    let too_deep = "is nested too deeply to be looked through: read all of it";
    let unknown = "has syntax that could not be looked through: read all of it";
    let seen = nesting::check_nesting(source, ParsePurpose::Outline, StackSize::Large).map_err(
        |unfit| match unfit {
            UnfitReason::TooDeep | UnfitReason::TooManyNames => too_deep,
            UnfitReason::UnknownSyntax(..) => unknown,
        },
    )?;
    // Where two readers disagree about what is code, one of them can be lied to.
    if seen != tokens {
        return Err(unknown);
    }
    let parsed = full_moon::parse_fallible(source, full_moon::LuaVersion::luau());
    if !parsed.errors().is_empty() {
        return Err(unknown);
    }
    let mut tree = lower::lower_ast(parsed.ast());
    table_leaks::add_library_writes(&mut tree);
    Ok(tree)
}

/// One finding for each line and sentence; its code is that of all that were merged.
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

/// The findings that the old ones do not hold.
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
    // Where the function itself is named, its calls need not be.
    let named: HashSet<u64> =
        added.iter().filter(|it| it.called_hash.is_none()).map(|it| it.code_hash).collect();
    added.retain(|it| it.called_hash.is_none_or(|called| !named.contains(&called)));
    added
}

/// The sentences that a card has room for, with how many more there are.
pub fn format_findings(findings: Vec<ScanFinding>) -> Vec<String> {
    let mut sentences: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let more = sentences.len().saturating_sub(MAX_LISTED);
    sentences.truncate(MAX_LISTED);
    if more > 0 {
        sentences.push(format!("{more} more places are like these; read all of it."));
    }
    sentences
}
