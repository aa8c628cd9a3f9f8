//! What Vector assumes of Studio: the expected answer to each question of the probe.

use serde::Serialize;
use serde_json::{Value, json};

/// What an answer says about an assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    AsAssumed,
    Otherwise,
    /// Nothing is assumed: the figure is what was asked for.
    Measured,
    /// The question raised an error where an answer was expected.
    Failed,
}

/// What an answer says.
#[derive(Debug)]
pub(super) struct Judgement {
    /// The question in words.
    pub(super) question: &'static str,
    pub(super) verdict: Verdict,
    /// The expected answer, for people.
    pub(super) assumed: Option<String>,
}

/// The expected answer.
enum Expected {
    Is(Value),
    /// A number of at least the first and at most the second.
    Within(f64, f64),
    /// A text that contains this.
    Contains(&'static str),
    Anything,
}

impl Expected {
    fn in_words(&self) -> Option<String> {
        match self {
            Self::Is(value) => Some(value.to_string()),
            Self::Within(least, most) => Some(format!("{least} to {most}")),
            Self::Contains(text) => Some(format!("a text with \"{text}\"")),
            Self::Anything => None,
        }
    }
}

/// Returns what the answer to a question says.
pub(super) fn judge(id: &str, answer: &Value) -> Judgement {
    let (question, expected) = assumption(id);
    let assumed = expected.in_words();
    let verdict = match expected {
        Expected::Anything => Verdict::Measured,
        Expected::Is(value) if is_same(&value, answer) => Verdict::AsAssumed,
        Expected::Within(least, most)
            if answer.as_f64().is_some_and(|it| it >= least && it <= most) =>
        {
            Verdict::AsAssumed
        }
        Expected::Contains(text) if answer.as_str().is_some_and(|it| it.contains(text)) => {
            Verdict::AsAssumed
        }
        _ if answer.as_str().is_some_and(|it| it.starts_with("raised ")) => Verdict::Failed,
        Expected::Is(_) | Expected::Within(..) | Expected::Contains(_) => Verdict::Otherwise,
    };
    Judgement { question, verdict, assumed }
}

/// Whether two values are the same; numbers are compared by their value.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-6,
        _ => one == other,
    }
}

/// A question in words, and the expected answer.
fn assumption(id: &str) -> (&'static str, Expected) {
    use Expected::{Anything, Contains, Is, Within};
    match id {
        "first_request" => ("The first request to this machine raises", Anything),
        "script_created" => ("Putting a script into the place raises", Is(json!("no error"))),
        "script_created_again" => {
            ("Putting a second script into the place raises", Is(json!("no error")))
        }
        "source_assigned" => ("Assigning the text of a script raises", Is(json!("no error"))),
        "undo_text" => (
            "A script's text after its change was undone",
            Is(json!({ "text": "before", "isOnlyText": true })),
        ),
        "redo_text" => ("A script's text after its change was redone", Is(json!("after"))),
        "cancel_text" => ("A script's text after its change was cancelled", Is(json!("after"))),
        "undo_property" => ("A property after its change was undone", Is(json!(0))),
        "undo_created" => ("Undo removes what was created", Is(json!(true))),
        "redo_keeps_identity" => (
            "A deleted instance that undo brings back is the same",
            Is(json!({ "same": true, "id": true })),
        ),
        "undo_event" => ("What OnUndo passes", Is(json!(["VectorProbe heard"]))),
        "recording_in_recording" => ("A recording begun in a recording", Is(json!("none"))),
        "finish_unknown_recording" => ("Finishing an unknown recording raises", Anything),
        "undo_in_core_gui" => ("Undo leaves what is in CoreGui", Is(json!("after"))),
        "longest_source" => {
            ("A text of 200,000 characters in a script raises", Contains("too long"))
        }
        "line_ends" => ("Line ends in a script's text", Anything),
        "editor_source_of_closed_script" => {
            ("The editor's text of a closed script", Is(json!("return 5")))
        }
        "changed_names" => (
            "The names that Changed reports",
            Is(json!([
                "BrickColor",
                "CFrame",
                "Color",
                "Orientation",
                "Position",
                "Rotation",
                "Size"
            ])),
        ),
        "changed_without_change" => ("Changed fires for an equal value", Is(json!(0))),
        "signal_mode" => ("When signals reach their handlers", Anything),
        "weak_tables" => ("Instances of 100 that stay in a weak table", Is(json!(100))),
        "services" => ("The services of a new place", Anything),
        "clone_of_what_is_not_archivable" => {
            ("Clone of an instance that is not Archivable is nil", Is(json!(true)))
        }
        "attribute_types" => (
            "The types that attributes take",
            Is(json!([
                "CFrame", "Color3", "EnumItem", "Font", "Rect", "UDim2", "Vector3", "boolean",
                "number", "string"
            ])),
        ),
        "reset_property" => ("A property that was reset", Is(json!(0))),
        "longest_name" => ("The length of a name of 300 characters", Is(json!(300))),
        "loaded_asset" => ("Loading an asset that does not exist raises", Anything),
        "plugin_connections" => {
            ("Connections to copies of the plugin in playtests, while none runs", Is(json!(0)))
        }
        "place_id" => ("The PlaceId of a new place", Is(json!(0))),
        "studio_version" => ("The version of Studio", Anything),
        "label_limit" => ("A label shows 20,000 characters", Is(json!("whole"))),
        "text_bounds" => ("The widths of texts at 16 pixels", Anything),
        "automatic_size_with_least_size" => {
            ("The height of an automatic size with a least size of 56", Is(json!(56)))
        }
        "automatic_canvas_frames" => ("Frames until a canvas has its size", Within(0.0, 1.0)),
        "theme" => ("The colours of the theme", Anything),
        "frame_rate" => ("Frames a second", Within(40.0, 1_000.0)),
        "cost_of_property_read" => ("Microseconds to read a property", Anything),
        "cost_of_property_write" => ("Microseconds to set a property", Anything),
        "cost_of_heard_write" => ("Microseconds to set a property that is listened to", Anything),
        "cost_of_connection" => ("Microseconds to connect to Changed", Anything),
        "cost_of_creation" => ("Microseconds to create an instance", Anything),
        "cost_of_get_children" => ("Microseconds of GetChildren for each child", Anything),
        "cost_of_json" => ("Microseconds of JSON for each text of a list", Anything),
        "cost_of_hash" => ("Microseconds to hash a kilobyte", Anything),
        "hash_form" => ("The form of a hash", Is(json!({ "type": "string", "length": 32 }))),
        "json_numbers" => ("Numbers as JSON", Anything),
        "json_of_invalid_text" => ("A text that is not UTF-8 as JSON", Anything),
        "json_of_empty_table" => ("An empty table as JSON", Is(json!("[[]]"))),
        "setting" => ("A setting comes back as it was set", Is(json!(true))),
        _ => ("A question that this version does not know", Anything),
    }
}
