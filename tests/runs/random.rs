//! Scripts by chance: the proposal makes what the script made, whatever was created, copied, moved and
//! deleted in which order.

use std::collections::HashSet;
use std::fmt::Write as _;

use random_draws::{RandomDraws, check_seeds};
use scene_schemas::Value;
use vector_place::{FileFormat, Scene};

use super::authoring::check;

const NAMES: [&str; 3] = ["A", "B", "C"];
const CLASSES: [&str; 5] = ["Part", "Part", "Model", "Folder", "ObjectValue"];

/// A place with instances of few names and classes.
fn draw_place(draws: &mut RandomDraws) -> Scene {
    let mut scene = Scene::empty(draws.pick(&[FileFormat::Binary, FileFormat::Xml]));
    let root = scene.root();
    let mut parents = vec![
        scene.create(root, "Workspace", "Workspace"),
        scene.create(root, "ServerStorage", "ServerStorage"),
    ];
    for index in 0..draws.below(12) {
        let node = scene.create(draws.pick(&parents), draws.pick(&CLASSES), draws.pick(&NAMES));
        let number = Value::Float64(index as f64);
        scene.set_property(node, "@Number", Some(&number)).unwrap();
        parents.push(node);
    }
    let encoded = scene.encode().unwrap();
    Scene::decode(&encoded).unwrap()
}

/// A statement about instances by their numbers. Impossible ones raise an error, which is caught.
fn draw_statement(draws: &mut RandomDraws) -> String {
    let name = draws.pick(&NAMES);
    let mut it = || format!("at({})", draws.below(16));
    let (it, other) = (it(), it());
    let parent = match draws.below(8) {
        0 => "nil".to_owned(),
        1 => "workspace".to_owned(),
        2 => "game.ServerStorage".to_owned(),
        _ => other.clone(),
    };
    match draws.below(14) {
        0 | 1 => {
            let class = draws.pick(&CLASSES);
            format!(
                "local it = Instance.new('{class}') it.Name = '{name}' add(it) it.Parent = {parent}"
            )
        }
        2 | 3 => format!("local it = {it}:Clone() addAll(it) it.Parent = {parent}"),
        4..=6 => format!("{it}.Parent = {parent}"),
        7 => format!("{it}:Destroy()"),
        8 => format!("{it}.Name = '{name}'"),
        9 => format!("{it}.Value = {other}"),
        10 => format!("{it}.Transparency = {}", draws.below(3) as f32 / 2.0),
        11 => format!("{it}:SetAttribute('{name}', {})", draws.pick(&["nil", "1", "true", "'x'"])),
        12 => format!("{it}:AddTag('{name}')"),
        _ => format!("{it}:ClearAllChildren()"),
    }
}

fn draw_script(draws: &mut RandomDraws) -> String {
    let mut script = "
local all = {}
local function add(it)
    table.insert(all, it)
    it:SetAttribute('Made', #all)
end
local function addAll(it)
    add(it)
    for _, below in it:GetDescendants() do
        add(below)
    end
end
for _, service in { workspace, game.ServerStorage } do
    for _, it in service:GetDescendants() do
        table.insert(all, it)
    end
end
local function at(number)
    return all[number % math.max(#all, 1) + 1]
end
"
    .to_owned();
    for _ in 0..=draws.below(14) {
        let _ = writeln!(script, "pcall(function() {} end)", draw_statement(draws));
    }
    script
}

#[test]
fn random_scripts_make_what_their_proposals_make() {
    check_seeds(0..600, |draws| {
        let scene = draw_place(draws);
        let script = draw_script(draws);
        check(&scene, "random", &script, &script, &HashSet::new());
    });
}
