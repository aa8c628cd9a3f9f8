//! Tests of the code index on a small place with scripts that require each other.

mod many;

use random_draws::RandomDraws;
use vector_luau::index;
use vector_place::FileFormat;

use super::*;
use crate::planning_scene::PlanningScene;

/// Creates scripts from paths below `game`, classes and texts. Missing folders are created.
pub(crate) fn place(scripts: &[(&str, &str, &str)]) -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    for (path, class, text) in scripts {
        let mut at = scene.root();
        let segments: Vec<&str> = path.split('/').collect();
        let Some((last, above)) = segments.split_last() else { continue };
        for name in above {
            at = match scene.find_child(at, name) {
                Some(found) => found,
                None if at == scene.root() => scene.create(at, name, name),
                None => scene.create(at, "Folder", name),
            };
        }
        let node = scene.create(at, class, last);
        scene.set_source(node, (*text).to_owned());
    }
    scene
}

const SHOP: &str = "local Items = require(script.Parent.Items)\nlocal Shop = { price = 1 }\n\
    export type Offer = { item: string }\nfunction Shop.open(a)\n\tlocal a = a\n\treturn a\nend\n\
    function Shop:buy()\n\tself:pay()\n\tShop.open()\nend\nfunction Shop:pay() end\nreturn Shop\n";
const MAIN: &str = "local Storage = game:GetService(\"ReplicatedStorage\")\n\
    local Shop = require(Storage.Shop)\nlocal function run(o: Shop.Offer)\n\tShop.open(1)\n\
    \tlocal x = make()\n\tx.open()\nend\nShop:buy()\nrequire(Storage.Shop).open()\n";

fn shop() -> Scene {
    place(&[
        ("ReplicatedStorage/Shop", "ModuleScript", SHOP),
        ("ReplicatedStorage/Items", "ModuleScript", "return { sword = 1 }"),
        ("ReplicatedStorage/Link", "ModuleScript", "return require(script.Parent.Shop)"),
        ("ServerScriptService/Main", "Script", MAIN),
        (
            "ServerScriptService/Other",
            "Script",
            "local S = require(game.ReplicatedStorage.Link)\nS.open()\nprint(S.nothing)\n",
        ),
    ])
}

fn at(scene: &Scene, path: &str) -> Node {
    scene.resolve(&path.parse().unwrap()).unwrap()
}

/// The definitions of the symbol at the n-th occurrence of a text in a script.
#[track_caller]
fn defined(scene: &Scene, path: &str, text: &str, n: usize) -> Vec<String> {
    let node = at(scene, path);
    let source = scene.script_text(node).unwrap();
    let byte = source.match_indices(text).nth(n).unwrap().0 as u32;
    let index = CodeIndex::new(scene);
    let symbol = symbol_at(&index, scene, node, byte).unwrap();
    let found = find_definitions(&index, scene, &symbol);
    let told = |it: &FoundDefinition| {
        let text = scene.script_text(it.node).unwrap();
        let line = text[..it.name_span.start as usize].matches('\n').count();
        let unsure = if it.is_certain { "" } else { "?" };
        format!("{}{unsure} {}:{line}", it.name, scene.name(it.node))
    };
    found.iter().map(told).collect()
}

#[test]
fn definitions_are_found_through_requires() {
    let scene = shop();
    let main = "game.ServerScriptService.Main";
    assert_eq!(defined(&scene, main, "open", 0), ["Shop.open Shop:3"]);
    assert_eq!(defined(&scene, main, "open", 1), ["Shop.open? Shop:3"]);
    assert_eq!(defined(&scene, main, "open", 2), ["Shop.open Shop:3"]);
    assert_eq!(defined(&scene, main, "buy", 0), ["Shop:buy Shop:7"]);
    assert_eq!(defined(&scene, main, "Offer", 0), ["Offer Shop:2"]);
    assert_eq!(defined(&scene, main, "Shop", 2), ["Shop Main:1"]);
    assert_eq!(defined(&scene, main, "require", 0), ["Shop Shop:0"]);
    assert_eq!(defined(&scene, "game.ServerScriptService.Other", "open", 0), ["Shop.open Shop:3"]);
    assert!(defined(&scene, "game.ServerScriptService.Other", "nothing", 0).is_empty());
    let shop = "game.ReplicatedStorage.Shop";
    assert_eq!(defined(&scene, shop, "pay", 0), ["Shop:pay? Shop:11"]);
    assert_eq!(defined(&scene, shop, "pay", 1), ["Shop:pay Shop:11"]);
    assert_eq!(defined(&scene, shop, "price", 0), ["price Shop:1"]);
}

/// The references of the symbol at the n-th occurrence of a text, as `Script:line`, with `?` if
/// uncertain and `=` if it is a definition.
#[track_caller]
fn used(scene: &Scene, path: &str, text: &str, n: usize) -> Vec<String> {
    let node = at(scene, path);
    let source = scene.script_text(node).unwrap();
    let byte = source.match_indices(text).nth(n).unwrap().0 as u32;
    let index = CodeIndex::new(scene);
    let symbol = symbol_at(&index, scene, node, byte).unwrap();
    let told = |it: &ReferenceHit| {
        let text = scene.script_text(it.node).unwrap();
        let line = text[..it.span.start as usize].matches('\n').count();
        let sign = if it.is_definition { "=" } else { "" };
        let unsure = if it.is_certain { "" } else { "?" };
        format!("{}:{line}{sign}{unsure}", scene.name(it.node))
    };
    find_references(&index, scene, &symbol).iter().map(told).collect()
}

#[test]
fn references_are_exact_in_a_script_and_follow_requires() {
    let scene = shop();
    let shop = "game.ReplicatedStorage.Shop";
    // The parameter, and not the variable that shadows it.
    assert_eq!(used(&scene, shop, "a)", 0), ["Shop:3=", "Shop:4"]);
    assert_eq!(used(&scene, shop, "a\n\treturn", 0), ["Shop:3=", "Shop:4"]);
    assert_eq!(used(&scene, shop, "a\nend", 0), ["Shop:4=", "Shop:5"]);
    let open = ["Shop:3=", "Shop:9", "Main:3", "Main:5?", "Main:8", "Other:1"];
    assert_eq!(used(&scene, shop, "open", 0), open);
    assert_eq!(used(&scene, "game.ServerScriptService.Other", "open", 0), open);
    assert_eq!(used(&scene, shop, "pay", 1), ["Shop:8?", "Shop:11="]);
    // The value of `self` is unknown, so references through it are uncertain.
    assert_eq!(used(&scene, shop, "pay", 0), ["Shop:8?", "Shop:11=?"]);
    assert_eq!(used(&scene, shop, "Offer", 0), ["Shop:2=", "Main:2"]);
    assert_eq!(
        used(&scene, "game.ServerScriptService.Main", "require", 0),
        ["Link:0", "Main:1", "Main:8",]
    );
}

#[test]
fn variable_resolves_to_its_last_required_module() {
    let main = "local Shop = require(script.A)\nShop.open()\n\
        local ok, Shop = pcall(require, script.B)\nShop.open()\n";
    let other = "local Shop = require(script.A)\nlocal ok\n\
        ok, Shop = pcall(require, script.B)\nShop.open()\n";
    let module = "return { open = function() end }";
    let scene = place(&[
        ("ServerScriptService/Main", "Script", main),
        ("ServerScriptService/Main/A", "ModuleScript", module),
        ("ServerScriptService/Main/B", "ModuleScript", module),
        ("ServerScriptService/Other", "Script", other),
        ("ServerScriptService/Other/A", "ModuleScript", module),
        ("ServerScriptService/Other/B", "ModuleScript", module),
    ]);
    let main = "game.ServerScriptService.Main";
    assert_eq!(used(&scene, main, "open", 0), ["Main:1", "A:0="]);
    assert_eq!(used(&scene, main, "open", 1), ["Main:3", "B:0="]);
    assert_eq!(used(&scene, main, "pcall", 0), ["Main:2"]);
    let index = CodeIndex::new(&scene);
    assert_eq!(names(&scene, &index.required_modules(at(&scene, main))), ["A", "B"]);
    // A variable that is assigned two different modules counts for neither.
    let other = "game.ServerScriptService.Other";
    assert_eq!(used(&scene, &format!("{other}.A"), "open", 0), ["Other:3?", "A:0="]);
    assert_eq!(used(&scene, &format!("{other}.B"), "open", 0), ["Other:3?", "B:0="]);
}

#[test]
fn variable_holding_module_or_table_resolves_to_neither() {
    for text in [
        "local Shop = require(script.A)\nif x then Shop = {} end\nShop.open()\n",
        "local Shop = { a = 1 }\nif x then Shop = require(script.A) end\nShop.open()\n",
        "local Shop = require(script.A)\nfunction Shop() end\nShop.open()\n",
    ] {
        let scene = place(&[
            ("ServerScriptService/Main", "Script", text),
            ("ServerScriptService/Main/A", "ModuleScript", "return { open = 1 }"),
        ]);
        let a = "game.ServerScriptService.Main.A";
        assert_eq!(used(&scene, a, "open", 0), ["Main:2?", "A:0="], "{text}");
    }
}

fn names(scene: &Scene, nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(|it| scene.name(*it).to_owned()).collect()
}

#[test]
fn requires_resolve_as_in_roblox() {
    let place = place(&[
        ("ReplicatedStorage/Pkg", "ModuleScript", ""),
        ("ReplicatedStorage/Pkg/A", "ModuleScript", ""),
        ("ReplicatedStorage/Twin", "Folder", ""),
        ("ReplicatedStorage/B", "ModuleScript", ""),
        ("StarterPlayer/StarterPlayerScripts/Lib", "ModuleScript", ""),
        ("Players", "Players", ""),
        ("ReplicatedStorage/Pkg/Main", "Script", ""),
    ]);
    let main = at(&place, "game.ReplicatedStorage.Pkg.Main");
    let check = |text: &str, expected: &str| {
        let script = index::summarize_script(text);
        let found = resolve::resolve_require(&place, main, &script.requires[0].target);
        let told = match found {
            Ok(node) => place.path(node).to_string(),
            Err(reason) => reason.to_sentence(&place),
        };
        assert_eq!(told, expected, "{text}");
    };
    check("require(script.Parent.A)", "game.ReplicatedStorage.Pkg.A");
    check("require(script.Parent)", "game.ReplicatedStorage.Pkg");
    check("require('./A')", "game.ReplicatedStorage.Pkg.A");
    check("require('../B')", "game.ReplicatedStorage.B");
    check("require('./../B')", "game.ReplicatedStorage.B");
    check("require('@self/../A')", "game.ReplicatedStorage.Pkg.A");
    check("require('@game/ReplicatedStorage/B')", "game.ReplicatedStorage.B");
    check("require(script:FindFirstAncestor('Pkg').A)", "game.ReplicatedStorage.Pkg.A");
    check(
        "require(game.Players.LocalPlayer:WaitForChild('PlayerScripts').Lib)",
        "game.StarterPlayer.StarterPlayerScripts.Lib",
    );
    check("require('@lib/x')", "the alias \"@lib\" is unknown");
    check("require('A')", "\"A\" does not begin with ./, ../ or @");
    check("require(script.Parent.C)", "game.ReplicatedStorage.Pkg has no child named \"C\"");
    check("require(script.Parent.Main)", "it is a Script, not a ModuleScript");
    check("require(script.Parent.Parent.Twin)", "it is a Folder, not a ModuleScript");
    check("require(game.Parent.X)", "the path leads above game");
    check("require(1818)", "it is asset 1818, which is not in this place");
    check("require(f())", "it is only known when the script runs");
}

#[test]
fn dependency_graph_lists_cycles_and_follows_both_directions() {
    let scene = place(&[
        ("ReplicatedStorage/A", "ModuleScript", "require(script.Parent.B)"),
        ("ReplicatedStorage/B", "ModuleScript", "require(script.Parent.C)"),
        (
            "ReplicatedStorage/C",
            "ModuleScript",
            "require(script.Parent.A) require(script.Parent.D)",
        ),
        ("ReplicatedStorage/D", "ModuleScript", "require(script)"),
        ("ReplicatedStorage/E", "Script", "require(script.Parent.D)"),
    ]);
    let index = CodeIndex::new(&scene);
    let [a, d] = ["A", "D"].map(|it| at(&scene, &format!("game.ReplicatedStorage.{it}")));
    let told = |graph: &RequireGraph| {
        let scripts: Vec<Node> = graph.scripts.iter().map(|(node, _)| *node).collect();
        let rings: Vec<_> = graph.cycles.iter().map(|ring| names(&scene, ring).concat()).collect();
        (names(&scene, &scripts).concat(), rings.join(" "))
    };
    let all = build_graph(&index, &[a], GraphDirection::Both, 9);
    assert_eq!(told(&all), ("ABCD".to_owned(), "ABC D".to_owned()));
    assert_eq!(told(&build_graph(&index, &[a], GraphDirection::Requires, 1)).0, "AB");
    assert_eq!(told(&build_graph(&index, &[d], GraphDirection::RequiredBy, 1)).0, "DCE");
    assert_eq!(
        told(&build_graph(&index, &[d], GraphDirection::Requires, 9)),
        ("D".to_owned(), "D".to_owned())
    );
}

/// Dumps everything the index reports.
fn said(index: &CodeIndex, scene: &Scene) -> String {
    let mut text = String::new();
    for node in index.script_nodes() {
        let path = scene.path(*node);
        text.push_str(&format!(
            "{path} {:?} {:?}",
            index.script_at(*node),
            index.resolved_requires(*node)
        ));
        text.push_str(&format!("{:?}\n", index.required_by(*node)));
    }
    text
}

#[test]
fn refreshed_index_equals_a_new_index() {
    let mut scene = shop();
    let mut kept = CodeIndex::new(&scene);
    let texts = [SHOP, MAIN, "return require(script.Parent.Items)", "local = (", ""];
    let mut draws = RandomDraws::from_seed(7);
    let mut marks = Vec::new();
    for round in 0..1200 {
        let scripts: Vec<Node> =
            scene.descendants(scene.root()).filter(|it| scene.is_script(*it)).collect();
        let storage = at(&scene, "game.ReplicatedStorage");
        let one = draws.pick(&scripts);
        match draws.below(13) {
            0..=2 => scene.set_source(one, draws.pick(&texts).to_owned()),
            3 => scene.rename(one, draws.pick(&["Shop", "Items", "Link", "New"])),
            4 => {
                let class = draws.pick(&["ModuleScript", "Folder"]);
                let node = scene.create(storage, class, "Items");
                if class == "ModuleScript" {
                    scene.set_source(node, draws.pick(&texts).to_owned());
                }
            }
            5 if scripts.len() > 3 => scene.delete(one),
            6 => drop(scene.move_to(one, storage, None)),
            7 if scripts.len() < 40 => drop(scene.copy(one, storage, "Items")),
            8 => drop(scene.set_property(one, "Source", None)),
            9 | 10 => marks.push(scene.journal_mark()),
            11 if draws.below(4) == 0 => {
                scene.rebuild_file().unwrap();
                scene.forget_history();
                marks.clear();
            }
            _ => {
                if let Some(mark) = marks.pop() {
                    scene.rollback(mark);
                }
            }
        }
        // Skip some updates, so that several changes accumulate.
        if draws.below(3) > 0 {
            kept.refresh(&scene);
            assert_eq!(said(&kept, &scene), said(&CodeIndex::new(&scene), &scene), "round {round}");
        }
    }
}

#[test]
fn reused_node_number_is_not_mistaken_for_former_script() {
    let mut scene = shop();
    let storage = at(&scene, "game.ReplicatedStorage");
    let mark = scene.journal_mark();
    let first = scene.create(storage, "ModuleScript", "New");
    scene.set_source(first, "return require(script.Parent.Shop)".to_owned());
    let mut kept = CodeIndex::new(&scene);
    scene.rollback(mark);
    let second = scene.create(storage, "ModuleScript", "New");
    assert_eq!(first, second);
    kept.refresh(&scene);
    assert_eq!(said(&kept, &scene), said(&CodeIndex::new(&scene), &scene));
    let _ = scene.journal_mark();
    scene.set_source(second, "return 1".to_owned());
    kept.refresh(&scene);
    assert_eq!(said(&kept, &scene), said(&CodeIndex::new(&scene), &scene));
}

#[test]
fn refresh_sees_all_changes_after_change_log_overflow() {
    let mut scene = shop();
    let mut kept = CodeIndex::new(&scene);
    let [main, other] =
        ["Main", "Other"].map(|it| at(&scene, &format!("game.ServerScriptService.{it}")));
    scene.set_source(other, "local a = 1".to_owned());
    for round in 0..10_000 {
        scene.set_source(main, format!("print({round})"));
    }
    kept.refresh(&scene);
    assert_eq!(said(&kept, &scene), said(&CodeIndex::new(&scene), &scene));
}

/// A place that is open in Studio, with two scripts of unknown text.
fn open_place() -> Scene {
    use scene_schemas::InstanceId;
    use scene_schemas::api::ScenePart;

    let mut scene = Scene::empty_studio_place();
    let id = |id: &str| InstanceId(format!("studio:{id}"));
    let mut hear = |part: ScenePart| scene.update_mirror(&part).unwrap();
    hear(ScenePart::Begin { total: 0 });
    hear(ScenePart::End {});
    let mut added = |at: &str, parent: InstanceId, class: &str, name: &str| {
        let (class, name) = (class.to_owned(), name.to_owned());
        hear(ScenePart::Added { id: id(at), parent, class, name });
    };
    added("1", InstanceId("game".to_owned()), "ReplicatedStorage", "ReplicatedStorage");
    added("2", id("1"), "ModuleScript", "Lib");
    added("3", id("1"), "Script", "Main");
    scene
}

#[test]
fn studio_sources_are_indexed_and_missing_ones_requested_again() {
    use scene_schemas::InstanceId;
    use scene_schemas::api::{ScenePart, ScriptText};

    let mut scene = PlanningScene::from(open_place());
    let [lib, main] = ["Lib", "Main"].map(|it| at(&scene, &format!("game.ReplicatedStorage.{it}")));
    let id = |id: &str| InstanceId(format!("studio:{id}"));
    let told =
        |at: &str, text: &str| ScriptText { id: id(at), text: text.to_owned(), is_dirty: false };
    let users =
        |scene: &PlanningScene| scene.with_known_texts(|index| index.required_by(lib).to_vec());
    assert_eq!(users(&scene), []);
    assert!(scene.take_missing().is_empty());
    for _ in 0..2 {
        scene.with_index(|index| assert_eq!(index.script_nodes().len(), 2));
        assert_eq!(scene.take_missing().sources, [id("2"), id("3")]);
    }
    scene.scene_mut().set_known_sources(&[told("3", "require(script.Parent.Lib)")]);
    assert_eq!(users(&scene), [main]);
    // A copy on trial has the text of its original.
    let mark = scene.journal_mark();
    let storage = scene.parent(main).unwrap();
    let copy = scene.scene_mut().copy(main, storage, "Copy");
    assert_eq!(users(&scene), [main, copy]);
    scene.scene_mut().set_known_sources(&[told("3", "print(1)")]);
    assert_eq!(users(&scene), []);
    scene.rollback(mark);
    scene.scene_mut().set_known_sources(&[told("3", "require(script.Parent.Lib)")]);
    assert_eq!(users(&scene), [main]);
    scene
        .scene_mut()
        .update_mirror(&ScenePart::Changed { id: id("3"), names: vec!["Source".to_owned()] })
        .unwrap();
    assert_eq!(users(&scene), []);
    scene.with_index(|_| ());
    assert_eq!(scene.take_missing().sources, [id("2"), id("3")]);
}

#[test]
fn index_transferred_to_a_new_scene_keeps_its_summaries() {
    let mut old = PlanningScene::from(shop());
    old.with_index(|index| assert_eq!(index.texts_read(), 5));
    let mut new = Scene::decode(&old.scene_mut().encode().unwrap()).unwrap();
    let main = at(&new, "game.ServerScriptService.Main");
    new.set_source(main, "print(1)".to_owned());
    old.replace_with(new.into());
    old.with_index(|index| {
        assert_eq!(index.texts_read(), 6);
        assert_eq!(said(index, &old), said(&CodeIndex::new(&old), &old));
    });
}

#[test]
fn index_reads_texts_that_external_readers_leave() {
    let mut scene = shop();
    let storage = at(&scene, "game.ReplicatedStorage");
    for at in 0..40 {
        let node = scene.create(storage, "ModuleScript", "Many");
        scene.set_source(node, format!("local a{at} = 1\n").repeat(1_000));
    }
    let read: ReadAllFn =
        |texts| texts[..texts.len() / 2].iter().map(|it| index::summarize_script(it)).collect();
    let fit: FitAllFn =
        |texts, holds| texts[..texts.len() / 2].iter().map(|it| holds(it)).collect();
    let by = CodeIndex::new_by(&scene, TextReaders { read, fit });
    assert_eq!((by.texts_read(), said(&by, &scene)), (45, said(&CodeIndex::new(&scene), &scene)));
    let few = PlanningScene::from(shop());
    let read: ReadAllFn = |_| panic!("five short texts are nobody else's business");
    few.set_readers(TextReaders { read, fit });
    few.with_index(|index| assert_eq!(index.texts_read(), 5));
    assert_eq!(few.match_texts(&["a", "b", "ab"], &|text| text.contains('a')), [true, false, true]);
}

#[test]
fn unchanged_text_is_not_read_again() {
    let mut scene = shop();
    let mut index = CodeIndex::new(&scene);
    assert_eq!(index.texts_read(), 5);
    index.refresh(&scene);
    let main = at(&scene, "game.ServerScriptService.Main");
    scene.rename(main, "Renamed");
    index.refresh(&scene);
    assert_eq!(index.texts_read(), 5);
    scene.set_source(main, "print(1)".to_owned());
    index.refresh(&scene);
    assert_eq!(index.texts_read(), 6);
    let shop = at(&scene, "game.ReplicatedStorage.Shop");
    assert_eq!(names(&scene, index.required_by(shop)), ["Link"]);
}

#[test]
fn positions_use_editor_lines_and_utf16_characters() {
    let text = "a\r\nö😀b\nc";
    let mut positions = PositionTracker::new(text);
    let b = text.find('b').unwrap() as u32;
    assert_eq!(positions.position_of(b), TextPosition { line: 1, character: 3 });
    assert_eq!(positions.position_of(0), TextPosition { line: 0, character: 0 });
    assert_eq!(positions.excerpt(b, 20), "ö😀b");
    assert_eq!(positions.excerpt(b, 3), "…b");
    assert_eq!(positions.excerpt(0, 0), "…");
    let long = format!("x\n{}here{}\ny", "é".repeat(500), "é".repeat(500));
    let around = PositionTracker::new(&long).excerpt(long.find("here").unwrap() as u32, 30);
    assert_eq!(around, format!("…{}here{}…", "é".repeat(5), "é".repeat(8)));
    assert_eq!(byte_at(text, TextPosition { line: 1, character: 3 }), Some(b));
    assert_eq!(byte_at(text, TextPosition { line: 1, character: 99 }), Some(b + 1));
    assert_eq!(byte_at(text, TextPosition { line: 2, character: 0 }), Some(b + 2));
    assert_eq!(byte_at(text, TextPosition { line: 3, character: 0 }), None);
}

fn chosen(scene: &Scene, asked: &ContextRequest<'_>) -> Vec<String> {
    let index = CodeIndex::new(scene);
    let selection = select_scripts(&index, scene, asked);
    assert!(selection.bytes <= asked.budget, "{selection:?}");
    let reason = |it: &SelectedScript| it.reasons[0].to_sentence(|node| scene.path(node));
    let told = |it: &SelectedScript| {
        let text = if it.has_text { " with its text" } else { "" };
        format!("{}: {}{text}", scene.name(it.node), reason(it))
    };
    let left = selection.omitted.iter().map(|it| format!("left {}", scene.name(it.node)));
    selection.selected.iter().map(told).chain(left).collect()
}

#[test]
fn relevant_scripts_are_selected_with_their_required_modules() {
    let scene = shop();
    let asked = |words| ContextRequest {
        words,
        budget: 4_000,
        max_scripts: 2,
        ..ContextRequest::default()
    };
    assert_eq!(
        chosen(&scene, &asked("make the shops cheaper")),
        [
            "Shop: part of shop and purchases: named \"shop\" with its text",
            "Items: required by game.ReplicatedStorage.Shop with its text",
            // Further dependencies fill the budget.
            "Link: requires game.ReplicatedStorage.Shop with its text",
            "Main: defines \"shop\" with its text",
            "Other: requires game.ReplicatedStorage.Link with its text",
        ]
    );
    assert_eq!(chosen(&scene, &asked("and the of to")), Vec::<String>::new());
    let main = at(&scene, "game.ServerScriptService.Other");
    let pointed = ContextRequest { pointed: vec![main], ..asked("what is this?") };
    assert_eq!(
        chosen(&scene, &pointed),
        [
            "Other: open, selected or attached with its text",
            "Shop: required by game.ServerScriptService.Other with its text",
            "Items: required by game.ReplicatedStorage.Shop with its text",
        ]
    );
    assert_eq!(
        chosen(&scene, &asked("explain game.ServerScriptService.Main."))[0],
        "Main: named in the request with its text",
    );
    let short =
        ContextRequest { words: "shop", budget: 780, max_scripts: 9, ..ContextRequest::default() };
    assert_eq!(chosen(&scene, &short)[0], "Shop: part of shop and purchases: named \"shop\"");
}

#[test]
fn scripts_of_a_named_subject_are_selected_without_a_common_word() {
    let saver = "local store = game:GetService(\"DataStoreService\"):GetDataStore(\"v1\")\n";
    let mut all = vec![("ServerScriptService/Keeper".to_owned(), "Script", saver)];
    all.extend(
        (0..40).map(|at| (format!("ReplicatedStorage/Other{at}"), "ModuleScript", "return 1")),
    );
    let all: Vec<_> =
        all.iter().map(|(path, class, text)| (path.as_str(), *class, *text)).collect();
    let asked = ContextRequest {
        words: "progress gets lost when somebody rejoins",
        budget: 4_000,
        max_scripts: 3,
        ..ContextRequest::default()
    };
    assert_eq!(
        chosen(&place(&all), &asked),
        ["Keeper: part of data saving: uses DataStoreService with its text"]
    );
}

#[test]
fn dependencies_fill_the_budget_nearest_first() {
    let text =
        |at: usize| format!("local Next = require(script.Parent.M{})\nreturn {{}}\n", at + 1);
    let mut all: Vec<(String, String)> =
        (0..300).map(|at| (format!("ReplicatedStorage/M{at}"), text(at))).collect();
    all.push(("ReplicatedStorage/Fireworks".to_owned(), "require(script.Parent.M0)".to_owned()));
    let all: Vec<_> =
        all.iter().map(|(path, text)| (path.as_str(), "ModuleScript", text.as_str())).collect();
    let scene = place(&all);
    let index = CodeIndex::new(&scene);
    let names = |budget: usize| {
        let asked = ContextRequest {
            words: "fireworks",
            budget,
            max_scripts: 2,
            ..ContextRequest::default()
        };
        let selection = select_scripts(&index, &scene, &asked);
        assert!(selection.bytes <= budget && selection.fitting == 1 && selection.more == 0);
        names(&scene, &selection.selected.iter().map(|it| it.node).collect::<Vec<_>>())
    };
    let in_order = |count: usize| {
        let modules = (0..count - 1).map(|at| format!("M{at}"));
        std::iter::once("Fireworks".to_owned()).chain(modules).collect::<Vec<_>>()
    };
    let (few, many) = (names(1_500), names(4_000));
    assert!((4..20).contains(&few.len()) && many.len() > few.len() + 8, "{few:?} {many:?}");
    assert_eq!((few.clone(), many.clone()), (in_order(few.len()), in_order(many.len())));
    // However large the budget, the list stays one that can be read.
    assert_eq!(names(1_000_000), in_order(60));
}
