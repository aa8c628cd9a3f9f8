//! Tests of recordings, undo and redo.

use super::{check_with_fails, ran};
use crate::{Options, Studio, models};

const RECORD: &str = "local H = game:GetService('ChangeHistoryService') ";

#[test]
fn undo_and_redo_restore_the_tree() {
    let studio = Studio::new(Options::default()).unwrap();
    studio
        .eval(
            "for i = 1, 3 do local p = Instance.new('Part') p.Name = 'P' .. i p.Parent = workspace end
            local s = Instance.new('Script') s.Source = 'print(1)' s.Parent = workspace.P2",
        )
        .unwrap();
    let before = studio.snapshot();
    let luau = "local H = game:GetService('ChangeHistoryService')
        local id = H:TryBeginRecording('Vector 7', 'Do it')
        workspace.P1.Parent = nil
        workspace.P2.Anchored = true workspace.P2:SetAttribute('A', 1) workspace.P2:AddTag('T')
        workspace.P3.Parent = workspace.P2
        local new = Instance.new('Folder') new.Parent = workspace new.Name = 'New'
        game:GetService('ScriptEditorService'):UpdateSourceAsync(workspace.P2.Script, function(old) return old .. '!' end)
        H:FinishRecording(id, Enum.FinishRecordingOperation.Commit)
        H.OnUndo:Connect(function(name) print('undone ' .. name) end)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    studio.run_for(1.0);
    assert_eq!(studio.errors(), Vec::<String>::new());
    assert_eq!(studio.unrecorded_writes(), Vec::<String>::new());
    let after = studio.snapshot();
    assert_ne!(before, after);
    assert_eq!(studio.undo_stack_names(), ["Command", "Vector 7"]);
    assert!(studio.undo());
    assert_eq!(studio.snapshot(), before);
    assert_eq!(studio.output()[0].text, "undone Vector 7");
    assert!(studio.redo());
    assert_eq!(studio.snapshot(), after);
    assert!(studio.undo());
    assert_eq!(studio.snapshot(), before);
}

#[test]
fn cancelled_recording_keeps_script_text() {
    let studio = Studio::new(Options::default()).unwrap();
    studio
        .eval("local s = Instance.new('ModuleScript') s.Source = 'a' s.Parent = workspace")
        .unwrap();
    let luau = "local H = game:GetService('ChangeHistoryService')
        local id = H:TryBeginRecording('x')
        workspace.ModuleScript.Name = 'Renamed'
        game:GetService('ScriptEditorService'):UpdateSourceAsync(workspace.Renamed, function() return 'b' end)
        H:FinishRecording('another', Enum.FinishRecordingOperation.Cancel)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    studio.run_for(1.0);
    assert_eq!(studio.errors(), Vec::<String>::new());
    assert_eq!(studio.eval("return workspace.ModuleScript.Source").unwrap(), "b");
}

#[test]
fn undo_does_not_restore_destroyed_instances() {
    let studio = Studio::new(Options::default()).unwrap();
    studio.eval("Instance.new('Part', workspace)").unwrap();
    studio.eval("workspace.Part:Destroy()").unwrap();
    assert!(studio.undo());
    assert_eq!(studio.eval("return workspace:FindFirstChild('Part') == nil").unwrap(), true);
    let warned = studio.output();
    assert!(warned[0].text.contains("The Parent property of Part is locked"), "{warned:?}");
}

#[test]
fn overlapping_recordings_and_wrong_ids_are_refused() {
    check_with_fails(&format!(
        "{RECORD}
        local COMMIT = Enum.FinishRecordingOperation.Commit
        local started, finished = {{}}, {{}}
        H.OnRecordingStarted:Connect(function(name, display) table.insert(started, display) end)
        H.OnRecordingFinished:Connect(function(name, display, id, operation) table.insert(finished, operation) end)
        fails('No recording is in progress', function() H:FinishRecording('x', COMMIT) end)
        local id = H:TryBeginRecording('a', 'A')
        assert(type(id) == 'string' and H:TryBeginRecording('b') == nil and H:IsRecordingInProgress())
        assert(H:IsRecordingInProgress(id) and not H:IsRecordingInProgress('x'))
        fails('another identifier', function() H:FinishRecording('a', COMMIT) end)
        H:FinishRecording(id, COMMIT)
        assert(not H:IsRecordingInProgress())
        local can, name = H:GetCanUndo() assert(can and name == 'a' and not H:GetCanRedo())
        workspace.Name = 'Outside'
        local id = H:TryBeginRecording('c') workspace.Name = 'W'
        H:FinishRecording(id, Enum.FinishRecordingOperation.Append)
        H:Undo() assert(workspace.Name == 'Workspace', workspace.Name)
        H:Redo() assert(workspace.Name == 'W')
        H:ResetWaypoints() assert(not H:GetCanUndo())
        task.wait() assert(started[1] == 'A' and finished[1] == COMMIT and #finished == 2)"
    ));
}

#[test]
fn recordings_are_refused_on_faults_and_during_playtests() {
    let studio = ran(Options::default(), "");
    let begin = "return game:GetService('ChangeHistoryService'):TryBeginRecording('x') == nil";
    studio.refuse_next_recording();
    assert_eq!(studio.eval_as_plugin(begin).unwrap(), true);
    studio.set_playing(true);
    assert_eq!(studio.eval_as_plugin(begin).unwrap(), true);
    assert_eq!(studio.eval("return game:GetService('RunService'):IsEdit()").unwrap(), false);
    studio.set_playing(false);
    assert_eq!(studio.eval_as_plugin(begin).unwrap(), false);
}

#[test]
fn writes_outside_a_recording_are_listed() {
    let luau = "local p = Instance.new('Part') p.Anchored = true p.Parent = workspace
        p.Name = 'Q' p:SetAttribute('A', 1) p:AddTag('T') p.Parent = nil p.Name = 'free'
        Instance.new('Folder', game:GetService('CoreGui'))
        game:GetService('Selection'):Set({workspace})";
    let studio = ran(Options::default(), luau);
    studio.eval("workspace.Name = 'by the user'").unwrap();
    let expected = [
        "Workspace.Part (created)",
        "Workspace.Q.Name",
        "Workspace.Q@A",
        "Workspace.Q#T",
        "Workspace.Q -> nil",
    ];
    assert_eq!(studio.unrecorded_writes(), expected);
}

#[test]
fn recording_outlives_its_plugin() {
    let studio = ran(
        Options::default(),
        "game:GetService('ChangeHistoryService'):TryBeginRecording('x') workspace.Name = 'Half'",
    );
    studio.unload_plugin();
    assert!(!studio.undo());
    let luau = "local H = game:GetService('ChangeHistoryService')
        assert(H:IsRecordingInProgress())
        H:FinishRecording('', Enum.FinishRecordingOperation.Cancel)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    assert_eq!(studio.errors(), Vec::<String>::new());
    assert_eq!(studio.eval("return workspace.Name").unwrap(), "Workspace");
}

#[test]
fn killed_plugin_leaves_partial_writes_and_open_recording() {
    let studio = ran(Options::default(), "");
    studio.kill_at_write(2);
    let luau = "local H = game:GetService('ChangeHistoryService')
        local id = H:TryBeginRecording('x')
        for i = 1, 4 do workspace:SetAttribute('n' .. i, i) end
        H:FinishRecording(id, Enum.FinishRecordingOperation.Commit)";
    assert!(studio.eval_as_plugin(luau).is_err());
    let left = "local n = 0 for _ in workspace:GetAttributes() do n += 1 end
        return { n, game:GetService('ChangeHistoryService'):IsRecordingInProgress() }";
    assert_eq!(studio.eval(left).unwrap(), serde_json::json!([2, true]));
}

#[test]
fn writes_by_undo_handlers_count_as_unrecorded() {
    let luau = "game:GetService('ChangeHistoryService').OnUndo:Connect(function() workspace.Name = 'Mine' end)
        workspace:GetAttributeChangedSignal('A'):Connect(function() workspace:AddTag('T') end)";
    let studio = ran(Options::default(), luau);
    studio.eval("workspace.Gravity = 1").unwrap();
    studio.undo();
    assert_eq!(studio.unrecorded_writes(), ["Mine.Name"]);
    studio.eval("workspace:SetAttribute('A', 1)").unwrap();
    studio.undo();
    assert_eq!(studio.unrecorded_writes()[1], "Mine#T");
}

#[test]
fn cancel_after_undo_reverts_the_whole_recording() {
    let studio = Studio::new(Options::default()).unwrap();
    studio.eval("local p = Instance.new('Part') p.Name = 'Wall' p.Parent = workspace").unwrap();
    let luau = "local H = game:GetService('ChangeHistoryService')
        local commit, cancel = Enum.FinishRecordingOperation.Commit, Enum.FinishRecordingOperation.Cancel
        local id = H:TryBeginRecording('one', 'One')
        workspace.Wall.Name = 'Tower'
        H:FinishRecording(id, commit)
        H:Undo()
        print(workspace:FindFirstChild('Wall') ~= nil)
        id = H:TryBeginRecording('two', 'Two')
        workspace.Wall.Name = 'Keep'
        workspace.Keep.Transparency = 0.5
        H:FinishRecording(id, cancel)
        print(workspace:FindFirstChild('Wall') ~= nil, workspace:GetChildren()[#workspace:GetChildren()].Transparency)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    studio.run_for(1.0);
    let said: Vec<String> = studio.output().into_iter().map(|line| line.text).collect();
    assert_eq!(said, ["true", "true 0"]);
    assert_eq!(studio.errors(), Vec::<String>::new());
}
