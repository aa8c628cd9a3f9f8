//! Games in text files: what is played in them, and what they consist of.

use rbx_types::Variant;
use serde_json::{Map, json};
use vector_core::play::{PlayRequest, read_steps};
use vector_place::reflection::is_a;
use vector_place::{FileFormat, Node, PropertyOwner, Scene, read_props};

use crate::reflection;

/// An error that has to be found: who has it, where, and a part of its message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpectedError {
    pub(super) peer: String,
    pub(super) position: String,
    pub(super) message: String,
}

#[derive(Debug)]
pub(super) struct GameFile {
    pub(super) scene: Scene,
    pub(super) request: PlayRequest,
    pub(super) errors: Vec<ExpectedError>,
}

/// Reads a game: lines with `--!` say what is played and which errors there are, `--@` begins an
/// instance, `--=` sets a property of it, and what follows is the text of a script.
pub(super) fn read_game(text: &str) -> GameFile {
    let mut game = GameFile {
        scene: Scene::empty(FileFormat::Xml),
        request: PlayRequest::default(),
        errors: Vec::new(),
    };
    let mut steps = Vec::new();
    let mut current: Option<(Node, Vec<&str>)> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("--! ") {
            let (what, rest) = rest.split_once(' ').expect("`--! what value`");
            match what {
                "players" => game.request.players = rest.trim().parse().unwrap(),
                "seconds" => game.request.seconds = rest.trim().parse().unwrap(),
                "step" => steps.push(serde_json::from_str(rest).expect(rest)),
                "error" => game.errors.push(read_error(rest)),
                other => panic!("`{other}` is not known"),
            }
        } else if let Some(rest) = line.strip_prefix("--@ ") {
            finish(&mut game.scene, current.take());
            let (path, class) = rest.trim().rsplit_once(' ').expect("`--@ path class`");
            current = Some((create(&mut game.scene, path.trim(), class), Vec::new()));
        } else if let Some(rest) = line.strip_prefix("--= ") {
            let (node, _) = current.as_ref().expect("a property is of an instance");
            let (name, value) = rest.trim().split_once(' ').expect("`--= Name value`");
            set(&mut game.scene, *node, name, value.trim());
        } else if let Some((_, lines)) = &mut current {
            lines.push(line);
        }
    }
    finish(&mut game.scene, current);
    game.request.steps = read_steps(steps).unwrap();
    game
}

fn read_error(text: &str) -> ExpectedError {
    let (peer, rest) = text.split_once(' ').expect("`peer script:line message`");
    let (position, message) = rest.split_once(' ').expect("`script:line message`");
    ExpectedError {
        peer: peer.to_owned(),
        position: position.to_owned(),
        message: message.trim().to_owned(),
    }
}

fn finish(scene: &mut Scene, script: Option<(Node, Vec<&str>)>) {
    if let Some((node, lines)) = script
        && is_a(scene.class(node), "LuaSourceContainer")
    {
        scene.set_source(node, lines.join("\n"));
    }
}

/// Creates an instance, and what of its path does not exist yet.
pub(super) fn create(scene: &mut Scene, path: &str, class: &str) -> Node {
    let mut names: Vec<&str> = path.split('.').collect();
    let name = names.pop().expect("a path has a name");
    let mut at = scene.root();
    for name in names {
        let known = scene.children(at).find(|child| scene.name(*child) == name);
        at = known.unwrap_or_else(|| {
            let is_class = reflection::has_class(name);
            scene.create(at, if is_class { name } else { "Folder" }, name)
        });
    }
    scene.create(at, class, name)
}

fn set(scene: &mut Scene, node: Node, name: &str, text: &str) {
    let numbers: Vec<f64> = text.split(',').map_while(|it| it.trim().parse().ok()).collect();
    let is_text = matches!(reflection::usual(scene.class(node), name), Some(Variant::String(_)));
    let value = match (text, numbers.as_slice()) {
        _ if is_text => json!(text),
        ("true" | "false", _) => json!(text == "true"),
        (_, [x, y, z]) => json!([x, y, z]),
        (_, [one]) => json!(one),
        _ => json!(text),
    };
    let props = Map::from_iter([(name.to_owned(), value)]);
    let read = read_props(scene, PropertyOwner::Node(node), &props);
    for (name, value) in read.unwrap_or_else(|why| panic!("{why}")) {
        scene.set_property(node, &name, value.as_ref()).unwrap_or_else(|why| panic!("{why}"));
    }
}
