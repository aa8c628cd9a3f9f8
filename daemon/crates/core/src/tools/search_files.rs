//! `search_files`: searches the sources of all scripts for a text or a regular expression.
//!
//! It uses ripgrep's engine. A text is searched as a whole for matching lines, and no match spans
//! lines, so the work grows only with the size of the text.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memchr_iter, memrchr};
use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, Scene};

use super::args::BoundedInt;
use super::code::{self as told, AnswerBudget};
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::planning_scene::PlanningScene;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "search_files",
    about: "Searches all scripts (below `root`) line by line. Returns paths, 1-based lines and two \
            lines of context; with `filesOnly` only paths and counts.",
    schema: args::args_schema::<SearchFilesArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchFilesArgs {
    query: String,
    /// In Rust's own syntax
    regex: Option<bool>,
    case_sensitive: Option<bool>,
    whole_word: Option<bool>,
    root: Option<InstancePath>,
    /// A path, e.g. ReplicatedStorage/**/Shop*, or a name
    glob: Option<String>,
    files_only: Option<bool>,
    #[serde(default)]
    limit: BoundedInt<1, 500, 50>,
    cursor: Option<String>,
}

const CONTEXT: usize = 2;
/// The number of scripts tested for a match at once: few at first, because a page may fill up soon,
/// then more and more.
const FIRST: usize = 64;
const MOST: usize = 4_096;
/// Maximum bytes of a line; longer ones are truncated.
const LINE: usize = 300;
/// Bytes before the match that are kept of a longer line.
const BEFORE: usize = 80;

struct FileSearch {
    pattern: RegexMatcher,
    limit: usize,
    skip: usize,
    match_count: usize,
    results: Vec<Json>,
    room: AnswerBudget,
    is_full: bool,
}

fn plan(args: &SearchFilesArgs, scene: &PlanningScene) -> Result<Json, Refusal> {
    let glob = args.glob.as_deref().map(PathGlob::new).transpose()?;
    let root = args.root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
    let files_only = args.files_only == Some(true);
    let mut search = FileSearch {
        pattern: build_matcher(args)?,
        limit: args.limit.get() as usize,
        skip: args::parse_cursor(args.cursor.as_deref())?,
        match_count: 0,
        results: Vec::new(),
        room: AnswerBudget::new(),
        is_full: false,
    };
    let is_searched = |node: &Node| {
        scene.is_script(*node) && glob.as_ref().is_none_or(|it| it.matches(scene, *node))
    };
    let searched = scene.subtree(root).filter(is_searched);
    let mut texts = searched.filter_map(|node| Some((node, scene.script_text(node)?)));
    let (mut scripts, mut at_once) = (0_u64, FIRST);
    while !search.is_full {
        let next: Vec<(Node, Cow<'_, str>)> = texts.by_ref().take(at_once).collect();
        if next.is_empty() {
            break;
        }
        at_once = MOST.min(at_once * 2);
        scripts += next.len() as u64;
        search.search_scripts(scene, &next, files_only);
    }
    let count = search.results.len();
    let key = if files_only { "files" } else { "matches" };
    let mut answer = json!({ key: search.results });
    if search.is_full {
        answer["truncated"] = true.into();
        answer["cursor"] = (search.skip + count).to_string().into();
    } else {
        answer["total"] = search.match_count.into();
        answer["scriptsSearched"] = scripts.into();
    }
    Ok(answer)
}

impl FileSearch {
    /// Searches scripts, most of which have no match.
    fn search_scripts(
        &mut self,
        scene: &PlanningScene,
        scripts: &[(Node, Cow<'_, str>)],
        files_only: bool,
    ) {
        let texts: Vec<&str> = scripts.iter().map(|(_, text)| &**text).collect();
        let pattern = &self.pattern;
        let has_match = |text: &str| next_match(pattern, text.as_bytes(), 0).is_some();
        let fit = scene.match_texts(&texts, &has_match);
        for ((node, text), _) in scripts.iter().zip(fit).filter(|(_, fits)| *fits) {
            if files_only {
                self.add_count(scene, *node, text);
            } else {
                self.add_lines(scene, *node, text);
            }
            if self.is_full {
                return;
            }
        }
    }

    fn add_lines(&mut self, scene: &Scene, node: Node, text: &str) {
        let (bytes, mut from, mut line, mut counted) = (text.as_bytes(), 0, 0, 0);
        let mut path = None;
        while from <= bytes.len()
            && let Some((start, end, at)) = next_match(&self.pattern, bytes, from)
        {
            from = end + 1;
            self.match_count += 1;
            if self.match_count <= self.skip {
                continue;
            }
            if self.results.len() == self.limit {
                self.is_full = true;
                return;
            }
            line += memchr_iter(b'\n', &bytes[counted..start]).count();
            counted = start;
            let path = path.get_or_insert_with(|| told::path_text(scene, node));
            let hit = json!({
                "path": path,
                "line": line + 1,
                "text": clip_around(trim_line_end(&text[start..end]), at - start),
                "before": lines_before(text, start),
                "after": lines_after(text, end),
            });
            if !self.try_add(hit) {
                return;
            }
        }
    }

    fn add_count(&mut self, scene: &Scene, node: Node, text: &str) {
        let bytes = text.as_bytes();
        let Some((_, end, _)) = next_match(&self.pattern, bytes, 0) else { return };
        self.match_count += 1;
        if self.match_count <= self.skip {
            return;
        }
        if self.results.len() == self.limit {
            self.is_full = true;
            return;
        }
        let (mut lines, mut from) = (1, end + 1);
        while from <= bytes.len()
            && let Some((_, end, _)) = next_match(&self.pattern, bytes, from)
        {
            (lines, from) = (lines + 1, end + 1);
        }
        self.try_add(json!({ "path": told::path_text(scene, node), "lines": lines }));
    }

    /// Adds a result if it fits the budget.
    fn try_add(&mut self, hit: Json) -> bool {
        self.is_full = !self.room.try_take(&hit);
        if !self.is_full {
            self.results.push(hit);
        }
        !self.is_full
    }
}

/// Returns the next line with a match from a byte on: its start, its end, and the start of the
/// match.
fn next_match(pattern: &RegexMatcher, text: &[u8], from: usize) -> Option<(usize, usize, usize)> {
    // There is no line after the last line break.
    let found = pattern.find_at(text, from).ok()??;
    let at = found.start();
    if at == text.len() && text.last().is_none_or(|last| *last == b'\n') {
        return None;
    }
    let start = memrchr(b'\n', &text[..at]).map_or(0, |n| n + 1);
    let end = memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
    Some((start, end, at))
}

/// Strips the carriage return at the end of a line.
fn trim_line_end(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Returns a line, or the part around the match if the line is long.
fn clip_around(line: &str, at: usize) -> String {
    if line.len() <= LINE || at < LINE / 2 {
        return args::truncate_bytes(line, LINE).to_owned();
    }
    let from = line.floor_char_boundary(at.saturating_sub(BEFORE));
    format!("…{}", args::truncate_bytes(&line[from..], LINE))
}

/// Returns the context lines before the line start at a byte.
fn lines_before(text: &str, start: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut end = start;
    while end > 0 && lines.len() < CONTEXT {
        let line = memrchr(b'\n', &text.as_bytes()[..end - 1]).map_or(0, |n| n + 1);
        lines.push(args::truncate_bytes(trim_line_end(&text[line..end - 1]), LINE));
        end = line;
    }
    lines.reverse();
    lines
}

/// Returns the context lines after the line end at a byte.
fn lines_after(text: &str, end: usize) -> Vec<&str> {
    let rest = text.get(end + 1..).unwrap_or_default();
    rest.lines().take(CONTEXT).map(|line| args::truncate_bytes(line, LINE)).collect()
}

/// A glob over script paths.
struct PathGlob {
    matcher: GlobMatcher,
    has_slash: bool,
}

impl PathGlob {
    fn new(text: &str) -> Result<Self, Refusal> {
        let text = text.strip_prefix("game/").unwrap_or(text);
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        match glob {
            Ok(glob) => Ok(Self { matcher: glob.compile_matcher(), has_slash: text.contains('/') }),
            Err(error) => refuse!("`glob` is not a valid pattern: {}.", error.kind()),
        }
    }

    fn matches(&self, scene: &Scene, node: Node) -> bool {
        if !self.has_slash {
            return self.matcher.is_match(scene.name(node));
        }
        let above = std::iter::successors(Some(node), |it| scene.parent(*it));
        let mut names: Vec<&str> =
            above.take_while(|it| *it != scene.root()).map(|it| scene.name(it)).collect();
        names.reverse();
        self.matcher.is_match(names.join("/"))
    }
}

fn build_matcher(args: &SearchFilesArgs) -> Result<RegexMatcher, Refusal> {
    if args.query.is_empty() {
        return refuse!("`query` is empty.");
    }
    let text = match args.regex {
        Some(true) => args.query.clone(),
        _ if args.query.contains('\n') => {
            return refuse!("`query` has several lines, but lines are searched one by one.");
        }
        _ => regex::escape(&args.query),
    };
    RegexMatcherBuilder::new()
        .case_insensitive(args.case_sensitive != Some(true))
        .word(args.whole_word == Some(true))
        .multi_line(true)
        .crlf(true)
        .size_limit(1 << 20)
        .build(&text)
        .map_err(|error| Refusal(format!("`query` is not a valid regular expression: {error}.")))
}
