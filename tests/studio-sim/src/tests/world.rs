//! Tests of the plugin object, requires, the smaller services, and files.

use super::{check, check_with_fails, is_done, ran};
use crate::{Options, SharedSettings, Studio, Theme, models};

#[test]
fn modules_are_required_by_path_and_by_instance() {
    let studio = Studio::new(Options::default()).unwrap();
    let script = "local a = require(script.A)
        assert(a.name == 'a' and a == require('@self/A') and a == require(script:FindFirstChild('A')))
        assert(a.b == require('@self/B') and plugin ~= nil)
        local ok, message = pcall(require, '@self/None') assert(not ok and message:find('Failed to resolve'))
        local ok, message = pcall(require, script.Broken) assert(not ok and message:find('experienced an error'))
        local ok, message = pcall(require, script.Round) assert(not ok)
        local ok, message = pcall(require, script.Nothing) assert(message:find('exactly one value'))
        _G.done = true";
    let modules = [
        (
            "A",
            "assert(plugin == nil and script.Name == 'A') return { name = 'a', b = require('./B') }",
        ),
        ("B", "return { up = script.Parent.Name }"),
        ("Broken", "error('no')"),
        ("Round", "return require(script)"),
        ("Nothing", "local x = 1"),
    ];
    studio.load_plugin(&models::plugin(script, &modules).unwrap()).unwrap();
    assert!(is_done(&studio), "{:?}", studio.errors());
}

#[test]
fn settings_persist_and_invalid_keys_or_values_fail() {
    let settings = SharedSettings::default();
    let options = || Options { settings: settings.clone(), ..Options::default() };
    let first = ran(
        options(),
        "plugin:SetSetting('token', {a = 1}) plugin:SetSetting('gone', 1) plugin:SetSetting('gone', nil)
        assert(plugin:GetSetting('token').a == 1 and plugin:GetSetting('none') == nil)
        assert(not pcall(plugin.SetSetting, plugin, 'a.b', 1))
        assert(not pcall(plugin.SetSetting, plugin, 'a', 'back\\\\slash'))
        assert(not pcall(plugin.SetSetting, plugin, 'a', {x = 'quo\"te'}))
        assert(not pcall(plugin.SetSetting, plugin, 'a', workspace))",
    );
    assert_eq!(first.errors(), Vec::<String>::new());
    let second = ran(options(), "assert(plugin:GetSetting('token').a == 1)");
    assert_eq!(second.errors(), Vec::<String>::new());
    assert_eq!(settings.keys(), ["token"]);
}

#[test]
fn selection_and_small_services_are_simulated() {
    check_with_fails(
        "local S = game:GetService('Selection') local fired = 0
        S.SelectionChanged:Connect(function() fired += 1 end)
        local p = Instance.new('Part', workspace)
        S:Set({p}) S:Add({workspace, p}) S:Remove({p}) task.wait()
        assert(#S:Get() == 1 and S:Get()[1] == workspace and fired == 3)
        local R = game:GetService('RunService')
        assert(R:IsStudio() and R:IsEdit() and not R:IsRunning())
        assert(game.PlaceId == 0 and game.Name == 'Place1' and game:FindService('Lighting') == game.Lighting)
        assert(game.Workspace == workspace and workspace.CurrentCamera.ClassName == 'Camera')
        assert(plugin:GetStudioUserId() == 1 and game:GetService('StudioService'):GetUserId() == 1)
        fails('registered no answer', function() game:GetService('TestService'):Run() end)
        fails('registered no answer', function() game:GetObjects('rbxassetid://1') end)
        local L = game:GetService('LogService') local got
        L.MessageOut:Connect(function(text, kind) got = text end)
        print('said') task.wait() assert(got == 'said' and L:GetLogHistory()[1].message == 'said')",
    );
}

#[test]
fn toolbar_buttons_actions_and_widgets_can_be_created() {
    check(
        "local t = plugin:CreateToolbar('T')
        local b = t:CreateButton('id', 'tip', '', 'Text') b.ClickableWhenViewportHidden = true b:SetActive(true)
        assert(b.ClassName == 'PluginToolbarButton' and b.ClickableWhenViewportHidden and b.Enabled)
        local a = plugin:CreatePluginAction('act', 'Act', 'tip') assert(a.ActionId == 'act')
        local info = DockWidgetPluginGuiInfo.new(Enum.InitialDockState.Right, true, false, 300, 400)
        local w = plugin:CreateDockWidgetPluginGuiAsync('w', info)
        assert(w.Enabled and w.Title == 'w') w.Title = 'Vector' assert(w.Title == 'Vector')
        assert(not pcall(function() plugin:CreateDockWidgetPluginGuiAsync('w', info) end))",
    );
}

#[test]
fn themes_have_colors_and_can_change() {
    let studio = ran(
        Options { theme: Theme::Light, ..Options::default() },
        "local S = settings().Studio
        local function back() return S.Theme:GetColor(Enum.StudioStyleGuideColor.MainBackground) end
        assert(S.Theme.Name == 'Light' and back().R == 1)
        S.ThemeChanged:Connect(function() print(S.Theme.Name, back().R < 0.5) end)",
    );
    assert_eq!(studio.errors(), Vec::<String>::new());
    studio.set_theme(Theme::Dark);
    assert_eq!(studio.output()[0].text, "Dark true");
}

#[test]
fn instances_survive_a_serialization_round_trip() {
    check(
        "local S = game:GetService('SerializationService')
        local m = Instance.new('Model') m.Name = 'M' local p = Instance.new('Part', m) m.PrimaryPart = p
        p.Color = Color3.fromRGB(1, 2, 3) p.Size = Vector3.new(1, 2, 3) p.Material = Enum.Material.Neon
        p:SetAttribute('A', UDim2.new(1, 2, 3, 4)) p:AddTag('T') p.CFrame = CFrame.new(1, 2, 3)
        local s = Instance.new('Script', m) s.Source = 'print(1)'
        local l = Instance.new('TextLabel', m) l.Font = Enum.Font.Code l.Text = 'x'
        local bytes = S:SerializeInstancesAsync({m})
        assert(type(bytes) == 'buffer' and buffer.tostring(bytes):sub(1, 7) == '<roblox')
        local c = S:DeserializeInstancesAsync(bytes)[1]
        assert(c.Name == 'M' and c.PrimaryPart == c.Part and c.Part.Color == p.Color and c.Part.Size == p.Size)
        assert(c.Part.Material == Enum.Material.Neon and c.Part:GetAttribute('A') == UDim2.new(1, 2, 3, 4))
        assert(c.Part:HasTag('T') and c.Part.Position == Vector3.new(1, 2, 3) and c.Script.Source == 'print(1)')
        assert(c.TextLabel.Font == Enum.Font.Code and c.TextLabel.Text == 'x')",
    );
}

#[test]
fn place_is_saved_and_reopened() {
    let made = Studio::new(Options::default()).unwrap();
    made.eval(
        "local p = Instance.new('Part', workspace) p.Name = 'Wall' p.Anchored = true
        local s = Instance.new('ModuleScript', game.ReplicatedStorage) s.Source = 'return 1'
        workspace.Gravity = 10",
    )
    .unwrap();
    let bytes = made.save().unwrap();
    let opened = Studio::new(Options { place: Some(&bytes), ..Options::default() }).unwrap();
    let luau = "return { workspace.Wall.Anchored, game.ReplicatedStorage.ModuleScript.Source, workspace.Gravity,
        #workspace:GetChildren(), workspace.CurrentCamera ~= nil }";
    assert_eq!(opened.eval(luau).unwrap(), serde_json::json!([true, "return 1", 10, 3, true]));
}

#[test]
fn registered_assets_and_answers_are_returned() {
    let studio = ran(Options::default(), "");
    let asset = models::plugin("print('a backdoor')", &[]).unwrap();
    studio.register_asset("rbxassetid://5", Ok(&asset));
    studio.register_asset("rbxassetid://6", Err("HTTP 404 (Not Found)"));
    let luau = "return game:GetObjects('rbxassetid://5')[1].Source";
    assert_eq!(studio.eval_as_plugin(luau).unwrap(), "print('a backdoor')");
    assert!(
        studio.eval_as_plugin("game:GetObjects('rbxassetid://6')").unwrap_err().contains("404")
    );
    studio.register_answer("TestService.Run", &serde_json::json!({"passed": 3}));
    let luau = "return game:GetService('TestService'):Run().passed";
    assert_eq!(studio.eval_as_plugin(luau).unwrap(), 3);
}

#[test]
fn tweens_run_on_the_virtual_clock() {
    check(
        "local p = Instance.new('Part')
        local t = game:GetService('TweenService'):Create(p, TweenInfo.new(1, Enum.EasingStyle.Linear), {Transparency = 1})
        t:Play() task.wait(0.5)
        assert(p.Transparency > 0.3 and p.Transparency < 0.7, p.Transparency)
        assert(t.Completed:Wait() == Enum.PlaybackState.Completed and p.Transparency == 1)",
    );
}
