//! Kept scripts of an inserted asset in Roblox's sandbox: in every format, in a Rojo project, from a
//! terminal, and through the daemon.

use std::fs;
use std::path::Path;

use fake_cloud::API_KEY;
use rbx_dom_weak::{Instance, InstanceBuilder, WeakDom};
use rbx_types::{Enum, SecurityCapabilities, Variant};
use scene_schemas::sandbox::ScriptSandbox;
use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::insert::{Bench, TREE, daemon};

/// The bit field of the capabilities that Vector grants.
fn granted() -> u64 {
    ScriptSandbox::new(Vec::new()).capability_bits().unwrap()
}

/// The instance with this name in a file; only one has it.
fn named<'a>(dom: &'a WeakDom, name: &str) -> &'a Instance {
    let mut all = dom.descendants().filter(|it| it.name == name);
    let found = all.next().unwrap_or_else(|| panic!("there is no {name}"));
    assert!(all.next().is_none(), "there is one {name}");
    found
}

/// `Sandboxed` and `Capabilities` of an instance, as a file stores them.
fn sandbox_of(dom: &WeakDom, name: &str) -> (Option<bool>, Option<u64>) {
    let properties = &named(dom, name).properties;
    let is_sandboxed = properties.get(&"Sandboxed".into()).map(|it| match it {
        Variant::Bool(is_sandboxed) => *is_sandboxed,
        other => panic!("{other:?}"),
    });
    let capabilities = properties.get(&"Capabilities".into()).map(|it| match it {
        Variant::SecurityCapabilities(set) => set.bits(),
        other => panic!("{other:?}"),
    });
    (is_sandboxed, capabilities)
}

/// Whether nothing makes an instance a sandboxed container.
fn is_free(dom: &WeakDom, name: &str) -> bool {
    matches!(sandbox_of(dom, name), (None | Some(false), None | Some(0)))
}

fn warnings(shown: &Json) -> String {
    let all = shown["proposal"]["warnings"].as_array().unwrap().iter();
    all.map(|it| it["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Keeps the first script of the asset of a card, and returns the new card.
fn keep(human: &Human, card: u64, sandbox: bool) -> u64 {
    let kept = json!({ "say": "keep", "scripts": [0], "sandbox": sandbox });
    human.decide(card, &kept).ok()["proposal"].as_u64().unwrap()
}

fn apply(human: &mut Human, card: u64) {
    human.decide(card, &json!({ "say": "approve", "twice": true })).ok();
    human.until_status(card, "applied");
}

#[test]
fn kept_script_is_sandboxed_in_every_format_until_it_is_reverted() {
    for format in Format::ALL {
        let bench = Bench::new(format);
        let before = fs::read(&bench.place).unwrap();
        let (first, mut human, opened) = daemon(&bench);
        human.ask(&opened, &format!("insert asset {TREE}"));
        let card = human.card();
        let card = keep(&human, card, true);
        let shown = human.shown(card);
        let said = warnings(&shown);
        assert!(said.contains("Kept scripts of asset 4711 run in the sandbox"), "{said}");
        let is_place = matches!(format, Format::Rbxl | Format::Rbxlx);
        let effect = if is_place { "has no effect, because" } else { "an effect only in places" };
        assert!(said.contains(effect), "{format:?}: {said}");
        apply(&mut human, card);
        let dom = places::decode(&fs::read(&bench.place).unwrap());
        assert_eq!(sandbox_of(&dom, "Tree"), (Some(true), Some(granted())), "{format:?}");
        assert!(is_free(&dom, "Trunk") && is_free(&dom, "Spread"), "{format:?}");
        first.kill();
        let reverted = bench.revert_last();
        assert_eq!(reverted.code, 0, "{format:?}: {}", reverted.stderr);
        assert_eq!(fs::read(&bench.place).unwrap(), before, "{format:?}");
    }
}

#[test]
fn sandbox_is_lifted_and_set_again_without_another_script() {
    let bench = Bench::new(Format::Rbxlx);
    let (_daemon, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let set = |sandbox: bool| json!({ "say": "keep", "scripts": [], "sandbox": sandbox });
    let refused = human.decide(card, &set(true));
    assert!(refused.body.to_string().contains("No script of an asset is kept"), "{refused:?}");
    // As a client of an earlier version sends it.
    let kept = human.decide(card, &json!({ "say": "keep", "scripts": [0] })).ok();
    let card = kept["proposal"].as_u64().unwrap();
    assert!(!warnings(&human.shown(card)).contains("sandbox"));
    let sandboxed = human.decide(card, &set(true)).ok()["proposal"].as_u64().unwrap();
    assert!(warnings(&human.shown(sandboxed)).contains("run in the sandbox"));
    let lifted = human.decide(sandboxed, &set(false)).ok()["proposal"].as_u64().unwrap();
    assert!(!warnings(&human.shown(lifted)).contains("sandbox"));
    apply(&mut human, lifted);
    let dom = places::decode(&fs::read(&bench.place).unwrap());
    assert!(is_free(&dom, "Tree"));
}

#[test]
fn sandbox_stays_when_the_call_is_planned_again() {
    let bench = Bench::new(Format::Rbxl);
    let (first, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let card = keep(&human, card, true);
    first.kill();
    let (_second, mut human, _) = daemon(&bench);
    let pending = human.until_found("/api/proposals", |found| {
        let last = found["proposals"].as_array()?.last()?["seq"].as_u64()?;
        (last > card).then_some(last)
    });
    assert!(warnings(&human.shown(pending)).contains("run in the sandbox game.Workspace.Tree,"));
    apply(&mut human, pending);
    let dom = places::decode(&fs::read(&bench.place).unwrap());
    assert_eq!(sandbox_of(&dom, "Tree"), (Some(true), Some(granted())));
}

/// A sample place in which sandboxes have an effect.
fn experimental_place(path: &Path, format: Format) {
    let mut dom = places::sample_place();
    let workspace = named(&dom, "Workspace").referent();
    let workspace = dom.get_by_ref_mut(workspace).unwrap();
    workspace.properties.insert("SandboxedInstanceMode".into(), Enum::from_u32(1).into());
    fs::write(path, places::encode(&dom, format)).unwrap();
}

/// A model that is sandboxed already, with fewer and with other capabilities than Vector grants.
fn sandboxed_tree(own: u64) -> Vec<u8> {
    let grow = InstanceBuilder::new("Script").with_name("Grow").with_property("Source", "print(1)");
    let model = InstanceBuilder::new("Model")
        .with_name("Tree")
        .with_property("Sandboxed", true)
        .with_property("Capabilities", SecurityCapabilities::from_bits(own))
        .with_child(grow);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    places::encode(
        &WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace)),
        Format::Rbxm,
    )
}

#[test]
fn asset_that_is_sandboxed_already_gets_no_further_capabilities() {
    let bench = Bench::new(Format::Rbxlx);
    experimental_place(&bench.place, Format::Rbxlx);
    // RunServerScript, Basic and Network.
    bench.cloud.deliver(TREE, sandboxed_tree(1 << 9 | 1 << 20 | 1 << 23));
    let (_daemon, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let card = keep(&human, card, true);
    let said = warnings(&human.shown(card));
    assert!(said.contains("run in the sandbox") && !said.contains("effect"), "{said}");
    human.approve(card).ok();
    human.until_status(card, "applied");
    let dom = places::decode(&fs::read(&bench.place).unwrap());
    assert_eq!(sandbox_of(&dom, "Tree"), (Some(true), Some(1 << 9 | 1 << 20)));
}

/// A model whose script becomes a file of its own in a project. Its instances are in the order that
/// their files have.
fn lamp() -> Vec<u8> {
    let glow = InstanceBuilder::new("Script").with_name("Glow").with_property("Source", "print(1)");
    let bulb = InstanceBuilder::new("Part").with_name("Bulb");
    let model = InstanceBuilder::new("Model").with_name("Lamp").with_child(bulb).with_child(glow);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), Format::Rbxm)
}

#[test]
fn kept_script_is_sandboxed_in_a_project() {
    let mut bench = Bench::new(Format::Rbxl);
    let project = bench.home.path().join("project");
    fs::create_dir_all(project.join("models")).unwrap();
    fs::write(
        project.join("default.project.json"),
        r#"{"name":"It","tree":{"$className":"DataModel","Workspace":{"$path":"models"}}}"#,
    )
    .unwrap();
    bench.place = project.clone();
    bench.cloud.deliver(TREE, lamp());
    let (first, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let card = keep(&human, card, true);
    assert!(warnings(&human.shown(card)).contains("has no effect, because"));
    apply(&mut human, card);
    first.kill();
    let built = bench.home.path().join("built.rbxlx");
    let mut rojo = std::process::Command::new("rojo");
    let output = rojo.arg("build").arg(&project).arg("--output").arg(&built).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let dom = places::decode(&fs::read(&built).unwrap());
    assert_eq!(sandbox_of(&dom, "Lamp"), (Some(true), Some(granted())));
    assert!(is_free(&dom, "Glow") && named(&dom, "Glow").class == "Script");
    let reverted = bench.revert_last();
    assert_eq!(reverted.code, 0, "{}{}", reverted.stdout, reverted.stderr);
    assert_eq!(fs::read_dir(project.join("models")).unwrap().count(), 0);
}

#[test]
fn agent_can_neither_choose_nor_lift_the_sandbox() {
    let bench = Bench::new(Format::Rbxl);
    let (daemon, human, opened) = daemon(&bench);
    let mut agent = Agent::new(&daemon, &bench.home.path().join("vector"), "test");
    let args = |more: Json| {
        let mut args = json!({
            "assetId": TREE, "parentPath": "game.Workspace", "session": opened["session"],
        });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let refused = agent.call("insert_asset", &args(json!({ "sandbox": false })));
    assert!(refused.to_string().contains("unknown field `sandbox`"), "{refused}");
    let card = agent.propose("insert_asset", &args(json!({})));
    let card = keep(&human, card, true);
    let shown = human.shown(card);
    let lift = json!({
        "patch_id": shown["proposal"]["patch_id"], "base": shown["proposal"]["base"],
        "decision": { "say": "keep", "scripts": [], "sandbox": false },
    });
    let answer = agent.send("POST", &format!("/api/proposals/{card}/decide"), &lift);
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(warnings(&human.shown(card)).contains("run in the sandbox"));
}

#[cfg(unix)]
mod at_a_terminal {
    use vector_tests::person::Person;

    use super::*;

    fn insert(bench: &Bench) -> Person {
        let target = bench.place.display().to_string();
        let mut command = bench.home.command(&["assets", "insert", &target, "4711"]);
        command
            .env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url())
            .env("ROBLOX_ASSETS_API_KEY", API_KEY);
        Person::runs(command)
    }

    fn keeps_the_first(person: &mut Person) {
        person.answers("[i]nsert scripts [?]", "i");
        person.answers("Insert game.Workspace.Tree.Spread? [y]es [n]o", "y");
        person.answers("Insert game.Workspace.Tree.Spread.Helper? [y]es [n]o", "n");
    }

    #[test]
    fn enter_sandboxes_and_no_does_not() {
        for (answer, expected) in
            [("", (Some(true), Some(granted()))), ("y", (Some(true), Some(granted())))]
        {
            let bench = Bench::new(Format::Rbxl);
            let mut person = insert(&bench);
            keeps_the_first(&mut person);
            person.answers("Run kept scripts in a sandbox?", answer);
            let card = person.answers("[?]", "y");
            assert!(card.contains("run in the sandbox game.Workspace.Tree,"), "{card}");
            assert!(card.contains("has no effect, because Workspace."), "{card}");
            person.answers("Type yes to apply it despite that", "yes");
            let (code, shown) = person.sees_the_end();
            assert_eq!(code, 0, "{shown}");
            let dom = places::decode(&fs::read(&bench.place).unwrap());
            assert_eq!(sandbox_of(&dom, "Tree"), expected, "{answer:?}");
        }
        let bench = Bench::new(Format::Rbxl);
        let mut person = insert(&bench);
        keeps_the_first(&mut person);
        person.answers("Run kept scripts in a sandbox?", "q");
        keeps_the_first(&mut person);
        person.answers("Run kept scripts in a sandbox?", "n");
        let card = person.answers("[?]", "y");
        assert!(!card.contains("run in the sandbox"), "{card}");
        person.answers("Type yes to apply it despite that", "yes");
        assert_eq!(person.sees_the_end().0, 0);
        assert!(is_free(&places::decode(&fs::read(&bench.place).unwrap()), "Tree"));
    }
}
