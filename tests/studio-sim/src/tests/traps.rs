//! Tests of typical simulator bugs: behavior that is easy here, and impossible or different in
//! Studio.

use std::time::Duration;

use super::{check, check_with_fails, ran};
use crate::{Options, Signals, Studio, models};

#[test]
fn members_take_precedence_over_children_and_keys_are_strings() {
    check_with_fails(
        "local f = Instance.new('Folder', workspace) f.Name = 'Name'
        assert(workspace.Name == 'Workspace' and workspace:FindFirstChild('Name') == f)
        fails('is not a valid member', function() return workspace[1] end)
        fails('is not a valid member', function() return workspace.name_ end)
        local same = Instance.new('Folder', workspace) same.Name = 'Name'
        assert(workspace:FindFirstChild('Name') == f)",
    );
}

#[test]
fn instances_keep_their_identity() {
    check(
        "local H = game:GetService('ChangeHistoryService') local COMMIT = Enum.FinishRecordingOperation.Commit
        local rec = H:TryBeginRecording('made') local p = Instance.new('Part', workspace) H:FinishRecording(rec, COMMIT)
        local id = p:GetDebugId() local seen = {} seen[p] = 'p' p = nil
        for i = 1, 100 do Instance.new('Folder') end task.wait()
        local again = workspace:FindFirstChildOfClass('Part')
        assert(seen[again] == 'p' and again:GetDebugId() == id)
        local rec = H:TryBeginRecording('x') again.Parent = nil H:FinishRecording(rec, COMMIT)
        H:Undo() assert(workspace:FindFirstChildOfClass('Part') == again and again:GetDebugId() == id)",
    );
}

#[test]
fn engine_errors_are_always_strings() {
    check(
        "local acts = {
            function() Instance.new('x') end, function() return Enum.x end, function() Vector3.one() end,
            function() game:GetService('HttpService'):JSONDecode('{') end, function() error('mine') end,
            function() return UDim2.new().x end, function() task.wait('x') end, function() require(5) end,
            function() game:GetService('SerializationService'):DeserializeInstancesAsync(buffer.create(3)) end,
            function() game:GetService('EncodingService'):Base64Decode(buffer.fromstring('?')) end,
        }
        for index, act in acts do
            local ok, message = pcall(act)
            assert(not ok and type(message) == 'string', tostring(index) .. typeof(message))
            assert(message:find('^user_Vector.rbxm.Vector:%d+: '), index .. ' ' .. message)
            local ok, message = coroutine.resume(coroutine.create(act))
            assert(index == 9 or not ok and type(message) == 'string', index)
        end
        local ok, value = pcall(error, {code = 1}) assert(value.code == 1)",
    );
}

#[test]
fn pcall_and_xpcall_may_yield() {
    check(
        "local ok, value = pcall(function() task.wait(1) return 5 end) assert(ok and value == 5)
        local ok, message = pcall(function() task.wait(1) error('late', 0) end) assert(message == 'late')
        local ok, message = xpcall(function() task.wait(1) error('x', 0) end, function(e) return e .. '!' end)
        assert(message == 'x!')
        local sum = 0
        for _, n in {1, 2, 3} do task.spawn(function() task.wait(n) sum += n end) end
        task.wait(2.5) assert(sum == 3)",
    );
}

#[test]
fn threads_wake_in_due_order() {
    check(
        "local log = {}
        task.delay(0.2, table.insert, log, 'b') task.delay(0.1, table.insert, log, 'a')
        task.delay(0.2, table.insert, log, 'c') task.delay(0.3, function() table.insert(log, 'd') end)
        task.wait(1) assert(table.concat(log) == 'abcd', table.concat(log))",
    );
}

#[test]
fn error_in_one_handler_does_not_stop_others() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let luau = "local e = Instance.new('BindableEvent') local heard = 0
            for i = 1, 3 do e.Event:Connect(function() heard += 1 if i == 2 then error('oh') end end) end
            e:Fire() task.wait() print(heard)";
        let options = Options { signals, ..Options::default() };
        let studio = Studio::new(options).unwrap();
        studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
        studio.run_for(0.1);
        assert_eq!(studio.output().last().unwrap().text, "3");
        assert_eq!(studio.errors().len(), 1);
    }
}

#[test]
fn handlers_may_disconnect_and_connect_while_a_signal_fires() {
    check(
        "local e = Instance.new('BindableEvent') local log = {} local second
        e.Event:Connect(function() table.insert(log, 'a') second:Disconnect()
            e.Event:Connect(function() table.insert(log, 'new') end) end)
        second = e.Event:Connect(function() table.insert(log, 'b') end)
        e:Fire() task.wait() assert(table.concat(log, ' ') == 'a', table.concat(log, ' '))
        e:Fire() task.wait() assert(table.concat(log, ' ') == 'a a new', table.concat(log, ' '))",
    );
}

#[test]
fn unsimulated_members_are_recorded_even_when_caught() {
    let studio = ran(Options::default(), "pcall(function() workspace:GetRealPhysicsFPS() end)");
    assert_eq!(studio.not_simulated(), ["Workspace.GetRealPhysicsFPS"]);
}

#[test]
fn plugin_cannot_see_the_simulator() {
    check(
        "assert(not pcall(function() return native end) or native == nil)
        assert(S == nil and rawget(getfenv(), 'plugin') ~= nil and io == nil and package == nil)
        assert(loadstring and not pcall(loadstring, 'return 1'))
        assert(script.ClassName == 'Script' and script:FindFirstAncestorOfClass('Plugin') == plugin)
        assert(typeof(game) == 'Instance' and game.ClassName == 'DataModel' and game.Parent == nil)",
    );
}

#[test]
fn two_windows_share_no_state() {
    let first = ran(Options::default(), "workspace.Name = 'First' _G.x = 1 shared.x = 1");
    let second = ran(Options::default(), "assert(workspace.Name == 'Workspace' and _G.x == nil)");
    assert_eq!(second.errors(), Vec::<String>::new());
    assert_eq!(first.eval("return workspace.Name").unwrap(), "First");
}

#[test]
fn distant_timer_is_reached_at_once() {
    let studio = Studio::new(Options::default()).unwrap();
    let luau = "task.delay(3600, function() print('an hour') end)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    let said = |studio: &Studio| !studio.output().is_empty();
    studio.run_until(said, Duration::from_secs(2)).unwrap();
    assert!(studio.now() >= 3600.0);
}
