use vector_place::FileFormat;

use super::*;

/// A place with these scripts: path from the DataModel on, class, source.
fn place(scripts: &[(&str, &str, &str)]) -> Scene {
    let mut scene = Scene::empty(FileFormat::Xml);
    for (path, class, source) in scripts {
        let mut names: Vec<&str> = path.split('.').collect();
        let name = names.pop().unwrap_or_default();
        let mut at = scene.root();
        for name in names {
            let known = scene.children(at).find(|child| scene.name(*child) == name);
            at = known.unwrap_or_else(|| {
                scene.create(at, if is_a(name, "Instance") { name } else { "Folder" }, name)
            });
        }
        let script = scene.create(at, class, name);
        if !source.is_empty() {
            scene.set_source(script, (*source).to_owned());
        }
    }
    scene
}

fn play(scene: &Scene, request: &PlayRequest) -> PlayOutcome {
    play_scene(scene, request, PlayLimits::default(), Rc::new(|| false)).unwrap()
}

fn printed(outcome: &PlayOutcome) -> Vec<String> {
    outcome.output.iter().map(|it| format!("{}: {}", it.peer, it.line.text)).collect()
}

#[test]
fn server_and_client_talk() {
    let scene = place(&[
        ("ReplicatedStorage.Hello", "RemoteEvent", ""),
        (
            "ServerScriptService.Main",
            "Script",
            "game.ReplicatedStorage.Hello.OnServerEvent:Connect(function(player, text, part)
                print(player.Name, text, part)
                game.ReplicatedStorage.Hello:FireClient(player, { 'back', 2 })
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
            end)",
        ),
        (
            "StarterPlayer.StarterPlayerScripts.Client",
            "LocalScript",
            "local player = game.Players.LocalPlayer
            local hello = game.ReplicatedStorage:WaitForChild('Hello')
            hello.OnClientEvent:Connect(function(list) print('got', list[1], list[2]) end)
            hello:FireServer('hi', workspace)
            local coins = player:WaitForChild('leaderstats'):WaitForChild('Coins')
            print('coins', coins.Value, player.Character)
            coins.Value = 5
            local character = player.Character or player.CharacterAdded:Wait()
            print(character.Name, character:WaitForChild('Humanoid').Health)",
        ),
    ]);
    let outcome = play(&scene, &PlayRequest::default());
    assert_eq!(outcome.errors, []);
    assert_eq!(printed(&outcome), ["x"]);
}
