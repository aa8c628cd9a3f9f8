//! Tests of script text and the editor.

use super::{check_with_fails, ran};
use crate::{Options, Permission};

#[test]
fn script_text_is_updated_through_the_editor() {
    check_with_fails(
        "local E = game:GetService('ScriptEditorService')
        local s = Instance.new('Script', workspace) s.Source = 'old'
        local seen
        E:UpdateSourceAsync(s, function(old) seen = old return 'new' end)
        assert(seen == 'old' and s.Source == 'new' and E:GetEditorSource(s) == 'new')
        E:UpdateSourceAsync(s, function() return nil end)
        assert(s.Source == 'new')
        fails('yield', function() E:UpdateSourceAsync(s, function() task.wait() return 'x' end) end)
        fails('oh no', function() E:UpdateSourceAsync(s, function() error('oh no') end) end)
        fails('must return a string', function() E:UpdateSourceAsync(s, function() return 5 end) end)
        fails('Unable to cast Instance to LuaSourceContainer', function() E:UpdateSourceAsync(workspace, function() end) end)
        assert(s.Source == 'new')
        local long = string.rep('x', 200000)
        fails('too long', function() s.Source = long end)
        E:UpdateSourceAsync(s, function() return long end) assert(#s.Source == 200000)",
    );
}

#[test]
fn opening_and_closing_documents_fires_signals() {
    check_with_fails(
        "local E = game:GetService('ScriptEditorService')
        local S = game:GetService('StudioService')
        local s = Instance.new('ModuleScript', workspace) s.Source = 'one\\ntwo'
        assert(#E:GetScriptDocuments() == 1 and E:GetScriptDocuments()[1]:IsCommandBar())
        assert(E:FindScriptDocument(s) == nil and S.ActiveScript == nil)
        local log = {}
        E.TextDocumentDidOpen:Connect(function(d) table.insert(log, 'open') end)
        E.TextDocumentDidClose:Connect(function(d) table.insert(log, 'close') end)
        E.TextDocumentDidChange:Connect(function(d, changes) table.insert(log, changes[1].text) end)
        S:GetPropertyChangedSignal('ActiveScript'):Connect(function() table.insert(log, 'active') end)
        assert(E:OpenScriptDocumentAsync(s)) task.wait()
        local d = E:FindScriptDocument(s)
        assert(d:GetScript() == s and d:GetText() == 'one\\ntwo' and d:GetLine(2) == 'two' and d:GetLineCount() == 2)
        assert(S.ActiveScript == s and not d:IsCommandBar())
        d:RequestSetSelectionAsync(2, 1, 1, 2) assert(d:GetSelectedText() == 'ne\\n' and d:HasSelectedText())
        E:UpdateSourceAsync(s, function() return 'three' end) task.wait()
        d:CloseAsync() task.wait()
        assert(E:FindScriptDocument(s) == nil and S.ActiveScript == nil)
        assert(table.concat(log, ' ') == 'open active three close active', table.concat(log, ' '))
        plugin:OpenScript(s, 2) assert(S.ActiveScript == s)",
    );
}

#[test]
fn update_callback_runs_again_when_the_text_changed() {
    let studio =
        ran(Options::default(), "local s = Instance.new('Script', workspace) s.Source = 'a'");
    studio.move_editor_on("Workspace.Script", "typed");
    let update = "local seen = {}
        game:GetService('ScriptEditorService'):UpdateSourceAsync(workspace.Script, function(old)
            table.insert(seen, old) return old .. '!' end)
        return seen";
    let seen = studio.eval_as_plugin(update).unwrap();
    assert_eq!(seen, serde_json::json!(["a", "typed"]));
    assert_eq!(studio.eval("return workspace.Script.Source").unwrap(), "typed!");
}

#[test]
fn editor_source_returns_the_draft() {
    let studio =
        ran(Options::default(), "local s = Instance.new('Script', workspace) s.Source = 'a'");
    studio.edit_script("Workspace.Script", "draft", true);
    let both = "local s = workspace.Script
        return { s.Source, game:GetService('ScriptEditorService'):GetEditorSource(s) }";
    assert_eq!(studio.eval_as_plugin(both).unwrap(), serde_json::json!(["a", "draft"]));
}

#[test]
fn script_writes_can_be_denied() {
    let options = Options { script_writes: Permission::Denied, ..Options::default() };
    let studio = ran(options, "");
    studio.eval("local s = Instance.new('Script', workspace) s.Source = 'a'").unwrap();
    let update = "game:GetService('ScriptEditorService'):UpdateSourceAsync(workspace.Script, function() return 'b' end)";
    assert!(studio.eval_as_plugin(update).unwrap_err().contains("script injection permission"));
    assert!(studio.eval_as_plugin("workspace.Script.Source = 'b'").is_err());
    studio.set_script_writes(Permission::Allowed);
    studio.eval_as_plugin(update).unwrap();
    studio.fail_update_source("Workspace.Script", Some("broken"));
    assert!(studio.eval_as_plugin(update).unwrap_err().contains("broken"));
}
