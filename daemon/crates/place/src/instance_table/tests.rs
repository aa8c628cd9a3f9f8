//! Bulk changes against the same changes made one by one.

use random_draws::{RandomDraws, check_seeds};
use rbx_types::{CFrame, Color3, Color3uint8, Matrix3, PhysicalProperties, UniqueId, Vector3};

use super::*;
use crate::FileFormat;
use std::collections::BTreeMap;

const NAMES: [&str; 3] = ["Part", "Wall", "My Part"];
const CLASSES: [&str; 6] = ["Folder", "Part", "MeshPart", "Model", "Script", "Frame"];

fn draw_value(property: &str, draws: &mut RandomDraws) -> Option<Value> {
    let number = draws.below(3) as f32;
    if draws.below(8) == 0 {
        return None;
    }
    Some(match property {
        "Anchored" => Value::Bool(draws.below(2) == 0),
        "Transparency" => Value::Float32([0.0, -0.0, 0.5][draws.below(3)]),
        "Color" => Value::Color3(Color3uint8::new(draws.below(3) as u8, 163, 162).into()),
        "CustomPhysicalProperties" => Value::PhysicalProperties(PhysicalProperties::Default),
        "BackgroundColor3" => Value::Color3(Color3::new(number, 0.5, 0.25)),
        "Name" => Value::String(NAMES[draws.below(NAMES.len())].to_owned()),
        "Size" => Value::Vector3(Vector3::new(number, 1.2, 2.0)),
        _ => Value::CFrame(CFrame::new(Vector3::new(number, 0.0, 1.5), Matrix3::identity())),
    })
}

const PROPERTIES: [&str; 8] = [
    "Anchored",
    "BackgroundColor3",
    "CFrame",
    "Color",
    "CustomPhysicalProperties",
    "Name",
    "Size",
    "Transparency",
];

fn has(class: &str, property: &str) -> bool {
    property == "Name" || reflection::property_access(class, property).is_some()
}

fn draw_props(class: &str, draws: &mut RandomDraws) -> Props {
    let wanted = PROPERTIES.iter().filter(|it| has(class, it) && **it != "Name");
    let mut props = Props::new();
    for property in wanted {
        if draws.below(3) == 0 {
            props.insert((*property).to_owned(), draw_value(property, draws));
        }
    }
    if draws.below(20) == 0 {
        props.insert(
            "Name".to_owned(),
            draw_value("Name", draws).or(Some(Value::String("It".into()))),
        );
    }
    props
}

fn edit(scene: &mut Scene, draws: &mut RandomDraws) {
    let all: Vec<Node> = scene.descendants(scene.root()).collect();
    let node = all.get(draws.below(all.len().max(1))).copied().unwrap_or(scene.root());
    let (class, name) = (CLASSES[draws.below(CLASSES.len())], NAMES[draws.below(NAMES.len())]);
    match draws.below(12) {
        0..=4 => drop(scene.create(node, class, name)),
        5 => drop(scene.create(scene.root(), class, name)),
        6 if node != scene.root() => scene.delete(node),
        7 if node != scene.root() => scene.rename(node, name),
        8 => drop(scene.move_to(node, all.first().copied().unwrap_or(node), None)),
        9 if node != scene.root() => {
            let id = UniqueId::new(draws.below(9) as u32, 1, 2);
            scene.set_property(node, "UniqueId", Some(&Value::UniqueId(id))).unwrap();
        }
        _ if node != scene.root() => {
            let class = scene.class(node).to_owned();
            for (property, value) in draw_props(&class, draws) {
                if value.is_some() {
                    scene.set_property(node, &property, value.as_ref()).unwrap();
                }
            }
        }
        _ => {}
    }
}

/// A scene as read from a file, and sometimes edited since.
fn draw_scene(draws: &mut RandomDraws) -> Scene {
    let format = [FileFormat::Binary, FileFormat::Xml][draws.below(2)];
    let mut scene = Scene::empty(format);
    for _ in 0..60 {
        edit(&mut scene, draws);
    }
    let mut scene = Scene::decode(&scene.encode().unwrap()).unwrap();
    for _ in 0..draws.below(3) * 4 {
        edit(&mut scene, draws);
    }
    scene
}

/// Draws the values for each class, and some instances.
fn draw_change(scene: &Scene, draws: &mut RandomDraws) -> (BTreeMap<String, Props>, Vec<Node>) {
    let mut props: BTreeMap<String, Props> = BTreeMap::new();
    for class in CLASSES {
        let drawn = draw_props(class, draws);
        // Two classes often get the same values.
        let same = props.get("Part").filter(|it| it.keys().all(|name| has(class, name))).cloned();
        props.insert(class.to_owned(), same.filter(|_| draws.below(2) == 0).unwrap_or(drawn));
    }
    let most = draws.below(4) > 0;
    let all = scene.descendants(scene.root());
    (props, all.filter(|_| most || draws.below(2) == 0).collect())
}

/// Sets an instance's values as a single command does. Returns whether any changed.
fn set_one(scene: &mut Scene, node: Node, props: &Props) -> bool {
    let mut props = props.clone();
    props.retain(|name, value| scene.value(node, name) != *value || value.is_none());
    props.retain(|name, value| value.is_some() || scene.stored_value(node, name).is_some());
    for (property, value) in &props {
        scene.set_property(node, property, value.as_ref()).unwrap();
    }
    !props.is_empty()
}

#[test]
fn bulk_changes_equal_single_changes_and_can_be_reverted() {
    check_seeds(0..400, |draws| {
        let seed = draws.below(1 << 30) as u64;
        let [mut bulk, mut single] =
            [(); 2].map(|()| draw_scene(&mut RandomDraws::from_seed(seed)));
        let (props, nodes) = draw_change(&bulk, draws);
        let changed = nodes
            .iter()
            .filter(|node| {
                let class = single.class(**node).to_owned();
                set_one(&mut single, **node, &props[&class])
            })
            .count();
        let SetGroups { groups, rest, unchanged } =
            bulk.group_sets(&nodes, &props, 1 + draws.below(4));
        let before = bulk.encode().unwrap();
        let mark = bulk.journal_mark();
        let mut count = 0;
        for group in &groups {
            assert_eq!(bulk.locate_rows(&group.table).unwrap(), group.nodes);
            bulk.check_listed_values(&group.table, &group.nodes).unwrap();
            for (row, node) in group.nodes.iter().enumerate() {
                assert_eq!(group.table.path(row), bulk.path(*node));
                assert_eq!(group.table.class(row), bulk.class(*node));
                for property in group.props.keys() {
                    let listed = group.table.value(row, property);
                    assert_eq!(listed, bulk.value(*node, property), "{property}");
                }
            }
            bulk.set_values(&group.nodes, &group.props).unwrap();
            bulk.check_values(&group.table, &group.nodes, &group.props).unwrap();
            count += group.nodes.len();
            let parents = group.nodes.iter().map(|node| bulk.parent(*node).unwrap());
            let common = bulk.common_ancestor(&group.nodes);
            assert!(parents.clone().all(|it| bulk.is_within(it, common)));
            let is_common = |below: Node| parents.clone().all(|it| bulk.is_within(it, below));
            assert!(!bulk.children(common).any(is_common));
        }
        let after_groups = bulk.journal_mark();
        for node in &rest {
            let class = bulk.class(*node).to_owned();
            count += usize::from(set_one(&mut bulk, *node, &props[&class]));
        }
        assert_eq!(bulk.encode().unwrap(), single.encode().unwrap());
        assert_eq!(count, changed);
        assert!(unchanged <= nodes.len() - changed);
        bulk.rollback(after_groups);
        for group in groups.iter().rev() {
            bulk.restore_listed_values(&group.table, &group.nodes).unwrap();
            bulk.check_listed_values(&group.table, &group.nodes).unwrap();
        }
        assert_eq!(bulk.encode().unwrap(), before);
        bulk.rollback(mark);
        assert_eq!(bulk.encode().unwrap(), before);
    });
}

/// Draws a table of a scene; None if no instance can be listed.
fn draw_table(scene: &Scene, draws: &mut RandomDraws) -> Option<SetGroup> {
    let (props, nodes) = draw_change(scene, draws);
    scene.group_sets(&nodes, &props, 1).groups.into_iter().max_by_key(|it| it.nodes.len())
}

/// Checks that a change of another property changes the identity of instances that have no ids.
fn check_identity(read: &Scene, table: &InstanceTable, nodes: &[Node], draws: &mut RandomDraws) {
    let row = draws.below(nodes.len());
    let has_id = matches!(
        read.stored_value(nodes[row], "UniqueId"),
        Some(Value::UniqueId(id)) if !id.is_nil()
    );
    let mut changed = Scene::decode(read.file.bytes()).unwrap();
    let value = Value::Int32(draws.below(1000) as i32 + 7);
    let is_set = changed.set_property(nodes[row], "CollisionGroupId", Some(&value)).is_ok();
    if !is_set || !has(read.class(nodes[row]), "CollisionGroupId") {
        return;
    }
    let is_told = table.ambiguous_rows()[row] && !has_id;
    let [before, after] = [read, &changed].map(|scene| scene.identify_rows(table, nodes));
    assert_eq!(before != after, is_told);
}

#[test]
fn tables_find_their_instances_exactly_where_single_targets_do() {
    check_seeds(0..400, |draws| {
        let mut scene = draw_scene(draws);
        let Some(SetGroup { nodes, table, .. }) = draw_table(&scene, draws) else {
            return;
        };
        let targets: Vec<Target> = nodes.iter().map(|node| scene.target(*node)).collect();
        let classes: Vec<String> = nodes.iter().map(|it| scene.class(*it).to_owned()).collect();
        for _ in 0..draws.below(4) {
            edit(&mut scene, draws);
        }
        let there: Result<Vec<Node>, Refusal> =
            targets.iter().map(|target| scene.locate(target)).collect();
        let rows = scene.locate_rows(&table);
        assert_eq!(rows.is_ok(), there.is_ok(), "{rows:?} {there:?}");
        if let (Ok(rows), Ok(there)) = (rows, there) {
            assert_eq!(rows, there);
        }
        // In another reading of the file, instances are found by their paths.
        let read = Scene::decode(&scene.encode().unwrap()).unwrap();
        let by_path = |(target, class): (&Target, &String)| {
            let node = read.resolve(&target.path).ok()?;
            (read.path(node) == target.path && read.class(node) == class).then_some(node)
        };
        let expected: Option<Vec<Node>> = targets.iter().zip(&classes).map(by_path).collect();
        let found = read.relocate_table(&table).map(|it| it.unwrap_or_else(|| table.clone()));
        // The classes of ancestors are compared too.
        if let Ok(found) = &found {
            let nodes = read.locate_rows(found).unwrap();
            if let Ok(there) = scene.locate_rows(&table) {
                let identity = scene.identify_rows(&table, &there);
                assert_eq!(read.identify_rows(found, &nodes), identity);
                check_identity(&read, found, &nodes, draws);
            }
            assert_eq!(Some(&nodes), expected.as_ref());
            assert!(read.relocate_table(found).unwrap().is_none());
        } else {
            let reason = found.unwrap_err().0;
            assert!(expected.is_none() || reason.contains("has changed"), "{reason}");
        }
    });
}

#[test]
fn tables_survive_encoding_and_damage_is_noticed() {
    check_seeds(0..200, |draws| {
        let scene = draw_scene(draws);
        let Some(SetGroup { nodes, props, table }) = draw_table(&scene, draws) else {
            return;
        };
        let bytes = table.encode();
        let decoded = InstanceTable::decode(&bytes).unwrap();
        assert_eq!(decoded.encode(), bytes);
        assert_eq!(scene.locate_rows(&decoded).unwrap(), nodes);
        for row in 0..table.len() {
            assert_eq!(decoded.path(row), table.path(row));
            for property in props.keys() {
                assert_eq!(decoded.value(row, property), table.value(row, property));
            }
        }
        let rows: Vec<u32> = (0..table.len() as u32).filter(|_| draws.below(3) > 0).collect();
        let some = table.select_rows(&rows);
        let selected: Vec<Node> = rows.iter().map(|row| nodes[*row as usize]).collect();
        assert_eq!(scene.locate_rows(&some).unwrap(), selected);
        scene.check_listed_values(&some, &selected).unwrap();
        for len in 0..bytes.len() {
            assert!(InstanceTable::decode(&bytes[..len]).is_none(), "cut at {len}");
        }
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            let at = draws.below(damaged.len());
            damaged[at] ^= 1 << draws.below(8);
            if let Some(table) = InstanceTable::decode(&damaged) {
                // Whatever it lists, it is found where it is, or refused.
                if let Ok(nodes) = scene.locate_rows(&table) {
                    let _ = scene.check_listed_values(&table, &nodes);
                }
                let _ = scene.relocate_table(&table);
                (0..table.len()).for_each(|row| drop(table.path(row)));
            }
        }
    });
}

#[test]
fn instances_of_one_name_are_told_apart_by_their_unique_ids() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let model = scene.create(scene.root(), "Model", "Model");
    for n in 0..4 {
        let part = scene.create(model, "Part", "Part");
        let id = UniqueId::new(if n < 3 { n } else { 0 }, 7, 7 * i64::from(n.min(3) % 3));
        let id = Value::UniqueId(id);
        scene.set_property(part, "UniqueId", Some(&id)).unwrap();
    }
    let read = |scene: &mut Scene| Scene::decode(&scene.encode().unwrap()).unwrap();
    let scene = read(&mut scene);
    let parts: Vec<Node> = scene.descendants(scene.root()).skip(1).collect();
    let props = Props::from([("Anchored".to_owned(), Some(Value::Bool(true)))]);
    let props = BTreeMap::from([("Part".to_owned(), props)]);
    let table = &scene.group_sets(&parts[1..3], &props, 1).groups[0].table;
    let identity = |scene: &Scene| {
        let found = scene.relocate_table(table).unwrap();
        let nodes = scene.locate_rows(found.as_ref().unwrap_or(table)).unwrap();
        scene.identify_rows(table, &nodes)
    };
    let before = identity(&scene);
    assert!(before.is_some());
    let mut swapped = read(&mut Scene::decode(scene.file.bytes()).unwrap());
    let parts: Vec<Node> = swapped.descendants(swapped.root()).skip(1).collect();
    swapped.move_to(parts[1], swapped.parent(parts[1]).unwrap(), None).unwrap();
    assert_ne!(identity(&read(&mut swapped)), before, "another part has the path now");
    let mut changed = Scene::decode(scene.file.bytes()).unwrap();
    let parts: Vec<Node> = changed.descendants(changed.root()).skip(1).collect();
    let size = Value::Vector3(Vector3::new(9.0, 9.0, 9.0));
    changed.set_property(parts[1], "Size", Some(&size)).unwrap();
    assert_eq!(identity(&read(&mut changed)), before, "it is still the same part");
}
