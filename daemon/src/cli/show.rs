//! `vector show`: the tree of a place, without changing anything.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};
use vector_place::{Node, Scene};

use super::opened::look;
use super::style::{Paint, Style, count, name, safe};
use super::terminal::{Terminal, print, stdout_style};
use super::{Exit, resolve};

/// Show the tree of a place, or what is below one instance.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector show game.rbxl
  vector show game.rbxl game.Workspace --depth 4
  vector show game.rbxl 'game.Workspace[\"My.Part\"]' --depth 0 --props")]
pub(super) struct Show {
    /// The place or model, or a Rojo project: its file, or its folder
    place: PathBuf,
    /// Where to begin
    #[arg(default_value = "game")]
    path: InstancePath,
    /// How many levels below it are shown
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: u32,
    /// Show the properties, attributes and tags that the file holds
    #[arg(long)]
    props: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Show) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(args.json);
    let scene = terminal.busy("Reading the place", || look(&args.place))?.scene;
    let node = resolve(&scene, &args.path)?;
    if args.json {
        let object = object(&scene, node, args.depth, args.props);
        print(&format!("{}\n", serde_json::to_string_pretty(&object)?))?;
        return Ok(Exit::Done);
    }
    let mut tree =
        Tree { scene: &scene, style: stdout_style(), props: args.props, text: String::new() };
    tree.line("", node, args.depth == 0);
    tree.properties("", node, args.depth == 0);
    tree.children("", node, args.depth);
    print(&tree.text)?;
    Ok(Exit::Done)
}

/// The properties that are shown; a script's text has a command of its own.
fn properties(scene: &Scene, node: Node) -> impl Iterator<Item = String> + '_ {
    let stored = scene.stored_names(node).into_iter();
    let stored = stored.filter(|name| !matches!(*name, "Source" | "Attributes"));
    let attributes = scene.attribute_names(node).into_iter();
    stored.map(str::to_owned).chain(attributes.map(|name| format!("@{name}")))
}

fn object(scene: &Scene, node: Node, depth: u32, props: bool) -> Json {
    let mut map = Map::new();
    map.insert("path".to_owned(), json!(scene.path(node)));
    map.insert("name".to_owned(), json!(scene.name(node)));
    map.insert("class".to_owned(), json!(scene.class(node)));
    if let Some(text) = scene.source(node) {
        map.insert("lines".to_owned(), json!(text.lines().count()));
    }
    if props {
        let values = properties(scene, node).filter_map(|name| {
            let value = json!(scene.stored(node, &name)?);
            Some((name, value))
        });
        map.insert("props".to_owned(), Json::Object(values.collect()));
    }
    map.insert("childCount".to_owned(), json!(scene.children(node).len()));
    if depth > 0 {
        let children = scene.children(node);
        let children = children.map(|child| object(scene, child, depth - 1, props)).collect();
        map.insert("children".to_owned(), children);
    }
    Json::Object(map)
}

struct Tree<'a> {
    scene: &'a Scene,
    style: Style,
    props: bool,
    text: String,
}

impl Tree<'_> {
    fn children(&mut self, indent: &str, node: Node, depth: u32) {
        if depth == 0 {
            return;
        }
        let mut children = self.scene.children(node).peekable();
        while let Some(child) = children.next() {
            let is_last = children.peek().is_none();
            let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.line(&format!("{indent}{branch}"), child, depth == 1);
            let indent = format!("{indent}{below}");
            self.properties(&indent, child, depth == 1);
            self.children(&indent, child, depth - 1);
        }
    }

    fn line(&mut self, indent: &str, node: Node, is_deepest: bool) {
        let (scene, style) = (self.scene, self.style);
        let mut line = style.paint(Paint::Dim, indent);
        line.push_str(&style.paint(Paint::Bold, name(scene.name(node))));
        let (name, class) = (scene.name(node), scene.class(node));
        if name != class && node != scene.root() {
            let _ = write!(line, "  {}", style.paint(Paint::Moved, safe(class)));
        }
        let mut facts = Vec::new();
        if let Some(text) = scene.source(node) {
            facts.push(count(text.lines().count(), "line"));
        }
        if node == scene.root() {
            facts.push(count(scene.len(), "instance"));
        } else if is_deepest && scene.children(node).len() > 0 {
            facts.push(format!("{} below", scene.descendants(node).count()));
        }
        if !facts.is_empty() {
            line.push_str(&style.paint(Paint::Dim, format!("  {}", facts.join(", "))));
        }
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn properties(&mut self, indent: &str, node: Node, is_deepest: bool) {
        if !self.props {
            return;
        }
        let names: Vec<String> = properties(self.scene, node).collect();
        let widest = names.iter().map(|name| name.chars().count()).max();
        let column = widest.unwrap_or(0).min(40);
        let has_below = !is_deepest && self.scene.children(node).len() > 0;
        let bar = if has_below { "│" } else { " " };
        for name in &names {
            let Some(value) = self.scene.stored(node, name) else {
                continue;
            };
            let front = format!("{indent}{bar}   {:<column$}", safe(name));
            let front = self.style.paint(Paint::Dim, front);
            let _ = writeln!(self.text, "{front}  {}", safe(&value.brief()));
        }
    }
}
