//! `search_files`: text or a regular expression over the sources of all scripts.

use regex::{Regex, RegexBuilder};
use scene_schemas::{Bounded, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args};
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::Scene;

pub(super) const TOOL: Tool = Tool {
    name: "search_files",
    about: "Searches the text of all scripts, line by line, with two lines of context.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Read(|json, scene| plan(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What to look for.
    query: String,
    /// Whether it is a regular expression (Rust's syntax); false where absent.
    regex: Option<bool>,
    /// Whether case counts; false where absent.
    case_sensitive: Option<bool>,
    /// Below which instance; game where absent.
    root: Option<InstancePath>,
    /// How many matches a page has; 50 where absent.
    limit: Option<Bounded<1, 500>>,
    /// From the page before.
    cursor: Option<String>,
}

const CONTEXT: usize = 2;
/// Longer lines are cut.
const LINE: usize = 300;

fn plan(args: &Args, scene: &Scene) -> Result<Json, Refusal> {
    let pattern = pattern(args)?;
    let root = args.root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
    let limit = args.limit.map_or(50, |limit| limit.get() as usize);
    let skip = args::offset(args.cursor.as_deref())?;
    let (mut matches, mut seen, mut scripts, mut more) = (Vec::new(), 0, 0, false);
    'scripts: for node in scene.subtree(root) {
        let Some(text) = scene.source(node) else {
            continue;
        };
        scripts += 1;
        if !pattern.is_match(&text) {
            continue;
        }
        let path = scene.path(node);
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            seen += 1;
            if seen <= skip {
                continue;
            }
            if matches.len() == limit {
                more = true;
                break 'scripts;
            }
            let from = at.saturating_sub(CONTEXT);
            let to = (at + 1 + CONTEXT).min(lines.len());
            matches.push(json!({
                "path": path,
                "line": at + 1,
                "text": args::cut(lines[at], LINE),
                "before": lines[from..at].iter().map(|line| args::cut(line, LINE)).collect::<Vec<_>>(),
                "after": lines[at + 1..to].iter().map(|line| args::cut(line, LINE)).collect::<Vec<_>>(),
            }));
        }
    }
    let mut answer = json!({ "matches": matches });
    if more {
        answer["truncated"] = true.into();
        answer["cursor"] = (skip + limit).to_string().into();
    } else {
        answer["total"] = seen.into();
        answer["scriptsSearched"] = scripts.into();
    }
    Ok(answer)
}

fn pattern(args: &Args) -> Result<Regex, Refusal> {
    if args.query.is_empty() {
        return refuse!("`query` is empty.");
    }
    let text = match args.regex {
        Some(true) => args.query.clone(),
        _ => regex::escape(&args.query),
    };
    RegexBuilder::new(&text)
        .case_insensitive(args.case_sensitive != Some(true))
        .multi_line(true)
        .crlf(true)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| Refusal(format!("`query` is not a regular expression: {error}.")))
}
