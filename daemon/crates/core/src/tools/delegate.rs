//! `assign_parts`, `ask_scouts` and `share_note`: a lead gives parts of its task to other models.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

/// The name of the call that joins the changes of a worker. Only the engine makes it.
pub const MERGE_PART: &str = "merge_part";

/// Maximum number of models that work for a lead at a time.
const MAX_PARTS: usize = 4;

/// Maximum length of the instructions of a part, of a question and of a note, in bytes.
const MAX_TEXT: usize = 16_000;

/// Maximum length of a title, in bytes.
const MAX_TITLE: usize = 120;

pub(super) const ASSIGN_PARTS: ToolSpec = ToolSpec {
    name: "assign_parts",
    about: "Gives parts of the task to workers, which do them at the same time, each in a copy of the \
            place of its own. The answer says what came of them.",
    schema: args::args_schema::<AssignPartsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Delegate(|json| assign_parts(args::parse_args(json)?)),
};

pub(super) const ASK_SCOUTS: ToolSpec = ToolSpec {
    name: "ask_scouts",
    about: "Asks models that only read, one for each question, at the same time. They have a minute.",
    schema: args::args_schema::<AskScoutsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Delegate(|json| ask_scouts(args::parse_args(json)?)),
};

pub(super) const SHARE_NOTE: ToolSpec = ToolSpec {
    name: "share_note",
    about: "Notes something that the others who work on the task have to know, such as a name, a \
            folder or a signature that you decided on.",
    schema: args::args_schema::<ShareNoteArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        let ShareNoteArgs { text } = args::parse_args(json)?;
        check_text("`text`", &text)?;
        Ok(ModelAction::Noted { text })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AssignPartsArgs {
    /// 2 to 4 parts that do not touch the same instances. They are merged in this order.
    parts: Vec<PartArgs>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartArgs {
    /// What it is, in a few words.
    title: String,
    /// What to do, with the names and the interfaces that the parts share. The worker knows nothing
    /// else but the request.
    instructions: String,
    /// Paths of the instances below which it changes or creates something.
    writes: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskScoutsArgs {
    /// 1 to 4 questions about the place.
    questions: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShareNoteArgs {
    text: String,
}

/// Parts of a task for other models.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegation {
    pub kind: DelegationKind,
    /// In the order in which they are merged.
    pub parts: Vec<DelegatedPart>,
}

/// Who does the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationKind {
    Workers,
    Scouts,
}

/// A part of a task, or a question.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegatedPart {
    /// A few words, in one line.
    pub title: String,
    pub instructions: String,
    /// Where it is expected to change something.
    pub writes: Vec<InstancePath>,
}

fn assign_parts(args: AssignPartsArgs) -> Result<Delegation, Refusal> {
    let count = args.parts.len();
    if !(2..=MAX_PARTS).contains(&count) {
        return refuse!(
            "There are {count} parts, and there can be 2 to {MAX_PARTS}. Do a single one yourself."
        );
    }
    let parts: Vec<DelegatedPart> = (1..)
        .zip(args.parts)
        .map(|(number, part)| parse_part(number, part))
        .collect::<Result<_, _>>()?;
    for (at, one) in parts.iter().enumerate() {
        for (other_at, other) in parts.iter().enumerate().skip(at + 1) {
            if let Some(path) = shared_path(one, other) {
                return refuse!(
                    "Parts {} and {} both write {path}. Give it to one of them, or do the shared part \
                     yourself after they are done.",
                    at + 1,
                    other_at + 1
                );
            }
        }
    }
    Ok(Delegation { kind: DelegationKind::Workers, parts })
}

fn parse_part(number: usize, part: PartArgs) -> Result<DelegatedPart, Refusal> {
    let PartArgs { title, instructions, writes } = part;
    check_text(&format!("`title` of part {number}"), &title)?;
    check_text(&format!("`instructions` of part {number}"), &instructions)?;
    if writes.is_empty() {
        return refuse!("`writes` of part {number} is empty; name where it changes something.");
    }
    let parse = |path: &String| {
        path.trim().parse::<InstancePath>().map_err(|error| {
            Refusal(format!("`writes` of part {number} has {path:?}, which is not a path: {error}"))
        })
    };
    let writes = writes.iter().map(parse).collect::<Result<_, _>>()?;
    Ok(DelegatedPart { title: short_title(&title), instructions, writes })
}

/// Returns the place that two parts both write: that of one of them, which is the same as that of the
/// other or below it.
fn shared_path<'a>(one: &'a DelegatedPart, other: &'a DelegatedPart) -> Option<&'a InstancePath> {
    one.writes.iter().find_map(|path| {
        other.writes.iter().find_map(|other| {
            if is_at_or_below(path, other) {
                Some(path)
            } else {
                is_at_or_below(other, path).then_some(other)
            }
        })
    })
}

fn is_at_or_below(path: &InstancePath, top: &InstancePath) -> bool {
    path.segments.starts_with(&top.segments)
}

fn ask_scouts(args: AskScoutsArgs) -> Result<Delegation, Refusal> {
    let count = args.questions.len();
    if !(1..=MAX_PARTS).contains(&count) {
        return refuse!("There are {count} questions, and there can be 1 to {MAX_PARTS}.");
    }
    for (number, question) in (1..).zip(&args.questions) {
        check_text(&format!("Question {number}"), question)?;
    }
    let part = |question: String| DelegatedPart {
        title: short_title(&question),
        instructions: question,
        writes: Vec::new(),
    };
    let parts = args.questions.into_iter().map(part).collect();
    Ok(Delegation { kind: DelegationKind::Scouts, parts })
}

fn short_title(text: &str) -> String {
    let line = crate::prompt::one_line(text);
    let end = line.floor_char_boundary(MAX_TITLE);
    if end < line.len() { format!("{}…", &line[..end]) } else { line }
}

fn check_text(name: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return refuse!("{name} is empty.");
    }
    if text.len() > MAX_TEXT {
        return refuse!("{name} has {} bytes, and there can be {MAX_TEXT}.", text.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn run(tool: ToolSpec, args: Json) -> Result<Delegation, Refusal> {
        match tool.run {
            ToolAction::Delegate(delegate) => delegate(args),
            other => panic!("{other:?}"),
        }
    }

    fn part(title: &str, writes: &[&str]) -> Json {
        json!({ "title": title, "instructions": "Do it.", "writes": writes })
    }

    #[test]
    fn parts_are_read_in_their_order() {
        let shop = part("Shop\n UI", &["game.StarterGui.Shop"]);
        let rounds = part("Rounds", &["game.ServerScriptService.Rounds", "game.Workspace.Arena"]);
        let read = run(ASSIGN_PARTS, json!({ "parts": [shop, rounds] })).unwrap();
        assert_eq!(read.kind, DelegationKind::Workers);
        let titles: Vec<&str> = read.parts.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["Shop UI", "Rounds"]);
        assert_eq!(read.parts[1].writes[1].to_string(), "game.Workspace.Arena");
    }

    #[test]
    fn unusable_parts_are_refused_with_what_is_wrong() {
        let one = || part("One", &["game.Workspace.A"]);
        let many = vec![one(); MAX_PARTS + 1];
        for (parts, says) in [
            (json!([one()]), "There are 1 parts"),
            (json!(many), "There are 5 parts"),
            (json!([one(), part("Two", &["game.Workspace.A"])]), "both write game.Workspace.A."),
            (json!([one(), part("Two", &["game.Workspace"])]), "both write game.Workspace.A."),
            (
                json!([one(), part("Two", &["game.Workspace.A.B"])]),
                "both write game.Workspace.A.B.",
            ),
            (json!([one(), part("Two", &[])]), "`writes` of part 2 is empty"),
            (json!([one(), part("Two", &["Workspace"])]), "which is not a path"),
            (json!([one(), part(" ", &["game.Workspace.B"])]), "`title` of part 2 is empty"),
        ] {
            let refused = run(ASSIGN_PARTS, json!({ "parts": parts })).unwrap_err().0;
            assert!(refused.contains(says), "{says} is not in {refused}");
        }
        let neighbours = json!([one(), part("Two", &["game.Workspace.AB"])]);
        assert!(run(ASSIGN_PARTS, json!({ "parts": neighbours })).is_ok());
    }

    #[test]
    fn questions_are_read_with_short_titles() {
        let long = "Where is ".repeat(40);
        let read = run(ASK_SCOUTS, json!({ "questions": ["Who saves data?", long] })).unwrap();
        assert_eq!(read.kind, DelegationKind::Scouts);
        assert_eq!(read.parts[0].title, "Who saves data?");
        assert!(read.parts[1].title.len() <= MAX_TITLE + 3 && read.parts[1].title.ends_with('…'));
        let none = run(ASK_SCOUTS, json!({ "questions": [] })).unwrap_err().0;
        assert!(none.contains("There are 0 questions"), "{none}");
        let empty = run(ASK_SCOUTS, json!({ "questions": ["a", " "] })).unwrap_err().0;
        assert!(empty.contains("Question 2 is empty"), "{empty}");
    }
}
