//! Games that are played on a copy of the open place.

use serde_json::json;
use studio_sim::Signals;

use super::agent::{Agent, answered};
use super::{Desk, eval};

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
