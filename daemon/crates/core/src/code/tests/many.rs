//! Tests with places and scripts larger than any real one: queries must still be answered, and the
//! work must grow linearly. A full walk per element would take minutes here.

use std::fmt::Write as _;

use vector_luau::index;
use vector_place::FileFormat;

use super::super::*;
use super::{at, place};

const STORAGE: &str = "game.ReplicatedStorage";

/// Runs all queries about the names at some bytes of one script.
fn ask_all(text: &str) -> usize {
    let scene = place(&[("ReplicatedStorage/Main", "ModuleScript", text)]);
    let index = CodeIndex::new(&scene);
    let main = at(&scene, "game.ReplicatedStorage.Main");
    let mut hits = 0;
    for byte in [9, text.len() / 2] {
        if let Some(symbol) = symbol_at(&index, &scene, main, byte as u32) {
            find_definitions(&index, &scene, &symbol);
            hits += find_references(&index, &scene, &symbol).len();
        }
    }
    definitions_named(&index, &scene, "a");
    build_graph(&index, &[main], GraphDirection::Both, 64);
    let asked = ContextRequest {
        words: "what is a main",
        budget: 9_000,
        max_scripts: 9,
        ..ContextRequest::default()
    };
    select_scripts(&index, &scene, &asked);
    hits
}

#[test]
fn many_uses_in_one_script_are_found() {
    let many = 50_000;
    let text = format!("local M = {{}}\n{}return M\n", "M.a = M.a\n".repeat(many));
    assert!(ask_all(&text) > 0);
    let scene = place(&[("ReplicatedStorage/Main", "ModuleScript", &text)]);
    let index = CodeIndex::new(&scene);
    let main = at(&scene, "game.ReplicatedStorage.Main");
    let symbol = Symbol::Member(main, "a".into());
    assert_eq!(find_references(&index, &scene, &symbol).len(), 2 * many);
    // Each of them is a definition too.
    let text = format!("local M = {{}}\n{}return M\n", "function M.a() end\n".repeat(many));
    let scene = place(&[("ReplicatedStorage/Main", "ModuleScript", &text)]);
    let index = CodeIndex::new(&scene);
    let main = at(&scene, "game.ReplicatedStorage.Main");
    let hits = find_references(&index, &scene, &Symbol::Member(main, "a".into()));
    assert_eq!(hits.iter().filter(|it| it.is_definition).count(), many);
    assert_eq!(definitions_named(&index, &scene, "M.a").len(), many);
    assert_eq!(find_definitions(&index, &scene, &Symbol::Loose("a".into())).len(), many);
    // Each key has its own table and variable.
    let text = "local t = { a = 1 }\n".repeat(many);
    let scene = place(&[("ReplicatedStorage/Main", "ModuleScript", &text)]);
    let index = CodeIndex::new(&scene);
    let hits = find_references(&index, &scene, &Symbol::Loose("a".into()));
    assert_eq!(hits.len(), many);
}

#[test]
fn many_scripts_requiring_one_module_are_found() {
    let many = 5_000;
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let lib = scene.create(storage, "ModuleScript", "Lib");
    scene.set_source(lib, "return { open = function() end }".to_owned());
    for number in 0..many {
        let node = scene.create(storage, "ModuleScript", &format!("M{number}"));
        let text = match number % 2 {
            0 => "return require(script.Parent.Lib)".to_owned(),
            _ => format!("require(script.Parent.M{}).open()", number - 1),
        };
        scene.set_source(node, text);
    }
    let index = CodeIndex::new(&scene);
    assert_eq!(index.required_by(lib).len(), many / 2);
    let hits = find_references(&index, &scene, &Symbol::Member(lib, "open".into()));
    assert_eq!(hits.len(), many / 2 + 1);
    assert_eq!(find_references(&index, &scene, &Symbol::Module(lib)).len(), many / 2);
    assert_eq!(build_graph(&index, &[lib], GraphDirection::Both, 64).scripts.len(), many + 1);
}

#[test]
fn long_require_cycles_and_reexport_chains_are_followed() {
    let many = 20_000;
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    for number in 0..many {
        let node = scene.create(storage, "ModuleScript", &format!("M{number}"));
        scene.set_source(node, format!("return require(script.Parent.M{})", (number + 1) % many));
    }
    let index = CodeIndex::new(&scene);
    let all = build_graph(&index, index.script_nodes(), GraphDirection::Requires, 0);
    assert_eq!(all.cycles.iter().map(Vec::len).collect::<Vec<_>>(), [many]);
    let first = at(&scene, &format!("{STORAGE}.M0"));
    assert!(index.script_at(index.reexported_module(first)).is_some());
    let hits = find_references(&index, &scene, &Symbol::Member(first, "a".into()));
    assert_eq!(hits, []);
}

#[test]
fn one_script_may_have_very_many_requires() {
    let many = 100_000;
    let name = "n".repeat(900);
    let mut text = format!("local p = script.{name}\n");
    text.push_str(&"require(p)".repeat(many));
    let script = index::summarize_script(&text);
    assert_eq!(script.requires.len(), many);
    let scene = place(&[
        ("ReplicatedStorage/Main", "ModuleScript", &text),
        (&format!("ReplicatedStorage/Main/{name}"), "ModuleScript", ""),
    ]);
    let index = CodeIndex::new(&scene);
    let main = at(&scene, "game.ReplicatedStorage.Main");
    assert_eq!(index.required_modules(main).len(), 1);
    assert_eq!(index.resolved_requires(main).len(), many);
    let hits = find_references(&index, &scene, &Symbol::Module(index.required_modules(main)[0]));
    assert_eq!(hits.len(), many);
    // Many different requires with long paths; none of them resolves.
    let text: String = (0..many).fold(String::new(), |mut text, number| {
        let _ = write!(text, "require(script.Parent.M{number})");
        text
    });
    let long = "x".repeat(1 << 20);
    // With many siblings of the same name.
    let mut scene = place(&[("ReplicatedStorage/Main", "Script", &text)]);
    let storage = at(&scene, STORAGE);
    for number in 0..20_000 {
        scene.create(storage, "Folder", &format!("M{}", number % 100));
    }
    let index = CodeIndex::new(&scene);
    assert_eq!(
        index.resolved_requires(index.script_nodes()[0]).iter().filter(|it| it.is_err()).count(),
        many
    );
    let scene = place(&[(&format!("ReplicatedStorage/{long}/Main"), "Script", &text)]);
    let index = CodeIndex::new(&scene);
    let main = index.script_nodes()[0];
    let lost = index.resolved_requires(main).iter().filter(|it| it.is_err()).count();
    assert_eq!((index.required_modules(main).len(), lost), (0, many));
}

#[test]
fn queries_succeed_on_pathological_sources() {
    let long = "a".repeat(1 << 20);
    let locals: String = (0..200_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "local a{number} = {{ a = a{number} }}");
        text
    });
    let deep = |open: &str, close: &str| {
        format!("return {}{}", open.repeat(100_000), close.repeat(100_000))
    };
    for text in [
        format!("local a = '{long}'"),
        format!("local {long} = {long} {long}.a = {long}:a() function {long}.b() end"),
        format!("local t = {{ {long} = function() end, [\"{long}\"] = 1 }} return t"),
        format!("require(script.{long}) require('{long}') require(game:GetService('{long}'))"),
        format!("pcall(require, {long}) game.{long}.a()"),
        "a.b ".repeat(1 << 16),
        "a a.a a:a() ".repeat(1 << 14),
        locals,
        deep("{", "}"),
        deep("{ a = ", "}"),
        deep("function() return ", " end"),
        deep("function() local a = ", " end"),
        deep("pcall(require, ", ")"),
        "function a.b:c() self.d = 1 ".repeat(50_000),
        "function self:c() self.d = self.e ".repeat(50_000),
        "local p = script local q = p.a function f() p = q require(p.a) ".repeat(20_000),
        "a, ".repeat(100_000) + "a = 1",
        "local a = script.a ".to_owned() + &"a = a.a ".repeat(100_000),
    ] {
        ask_all(&text);
    }
}

#[test]
fn summaries_without_a_script_are_evicted() {
    let mut scene = place(&[("ReplicatedStorage/Main", "ModuleScript", "")]);
    let main = at(&scene, "game.ReplicatedStorage.Main");
    let mut index = CodeIndex::new(&scene);
    for number in 0..400 {
        scene.set_source(main, format!("return {number}"));
        index.refresh(&scene);
        assert!(index.readings.len() <= 67, "{}", index.readings.len());
    }
    // Long texts are dropped sooner.
    let rest = "-".repeat(1 << 20);
    for number in 0..40 {
        scene.set_source(main, format!("return {number} {rest}"));
        index.refresh(&scene);
    }
    assert!(index.readings.len() <= 8, "{}", index.readings.len());
    // Texts of deleted scripts are dropped too.
    let storage = at(&scene, STORAGE);
    let nodes: Vec<Node> = (0..300)
        .map(|number| {
            let node = scene.create(storage, "ModuleScript", "Many");
            scene.set_source(node, format!("return {number}"));
            node
        })
        .collect();
    index.refresh(&scene);
    for node in nodes {
        scene.delete(node);
    }
    index.refresh(&scene);
    assert_eq!((index.readings.len(), index.files.len()), (1, 1));
}
