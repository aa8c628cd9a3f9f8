//! Merges of small places: what each side did, what comes of it, and what does not go together.

use rbx_types::UniqueId;
use scene_schemas::Value;

use super::super::diff::diff;
use super::super::{Format, Node, Scene};
use super::{Conflict, merge};

/// The file of a place that both sides come from.
fn base(format: Format) -> Vec<u8> {
    let mut scene = Scene::empty(format);
    let workspace = scene.create(scene.root(), "Workspace", "Workspace");
    let house = scene.create(workspace, "Model", "House");
    for n in 0..4 {
        let part = scene.create(house, "Part", "Part");
        scene.set(part, "@N", Some(&Value::Float64(f64::from(n)))).unwrap();
    }
    let door = scene.create(house, "Part", "Door");
    scene.set(door, "Tags", Some(&Value::Tags(vec!["Old".to_owned()]))).unwrap();
    let pointer = scene.create(workspace, "ObjectValue", "Pointer");
    let (target, id) = (scene.target(door), Value::UniqueId(UniqueId::new(7, 1, 1)));
    scene.set(pointer, "UniqueId", Some(&id)).unwrap();
    scene.set(pointer, "Value", Some(&Value::Ref(Some(target)))).unwrap();
    let script = scene.create(workspace, "Script", "Main");
    scene.set_source(script, "one\ntwo\nthree\nfour\nfive\n".to_owned());
    scene.create(workspace, "Folder", "Empty");
    scene.encode().unwrap()
}

fn at(scene: &Scene, path: &str) -> Node {
    scene.resolve(&format!("game.Workspace.{path}").parse().unwrap()).unwrap()
}

fn at_workspace(scene: &Scene) -> Node {
    scene.child(scene.root(), "Workspace").unwrap()
}

fn set(scene: &mut Scene, path: &str, property: &str, value: Value) {
    scene.set(at(scene, path), property, Some(&value)).unwrap();
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The merged place, read from its file, and what did not go together.
fn merged(ours: impl Fn(&mut Scene), theirs: impl Fn(&mut Scene)) -> (Scene, Vec<String>) {
    let mut ends = Vec::new();
    for (format, other) in [(Format::Binary, Format::Binary), (Format::Xml, Format::Binary)] {
        let base = Scene::decode(&base(format)).unwrap();
        let mut mine = Scene::decode(&self::base(format)).unwrap();
        let mut yours = Scene::decode(&self::base(format)).unwrap();
        ours(&mut mine);
        theirs(&mut yours);
        let yours = yours.converted(other).unwrap();
        let conflicts = merge(&base, &mut mine, &yours).iter().map(told).collect();
        ends.push((Scene::decode(&mine.encode().unwrap()).unwrap(), conflicts));
    }
    let (second, first) = (ends.pop().unwrap(), ends.pop().unwrap());
    assert_eq!(diff(&first.0, &second.0), []);
    assert_eq!(first.1, second.1);
    first
}

fn told(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Property { path, property, .. } => format!("{path}: {property}"),
        Conflict::Script { path, text, .. } => format!("{path}:\n{text}"),
        Conflict::Deleted { path, by_ours, .. } => {
            format!("{path}: deleted by {}", if *by_ours { "ours" } else { "theirs" })
        }
        Conflict::Moved { path, theirs, .. } => format!("{path}: is {theirs}"),
    }
}

#[test]
fn what_one_side_did_is_done() {
    let change = |scene: &mut Scene| {
        set(scene, "House.Door", "Anchored", Value::Bool(true));
        set(scene, "House.Door", "Name", string("Gate"));
        let house = at(scene, "House");
        let lamp = scene.create(house, "PointLight", "Lamp");
        scene.set(lamp, "Brightness", Some(&Value::Float32(3.0))).unwrap();
        scene.delete(at(scene, "Empty"));
        let (script, house) = (at(scene, "Main"), at(scene, "House"));
        scene.move_to(script, house, None).unwrap();
        let (lamp, pointer) = (scene.target(lamp), at(scene, "Pointer"));
        scene.set(pointer, "Value", Some(&Value::Ref(Some(lamp)))).unwrap();
    };
    let mut wanted = Scene::decode(&base(Format::Binary)).unwrap();
    change(&mut wanted);
    let nothing = |_: &mut Scene| {};
    for (ours, theirs) in [
        (&change as &dyn Fn(&mut Scene), &nothing as &dyn Fn(&mut Scene)),
        (&nothing, &change),
        (&change, &change),
    ] {
        let (scene, conflicts) = merged(ours, theirs);
        assert_eq!(conflicts, [""; 0]);
        assert_eq!(diff(&wanted, &scene), []);
    }
}

#[test]
fn what_both_sides_did_goes_together() {
    let (scene, conflicts) = merged(
        |scene| {
            set(scene, "House.Door", "Anchored", Value::Bool(true));
            set(scene, "House.Door", "@Ours", string("x"));
            set(scene, "House.Door", "Tags", Value::Tags(vec!["Old".to_owned(), "A".to_owned()]));
            scene.set_source(at(scene, "Main"), "ONE\ntwo\nthree\nfour\nfive\n".to_owned());
            scene.create(at(scene, "Empty"), "Folder", "A");
        },
        |scene| {
            set(scene, "House.Door", "Transparency", Value::Float32(0.5));
            set(scene, "House.Door", "@Theirs", string("y"));
            set(scene, "House.Door", "Tags", Value::Tags(vec!["B".to_owned()]));
            scene.set_source(at(scene, "Main"), "one\ntwo\nthree\nfour\nFIVE\n".to_owned());
            scene.create(at(scene, "Empty"), "Folder", "B");
        },
    );
    assert_eq!(conflicts, [""; 0]);
    let door = at(&scene, "House.Door");
    assert_eq!(scene.value(door, "Anchored"), Some(Value::Bool(true)));
    assert_eq!(scene.value(door, "Transparency"), Some(Value::Float32(0.5)));
    assert_eq!(scene.attribute_names(door), ["Ours", "Theirs"]);
    assert_eq!(scene.tags(door), ["A", "B"]);
    let text = scene.source(at(&scene, "Main")).unwrap();
    assert_eq!(text, "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(scene.children(at(&scene, "Empty")).len(), 2);
}

#[test]
fn what_does_not_go_together_is_said_and_ours_stays() {
    let (scene, conflicts) = merged(
        |scene| {
            set(scene, "House.Door", "Name", string("Gate"));
            scene.set_source(at(scene, "Main"), "one\nours\nthree\nfour\nfive\n".to_owned());
            set(scene, "House.Part[1]", "@N", string("ours"));
            scene.delete(at(scene, "Empty"));
            let (pointer, house) = (at(scene, "Pointer"), at(scene, "House"));
            scene.move_to(pointer, house, None).unwrap();
        },
        |scene| {
            set(scene, "House.Door", "Name", string("Tor"));
            scene.set_source(at(scene, "Main"), "one\ntheirs\nthree\nfour\nfive\n".to_owned());
            set(scene, "House.Part[1]", "@N", string("theirs"));
            scene.create(at(scene, "Empty"), "Folder", "New");
            let (pointer, script) = (at(scene, "Pointer"), at(scene, "Main"));
            scene.move_to(pointer, script, None).unwrap();
        },
    );
    let mut sorted = conflicts.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "game.Workspace.Empty.New: deleted by ours",
            "game.Workspace.House.Gate: Name",
            "game.Workspace.House.Part[1]: @N",
            "game.Workspace.House.Pointer: is game.Workspace.Main.Pointer",
            "game.Workspace.Main:\none\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\nthree\n\
             four\nfive\n",
        ]
    );
    assert_eq!(scene.source(at(&scene, "Main")).unwrap(), "one\nours\nthree\nfour\nfive\n");
}

#[test]
fn a_deletion_of_what_the_other_side_changed_waits_for_a_person() {
    let delete = |scene: &mut Scene| scene.delete(at(scene, "House"));
    let change = |scene: &mut Scene| set(scene, "House.Door", "Anchored", Value::Bool(true));
    let (scene, conflicts) = merged(change, delete);
    assert_eq!(conflicts, ["game.Workspace.House: deleted by theirs"]);
    at(&scene, "House.Door");
    let (scene, conflicts) = merged(delete, change);
    assert_eq!(conflicts, ["game.Workspace.House.Door: deleted by ours"]);
    assert_eq!(scene.count_named(at_workspace(&scene), "House"), 0);
}
