//! The vectors that every part of Vector is compared with: `scene-schemas/vectors.json`.
//!
//! Each list begins with handwritten input; the types for which the file is the reference compute
//! the rest. The plugin reads the same file in its own tests.

use std::collections::BTreeMap;

use scene_schemas::command::{AssetContents, AssetScript, Props};
use scene_schemas::sandbox::ScriptSandbox;
use scene_schemas::text::{Position, TextEdit};
use scene_schemas::value::canonical_json;
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target, Value};
use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Node, Scene};

/// The contents of `scene-schemas/vectors.json`.
pub fn print() -> String {
    let (instances, fingerprints) = fingerprints();
    let all = json!({
        "values": list(VALUES, value),
        "refusedValues": list(REFUSED_VALUES, parse),
        "paths": list(PATHS, path),
        "refusedPaths": REFUSED_PATHS,
        "texts": list(TEXTS, text),
        "scene": instances,
        "fingerprints": fingerprints,
        "commands": commands(),
    });
    pretty(&all)
}

/// JSON as it is committed.
pub fn pretty(json: &Json) -> String {
    format!("{json:#}\n")
}

fn list(texts: &[&str], print: impl Fn(&str) -> Json) -> Json {
    texts.iter().map(|text| print(text)).collect()
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Json {
    let json = parse(text);
    let value = Value::from_json(json).unwrap_or_else(|error| panic!("{text}: {error}"));
    json!({ "type": value.type_name(), "value": value.to_json(), "canonical": value.to_canonical() })
}

fn path(text: &str) -> Json {
    let path: InstancePath = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let segment = |it: &scene_schemas::path::Segment| match it.index {
        Some(index) => json!({ "name": it.name, "index": index }),
        None => json!({ "name": it.name }),
    };
    let segments: Vec<_> = path.segments.iter().map(segment).collect();
    json!({ "text": path.to_string(), "segments": segments })
}

fn text(text: &str) -> Json {
    json!({ "text": text, "fingerprint": Fingerprint::hash_bytes(text.as_bytes()) })
}

/// Every type, and each number that one of the languages would write differently.
pub const VALUES: &[&str] = &[
    "true",
    "false",
    r#""""#,
    r#""a\n\t\"b\"\\ \u0001 <&> Größe 😀""#,
    "0",
    "-0.0",
    "1",
    "-17.25",
    "0.1",
    "1e21",
    "1e-7",
    "5e-324",
    "1.7976931348623157e308",
    "9007199254740991",
    r#"{"__t":"Float64","value":"inf"}"#,
    r#"{"__t":"Float64","value":"-inf"}"#,
    r#"{"__t":"Float64","value":"nan"}"#,
    r#"{"__t":"Float32","value":0.1}"#,
    r#"{"__t":"Float32","value":-0.0}"#,
    r#"{"__t":"Float32","value":1e-45}"#,
    r#"{"__t":"Float32","value":3.4028235e38}"#,
    r#"{"__t":"Float32","value":16777216}"#,
    r#"{"__t":"Float32","value":"nan"}"#,
    r#"{"__t":"Int32","value":-2147483648}"#,
    r#"{"__t":"Int64","value":"9007199254740993"}"#,
    r#"{"__t":"Int64","value":"-9223372036854775808"}"#,
    r#"{"__t":"SecurityCapabilities","value":"18446744073709551615"}"#,
    r#"{"__t":"UniqueId","index":1,"random":"-9223372036854775808","time":4294967295}"#,
    r#"{"__t":"Vector2","x":1.5,"y":"-inf"}"#,
    r#"{"__t":"Vector2int16","x":-32768,"y":32767}"#,
    r#"{"__t":"Vector3","x":0,"y":1,"z":0}"#,
    r#"{"__t":"Vector3","x":0.1,"y":-0.0,"z":1e10}"#,
    r#"{"__t":"Vector3int16","x":1,"y":2,"z":3}"#,
    r#"{"__t":"CFrame","orientation":[1,0,0,0,1,0,0,0,1],"position":[0,5,0]}"#,
    r#"{"__t":"CFrame","orientation":[0.8,0,0.6,0,1,0,-0.6,0,0.8],"position":[0.1,-0.0,"inf"]}"#,
    r#"{"__t":"OptionalCFrame","orientation":[1,0,0,0,1,0,0,0,1],"position":[0,0,0]}"#,
    r#"{"__t":"OptionalCFrame","value":null}"#,
    r#"{"__t":"UDim","offset":-10,"scale":0.5}"#,
    r#"{"__t":"UDim2","x":{"offset":-10,"scale":0.5},"y":{"offset":2147483647,"scale":1}}"#,
    r#"{"__t":"Rect","max":[2,3.5],"min":[0,1]}"#,
    r#"{"__t":"Ray","direction":[0,0,-1],"origin":[0,1,2]}"#,
    r#"{"__t":"Region3","max":[1,2,3],"min":[0,0,0]}"#,
    r#"{"__t":"Region3int16","max":[1,2,3],"min":[-1,0,0]}"#,
    r#"{"__t":"NumberRange","max":5,"min":0.2}"#,
    r#"{"__t":"NumberSequence","keypoints":[{"envelope":0,"time":0,"value":1},{"envelope":0.1,"time":1,"value":0.25}]}"#,
    r#"{"__t":"ColorSequence","keypoints":[{"color":[1,0.5,0],"time":0},{"color":[0,0,1],"time":1}]}"#,
    r#"{"__t":"Color3","b":0,"g":0.5,"r":1}"#,
    r#"{"__t":"Color3uint8","b":255,"g":128,"r":0}"#,
    r#"{"__t":"BrickColor","name":"Bright red"}"#,
    r#"{"__t":"Font","family":"rbxasset://fonts/families/SourceSansPro.json","style":"Normal","weight":400}"#,
    r#"{"__t":"Font","cachedFaceId":"rbxasset://fonts/Arial.ttf","family":"rbxasset://fonts/families/Arial.json","style":"Italic","weight":700}"#,
    r#"{"__t":"Faces","faces":["Right","Top"]}"#,
    r#"{"__t":"Axes","axes":["X","Z"]}"#,
    r#"{"__t":"PhysicalProperties","custom":false}"#,
    r#"{"__t":"PhysicalProperties","acousticAbsorption":3,"density":0.7,"elasticity":0.5,"elasticityWeight":2,"friction":0.3,"frictionWeight":1}"#,
    r#"{"__t":"EnumItem","enum":"Material","name":"Neon"}"#,
    r#"{"__t":"EnumItem","enum":"Material","value":4294967295}"#,
    r#"{"__t":"Content"}"#,
    r#"{"__t":"Content","uri":"rbxassetid://1"}"#,
    r#"{"__t":"Content","object":{"id":"ref:7","path":"game.Workspace.Wall[2]"}}"#,
    r#"{"__t":"ContentId","value":"rbxassetid://1"}"#,
    r#"{"__t":"Ref","target":null}"#,
    r#"{"__t":"Ref","target":{"id":"ref:7","path":"game.Workspace.Wall[2]"}}"#,
    r#"{"__t":"Tags","value":["Lamp","Night only"]}"#,
    r#"{"__t":"Attributes","value":{"Bright":true,"Offset":{"__t":"Vector3","x":0.5,"y":-1,"z":2},"a":1}}"#,
    r#"{"__t":"Binary","base64":"AAECAw=="}"#,
    r#"{"__t":"SharedString","base64":""}"#,
    r#"{"__t":"NetAssetRef","base64":"/w=="}"#,
    r#"{"__t":"MaterialColors","colors":{"Mud":[1,2,3]}}"#,
];

/// Texts that look like values and are invalid.
pub const REFUSED_VALUES: &[&str] = &[
    "null",
    "[0,1,0]",
    r#"{"x":0,"y":1,"z":0}"#,
    r#"{"__t":"Vector4","x":0}"#,
    r#"{"__t":"Vector3","x":0,"y":1}"#,
    r#"{"__t":"Vector3","w":0,"x":0,"y":1,"z":0}"#,
    r#"{"__t":"Vector3","x":"0","y":1,"z":0}"#,
    r#"{"__t":"Int32","value":2147483648}"#,
    r#"{"__t":"Int64","value":"9223372036854775808"}"#,
    r#"{"__t":"Faces","faces":["Inside"]}"#,
    r#"{"__t":"Binary","base64":"?"}"#,
];

pub const PATHS: &[&str] = &[
    "game",
    "game.Workspace",
    "game._1.A_b9",
    r#"game.Workspace["My.Part"].Wall[2]"#,
    r#"game["7 up"][3]"#,
    r#"game["a\"]b\\c"]"#,
    r#"game["Größe"]["😀"]"#,
    r#"game[""][4294967295]"#,
    r#"game["line\nbreak\u0001"].x"#,
];

/// Texts that look like paths and are invalid.
pub const REFUSED_PATHS: &[&str] = &[
    "",
    "Workspace",
    "game.",
    "game..A",
    "game.Größe",
    "game.A b",
    "game.A[0]",
    "game.A[-1]",
    "game.A[4294967296]",
    r#"game["A"#,
];

/// Texts of scripts, whose fingerprints are computed over their UTF-8 bytes.
pub const TEXTS: &[&str] = &["", "print(1)\n", "print(1)\r\n", "-- Größe 😀"];

/// An instance of the small scene: its path, its class, and its properties.
type Given = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const SCENE: [Given; 7] = [
    ("game.Workspace", "Workspace", &[]),
    (
        "game.Workspace.Plate",
        "Part",
        &[
            ("Size", r#"{"__t":"Vector3","x":0.1,"y":16777216,"z":1e-7}"#),
            ("Transparency", r#"{"__t":"Float32","value":0.3}"#),
            ("@Speed", "12.5"),
            ("Tags", r#"{"__t":"Tags","value":["Lamp"]}"#),
        ],
    ),
    ("game.Workspace.Tower", "Model", &[]),
    ("game.Workspace.Tower.Wall[1]", "Part", &[]),
    (
        "game.Workspace.Tower.Wall[2]",
        "Part",
        &[("Material", r#"{"__t":"EnumItem","enum":"Material","name":"Neon"}"#)],
    ),
    (r#"game.Workspace["My.Folder \"ä\""]"#, "Folder", &[]),
    ("game.Workspace.Main", "Script", &[("Source", r#""print(1)\n""#)]),
];

/// An instance of the scene, and the properties that its fingerprint covers.
const OVER: [(&str, &[&str]); 9] = [
    ("game.Workspace.Plate", &[]),
    ("game.Workspace.Plate", &["Size", "Transparency"]),
    ("game.Workspace.Plate", &["Anchored", "CFrame", "Color"]),
    ("game.Workspace.Plate", &["@Speed", "@Missing", "Tags"]),
    ("game.Workspace.Plate", &["NoSuchProperty", "Name"]),
    ("game.Workspace.Tower", &["PrimaryPart"]),
    ("game.Workspace.Tower.Wall[2]", &["Material"]),
    (r#"game.Workspace["My.Folder \"ä\""]"#, &[]),
    ("game.Workspace.Main", &["Disabled", "Source"]),
];

/// The scene of the vectors, as read from a file: its ids have the form `ref:N`.
pub fn scene() -> Scene {
    let bytes = made().encode().expect("it can be written");
    Scene::decode(&bytes).expect("it can be read")
}

fn made() -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    for (path, class, props) in SCENE {
        let path: InstancePath = path.parse().expect("it is a path");
        let parent = path.parent().expect("it is below `game`");
        let parent = locate(&scene, &parent);
        let node = scene.create(parent, class, path.name());
        for (name, value) in props {
            let value = Value::from_json(parse(value)).expect("it is a value");
            scene
                .set_property(node, name, Some(&value))
                .unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }
    // A reference needs the id that its target has in this scene.
    let tower = node(&scene, "game.Workspace.Tower");
    let wall = scene.target(node(&scene, "game.Workspace.Tower.Wall[2]"));
    scene
        .set_property(tower, "PrimaryPart", Some(&Value::Ref(Some(wall))))
        .unwrap_or_else(|refusal| panic!("{refusal}"));
    scene
}

fn locate(scene: &Scene, path: &InstancePath) -> Node {
    scene.resolve(path).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn node(scene: &Scene, path: &str) -> Node {
    locate(scene, &path.parse().expect("it is a path"))
}

/// The scene in a form that every target can build, and its fingerprints.
fn fingerprints() -> (Vec<Json>, Vec<Json>) {
    let scene = scene();
    let given = SCENE.map(|(path, class, props)| {
        let mut props: BTreeMap<_, _> =
            props.iter().map(|(name, value)| (*name, parse(value))).collect();
        if path == "game.Workspace.Tower" {
            let wall = scene.target(node(&scene, "game.Workspace.Tower.Wall[2]"));
            props.insert("PrimaryPart", Value::Ref(Some(wall)).to_json());
        }
        let id = scene.id(node(&scene, path));
        json!({ "id": id, "path": path, "class": class, "props": props })
    });
    let found = OVER.map(|(path, properties)| {
        let node = node(&scene, path);
        let filled: BTreeMap<_, _> = properties
            .iter()
            .filter(|name| **name != "Name")
            .map(|name| {
                let value = scene.value(node, name).map(|value| value.to_canonical());
                (*name, value.map_or(Json::Null, |text| parse(&text)))
            })
            .collect();
        let text = canonical_json(&json!({
            "class": scene.class(node), "name": scene.name(node), "props": filled,
        }));
        let fingerprint = scene.fingerprint(node, properties.iter().copied());
        assert_eq!(fingerprint, Fingerprint::hash_bytes(text.as_bytes()), "{text}");
        json!({ "path": path, "over": properties, "text": text, "fingerprint": fingerprint })
    });
    (given.to_vec(), found.to_vec())
}

/// One command of each kind, on the scene of the vectors.
pub fn commands() -> Vec<Command> {
    let scene = scene();
    let at = |path: &str| scene.target(node(&scene, path));
    let expect = |path: &str, over: &[&str]| {
        Some(scene.fingerprint(node(&scene, path), over.iter().copied()))
    };
    let new = InstanceId::new_in_proposal;
    let made =
        Target { id: new(0), path: "game.Workspace.Tower.Roof".parse().expect("it is a path") };
    let neon = Value::from_json(parse(r#"{"__t":"EnumItem","enum":"Material","name":"Neon"}"#));
    let material = Props::from([("Material".to_owned(), neon.clone().ok())]);
    let props = Props::from([("Material".to_owned(), neon.ok()), ("@Speed".to_owned(), None)]);
    vec![
        Command::Create {
            id: new(0),
            parent: at("game.Workspace.Tower"),
            class: "Part".to_owned(),
            name: "Roof".to_owned(),
            props: props.clone(),
            expect: expect("game.Workspace.Tower", &[]),
        },
        Command::Clone {
            id: new(1),
            source: at("game.Workspace.Tower.Wall[1]"),
            parent: made.clone(),
            name: "Chimney".to_owned(),
            count: 1,
            expect: expect("game.Workspace.Tower.Wall[1]", &[]),
        },
        Command::Set {
            target: at("game.Workspace.Plate"),
            props,
            expect: expect("game.Workspace.Plate", &["@Speed", "Material"]),
        },
        Command::Move {
            target: at("game.Workspace.Plate"),
            parent: made,
            index: Some(0),
            expect: expect("game.Workspace.Plate", &[]),
        },
        Command::Delete {
            target: at("game.Workspace.Tower.Wall[2]"),
            count: 1,
            expect: expect("game.Workspace.Tower.Wall[2]", &[]),
        },
        Command::Restore {
            id: new(2),
            blob: Some(Fingerprint::hash_bytes(b"a binary model")),
            parent: at("game.Workspace.Tower"),
            index: None,
            class: "Part".to_owned(),
            name: "Wall".to_owned(),
            count: 1,
        },
        edit(at("game.Workspace.Main")),
        Command::Insert {
            id: new(3),
            asset: 123,
            parent: at("game.Workspace.Tower"),
            contents: asset(),
            left_out: vec![2],
            sandbox: Some(ScriptSandbox::new(vec![1])),
            blob: None,
            expect: expect("game.Workspace.Tower", &[]),
        },
        memory(at("game")),
        Command::SetMany {
            target: at("game.Workspace.Tower"),
            count: 2,
            table: Fingerprint::hash_bytes(b"a table of two walls"),
            props: material,
            restores: true,
        },
    ]
}

/// A model with a script and a part, and a part beside it.
fn asset() -> AssetContents {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    AssetContents {
        classes: texts(&["Model", "Script", "Part"]),
        class: vec![0, 1, 2, 2],
        parents: vec![0, 1, 1, 0],
        names: texts(&["Tree", "Grow", "Trunk", "Leaf\u{1f343}"]),
        scripts: vec![AssetScript { at: 2, text: "print(1)\n".to_owned() }],
        findings: None,
    }
}

fn memory(target: Target) -> Command {
    let start = Position { line: 0, character: 0 };
    let text = "# Memory\n\n## Todo\n\n- [ ] A door\n".to_owned();
    let edits = vec![TextEdit { start, end: start, text }];
    Command::EditMemory { target, edits, expect: Fingerprint::hash_bytes(b"") }
}

fn edit(target: Target) -> Command {
    let at = |line, character| Position { line, character };
    Command::EditScript {
        target,
        edits: vec![TextEdit { start: at(0, 6), end: at(0, 7), text: "2".to_owned() }],
        expect: Fingerprint::hash_bytes(b"print(1)\n"),
    }
}
