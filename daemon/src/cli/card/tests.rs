//! Tests of cards for small proposals, as plain text.

use std::collections::BTreeMap;

use scene_schemas::proposal::{Preview, Warning, WarningKind};
use scene_schemas::text::{Position, TextEdit};
use scene_schemas::{Command, Fingerprint, InstanceId, Target};

use super::*;

fn target(id: &str, path: &str) -> Target {
    Target { id: InstanceId(id.to_owned()), path: path.parse().unwrap() }
}

fn proposal(class: Class, commands: Vec<Command>, rows: Vec<Row>) -> Proposal {
    Proposal {
        title: "A title".to_owned(),
        class,
        commands,
        base: Fingerprint(String::new()),
        patch_id: Fingerprint(String::new()),
        preview: Preview { rows, ..Preview::default() },
        warnings: Vec::new(),
        after: Vec::new(),
        reads: Vec::new(),
        implicit_target: None,
        files: None,
        from: None,
        reverts: Vec::new(),
        replaces: None,
        runs: None,
        changed_files: Vec::new(),
        made_by: None,
    }
}

fn row(command: u32, path: &str, class: &str, change: Change) -> Row {
    Row { command, member: None, change, path: path.parse().unwrap(), class: class.to_owned() }
}

fn create(n: u32, name: &str) -> (Command, Row) {
    let command = Command::Create {
        id: InstanceId::new_in_proposal(n),
        parent: target("ref:0", "game.Workspace"),
        class: "Part".to_owned(),
        name: name.to_owned(),
        props: BTreeMap::new(),
        expect: None,
    };
    let props = vec![
        ("Anchored".to_owned(), Value::Bool(true)),
        ("Shape\x1b[2J".to_owned(), Value::Int32(4)),
    ];
    let path = format!("game.Workspace.{name}");
    (command, row(n, &path, "Part", Change::Created { props }))
}

fn set(id: &str, path: &str) -> Command {
    Command::Set {
        target: target(id, path),
        props: BTreeMap::from([("Transparency".to_owned(), None)]),
        expect: None,
    }
}

#[track_caller]
fn check(proposal: &Proposal, card: &str) {
    assert_eq!(render_card(Seq(7), proposal, TextStyle::plain()), card);
}

#[test]
fn created_instance_is_listed_with_its_properties() {
    let (command, row) = create(0, "Wall");
    check(
        &proposal(Class::Additive, vec![command], vec![row]),
        "\
╭─ Proposal 7 · additive · 1 operation
│ A title
│ Nothing is removed or overwritten: it only adds 1 instance.
│
│ + Part game.Workspace.Wall
│     Anchored   true
│     Shape␛[2J  4
╰─
",
    );
}

#[test]
fn operations_are_grouped_by_instance_and_class_is_explained() {
    let wall = "game.Workspace.Wall[1]";
    let delete = Command::Delete { target: target("ref:1", wall), count: 3, expect: None };
    let moved = Command::Move {
        target: target("ref:4", "game.Workspace.Roof"),
        parent: target("ref:9", "game.ReplicatedStorage"),
        index: None,
        expect: None,
    };
    let change = |before: f32, after: Option<f32>| Change::Set {
        property: "Transparency".to_owned(),
        before: Some(Value::Float32(before)),
        after: after.map(Value::Float32),
    };
    let to = "game.ReplicatedStorage".parse().unwrap();
    let mut proposal = proposal(
        Class::Destructive,
        vec![delete, set("ref:5", wall), moved, set("ref:5", wall)],
        vec![
            row(0, wall, "Model", Change::Deleted { count: 3 }),
            row(1, wall, "Part", change(0.0, Some(0.5))),
            row(2, "game.Workspace.Roof", "Part", Change::Moved { to }),
            row(3, wall, "Part", change(0.5, None)),
        ],
    );
    proposal.warnings = vec![
        Warning { kind: WarningKind::Name, text: "Names differ.".to_owned() },
        Warning { kind: WarningKind::Security, text: "Line 3 loads a string.".to_owned() },
    ];
    check(
        &proposal,
        "\
╭─ Proposal 7 · destructive · 4 operations
│ A title
│ It deletes 3 instances, changes 2 properties of 1 instance and moves 1 instance.
│
│ !  Names differ.
│ !! Line 3 loads a string. (needs a second confirmation)
│
│ - Model game.Workspace.Wall[1]  with everything below it, 3 instances
│ ~ Part game.Workspace.Wall[1]
│     Transparency  0 → 0.5
│     Transparency  0.5 → none
│ → Part game.Workspace.Roof  moves into game.ReplicatedStorage
╰─
",
    );
}

fn edit(before: &str, after: &str) -> Proposal {
    let path = "game.ServerScriptService.Main";
    let start = Position { line: 0, character: 0 };
    let command = Command::EditScript {
        target: target("ref:2", path),
        edits: vec![TextEdit { start, end: start, text: String::new() }],
        expect: Fingerprint(String::new()),
    };
    let counts = vector_text_edit::line_counts(before, after);
    let mut proposal =
        proposal(vector_text_edit::classify_change(before, after), vec![command], Vec::new());
    proposal.preview.scripts = vec![ScriptDiff {
        command: 0,
        path: path.parse().unwrap(),
        left_out: false,
        added: counts.added,
        removed: counts.removed,
        hunks: vector_text_edit::diff_hunks(before, after, 1),
    }];
    proposal
}

#[test]
fn script_change_has_line_numbers_and_removed_line_counts() {
    let proposal = edit("a\nb\nc\nd\ne\nf\ng\n", "a\nB\nd\ne\nf\ng\nh\n");
    check(
        &proposal,
        "\
╭─ Proposal 7 · modifying · 1 operation
│ A title
│ It changes the text of 1 script.
│
│ game.ServerScriptService.Main  +2 −2
│ 1 1   a
│ 2   - b
│ 3   - c
│   2 + B
│ 4 3   d
│   ⋯
│ 7 6   g
│   7 + h
╰─
",
    );
    let card = render_card(Seq(1), &edit("a\nb\nc\n", "a\n"), TextStyle::plain());
    assert!(
        card.contains("It removes 2 and adds 0 lines in game.ServerScriptService.Main"),
        "{card}"
    );
}

#[test]
fn long_card_is_cut_and_full_card_is_not() {
    let (commands, rows): (Vec<_>, Vec<_>) = (0..100).map(|n| create(n, &format!("P{n}"))).unzip();
    let mut long = proposal(Class::Additive, commands, rows);
    long.preview.more_rows = 5;
    let card = render_card(Seq(7), &long, TextStyle::plain());
    assert!(card.ends_with("│ … and 80 × + Part, 5 further rows\n╰─\n"), "{card}");
    assert_eq!(card.lines().count(), 5 + 60 + 1);
    let whole = render_full_card(Seq(7), &long, TextStyle::plain());
    assert_eq!(whole.lines().count(), 5 + 300 + 1);
    let after = "local v = 1\n".repeat(500);
    let text = edit("", &after);
    let card = render_card(Seq(7), &text, TextStyle::plain());
    assert!(card.ends_with("│ … 300 more lines\n╰─\n"), "{card}");
}

#[test]
fn long_values_are_cut_around_their_difference() {
    let long = |end: &str| Value::String(format!("{}{end}", "x".repeat(80)));
    let text = format_value_change(Some(&long("a")), Some(&long("b")), false);
    assert_eq!(text, "…xxxxxxxxxxxxa\" → …xxxxxxxxxxxxb\"");
}

/// Characters that control a terminal, change how text is displayed, or are invisible.
const HOSTILE: &str =
    "a\x1b[2J\r\0\u{9b}1A\u{202e}b\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}<font size='90'>";
const SHOWN: &str =
    "a␛[2J␍␀\\u{9b}1A\\u{202e}b\\u{2066}\\u{200b}\\u{feff}\\u{ad}\\u{e0041}<font size='90'>";

#[test]
fn card_escapes_control_and_invisible_characters() {
    let mut hostile = edit("one\n", &format!("one\n{HOSTILE}\n"));
    hostile.title = HOSTILE.to_owned();
    hostile.warnings = vec![Warning { kind: WarningKind::Name, text: HOSTILE.to_owned() }];
    let name = serde_json::to_string(HOSTILE).unwrap();
    let value = Some(Value::String(HOSTILE.to_owned()));
    let change = Change::Set { property: HOSTILE.to_owned(), before: None, after: value };
    let path = format!("game.Workspace[{name}]");
    hostile.commands.push(set("ref:9", &path));
    hostile.preview.rows.push(row(1, &path, HOSTILE, change));
    let card = render_card(Seq(7), &hostile, TextStyle { colour: false, width: 400 });
    assert!(card.matches(SHOWN).count() >= 5, "{card}");
    let is_obeyed = |c: char| {
        c != '\n'
            && (c.is_control() || "\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}".contains(c))
    };
    assert!(!card.contains(is_obeyed), "{card:?}");
}
