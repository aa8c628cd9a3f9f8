//! Matches of selectors on a small place, and refused selectors.

use scene_schemas::Value;
use scene_schemas::value::{EnumItem, EnumName};

use super::*;
use crate::FileFormat;

/// Builds a scene from lines of `  Class Name @Key=value Prop=value .Tag`, indented by depth.
fn build(lines: &str) -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let mut stack = vec![scene.root()];
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let depth = (line.len() - line.trim_start().len()) / 2;
        stack.truncate(depth + 1);
        let mut words = line.split_whitespace();
        let (class, name) = (words.next().unwrap(), words.next().unwrap());
        let node = scene.create(stack[depth], class, &name.replace('~', " "));
        let mut tags = Vec::new();
        for word in words {
            if let Some(tag) = word.strip_prefix('.') {
                tags.push(tag.to_owned());
                continue;
            }
            let (key, text) = word.split_once('=').unwrap();
            scene.set_property(node, key, Some(&value(key, text))).unwrap();
        }
        if !tags.is_empty() {
            scene.set_property(node, "Tags", Some(&Value::Tags(tags))).unwrap();
        }
        stack.push(node);
    }
    scene
}

fn value(key: &str, text: &str) -> Value {
    if key == "Material" {
        return Value::EnumItem(EnumItem {
            enum_type: "Material".to_owned(),
            item: EnumName::Name(text.to_owned()),
        });
    }
    if key == "Color" {
        let red = rbx_types::BrickColor::from_name("Bright red").unwrap();
        return Value::Color3uint8(red.to_color3uint8());
    }
    match text {
        "true" | "false" => Value::Bool(text == "true"),
        _ if key == "@Big" => Value::Float64(text.parse().unwrap()),
        _ => text.parse().map_or_else(|_| Value::String(text.to_owned()), Value::Float32),
    }
}

const PLACE: &str = "
Workspace Workspace
  Model Orchard
    Model Tree .Apple @Variety=Fuji @Flavor=4
      Part Trunk Transparency=0.1 Anchored=true
      MeshPart Leaf Material=Neon
        Texture Skin
      Part Leaf Color=red
    Model Tree @OnFire=true
      WedgePart My~Part
  Part Trunk .Loose @Big=0.1
  Script Run Disabled=true
ServerStorage ServerStorage
  Folder Empty
  NewThing New Shiny=true
";

#[track_caller]
fn check(selector: &str, paths: &[&str]) {
    let scene = build(PLACE);
    let found = Selector::find(selector, &scene, scene.root()).unwrap();
    let found: Vec<_> = found
        .into_iter()
        .map(|node| {
            let path = scene.path(node).to_string();
            path.replace("game.Workspace", "W").replace("game.", "").replace("W.Orchard", "O")
        })
        .collect();
    assert_eq!(found, paths, "{selector}");
}

const A: &str = "O.Tree[1]";
const B: &str = "O.Tree[2]";
const TRUNK: &str = "O.Tree[1].Trunk";
const LEAF: &str = "O.Tree[1].Leaf[1]";
const RED: &str = "O.Tree[1].Leaf[2]";
const WEDGE: &str = "O.Tree[2][\"My Part\"]";

#[test]
fn simple_selectors_find_instances() {
    // Workspace is a Model too.
    check("Model", &["W", "O", A, B]);
    check("BasePart", &[TRUNK, LEAF, RED, WEDGE, "W.Trunk"]);
    check(".Apple", &[A]);
    check("#Trunk", &[TRUNK, "W.Trunk"]);
    check("#\"My Part\"", &[WEDGE]);
    check("NewThing", &["ServerStorage.New"]);
    check("[$OnFire]", &[B]);
    check("Model.Apple[$Variety = Fuji][$Flavor = 4]", &[A]);
    check("[$Flavor=5]", &[]);
    check("[$Big = 0.1]", &["W.Trunk"]);
    check("Part, #Trunk, Part", &[TRUNK, RED, "W.Trunk"]);
}

#[test]
fn properties_are_compared_in_their_own_type() {
    check("[Transparency = 0.1]", &[TRUNK]);
    check("Part[Transparency = 0]", &[RED, "W.Trunk"]);
    check("Part[Transparency = 1e-1]", &[TRUNK]);
    check("[Anchored = true]", &[TRUNK]);
    check("BasePart[Material = Neon]", &[LEAF]);
    check("BasePart[Material = Enum.Material.Neon]", &[LEAF]);
    check("Part[Material = 'Plastic']", &[TRUNK, RED, "W.Trunk"]);
    check("[Name = 'My Part']", &[WEDGE]);
    check("[ClassName = WedgePart]", &[WEDGE]);
    check("BasePart[BrickColor = \"Bright red\"]", &[RED]);
    check("Script[Enabled = false]", &["W.Run"]);
    check("Script[Disabled = true]", &["W.Run"]);
    check("[Shiny = true]", &["ServerStorage.New"]);
}

#[test]
fn combinators_match_below_the_search_root() {
    check("> Instance", &["W", "ServerStorage"]);
    check(">> Folder", &["ServerStorage.Empty"]);
    check("Model.Apple > Part", &[TRUNK, RED]);
    check("Model >> Texture", &["O.Tree[1].Leaf[1].Skin"]);
    check("Workspace > Model > Model", &[A, B]);
    check("> Folder", &[]);
    check("Model > Model >> Model", &[A, B]);
    check("Model>Model>Model>>BasePart", &[TRUNK, LEAF, RED, WEDGE]);
    let scene = build(PLACE);
    let orchard = scene.resolve(&"game.Workspace.Orchard".parse().unwrap()).unwrap();
    let found = |text| Selector::find(text, &scene, orchard).unwrap().len();
    // Neither the root nor its ancestors are steps.
    assert_eq!(found("#Orchard"), 0);
    assert_eq!(found("#Orchard > Model"), 0);
    assert_eq!(found("> Model"), 2);
    assert_eq!(found(":not(Workspace >> Model)"), found("Instance"));
}

#[test]
fn not_and_has_filter_instances() {
    check("Model:not(.Apple, [$OnFire], Workspace)", &["O"]);
    check("BasePart:not(Model.Apple > Part)", &[LEAF, WEDGE, "W.Trunk"]);
    check("Model:has(Texture)", &["W", "O", A]);
    check("Model:has(> Part)", &["W", A]);
    check("Model:has(> Model > WedgePart)", &["O"]);
    check("Model:has(> Model >> Texture)", &["W", "O"]);
    check("MeshPart:has(> :not(SurfaceAppearance, Texture))", &[]);
    check("MeshPart:has(> :not(Decal))", &[]);
    check("MeshPart:not(:has(> :not(Texture)))", &[LEAF]);
    check("Model:has(WedgePart):not(:has(Model))", &[B]);
    check("Model:has(> BasePart:has(Texture), WedgePart)", &["W", "O", A, B]);
    check(":not(Instance)", &[]);
}

#[track_caller]
fn prints(text: &str, canonical: &str) {
    let once = Selector::parse(text).unwrap().to_string();
    assert_eq!(once, canonical);
    assert_eq!(Selector::parse(&once).unwrap().to_string(), canonical);
}

#[test]
fn selectors_print_as_canonical_text() {
    prints(" Part ,Model>#A>>.B ", "Part, Model > #A >> .B");
    prints(">> Part", "Part");
    prints(">Part", "> Part");
    prints("Part:has(>A)[$x].T#N", "Part#N.T[$x]:has(> A)");
    prints("[A='b c']", "[A = \"b c\"]");
    prints("[A='bc']", "[A = bc]");
    prints("[A='4'][B=4][C='true']", "[A = \"4\"][B = 4][C = \"true\"]");
    prints(r#"#'a"b\\\''"#, r#"#"a\"b\\'""#);
    prints("Part[Name = 'a], b > c'] > A", "Part[Name = \"a], b > c\"] > A");
    prints("\n Part\n >\tModel\r\n", "Part > Model");
}

#[track_caller]
fn refuse(text: &str, said: &str) {
    let scene = build(PLACE);
    let refusal = Selector::find(text, &scene, scene.root()).unwrap_err().0;
    assert!(refusal.contains(said), "{refusal}");
}

#[test]
fn invalid_selectors_are_refused_with_the_position() {
    refuse("", "at character 1: a class");
    refuse("Model Part", "at character 7: white space alone");
    refuse("Part,", "at character 6");
    refuse("Part,,Model", "at character 6");
    refuse("Part >", "at character 7");
    refuse("*", "`Instance` is every instance");
    refuse("Part:hover", "at character 5: only `:not(...)`");
    refuse("Part:not()", "at character 10");
    refuse("Part:not(> A)", "at character 10: inside `:not(...)`");
    refuse("Part)", "closes nothing");
    refuse("Part:not(A", "`)` is missing");
    refuse("[Anchored]", "needs a value");
    refuse("[$A = nil]", ":not([$Speed])");
    refuse("[A != 3]", "only compared with `=`");
    refuse("[A = a b]", "`]` is missing");
    refuse("[A = a.b]", "needs quotes");
    refuse("[A = 'b]", "never closed");
    refuse(".A Part", "white space alone");
    refuse("[$A]Part", "must come first");
    refuse("\"My Part\"", "needs `#`");
    refuse("Model + Part", "white space");
    refuse("Model+Part", "siblings");
    refuse(&"A".repeat(4097), "at most 4096");
    refuse(&":not(".repeat(33), "deeper than 32");
    refuse(&"A>".repeat(65), "more than 64 steps");
}

#[test]
fn unknown_names_are_refused_with_suggestions() {
    refuse("Prat", "Did you mean `Part`");
    refuse("Model:not(:has(Prat))", "Did you mean `Part`");
    refuse("Part[Anchord = true]", "Did you mean `Anchored`");
    refuse("[Anchord = true]", "Did you mean `Anchored`");
    refuse("Part[Material = Noen]", "Did you mean `Neon`");
    refuse("Part[Anchored = 3]", "true or false");
    refuse("Part[Transparency = high]", "a number");
    refuse("Part[Size = 3]", "compares only booleans");
    refuse("Humanoid[Health = 3]", "computed while the game runs");
    refuse("Part[Position = 3]", "Vector3");
}

#[test]
fn deep_trees_do_not_overflow_the_stack() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let mut at = scene.root();
    for _ in 0..50_000 {
        at = scene.create(at, "Folder", "F");
    }
    let found = |text| Selector::find(text, &scene, scene.root()).unwrap().len();
    assert_eq!(found("Folder >> Folder > Folder"), 49_998);
    assert_eq!(found(":has(Folder > Folder):not(Folder > Folder)"), 1);
}
