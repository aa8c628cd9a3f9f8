//! Code that a model runs: in the open place it never runs, and its changes are those that it would
//! have made there.

use serde_json::{Value as Json, json};
use studio_sim::{SharedSettings, Signals, Studio};

use super::agent::{Agent, answered};
use super::{Desk, click, eval, has, studio_with, switches, until, until_there};
use crate::runs::scripts::scripts;

/// What the scripts find in the place, beside its other contents.
const CONTENTS: &str = r#"
local function part(name, parent, at)
    local it = Instance.new("Part")
    it.Name, it.Position, it.Anchored = name, at, true
    it.Parent = parent
    return it
end
for index = 1, 3 do
    local house = Instance.new("Model")
    house.Name = `House{index}`
    local floor = part("Floor", house, Vector3.new(index * 20, 0, 0))
    local door = part("Door", house, Vector3.new(index * 20, 4, 5))
    door.Transparency = if index == 2 then 1 else 0
    door.Material = Enum.Material.Neon
    local weld = Instance.new("WeldConstraint")
    weld.Part0, weld.Part1, weld.Parent = floor, door, door
    house.PrimaryPart = floor
    house:SetAttribute("Price", index * 100)
    house:AddTag("House")
    house.Parent = workspace
end
part("Floor", workspace, Vector3.new(0, -2, 0)).CanCollide = false
local module = Instance.new("ModuleScript")
module.Name = "Prices"
module.Source = "wait(1)\nreturn { wait(2), a.wait(3) }\n"
module.Parent = game:GetService("ReplicatedStorage")
Instance.new("Folder", game:GetService("ServerStorage")).Name = "Old"
"#;

/// Removes what differs between two windows, and sorts siblings.
fn without_ids(mut snapshot: Json) -> Json {
    fn clean(it: &mut Json) {
        match it {
            Json::Object(fields) => {
                fields.remove("id");
                fields.values_mut().for_each(clean);
                if let Some(Json::Array(children)) = fields.get_mut("children") {
                    children.sort_by_key(Json::to_string);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(clean),
            Json::String(text) if text.starts_with("-> ") => {
                let end = text.rfind(" (0_").unwrap_or(text.len());
                text.truncate(end);
            }
            _ => {}
        }
    }
    clean(&mut snapshot);
    snapshot
}

/// Approves the card that waits, also if it asks twice.
fn approve(studio: &Studio) {
    until_there(studio, "Approve");
    click(studio, "Approve");
    for _ in 0..4 {
        studio.step();
    }
    if has(studio, "ApproveAnyway") {
        until(studio, "it can be confirmed", |studio| {
            studio.click(&super::object(studio, "ApproveAnyway")).is_ok()
        });
    }
}

#[test]
fn code_changes_an_open_place_as_if_it_had_run_there() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, CONTENTS);
    let before = studio.snapshot();
    for (number, (name, source)) in scripts().into_iter().enumerate() {
        let there = studio_with(&SharedSettings::default(), Signals::Deferred, switches());
        eval(&there, CONTENTS);
        let task = format!("task.spawn(function()\n{source}\nend)");
        eval(&there, &task);
        there.run_for(12.0);
        let expected = without_ids(there.snapshot());
        let call = agent.calls(&number.to_string(), "run_luau", json!({ "code": source }));
        let call = answered(studio, &call);
        let state = call["outcome"]["state"].as_str().unwrap_or_default();
        assert!(matches!(state, "pending" | "done"), "{name}: {call}");
        assert_eq!(studio.snapshot(), before, "{name}: nothing runs in the open place");
        if state == "pending" {
            let became = agent.became(&call);
            approve(studio);
            let became = answered(studio, &became);
            assert_eq!(became["outcome"]["state"], "done", "{name}: {became}");
        }
        let found = without_ids(studio.snapshot());
        let difference = first_difference(&found, &expected, "game");
        assert!(found == expected, "{name}: {difference}");
        if state == "pending" {
            assert!(studio.undo(), "{name}");
            until(studio, "one undo step takes it back", |studio| studio.snapshot() == before);
        }
    }
}

#[test]
fn specs_see_an_open_place_and_change_nothing_there() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, CONTENTS);
    let spec = r#"
local module = Instance.new("ModuleScript")
module.Name = "Houses.spec"
module.Source = [[return function()
    it("reads", function()
        local house = workspace.House2
        expect(house:GetAttribute("Price")).to.equal(200)
        expect(house.PrimaryPart.Position).to.equal(Vector3.new(40, 0, 0))
        expect(#game:GetService("CollectionService"):GetTagged("House")).to.equal(3)
    end)
    it("changes", function()
        workspace.House1:PivotTo(CFrame.new(0, 10, 0))
        workspace.House3:Destroy()
        expect(workspace.House1.Door.Transparency).to.equal(1)
    end)
end]]
module.Parent = game:GetService("ReplicatedStorage")
"#;
    eval(studio, spec);
    let before = studio.snapshot();
    // Until the daemon has heard of what was made just now.
    let is_seen = |number: i32| {
        let call = answered(studio, &agent.calls(&number.to_string(), "run_tests", json!({})));
        let answer = call["outcome"]["answer"].to_string();
        answer.contains(r#""passed":1"#) && answer.contains("got 0 (number)")
    };
    assert!((0..50).any(is_seen), "the specs did not see the place");
    assert_eq!(studio.snapshot(), before, "specs change nothing in the open place");
}

/// Describes where two snapshots differ.
fn first_difference(found: &Json, expected: &Json, path: &str) -> String {
    match (found, expected) {
        (Json::Object(a), Json::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                if a.get(key) != b.get(key) {
                    let (a, b) = (&found[key], &expected[key]);
                    return first_difference(a, b, &format!("{path}.{key}"));
                }
            }
            String::new()
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or_default();
            first_difference(&found[at], &expected[at], &format!("{path}[{at}]"))
        }
        _ => format!("{path}: found {found:#}, expected {expected:#}"),
    }
}
