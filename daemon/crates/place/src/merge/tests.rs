//! Merges of small places: the changes of each side, the result, and the conflicts.

use rbx_types::UniqueId;
use scene_schemas::Value;
use scene_schemas::api::{ConflictChoice, HunkChoice};

use super::super::diff::diff_scenes;
use super::super::{FileFormat, Node, Scene};
use super::resolve::{hunks_of, resolved_text};
use super::{MergeConflict, OpenMerge, merge_scenes};

/// Returns the file of the common base.
fn base(format: FileFormat) -> Vec<u8> {
    let mut scene = Scene::empty(format);
    let workspace = scene.create(scene.root(), "Workspace", "Workspace");
    let house = scene.create(workspace, "Model", "House");
    for n in 0..4 {
        let part = scene.create(house, "Part", "Part");
        scene.set_property(part, "@N", Some(&Value::Float64(f64::from(n)))).unwrap();
    }
    let door = scene.create(house, "Part", "Door");
    scene.set_property(door, "Tags", Some(&Value::Tags(vec!["Old".to_owned()]))).unwrap();
    let pointer = scene.create(workspace, "ObjectValue", "Pointer");
    let (target, id) = (scene.target(door), Value::UniqueId(UniqueId::new(7, 1, 1)));
    scene.set_property(pointer, "UniqueId", Some(&id)).unwrap();
    scene.set_property(pointer, "Value", Some(&Value::Ref(Some(target)))).unwrap();
    let script = scene.create(workspace, "Script", "Main");
    scene.set_source(script, "one\ntwo\nthree\nfour\nfive\n".to_owned());
    scene.create(workspace, "Folder", "Empty");
    scene.encode().unwrap()
}

fn at(scene: &Scene, path: &str) -> Node {
    scene.resolve(&format!("game.Workspace.{path}").parse().unwrap()).unwrap()
}

fn at_workspace(scene: &Scene) -> Node {
    scene.find_child(scene.root(), "Workspace").unwrap()
}

fn set(scene: &mut Scene, path: &str, property: &str, value: Value) {
    scene.set_property(at(scene, path), property, Some(&value)).unwrap();
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Returns the merged place, reread from its file, and the conflicts.
fn merged(ours: impl Fn(&mut Scene), theirs: impl Fn(&mut Scene)) -> (Scene, Vec<String>) {
    let mut ends = Vec::new();
    for (format, other) in
        [(FileFormat::Binary, FileFormat::Binary), (FileFormat::Xml, FileFormat::Binary)]
    {
        let base = Scene::decode(&base(format)).unwrap();
        let mut mine = Scene::decode(&self::base(format)).unwrap();
        let mut yours = Scene::decode(&self::base(format)).unwrap();
        ours(&mut mine);
        theirs(&mut yours);
        let yours = yours.convert_to(other).unwrap();
        let conflicts = merge_scenes(&base, &mut mine, &yours).iter().map(told).collect();
        ends.push((Scene::decode(&mine.encode().unwrap()).unwrap(), conflicts));
    }
    let (second, first) = (ends.pop().unwrap(), ends.pop().unwrap());
    assert_eq!(diff_scenes(&first.0, &second.0), []);
    assert_eq!(first.1, second.1);
    first
}

fn told(conflict: &MergeConflict) -> String {
    match conflict {
        MergeConflict::Property { path, property, .. } => format!("{path}: {property}"),
        MergeConflict::Script { path, text, .. } => format!("{path}:\n{text}"),
        MergeConflict::Deleted { path, is_deleted_by_ours: by_ours, .. } => {
            format!("{path}: deleted by {}", if *by_ours { "ours" } else { "theirs" })
        }
        MergeConflict::Moved { path, theirs, .. } => format!("{path}: is {theirs}"),
    }
}

#[test]
fn changes_of_one_side_are_applied() {
    let change = |scene: &mut Scene| {
        set(scene, "House.Door", "Anchored", Value::Bool(true));
        set(scene, "House.Door", "Name", string("Gate"));
        let house = at(scene, "House");
        let lamp = scene.create(house, "PointLight", "Lamp");
        scene.set_property(lamp, "Brightness", Some(&Value::Float32(3.0))).unwrap();
        scene.delete(at(scene, "Empty"));
        let (script, house) = (at(scene, "Main"), at(scene, "House"));
        scene.move_to(script, house, None).unwrap();
        let (lamp, pointer) = (scene.target(lamp), at(scene, "Pointer"));
        scene.set_property(pointer, "Value", Some(&Value::Ref(Some(lamp)))).unwrap();
    };
    let mut wanted = Scene::decode(&base(FileFormat::Binary)).unwrap();
    change(&mut wanted);
    let nothing = |_: &mut Scene| {};
    for (ours, theirs) in [
        (&change as &dyn Fn(&mut Scene), &nothing as &dyn Fn(&mut Scene)),
        (&nothing, &change),
        (&change, &change),
    ] {
        let (scene, conflicts) = merged(ours, theirs);
        assert_eq!(conflicts, [""; 0]);
        assert_eq!(diff_scenes(&wanted, &scene), []);
    }
}

#[test]
fn added_instances_keep_their_properties() {
    // Files number instances by class, so these are not numbered in tree order.
    let add = |scene: &mut Scene| {
        let workspace = at_workspace(scene);
        for (model, at) in [("M1", 11.0), ("M2", 12.0)] {
            let model = scene.create(workspace, "Model", model);
            let part = scene.create(model, "Part", "P");
            scene.set_property(part, "Transparency", Some(&Value::Float32(at / 100.0))).unwrap();
            scene.set_property(part, "Anchored", Some(&Value::Bool(true))).unwrap();
        }
        let written = scene.encode().unwrap();
        *scene = Scene::decode(&written).unwrap();
    };
    let mut wanted = Scene::decode(&base(FileFormat::Binary)).unwrap();
    add(&mut wanted);
    let (scene, conflicts) = merged(|_| {}, add);
    assert_eq!(conflicts, [""; 0]);
    assert_eq!(diff_scenes(&wanted, &scene), []);
}

#[test]
fn sibling_order_follows_the_side_that_changed_it() {
    let names = |scene: &Scene| -> Vec<String> {
        let house = at(scene, "House");
        scene.children(house).map(|child| scene.name(child).to_owned()).collect()
    };
    let first = |scene: &mut Scene| {
        let (door, house) = (at(scene, "House.Door"), at(scene, "House"));
        scene.move_to(door, house, Some(0)).unwrap();
    };
    let add = |scene: &mut Scene| {
        scene.create(at(scene, "House"), "Folder", "New");
    };
    for (ours, theirs) in [
        (&first as &dyn Fn(&mut Scene), &(|_: &mut Scene| {}) as &dyn Fn(&mut Scene)),
        (&|_: &mut Scene| {}, &first),
        (&first, &first),
    ] {
        let (scene, conflicts) = merged(ours, theirs);
        assert_eq!(conflicts, [""; 0]);
        assert_eq!(names(&scene), ["Door", "Part", "Part", "Part", "Part"]);
    }
    let (scene, conflicts) = merged(first, add);
    assert_eq!(conflicts, [""; 0]);
    assert_eq!(names(&scene), ["Door", "Part", "Part", "Part", "Part", "New"]);
}

#[test]
fn move_of_a_deleted_instance_is_a_conflict() {
    let give_id = |scene: &mut Scene| {
        let id = Value::UniqueId(UniqueId::new(9, 1, 1));
        let door = at(scene, "House.Door");
        scene.set_property(door, "UniqueId", Some(&id)).unwrap();
    };
    let mut start = Scene::decode(&base(FileFormat::Binary)).unwrap();
    give_id(&mut start);
    let file = start.encode().unwrap();
    for doomed in ["House.Door", "House"] {
        let place = || Scene::decode(&file).unwrap();
        let (mut mover, mut deleter) = (place(), place());
        let (door, workspace) = (at(&mover, "House.Door"), at_workspace(&mover));
        mover.move_to(door, workspace, None).unwrap();
        let gone = at(&deleter, doomed);
        deleter.delete(gone);
        for (ours, theirs) in [(&mover, &deleter), (&deleter, &mover)] {
            let written = |scene: &Scene| scene.convert_to(FileFormat::Binary).unwrap();
            let (mut ours, theirs) = (written(ours), written(theirs));
            let conflicts = merge_scenes(&start, &mut ours, &theirs);
            assert_eq!(conflicts.len(), 1, "{doomed}: {conflicts:?}");
            assert!(told(&conflicts[0]).contains("Door: deleted by"), "{}", told(&conflicts[0]));
        }
    }
}

#[test]
fn compatible_changes_of_both_sides_are_combined() {
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
    let text = scene.script_text(at(&scene, "Main")).unwrap();
    assert_eq!(text, "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(scene.children(at(&scene, "Empty")).len(), 2);
}

#[test]
fn incompatible_changes_are_conflicts_and_ours_is_kept() {
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
    assert_eq!(scene.script_text(at(&scene, "Main")).unwrap(), "one\nours\nthree\nfour\nfive\n");
}

#[test]
fn deletion_of_a_changed_instance_is_a_conflict() {
    let delete = |scene: &mut Scene| scene.delete(at(scene, "House"));
    let change = |scene: &mut Scene| set(scene, "House.Door", "Anchored", Value::Bool(true));
    let (scene, conflicts) = merged(change, delete);
    assert_eq!(conflicts, ["game.Workspace.House: deleted by theirs"]);
    at(&scene, "House.Door");
    let (scene, conflicts) = merged(delete, change);
    assert_eq!(conflicts, ["game.Workspace.House.Door: deleted by ours"]);
    assert_eq!(scene.count_named(at_workspace(&scene), "House"), 0);
}

#[test]
fn resolving_all_conflicts_for_one_side_yields_that_side() {
    let read = |format| {
        let mut scene = Scene::decode(&base(format)).unwrap();
        scene.create(at_workspace(&scene), "Folder", "Spare");
        scene
    };
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let base = read(format);
        let change = |n: f32, script: &str, parent: &str| {
            let mut scene = read(format);
            set(&mut scene, "House.Door", "Transparency", Value::Float32(n));
            set(&mut scene, "House.Door", "@Key", Value::Float32(n));
            scene.set_source(at(&scene, "Main"), script.to_owned());
            // It has a unique id, so it is paired even after a move.
            let (pointer, into) = (at(&scene, "Pointer"), at(&scene, parent));
            scene.move_to(pointer, into, None).unwrap();
            scene
        };
        let (mut ours, mut theirs) =
            (change(0.25, "1\ntwo\n3\n", "House"), change(0.5, "eins\ntwo\ndrei\n", "House.Door"));
        ours.delete(at(&ours, "Empty"));
        let folder = theirs.create(at(&theirs, "Empty"), "Folder", "A");
        let inner = theirs.create(folder, "ObjectValue", "B");
        let to = theirs.target(folder);
        theirs.set_property(inner, "Value", Some(&Value::Ref(Some(to)))).unwrap();
        set(&mut ours, "Spare", "@Used", Value::Bool(true));
        theirs.delete(at(&theirs, "Spare"));
        let files = [ours.encode().unwrap(), theirs.encode().unwrap()];
        let sides = [(ConflictChoice::Ours, &files[0]), (ConflictChoice::Theirs, &files[1])];
        for (choice, wanted) in sides {
            let mut result = Scene::decode(&files[0]).unwrap();
            let theirs = Scene::decode(&files[1]).unwrap();
            let mut open = OpenMerge::new(&base, &mut result, &theirs);
            let kinds = |it: &dyn Fn(&MergeConflict) -> bool| {
                open.conflicts().iter().filter(|c| it(c)).count()
            };
            assert_eq!(kinds(&|it| matches!(it, MergeConflict::Property { .. })), 2);
            assert_eq!(kinds(&|it| matches!(it, MergeConflict::Script { .. })), 1);
            assert_eq!(kinds(&|it| matches!(it, MergeConflict::Moved { .. })), 1);
            assert_eq!(
                kinds(&|it| matches!(it, MergeConflict::Deleted { is_deleted_by_ours: true, .. })),
                1
            );
            assert_eq!(
                kinds(&|it| matches!(it, MergeConflict::Deleted { is_deleted_by_ours: false, .. })),
                1
            );
            for at in 0..open.conflicts().len() {
                open.apply_choice(&mut result, at, &choice).unwrap();
            }
            let result = Scene::decode(&result.encode().unwrap()).unwrap();
            let wanted = Scene::decode(wanted).unwrap();
            assert_eq!(diff_scenes(&wanted, &result), [], "{choice:?}");
        }
    }
}

/// Builds two folders and two references, each with a unique id.
fn linked_place() -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let workspace = scene.create(scene.root(), "Workspace", "Workspace");
    let all = [("Folder", "A"), ("Folder", "B"), ("ObjectValue", "O"), ("Model", "M")];
    for (n, (class, name)) in (1_u32..).zip(all) {
        let node = scene.create(workspace, class, name);
        let id = Value::UniqueId(UniqueId::new(n, 3, i64::from(n)));
        scene.set_property(node, "UniqueId", Some(&id)).unwrap();
    }
    scene
}

fn point(scene: &mut Scene, holder: &str, property: &str, to: &str) {
    let target = scene.target(at(scene, to));
    set(scene, holder, property, Value::Ref(Some(target)));
}

fn delete_at(scene: &mut Scene, path: &str) {
    let node = at(scene, path);
    scene.delete(node);
}

fn move_at(scene: &mut Scene, path: &str, into: &str) {
    let (node, into) = (at(scene, path), at(scene, into));
    scene.move_to(node, into, None).unwrap();
}

/// Merges changes of the linked place. Returns the conflicts, and the places with all conflicts
/// decided for ours and for theirs.
fn decided(files: [&[u8]; 3]) -> (Vec<String>, [Scene; 2]) {
    let [base, theirs] = [files[0], files[2]].map(|file| Scene::decode(file).unwrap());
    let mut told_of = Vec::new();
    let ends = [ConflictChoice::Ours, ConflictChoice::Theirs].map(|choice| {
        let mut result = Scene::decode(files[1]).unwrap();
        let mut open = OpenMerge::new(&base, &mut result, &theirs);
        told_of = open.conflicts().iter().map(told).collect();
        for at in 0..open.conflicts().len() {
            open.apply_choice(&mut result, at, &choice).unwrap();
        }
        Scene::decode(&result.encode().unwrap()).unwrap()
    });
    (told_of, ends)
}

/// Returns the conflicts of two changes, and asserts that deciding them all for a side gives that
/// side.
#[track_caller]
fn opposed(
    prepare: impl Fn(&mut Scene),
    ours: impl Fn(&mut Scene),
    theirs: impl Fn(&mut Scene),
) -> Vec<String> {
    let mut base = linked_place();
    prepare(&mut base);
    let base = base.encode().unwrap();
    let (mut mine, mut yours) = (Scene::decode(&base).unwrap(), Scene::decode(&base).unwrap());
    ours(&mut mine);
    theirs(&mut yours);
    let files = [mine.encode().unwrap(), yours.encode().unwrap()];
    let (told_of, ends) = decided([&base, &files[0], &files[1]]);
    for (end, wanted) in ends.iter().zip(&files).filter(|_| !told_of.is_empty()) {
        assert_eq!(diff_scenes(&Scene::decode(wanted).unwrap(), end), [], "{told_of:?}");
    }
    told_of
}

#[test]
fn reference_to_a_deleted_instance_is_a_conflict() {
    for (holder, property) in [("O", "Value"), ("M", "PrimaryPart")] {
        let refer = |scene: &mut Scene| point(scene, holder, property, "A");
        let delete = |scene: &mut Scene| delete_at(scene, "A");
        let away = |scene: &mut Scene| point(scene, holder, property, "B");
        for prepare in [&(|_: &mut Scene| {}) as &dyn Fn(&mut Scene), &away] {
            let told = opposed(prepare, refer, delete);
            assert_eq!(told, ["game.Workspace.A: deleted by theirs"]);
            let told = opposed(prepare, delete, refer);
            assert_eq!(told, ["game.Workspace.A: deleted by ours"]);
        }
    }
}

#[test]
fn new_instance_referencing_a_deleted_one_is_a_conflict() {
    let add = |scene: &mut Scene| {
        let new = scene.create(at_workspace(scene), "ObjectValue", "New");
        let target = scene.target(at(scene, "A"));
        scene.set_property(new, "Value", Some(&Value::Ref(Some(target)))).unwrap();
    };
    let delete = |scene: &mut Scene| delete_at(scene, "A");
    // The instance that theirs added is kept in any case; its reference is empty if A stays
    // deleted.
    let file = linked_place().encode().unwrap();
    let place = || Scene::decode(&file).unwrap();
    let (base, mut ours, mut theirs) = (place(), place(), place());
    delete(&mut ours);
    add(&mut theirs);
    let mut turned = Scene::decode(&theirs.encode().unwrap()).unwrap();
    let told_of: Vec<_> = merge_scenes(&base, &mut turned, &ours).iter().map(told).collect();
    assert_eq!(told_of, ["game.Workspace.A: deleted by theirs"]);
    let mut open = OpenMerge::new(&base, &mut ours, &theirs);
    assert_eq!(open.conflicts().len(), 1, "{:?}", open.conflicts());
    open.apply_choice(&mut ours, 0, &ConflictChoice::Theirs).unwrap();
    let (new, a) = (at(&ours, "New"), at(&ours, "A"));
    assert_eq!(ours.value(new, "Value"), Some(Value::Ref(Some(ours.target(a)))));
}

#[test]
fn unchanged_reference_is_not_a_conflict() {
    let linked = |scene: &mut Scene| point(scene, "O", "Value", "A");
    let delete = |scene: &mut Scene| delete_at(scene, "A");
    let delete_both = |scene: &mut Scene| {
        delete_at(scene, "A");
        delete_at(scene, "O");
    };
    let other = |scene: &mut Scene| set(scene, "B", "@N", Value::Bool(true));
    for (ours, theirs) in [
        (&delete as &dyn Fn(&mut Scene), &other as &dyn Fn(&mut Scene)),
        (&other, &delete),
        (&delete_both, &other),
        (&other, &delete_both),
        (&delete, &delete_both),
        (&delete_both, &delete),
    ] {
        assert_eq!(opposed(linked, ours, theirs), [""; 0]);
    }
    let set_elsewhere = |scene: &mut Scene| set(scene, "O", "@N", Value::Bool(true));
    assert_eq!(opposed(linked, set_elsewhere, delete), [""; 0]);
    assert_eq!(opposed(linked, delete, set_elsewhere), [""; 0]);
}

#[test]
fn deleted_holder_and_target_are_restored_together() {
    let refer = |scene: &mut Scene| point(scene, "O", "Value", "A");
    let delete_both = |scene: &mut Scene| {
        delete_at(scene, "A");
        delete_at(scene, "O");
    };
    for told in [opposed(|_| {}, refer, delete_both), opposed(|_| {}, delete_both, refer)] {
        assert_eq!(told.len(), 2, "{told:?}");
    }
}

#[test]
fn move_into_a_deleted_instance_is_a_conflict() {
    let enter = |scene: &mut Scene| move_at(scene, "B", "A");
    let delete = |scene: &mut Scene| delete_at(scene, "A");
    assert_eq!(opposed(|_| {}, delete, enter), ["game.Workspace.A: deleted by ours"]);
    assert_eq!(opposed(|_| {}, enter, delete), ["game.Workspace.A: deleted by theirs"]);
    let elsewhere = |scene: &mut Scene| {
        delete_at(scene, "A");
        move_at(scene, "B", "M");
    };
    let told = opposed(|_| {}, elsewhere, enter);
    assert_eq!(told, ["game.Workspace.M.B: is game.Workspace.A.B"]);
}

#[test]
fn either_choice_for_a_move_cycle_yields_a_tree() {
    let first = |scene: &mut Scene| move_at(scene, "B", "A");
    let second = |scene: &mut Scene| move_at(scene, "A", "B");
    assert_eq!(opposed(|_| {}, first, second), ["game.Workspace.A: is game.Workspace.B.A"]);
    // A longer cycle: A in B in M, and M in A.
    let chain = |scene: &mut Scene| {
        move_at(scene, "B", "M");
        move_at(scene, "A", "M.B");
    };
    let (base, mut long, mut short) = (linked_place(), linked_place(), linked_place());
    chain(&mut long);
    move_at(&mut short, "M", "A");
    let [base, long, short] = [base, long, short].map(|mut scene| scene.encode().unwrap());
    let (told_of, ends) = decided([&base, &long, &short]);
    assert_eq!(told_of, ["game.Workspace.M: is game.Workspace.A.M"]);
    at(&ends[0], "M.B.A");
    at(&ends[1], "A.M.B");
    let (told_of, ends) = decided([&base, &short, &long]);
    assert_eq!(told_of.len(), 1, "{told_of:?}");
    at(&ends[0], "A.M.B");
    at(&ends[1], "M.B.A");
}

#[test]
fn script_hunks_are_resolved_one_by_one() {
    let parts =
        vector_text_edit::merge_parts("1\n2\n3\n4\n5\n", "a\n2\n3\n4\nb\n", "x\n2\n3\n4\ny\n");
    let text = |choices: &[HunkChoice]| resolved_text(&parts, choices);
    assert_eq!(hunks_of(&parts).count(), 2);
    assert_eq!(text(&[HunkChoice::Theirs, HunkChoice::Ours]), "x\n2\n3\n4\nb\n");
    assert_eq!(text(&[HunkChoice::Both]), "a\nx\n2\n3\n4\nb\n");
    assert_eq!(
        text(&[HunkChoice::Edited("z\n".to_owned()), HunkChoice::Theirs]),
        "z\n2\n3\n4\ny\n"
    );
}
