//! Opening and editing a place, beside the rbx crates' tree and a Lune script that do the same:
//! time and peak memory of whole processes.
//!
//! `cargo bench -p vector-tests --bench place [-- [--instances N,N] [--runs N] [--lune FILE]
//! [--keep FOLDER]]`. Without `--lune`, `lune` is looked up in PATH; if it is absent, it is left
//! out with a notice. The edit sets the colour of parts and adds a first line to scripts; the curve
//! changes more and more of them. The output is not checked here.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

mod measure;
mod peer;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rbx_types::{Color3uint8, Variant};
use scene_schemas::Value;
use vector_place::{Node, Scene};
use vector_tests::generated::generated;
use vector_tests::places::{Format, decode, encode};

use self::measure::{Median, machine, measure, megabytes, option};
use self::peer::print;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first arguments of the children.
const OPEN: &str = "open-and-list";
const EDIT: &str = "edit-in-vector";
const TREE: &str = "edit-the-tree";

const LINE: &str = "-- checked\n";

const LUNE: &str = r#"
local fs, roblox = require("@lune/fs"), require("@lune/roblox")
local process = require("@lune/process")
local game = roblox.deserializePlace(fs.readFile(process.args[1]))
local colour = roblox.Color3.fromRGB(1, 2, 3)
for _, it in game:GetDescendants() do
	if it.ClassName == "Part" then
		it.Color = colour
	elseif it:IsA("LuaSourceContainer") then
		it.Source = "-- checked\n" .. it.Source
	end
end
fs.writeFile(process.args[2], roblox.serializePlace(game, process.args[3] == "xml"))
"#;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [OPEN, input, output] => open(input, output),
        [EDIT, input, output, count] => edit(input, output, count.parse().unwrap()),
        [TREE, input, output] => tree(input, output),
        _ => return compare_all(&args),
    }
    // Exit as the binary does, without freeing the large tree.
    std::process::exit(0);
}

fn read(input: &str) -> Scene {
    vector_files::place_file::load_scene(Path::new(input)).unwrap()
}

fn open(input: &str, output: &str) {
    let scene = read(input);
    let children = |node| scene.children(node).map(|child| scene.name(child).len()).sum::<usize>();
    let listed: usize = scene.children(scene.root()).map(children).sum();
    fs::write(output, listed.to_string()).unwrap();
    std::process::exit(0);
}

fn edit(input: &str, output: &str, count: usize) {
    let mut scene = read(input);
    let colour = Value::Color3uint8(Color3uint8::new(1, 2, 3));
    let is_touched =
        |scene: &Scene, node: &Node| scene.is_script(*node) || scene.class(*node) == "Part";
    let all: Vec<Node> =
        scene.descendants(scene.root()).filter(|it| is_touched(&scene, it)).collect();
    // Evenly spaced, so that every size of the curve changes both parts and scripts.
    let step = (all.len() / count.clamp(1, all.len())).max(1);
    for node in all.into_iter().step_by(step) {
        if scene.class(node) == "Part" {
            scene.set_property(node, "Color", Some(&colour)).unwrap();
        } else {
            let text = format!("{LINE}{}", scene.script_text(node).unwrap_or_default());
            scene.set_source(node, text);
        }
    }
    scene.rebuild_file().unwrap();
    let mut file = fs::File::create(output).unwrap();
    for run in scene.byte_runs() {
        file.write_all(run).unwrap();
    }
    std::process::exit(0);
}

fn tree(input: &str, output: &str) {
    let bytes = fs::read(input).unwrap();
    let mut dom = decode(&bytes);
    let all: Vec<_> = dom.descendants().map(rbx_dom_weak::Instance::referent).collect();
    for node in all {
        let instance = dom.get_by_ref_mut(node).unwrap();
        if instance.class.as_str() == "Part" {
            instance.properties.insert("Color".into(), Color3uint8::new(1, 2, 3).into());
        } else if let Some(Variant::String(text)) = instance.properties.get_mut(&"Source".into()) {
            text.insert_str(0, LINE);
        }
    }
    let format = if bytes.starts_with(b"<roblox!") { Format::Rbxl } else { Format::Rbxlx };
    fs::write(output, encode(&dom, format)).unwrap();
    std::process::exit(0);
}

fn compare_all(args: &[String]) -> ExitCode {
    let sizes = option(args, "--instances").unwrap_or("10000,100000,1000000");
    let runs = option(args, "--runs").map_or(3, |it| it.parse().expect("a number"));
    let lune = peer::find_lune(option(args, "--lune"));
    println!("{}", machine());
    println!("median of {runs} runs each; whole processes\n");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = option(args, "--keep").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    for size in sizes.split(',') {
        let size: usize = size.trim().parse().expect("a number of instances");
        for format in [Format::Rbxl, Format::Rbxlx] {
            let place = folder.join(format!("{size}.{}", format.extension()));
            if !place.is_file() {
                fs::write(&place, encode(&generated(size), format)).expect("it can be written");
            }
            compare(&place, size, format, runs, lune.as_deref());
        }
    }
    ExitCode::SUCCESS
}

fn compare(place: &Path, size: usize, format: Format, runs: usize, lune: Option<&Path>) {
    let bytes = fs::metadata(place).map_or(0, |it| it.len());
    println!(".{}, {size} instances, {}", format.extension(), megabytes(bytes));
    let out = place.with_extension("out");
    let own = |args: &[&str]| {
        let mut command = Command::new(env::current_exe().expect("a process knows its file"));
        command.arg(args[0]).args([place, &out]).args(&args[1..]);
        command
    };
    let all = size.to_string();
    let opened = median(runs, || own(&[OPEN]), &out);
    print("open and list children", opened, None);
    let edited = median(runs, || own(&[EDIT, &all]), &out);
    print("edit all, Vector", edited, None);
    let tree = median(runs, || own(&[TREE]), &out);
    print("edit all, rbx crates", tree, edited);
    if let Some(lune) = lune {
        let script = place.with_file_name("edit.luau");
        fs::write(&script, LUNE).expect("a script can be written");
        let xml = if format == Format::Rbxlx { "xml" } else { "binary" };
        let command = || {
            let mut command = Command::new(lune);
            command.arg("run").args([&script, place, &out]).arg(xml);
            command
        };
        print("edit all, Lune", median(runs, command, &out), edited);
    }
    for count in [1, 100, 10_000].into_iter().filter(|count| *count < size) {
        let run = median(runs, || own(&[EDIT, &count.to_string()]), &out);
        print(&format!("edit {count}, Vector"), run, None);
    }
    println!();
}

fn median(runs: usize, command: impl Fn() -> Command, out: &Path) -> Option<Median> {
    // If one run failed, do not repeat it: further runs would fail too.
    let runs: Vec<_> = (0..runs).map_while(|_| measure(command(), out)).collect();
    Median::of(&runs)
}
