//! Scripts that run on scenes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use vector_place::Scene;

use super::*;

fn obby() -> Scene {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/obby.rbxlx");
    Scene::decode(&std::fs::read(path).unwrap()).unwrap()
}

fn run_within(scene: &Scene, source: &str, limits: RunLimits) -> Result<RunOutcome, String> {
    let request = RunRequest { source: source.to_owned(), name: "Test".to_owned(), title: None };
    run_script(scene, &request, limits, Rc::new(|| false))
}

#[track_caller]
fn run(scene: &Scene, source: &str) -> RunOutcome {
    run_within(scene, source, RunLimits::default()).unwrap()
}

#[track_caller]
fn fails(source: &str, limits: RunLimits, why: &str) {
    let outcome = run_within(&obby(), source, limits).unwrap();
    let error = outcome.result.unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn scripts_see_every_instance_of_a_scene() {
    let scene = obby();
    let source = "
        local lines = {}
        local function add(it)
            for _, child in it:GetChildren() do
                table.insert(lines, `{child:GetFullName()} {child.ClassName} {child.Parent == it}`)
                add(child)
            end
        end
        for _, service in { 'Workspace', 'ServerScriptService', 'ReplicatedStorage', 'Lighting' } do
            add(game:GetService(service))
        end
        return lines";
    let found = run(&scene, source).result.unwrap();
    let mut expected = Vec::new();
    for service in ["Workspace", "ServerScriptService", "ReplicatedStorage", "Lighting"] {
        let Some(node) = scene.find_child(scene.root(), service) else { continue };
        for node in scene.descendants(node) {
            let mut names = Vec::new();
            let mut at = node;
            while at != scene.root() {
                names.insert(0, scene.name(at));
                at = scene.parent(at).unwrap();
            }
            expected.push(format!("{} {} true", names.join("."), scene.class(node)));
        }
    }
    assert!(expected.len() > 20);
    assert_eq!(found, json!(expected));
}

#[test]
fn only_what_a_script_gets_to_is_copied() {
    let outcome = run(&obby(), "return workspace.Name");
    assert_eq!(outcome.result, Ok(json!("Workspace")));
    let services = obby().children(obby().root()).count() as u32;
    assert_eq!(outcome.touched, services + 1);
}

#[test]
fn values_references_attributes_and_tags_are_those_of_the_scene() {
    let source = "
        local Model = Instance.new('Model')
        Model.Name = 'Made'
        local part = Instance.new('Part')
        part.Size = Vector3.new(1, 2, 3)
        part:SetAttribute('Speed', 4)
        part:AddTag('Spinner')
        part.Parent = Model
        Model.PrimaryPart = part
        Model.Parent = workspace
        local found = game:GetService('CollectionService'):GetTagged('Spinner')
        return { #found, found[1].Size.Y, found[1]:GetAttribute('Speed'), workspace.Made.PrimaryPart == part }";
    assert_eq!(run(&obby(), source).result, Ok(json!([1, 2, 4, true])));
}

#[test]
fn output_errors_and_waits_are_reported() {
    let outcome =
        run(&obby(), "print('a', 1) warn('b') task.wait(5) print(os.clock() >= 5) return nil");
    let lines: Vec<_> = outcome.output.iter().map(|it| (&*it.kind, &*it.text)).collect();
    assert_eq!(lines, [("print", "a 1"), ("warn", "b"), ("print", "true")]);
    let limits = RunLimits::default();
    fails("local it = nil\nreturn it.Name", limits, "Test:2: attempt to index nil with 'Name'");
    fails(
        "return workspace.Nothing",
        limits,
        "Nothing is not a valid member of Workspace \"Workspace\"",
    );
    fails("task.wait(1e9)", limits, "still waiting after 60 simulated seconds");
    fails("coroutine.yield()", limits, "cannot happen here");
}

#[test]
fn runs_are_bounded_and_reach_nothing() {
    let short = RunLimits { real: Duration::from_millis(200), ..RunLimits::default() };
    fails("local x\nwhile true do end", short, "Test:2: Script timeout: exhausted allowed");
    fails("while true do pcall(function() while true do end end) end", short, "exhausted");
    let waiting = "while true do task.wait() end";
    let endless = RunLimits { seconds: 1e9, ..short };
    fails(waiting, endless, "took longer than 0.2 s");
    let limits = RunLimits { memory: 64 << 20, ..RunLimits::default() };
    let filling =
        "local all = {} while true do table.insert(all, string.rep('x', 1e6) .. #all) end";
    fails(filling, limits, "memory");
    let limits = RunLimits::default();
    for reach in ["io", "os.execute", "os.getenv", "package", "loadfile", "dofile"] {
        let mut source = String::new();
        for level in 0..6 {
            let _ = writeln!(
                source,
                "pcall(function() table.insert(found, getfenv({level}).{reach}) end)"
            );
        }
        let source = format!("local found = {{}}\n{source}return #found");
        let outcome = run_within(&obby(), &source, limits).unwrap();
        assert_eq!(outcome.result, Ok(json!(0)), "{reach}");
    }
    // A script's own `require` finds instances; that of the VM, which reads files, is not there.
    let source = "
        local own = require
        for level = 0, 10 do
            local isThere, other = pcall(function() return getfenv(level).require end)
            assert(not isThere or other == nil or other == own, level)
        end";
    assert_eq!(run(&obby(), source).result, Ok(json!(null)));
}

#[test]
fn cyclic_and_strange_results_are_cut() {
    let found = run(&obby(), "local it = { 1 } it[2] = it return it").result.unwrap();
    assert_eq!(found[0], 1);
    assert_eq!(found[1][1][0], 1);
    let wide = "local it = {} for index = 1, 4 do it[index] = it end return it";
    run(&obby(), wide).result.unwrap();
    let found =
        run(&obby(), "return { workspace, Vector3.one, print ~= nil, 0/0 }").result.unwrap();
    assert_eq!(found[0], "Workspace");
    assert_eq!(found[2], true);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_far_as_possible() {
    let outcome = run(&obby(), "print('a\\255b') return '\\254'");
    assert_eq!((&*outcome.output[0].text, outcome.result), ("a\u{fffd}b", Ok(json!("\u{fffd}"))));
    fails("error('\\255no')", RunLimits::default(), "\u{fffd}no");
}

#[test]
fn long_output_is_cut() {
    let source = "for index = 1, 12000 do print(index, string.rep('x', 5000)) end";
    let output = run(&obby(), source).output;
    assert_eq!(output.len(), MAX_LINES + 1);
    assert!(output[0].text.starts_with("1 xxx") && output[0].text.len() == MAX_LINE);
    assert_eq!(output[MAX_LINES].text, "2000 more lines were printed.");
}

#[test]
fn run_ends_when_it_is_cancelled() {
    let request =
        RunRequest { source: "while true do end".to_owned(), name: "Test".to_owned(), title: None };
    let outcome = run_script(&obby(), &request, RunLimits::default(), Rc::new(|| true)).unwrap();
    assert!(outcome.result.is_err());
}

#[test]
fn modules_are_required_by_instance_and_by_path() {
    let mut scene = obby();
    let storage = scene.create(scene.root(), "ReplicatedStorage", "Modules");
    let mut module = |name: &str, source: &str| {
        let node = scene.create(storage, "ModuleScript", name);
        scene.set_source(node, source.to_owned());
    };
    module("Price", "return { value = 5 }");
    module("Shop", "local Price = require('./Price') Price.value += 1 return Price");
    module("Same", "return require(script.Parent.Price)");
    module("Loop", "return require('./Loop')");
    module("Broken", "local it = nil\nreturn it.x");
    module("Nothing", "");
    module("Slow", "task.wait(2) return os.clock()");
    let at = "local at = game.Modules ";
    let value = |source: &str| run(&scene, &format!("{at}{source}")).result;
    let source = "return { require(at.Shop).value, require(at.Same).value, \
                  require('@game/Modules/Price') == require(at.Price), require(at.Slow) >= 2 }";
    assert_eq!(value(source), Ok(json!([6, 6, true, true])));
    for (module, why) in [
        ("Loop", "Requested module experienced an error while loading"),
        ("Broken", "Requested module experienced an error while loading"),
        ("Nothing", "Module code did not return exactly one value"),
    ] {
        let outcome = run(&scene, &format!("{at}return require(at.{module})"));
        assert!(outcome.result.clone().unwrap_err().contains(why), "{outcome:?}");
    }
    let outcome = run(&scene, &format!("{at}require(at.Broken)"));
    assert_eq!(outcome.output[0].text, "Modules.Broken:2: attempt to index nil with 'x'");
    let error = value("return require('./Price')").unwrap_err();
    assert!(error.contains("require by a path works only in a script"), "{error}");
}

#[test]
fn rays_and_regions_find_the_parts_of_the_scene_and_those_of_the_run() {
    let place = |voxels: &str| {
        let xml = format!(
            r#"<roblox version="4"><Item class="Workspace" referent="0"><Properties>
            <string name="Name">Workspace</string></Properties>
            <Item class="Part" referent="1"><Properties><string name="Name">Floor</string>
            <Vector3 name="size"><X>100</X><Y>2</Y><Z>100</Z></Vector3></Properties></Item>
            <Item class="Terrain" referent="2"><Properties>
            <BinaryString name="SmoothGrid">{voxels}</BinaryString></Properties></Item>
            </Item></roblox>"#
        );
        Scene::decode(xml.as_bytes()).unwrap()
    };
    let scene = place("AQU=");
    let source = "
        local function hit(x)
            local found = workspace:Raycast(Vector3.new(x, 50, 0), Vector3.new(0, -100, 0))
            return if found then `{found.Instance.Name} {found.Position.Y} {found.Normal.Y}` else 'nothing'
        end
        local crate = Instance.new('Part')
        crate.Name, crate.Size, crate.Position = 'Crate', Vector3.new(4, 4, 4), Vector3.new(10, 3, 0)
        crate.Parent = workspace
        local model = Instance.new('Model')
        crate:Clone().Parent = model
        model.Crate.Name, model.Parent = 'Inner', workspace
        model.Inner.Position = Vector3.new(20, 3, 0)
        local lines = { hit(0), hit(10), hit(20), hit(60) }
        crate.Position += Vector3.new(0, 5, 0)
        table.insert(lines, hit(10))
        crate.Parent = nil
        table.insert(lines, hit(10))
        model:Destroy()
        table.insert(lines, hit(20))
        workspace.Floor.Size = Vector3.new(200, 2, 100)
        table.insert(lines, hit(60))
        local near = workspace:GetPartBoundsInRadius(Vector3.new(0, 10, 0), 9.5)
        table.insert(lines, #near)
        return lines";
    let outcome = run(&scene, source);
    let expected = json!([
        "Floor 1 1",
        "Crate 5 1",
        "Inner 5 1",
        "nothing",
        "Crate 10 1",
        "Floor 1 1",
        "Floor 1 1",
        "Floor 1 1",
        1,
    ]);
    assert_eq!(outcome.result, Ok(expected));
    assert_eq!(outcome.not_in_runtime, Vec::<String>::new());
    // Rays see no terrain, and the outcome says so once.
    let scene = place("AQV2b3hlbHM=");
    let told = ["terrain: rays and regions find parts only"];
    assert_eq!(run(&scene, source).not_in_runtime, told);
    assert_eq!(run(&scene, "return 1").not_in_runtime, Vec::<String>::new());
    let source = "
        local part = workspace.Floor:Clone()
        part.Parent = workspace
        local params = OverlapParams.new()
        params.MaxParts = 1
        return #workspace:GetPartsInPart(part, params)";
    assert_eq!(run(&scene, source).result, Ok(json!(1)));
    let source = "
        local ball = Instance.new('Part')
        ball.Shape, ball.Parent = Enum.PartType.Ball, workspace
        local nowhere = workspace:Raycast(Vector3.new(0 / 0, 5, 0), Vector3.new(0, -9, 0))
        return { nowhere == nil, workspace:Raycast(Vector3.new(1, 5, 0), Vector3.new(0, -1e30, 0)) ~= nil }";
    assert_eq!(run(&scene, source).result, Ok(json!([true, true])));
    let source = "return Instance.new('WorldModel'):Raycast(Vector3.zero, Vector3.one)";
    assert_eq!(run(&scene, source).not_in_runtime, ["WorldModel:Raycast"]);
}
