//! Games in files, with errors and without, and what the runtime finds in them.

mod game_file;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vector_core::play::StepResult;

use self::game_file::{ExpectedError, GameFile, read_game};
use super::*;

fn play(scene: &Scene, request: &PlayRequest) -> PlayOutcome {
    play_scene(scene, request, PlayLimits::default(), Rc::new(|| false)).unwrap()
}

fn play_text(text: &str) -> PlayOutcome {
    let GameFile { scene, request, .. } = read_game(text);
    play(&scene, &request)
}

fn printed(outcome: &PlayOutcome) -> Vec<String> {
    outcome.output.iter().map(|it| format!("{}: {}", it.peer, it.line.text)).collect()
}

/// The files of a folder of games, in the order of their names.
fn games(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/play/games").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect()
}

fn failed_steps(outcome: &PlayOutcome) -> Vec<(usize, &StepResult)> {
    (1..).zip(&outcome.steps).filter(|(_, step)| step.failure.is_some()).collect()
}

#[test]
fn sound_games_are_silent() {
    let games = games("sound");
    assert!(games.len() >= 30, "{}", games.len());
    let mut failures = Vec::new();
    for (file, text) in games {
        let GameFile { scene, request, .. } = read_game(&text);
        let outcome = play(&scene, &request);
        let is_silent = outcome.is_ok(&request) && outcome.missing.is_empty();
        // The engine's own warnings; scripts may warn of what they have caught.
        let warns = |it: &PlayOutput| it.line.text.contains("Infinite yield");
        let is_silent = is_silent && !outcome.output.iter().any(warns);
        if !is_silent {
            let steps = failed_steps(&outcome);
            failures.push(format!(
                "{}: {:?} {:#?} {:#?} {steps:?}\n{}",
                file.display(),
                outcome.stopped,
                outcome.errors,
                outcome.missing,
                printed(&outcome).join("\n")
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn errors_of_broken_games_are_found() {
    let games = games("broken");
    assert!(games.len() >= 30, "{}", games.len());
    let mut failures = Vec::new();
    for (file, text) in games {
        let GameFile { scene, request, errors } = read_game(&text);
        let outcome = play(&scene, &request);
        let found: BTreeSet<String> = outcome.errors.iter().map(describe).collect();
        let is_found = |error: &ExpectedError| {
            outcome.errors.iter().any(|found| {
                let position = found.position.as_ref();
                let position = position.map(|at| format!("{}:{}", at.script, at.line));
                found.peer == error.peer
                    && position.as_deref() == Some(error.position.as_str())
                    && found.message.contains(&error.message)
            })
        };
        if !errors.iter().all(is_found)
            || errors.len() != outcome.errors.len()
            || !outcome.missing.is_empty()
        {
            failures.push(format!(
                "{}\n  expected: {errors:?}\n  found: {found:#?}\n  {:?} {:?}\n  {}",
                file.display(),
                outcome.missing,
                failed_steps(&outcome),
                printed(&outcome).join("\n  ")
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn describe(error: &PlayError) -> String {
    let position = error.position.as_ref().map(|at| format!("{}:{}", at.script, at.line));
    format!("{} {} {}", error.peer, position.unwrap_or_default(), error.message)
}

/// The same seed gives the same outcome. Only a table whose keys are instances is walked in another
/// order each time, as in Roblox.
#[test]
fn games_are_repeatable() {
    for (file, text) in games("sound") {
        let GameFile { scene, request, .. } = read_game(&text);
        let json = |mut outcome: PlayOutcome| {
            if file.ends_with("player_trade.game") {
                outcome.remotes.clear();
            }
            outcome.to_json(&request, usize::MAX).to_string()
        };
        let (first, second) = (play(&scene, &request), play(&scene, &request));
        assert_eq!(json(first), json(second), "{}", file.display());
    }
}

/// The order of what the server and a client print, and that a client's changes stay with it.
#[test]
fn server_and_client_talk() {
    let outcome = play_text(
        "--@ ReplicatedStorage.Hello RemoteEvent
--@ ServerScriptService.Main Script
game.ReplicatedStorage.Hello.OnServerEvent:Connect(function(player, text, part)
    print(player.Name, text, part)
    game.ReplicatedStorage.Hello:FireClient(player, { 'back', 2 })
    task.wait(1)
    print('coins', player.leaderstats.Coins.Value)
end)
game.Players.PlayerAdded:Connect(function(player)
    local stats = Instance.new('Folder')
    stats.Name = 'leaderstats'
    local coins = Instance.new('IntValue')
    coins.Name = 'Coins'
    coins.Parent = stats
    stats.Parent = player
    player.CharacterAdded:Connect(function(character)
        print('character', character:GetFullName(), character.Humanoid.Health)
    end)
end)
--@ StarterPlayer.StarterPlayerScripts.Client LocalScript
local player = game.Players.LocalPlayer
local hello = game.ReplicatedStorage:WaitForChild('Hello')
hello.OnClientEvent:Connect(function(list) print('got', list[1], list[2]) end)
hello:FireServer('hi', workspace)
local coins = player:WaitForChild('leaderstats'):WaitForChild('Coins')
print('coins', coins.Value, player.Character)
coins.Value = 5
local character = player.Character or player.CharacterAdded:Wait()
print(character.Name, character:WaitForChild('Humanoid').Health, coins.Value)
",
    );
    assert_eq!(outcome.errors, []);
    assert_eq!(
        printed(&outcome),
        [
            "Player1: coins 0 nil",
            "Server: Player1 hi Workspace",
            "Player1: got back 2",
            "Server: character Workspace.Player1 100",
            "Player1: Player1 100 5",
            "Server: coins 0",
        ]
    );
}
