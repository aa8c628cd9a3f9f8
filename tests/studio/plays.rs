//! Games that are played on a copy of the open place.

use serde_json::json;
use studio_sim::Signals;

use super::agent::{Agent, answered};
use super::{Desk, click, eval, has, shows, until, until_shown};

const CONTENTS: &str = r#"
local coin = Instance.new("Part")
coin.Name, coin.Position, coin.Anchored = "Coin", Vector3.new(20, 3, 0), true
coin.Parent = workspace
local module = Instance.new("ModuleScript")
module.Name = "Prices"
module.Source = "return { Coin = 10 }"
module.Parent = game:GetService("ReplicatedStorage")
local script = Instance.new("Script")
script.Name = "Main"
script.Source = [[
local prices = require(game.ReplicatedStorage.Prices)
workspace.Coin.Touched:Connect(function(hit)
	local player = game.Players:GetPlayerFromCharacter(hit.Parent)
	player:SetAttribute("Coins", prices.Coin)
	workspace.Coin:Destroy()
	print(prices.Gem.Value)
end)
]]
script.Parent = game:GetService("ServerScriptService")
"#;

#[test]
fn game_of_an_open_place_is_played_on_a_copy() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, CONTENTS);
    let before = studio.snapshot();
    let steps = json!([
        { "do": "touch", "target": "Workspace.Coin" },
        { "do": "wait", "seconds": 0.1 },
        { "do": "expect", "text": "game.Players.Player1:GetAttribute('Coins') == 10" },
    ]);
    let call = agent.calls("1", "playtest", json!({ "steps": steps }));
    let call = answered(studio, &call);
    let outcome = &call["outcome"];
    assert_eq!(outcome["state"], "done", "{call}");
    let answer = &outcome["answer"];
    assert_eq!(answer["errors"][0]["script"], "ServerScriptService.Main", "{call}");
    assert_eq!(answer["errors"][0]["line"], 6);
    assert_eq!(answer["steps"][2]["ok"], true);
    assert_eq!(answer["changes"][0]["path"], "Workspace.Coin");
    assert_eq!(studio.snapshot(), before, "nothing happens in the open place");
}

/// Another main script, and many parts.
const SHOP: &str = r#"
local script = game:GetService("ServerScriptService").Main
script.Source = "local prices = require(game.ReplicatedStorage.Prices)\nprint(prices.Coin + 1)"
for n = 1, 300 do
	local part = Instance.new("Part")
	part.Parent = workspace
end
"#;

const RENAME: &str = "replace \"Coin\" with \"Gold\" in game.ReplicatedStorage.Prices";
const DEARER: &str = "replace \"10\" with \"20\" in game.ReplicatedStorage.Prices";

#[test]
fn card_says_which_script_newly_fails() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    eval(studio, CONTENTS);
    eval(studio, SHOP);
    let before = studio.snapshot();
    desk.propose(RENAME);
    assert!(shows(studio, "runs: 1 new error, ServerScriptService.Main:2"));
    assert!(shows(studio, "attempt to perform arithmetic (add) on nil and number (Server)"));
    click(studio, "Reject");
    until(studio, "it is rejected", |studio| !has(studio, "Approve"));
    desk.propose(DEARER);
    assert!(shows(studio, "runs: no new errors"));
    assert_eq!(studio.snapshot(), before, "nothing happens in the open place");
}

#[test]
fn check_by_playing_can_be_switched_off() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    eval(studio, CONTENTS);
    eval(studio, SHOP);
    click(studio, "Settings");
    until_shown(studio, "✓");
    click(studio, "Play changes");
    until(studio, "it is off", |_| {
        super::budget::read(&desk.daemon, &desk.home, "/api/settings")["play_check"] == false
    });
    // A text that is not an amount is replaced by the limit that holds.
    let limits =
        || super::budget::read(&desk.daemon, &desk.home, "/api/settings")["limits"].clone();
    let day = || super::object(studio, "Limit day");
    studio.type_into(&day(), "much", true).unwrap();
    until(studio, "the limit is shown again", |_| day().text.is_empty());
    studio.type_into(&day(), "$2.5", true).unwrap();
    until(studio, "it is set", |_| limits() == json!({ "day": 2.5 }));
    until(studio, "it is shown", |_| day().text == "2.5");
    click(studio, "Back");
    desk.propose(RENAME);
    assert!(!shows(studio, "runs:"));
}

#[test]
fn agent_is_told_of_new_errors_before_a_card_is_shown() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, CONTENTS);
    eval(studio, SHOP);
    let is_told = |_: &_| super::budget::mirrored(&desk.daemon, &desk.home) > 300;
    until(studio, "the daemon knows the place", is_told);
    let args =
        json!({ "path": "game.ReplicatedStorage.Prices", "search": "Coin", "replace": "Gold" });
    let call = answered(studio, &agent.calls("1", "replace_text", args.clone()));
    assert_eq!(call["outcome"]["state"], "refused", "{call}");
    assert!(call["outcome"].to_string().contains("ServerScriptService.Main:2: attempt"), "{call}");
    assert!(!has(studio, "Approve"));
    let call = answered(studio, &agent.calls("2", "replace_text", args));
    assert_eq!(call["outcome"]["state"], "pending", "{call}");
    until_shown(studio, "runs: 1 new error, ServerScriptService.Main:2");
}
