//! `vector show`: prints the tree of a place, without changing anything.
//!
//! The text of a script is left to `vector source`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};
use vector_place::{Node, Scene};

use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line, tree_name};
use super::terminal::{Terminal, print_stdout, stdout_style};
use super::{ExitStatus, resolve_path};

/// Show the tree of a place, or of one instance.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector show game.rbxl
  vector show game.rbxl game.Workspace --depth 4
  vector show game.rbxl 'game.Workspace[\"My.Part\"]' --depth 0 --props")]
pub(super) struct ShowArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// The instance to start at
    #[arg(default_value = "game")]
    path: InstancePath,
    /// The number of levels to show below it
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: u32,
    /// Show the properties, attributes and tags that are stored in the file
    #[arg(long)]
    props: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::for_command(args.json);
    let scene = terminal.with_spinner("Reading the place", || read_place(&args.place))?.scene;
    let node = resolve_path(&scene, &args.path)?;
    if args.json {
        let object = instance_json(&scene, node, args.depth, args.props);
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&object)?))?;
        return Ok(ExitStatus::Done);
    }
    let mut tree = TreePrinter {
        scene: &scene,
        style: stdout_style(),
        props: args.props,
        text: String::new(),
    };
    tree.print_line("", node, args.depth == 0);
    tree.print_properties("", node, args.depth == 0);
    tree.print_children("", node, args.depth);
    print_stdout(&tree.text)?;
    Ok(ExitStatus::Done)
}

/// The properties to show. A script's text has its own command.
fn shown_properties(scene: &Scene, node: Node) -> impl Iterator<Item = String> + '_ {
    let stored = scene.stored_names(node).into_iter();
    let stored = stored.filter(|name| !matches!(*name, "Source" | "Attributes"));
    let attributes = scene.attribute_names(node).into_iter();
    stored.map(str::to_owned).chain(attributes.map(|name| format!("@{name}")))
}

fn instance_json(scene: &Scene, node: Node, depth: u32, props: bool) -> Json {
    let mut map = Map::new();
    map.insert("path".to_owned(), json!(scene.path(node)));
    map.insert("name".to_owned(), json!(scene.name(node)));
    map.insert("class".to_owned(), json!(scene.class(node)));
    if let Some(text) = scene.script_text(node) {
        map.insert("lines".to_owned(), json!(text.lines().count()));
    }
    if props {
        let values = shown_properties(scene, node).filter_map(|name| {
            let value = json!(scene.stored_value(node, &name)?);
            Some((name, value))
        });
        map.insert("props".to_owned(), Json::Object(values.collect()));
    }
    map.insert("childCount".to_owned(), json!(scene.children(node).len()));
    if depth > 0 {
        let children = scene.children(node);
        let children =
            children.map(|child| instance_json(scene, child, depth - 1, props)).collect();
        map.insert("children".to_owned(), children);
    }
    Json::Object(map)
}

struct TreePrinter<'a> {
    scene: &'a Scene,
    style: TextStyle,
    props: bool,
    text: String,
}

impl TreePrinter<'_> {
    fn print_children(&mut self, indent: &str, node: Node, depth: u32) {
        if depth == 0 {
            return;
        }
        let mut children = self.scene.children(node).peekable();
        while let Some(child) = children.next() {
            let is_last = children.peek().is_none();
            let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.print_line(&format!("{indent}{branch}"), child, depth == 1);
            let indent = format!("{indent}{below}");
            self.print_properties(&indent, child, depth == 1);
            self.print_children(&indent, child, depth - 1);
        }
    }

    fn print_line(&mut self, indent: &str, node: Node, is_deepest: bool) {
        let (scene, style) = (self.scene, self.style);
        let mut line = style.paint(PaintKind::Dim, indent);
        line.push_str(&style.paint(PaintKind::Bold, tree_name(scene.name(node))));
        let (name, class) = (scene.name(node), scene.class(node));
        if name != class && node != scene.root() {
            let _ = write!(line, "  {}", style.paint(PaintKind::Moved, terminal_line(class)));
        }
        let mut facts = Vec::new();
        if let Some(text) = scene.script_text(node) {
            facts.push(count_noun(text.lines().count(), "line"));
        }
        if node == scene.root() {
            facts.push(count_noun(scene.len(), "instance"));
        } else if is_deepest && scene.children(node).len() > 0 {
            facts.push(format!("{} below", scene.descendants(node).count()));
        }
        if !facts.is_empty() {
            line.push_str(&style.paint(PaintKind::Dim, format!("  {}", facts.join(", "))));
        }
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn print_properties(&mut self, indent: &str, node: Node, is_deepest: bool) {
        if !self.props {
            return;
        }
        let names: Vec<String> = shown_properties(self.scene, node).collect();
        let widest = names.iter().map(|name| name.chars().count()).max();
        let column = widest.unwrap_or(0).min(40);
        let has_below = !is_deepest && self.scene.children(node).len() > 0;
        let bar = if has_below { "│" } else { " " };
        for name in &names {
            let Some(value) = self.scene.stored_value(node, name) else {
                continue;
            };
            let front = format!("{indent}{bar}   {:<column$}", terminal_line(name));
            let front = self.style.paint(PaintKind::Dim, front);
            let _ = writeln!(self.text, "{front}  {}", terminal_line(&value.to_brief()));
        }
    }
}
