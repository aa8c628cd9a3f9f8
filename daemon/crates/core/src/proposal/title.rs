//! Titles of proposals in people's words. They name instances without their paths, which are shown
//! beside them.

use std::fmt::Write as _;

use scene_schemas::command::Props;
use scene_schemas::path::quote_name;
use scene_schemas::{InstancePath, Value};
use vector_place::{Node, Scene, count_noun};

/// Maximum characters of a value in a title. A longer one is left out.
const MAX_VALUE: usize = 40;

/// Maximum number of properties that a title names.
const MAX_NAMED: usize = 3;

/// Returns the title of a new instance.
pub fn create_title(class: &str, path: &InstancePath) -> String {
    // The default name says nothing more.
    if path.name() == class {
        return format!("Create {class}");
    }
    format!("Create {class} {}", path.quoted_name())
}

/// Returns the title of a change to the properties of one instance. `before` returns a value before
/// the change; properties that stay the same are not named.
pub fn set_title(
    path: &InstancePath,
    props: &Props,
    before: impl Fn(&str) -> Option<Value>,
) -> String {
    let whom = path.quoted_name();
    let mut changed = props.clone();
    changed.retain(|property, after| before(property) != *after);
    let props = if changed.is_empty() { props } else { &changed };
    describe_set(&whom, props, before)
}

/// Returns the title of a change to the properties of several instances, such as `12 Parts`.
pub fn set_all_title(whom: &str, props: &Props) -> String {
    describe_set(whom, props, |_| None)
}

fn describe_set(whom: &str, props: &Props, before: impl Fn(&str) -> Option<Value>) -> String {
    match single_value(props) {
        Some((property, Some(after))) => {
            let phrase = known_phrase(property, before(property).as_ref(), after, whom);
            phrase.unwrap_or_else(|| set_value(property, whom, after))
        }
        Some((property, None)) => format!("Reset {} of {whom}", property_phrase(property)),
        None => format!("Set {} of {whom}", list_properties(props.keys().map(String::as_str))),
    }
}

fn single_value(props: &Props) -> Option<(&str, Option<&Value>)> {
    match props.first_key_value() {
        Some((property, value)) if props.len() == 1 => Some((property, value.as_ref())),
        _ => None,
    }
}

fn set_value(property: &str, whom: &str, after: &Value) -> String {
    let mut title = format!("Set {} of {whom}", property_phrase(property));
    let value = after.to_brief();
    if !value.is_empty() && value.chars().count() <= MAX_VALUE {
        let _ = write!(title, " to {value}");
    }
    title
}

/// Lists properties as words: `Color`, `Color and Size`, `5 properties`.
pub fn list_properties<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    if names.len() > MAX_NAMED {
        return format!("{} properties", names.len());
    }
    let mut phrases: Vec<String> = names.map(property_phrase).collect();
    let last = phrases.pop().unwrap_or_default();
    if phrases.is_empty() { last } else { format!("{} and {last}", phrases.join(", ")) }
}

fn property_phrase(name: &str) -> String {
    match name.strip_prefix('@') {
        Some(attribute) => format!("attribute {attribute}"),
        None => name.to_owned(),
    }
}

/// The words for a property that people have better words for.
fn known_phrase(
    property: &str,
    before: Option<&Value>,
    after: &Value,
    whom: &str,
) -> Option<String> {
    Some(match (property, before, after) {
        ("Name", _, Value::String(name)) => {
            format!("Rename {whom} to {}", quote_name(name))
        }
        ("CFrame", Some(Value::CFrame(before)), Value::CFrame(after)) => {
            let [old, new] = [before, after].map(|it| it.position);
            let by = [new.x - old.x, new.y - old.y, new.z - old.z].map(round);
            match (before.orientation == after.orientation, by == [0.0; 3]) {
                (false, true) => format!("Rotate {whom}"),
                (false, false) => format!("Move and rotate {whom}"),
                (true, true) => format!("Move {whom} slightly"),
                (true, false) => moved_phrase(whom, by),
            }
        }
        ("Size", _, Value::Vector3(size)) => {
            let [x, y, z] = [size.x, size.y, size.z].map(brief);
            format!("Resize {whom} to {x} × {y} × {z} studs")
        }
        ("Anchored", _, Value::Bool(is_on)) => {
            format!("{} {whom}", if *is_on { "Anchor" } else { "Unanchor" })
        }
        ("Locked", _, Value::Bool(is_on)) => {
            format!("{} {whom}", if *is_on { "Lock" } else { "Unlock" })
        }
        ("Visible", _, Value::Bool(is_on)) => {
            format!("{} {whom}", if *is_on { "Show" } else { "Hide" })
        }
        ("Enabled", _, Value::Bool(is_on)) => {
            format!("{} {whom}", if *is_on { "Enable" } else { "Disable" })
        }
        ("Disabled", _, Value::Bool(is_off)) => {
            format!("{} {whom}", if *is_off { "Disable" } else { "Enable" })
        }
        (_, _, Value::Bool(is_on)) if !property.starts_with('@') => {
            format!("Turn {} {property} of {whom}", if *is_on { "on" } else { "off" })
        }
        _ => return None,
    })
}

fn moved_phrase(whom: &str, by: [f32; 3]) -> String {
    let studs = |distance: f32| match distance.abs() {
        1.0 => "1 stud".to_owned(),
        distance => format!("{} studs", brief(distance)),
    };
    match by {
        [0.0, up, 0.0] if up > 0.0 => format!("Raise {whom} by {}", studs(up)),
        [0.0, up, 0.0] => format!("Lower {whom} by {}", studs(up)),
        [x, 0.0, 0.0] => format!("Move {whom} by {} {} X", studs(x), direction(x)),
        [0.0, 0.0, z] => format!("Move {whom} by {} {} Z", studs(z), direction(z)),
        [x, y, z] => format!("Move {whom} by ({}, {}, {}) studs", brief(x), brief(y), brief(z)),
    }
}

fn direction(distance: f32) -> &'static str {
    if distance > 0.0 { "along" } else { "against" }
}

/// Rounds to thousandths of a stud, finer than people look.
fn round(distance: f32) -> f32 {
    (distance * 1000.0).round() / 1000.0
}

fn brief(number: f32) -> String {
    Value::Float32(round(number)).to_brief()
}

/// Counts instances, by their class if all have the same: `12 Parts`.
pub fn count_instances(scene: &Scene, nodes: &[Node]) -> String {
    count_class(nodes.len(), common_class(scene, nodes))
}

/// Returns the class that all instances have. None if they differ.
pub fn common_class<'s>(scene: &'s Scene, nodes: &[Node]) -> Option<&'s str> {
    let mut classes = nodes.iter().map(|node| scene.class(*node));
    let first = classes.next()?;
    classes.all(|class| class == first).then_some(first)
}

/// Counts instances of a class, or of several if it is None.
pub fn count_class(count: usize, class: Option<&str>) -> String {
    let class = class.unwrap_or("instance");
    count_noun(count, class, &format!("{class}s"))
}

#[cfg(test)]
mod tests {
    use rbx_types::{CFrame, Matrix3, Vector3};

    use super::*;

    fn moved(x: f32, y: f32, z: f32) -> Value {
        Value::CFrame(CFrame::new(Vector3::new(x, y, z), Matrix3::identity()))
    }

    #[track_caller]
    fn check(property: &str, before: Option<Value>, after: Value, expected: &str) {
        let path: InstancePath = "game.Workspace.Spinner".parse().unwrap();
        let props = Props::from([(property.to_owned(), Some(after))]);
        assert_eq!(set_title(&path, &props, |_| before.clone()), expected);
    }

    #[test]
    fn moves_are_described_by_their_direction() {
        let from = |x, y, z, expected: &str| {
            check("CFrame", Some(moved(1.0, 2.0, 3.0)), moved(x, y, z), expected);
        };
        from(1.0, 5.5, 3.0, "Raise Spinner by 3.5 studs");
        from(1.0, 1.0, 3.0, "Lower Spinner by 1 stud");
        from(1.0, 2.1, 3.0, "Raise Spinner by 0.1 studs");
        from(4.0, 2.0, 3.0, "Move Spinner by 3 studs along X");
        from(1.0, 2.0, -3.25, "Move Spinner by 6.25 studs against Z");
        from(2.0, 2.0, 2.0, "Move Spinner by (1, 0, -1) studs");
        from(1.0, 2.0001, 3.0, "Move Spinner slightly");
        let turned = Matrix3::new(
            Vector3::new(0.0, 0.0, 1.0),
            Vector3::new(0.0, 1.0, 0.0),
            Vector3::new(-1.0, 0.0, 0.0),
        );
        let at = |x| Value::CFrame(CFrame::new(Vector3::new(x, 2.0, 3.0), turned));
        check("CFrame", Some(moved(1.0, 2.0, 3.0)), at(1.0), "Rotate Spinner");
        check("CFrame", Some(moved(1.0, 2.0, 3.0)), at(2.0), "Move and rotate Spinner");
        check("CFrame", None, moved(0.0, 5.0, 0.0), "Set CFrame of Spinner to 0, 5, 0");
    }

    #[test]
    fn values_are_named_if_they_are_short() {
        let text = |text: &str| Value::String(text.to_owned());
        check("Text", None, text("Hi"), r#"Set Text of Spinner to "Hi""#);
        check("Text", None, text(&"long ".repeat(20)), "Set Text of Spinner");
        check("@Health", None, Value::Float64(5.0), "Set attribute Health of Spinner to 5");
        check("@On", None, Value::Bool(true), "Set attribute On of Spinner to true");
        check("Anchored", None, Value::Bool(true), "Anchor Spinner");
        check("CanCollide", None, Value::Bool(false), "Turn off CanCollide of Spinner");
        check("Disabled", None, Value::Bool(true), "Disable Spinner");
        check("Name", None, text("Wheel"), "Rename Spinner to Wheel");
        check(
            "Name",
            None,
            text("A with 3 descendants"),
            r#"Rename Spinner to "A with 3 descendants""#,
        );
        let size = Value::Vector3(Vector3::new(4.0, 1.5, 2.0));
        check("Size", None, size, "Resize Spinner to 4 × 1.5 × 2 studs");
    }

    #[test]
    fn several_properties_are_listed_or_counted() {
        let path: InstancePath = r#"game.Workspace["Spawn Pad"]"#.parse().unwrap();
        let of = |names: &[&str]| {
            let props = names.iter().map(|name| ((*name).to_owned(), Some(Value::Bool(true))));
            set_title(&path, &props.collect(), |name| (name == "Same").then_some(Value::Bool(true)))
        };
        assert_eq!(of(&["A", "B"]), r#"Set A and B of "Spawn Pad""#);
        assert_eq!(of(&["A", "B", "C"]), r#"Set A, B and C of "Spawn Pad""#);
        assert_eq!(of(&["A", "B", "C", "D"]), r#"Set 4 properties of "Spawn Pad""#);
        assert_eq!(of(&["A", "Same"]), r#"Turn on A of "Spawn Pad""#);
        let reset = Props::from([("Color".to_owned(), None)]);
        assert_eq!(set_all_title("3 Parts", &reset), "Reset Color of 3 Parts");
        let anchored = Props::from([("Anchored".to_owned(), Some(Value::Bool(false)))]);
        assert_eq!(set_all_title("3 Parts", &anchored), "Unanchor 3 Parts");
        assert_eq!(count_class(1, Some("Part")), "1 Part");
        assert_eq!(count_class(2, None), "2 instances");
    }
}
