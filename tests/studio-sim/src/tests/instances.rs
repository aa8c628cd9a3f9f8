//! Tests of the tree: creating, moving, finding, copying, destroying.

use mlua::{Table, Value};
use vector_roblox_api::ApiFacts;

use super::{check, check_with_fails, ran};
use crate::{Options, Studio};

#[test]
fn instances_are_found() {
    check(
        "local folder = Instance.new('Folder', workspace) folder.Name = 'F'
        local part = Instance.new('Part', folder)
        assert(workspace.F.Part == part and workspace:FindFirstChild('Part') == nil)
        assert(workspace:FindFirstChild('Part', true) == part)
        assert(workspace:FindFirstChildOfClass('Folder') == folder and folder:FindFirstChildWhichIsA('BasePart') == part)
        assert(part:FindFirstAncestor('F') == folder and part:FindFirstAncestorOfClass('Workspace') == workspace)
        assert(part:FindFirstAncestorWhichIsA('DataModel') == game)
        assert(part:IsDescendantOf(workspace) and workspace:IsAncestorOf(part) and not part:IsDescendantOf(part))
        assert(part:GetFullName() == 'Workspace.F.Part' and tostring(part) == 'Part' and part.ClassName == 'Part')
        assert(part:IsA('BasePart') and part:IsA('Instance') and not part:IsA('Folder'))
        assert(#folder:GetDescendants() == 1 and ({[part] = 1})[workspace.F.Part] == 1)
        assert(typeof(part) == 'Instance' and type(part) == 'userdata')
        assert(part:GetDebugId() == workspace.F.Part:GetDebugId() and part:GetDebugId():match('^0_%d+$'))",
    );
}

#[test]
fn unknown_members_and_classes_fail_with_engine_messages() {
    check_with_fails(
        "local part = Instance.new('Part') part.Name = 'P' part.Parent = workspace
        fails('Foo is not a valid member of Part \"Workspace.P\"', function() return part.Foo end)
        fails('Foo is not a valid member of Part \"Workspace.P\"', function() part.Foo = 1 end)
        fails('Unable to create an Instance of type \"Foo\"', Instance.new, 'Foo')
        fails('Unable to create an Instance of type \"BasePart\"', Instance.new, 'BasePart')
        fails('Unable to create an Instance of type \"Workspace\"', Instance.new, 'Workspace')
        fails(\"'Foo' is not a valid Service name\", function() game:GetService('Foo') end)
        fails('NotInRuntime: Part.ApplyImpulse exists in Roblox', function() part:ApplyImpulse(Vector3.one) end)
        fails('lacking capability', function() return part.UniqueId end)
        fails('cannot be assigned to', function() part.Destroy = 1 end)
        fails(\"Expected ':' not '.'\", function() part.GetChildren() end)
        fails('Property is read only', function() part.ClassName = 'x' end)",
    );
}

#[test]
fn calls_are_checked_against_the_facts() {
    check_with_fails(
        "local part, http = Instance.new('Part', workspace), game:GetService('HttpService')
        fails('Argument 1 missing or nil', function() part:SetAttribute() end)
        fails('Argument 1 missing or nil', function() part:FindFirstChild(nil) end)
        fails('Too many arguments to Instance:SetAttribute: 3', function() part:SetAttribute('A', 1, 2) end)
        fails('Unable to cast boolean to string', function() part:SetAttribute(true, 1) end)
        fails('Unable to cast string to Instance', function() part:IsDescendantOf('workspace') end)
        fails('Unable to cast string to table', function() game:GetService('Selection'):Set('P') end)
        fails('not a valid member of HttpService', function() http:RequestInternal({}) end)
        fails('attempt to yield', function()
            table.sort({ 2, 1 }, function() http:RequestAsync({ Url = 'http://127.0.0.1' }) return true end)
        end)
        part:SetAttribute('5', nil) part:FindFirstChild('A', true) part:WaitForChild('A', 0)",
    );
    let studio = ran(Options::default(), "workspace:children() workspace:GetChildren()");
    assert_eq!(studio.deprecated_calls(), ["Instance:children"]);
}

#[test]
fn everything_simulated_exists_in_roblox() {
    let studio = Studio::new(Options::default()).unwrap();
    let mut unknown = Vec::new();
    for part in ["methods", "events", "callbacks"] {
        for pair in studio.table(part).pairs::<String, Table>() {
            let (class, members) = pair.unwrap();
            for name in members.pairs::<String, Value>().map(|pair| pair.unwrap().0) {
                if ApiFacts::get().member(&class, &name).is_none() {
                    unknown.push(format!("{class}.{name}"));
                }
            }
        }
    }
    unknown.sort();
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn errors_carry_the_line_of_the_script() {
    check(
        "local ok, message = pcall(function()
            return workspace.Nothing
        end)
        assert(message == 'user_Vector.rbxm.Vector:2: Nothing is not a valid member of Workspace \"Workspace\"', message)
        local thread = coroutine.create(function() Instance.new('Cheese') end)
        local ok, message = coroutine.resume(thread)
        assert(not ok and message:find('user_Vector.rbxm.Vector:5: Unable to create', 1, true), message)
        local ok, message = xpcall(function() workspace.Gravity = 'x' end, function(it) return 'seen ' .. it end)
        assert(message:find('seen user_Vector.rbxm.Vector:8: Unable to assign property Gravity. number expected, got string', 1, true), message)",
    );
}

#[test]
fn invalid_parents_are_refused() {
    check_with_fails(
        "local a, b = Instance.new('Folder'), Instance.new('Folder')
        a.Name = 'A' b.Name = 'B' a.Parent = workspace b.Parent = a
        fails('Attempt to set Workspace.A as its own parent', function() a.Parent = a end)
        fails('Attempt to set parent of Workspace.A to Workspace.A.B would result in circular reference', function() a.Parent = b end)
        fails('The Parent property of Lighting is locked', function() game.Lighting.Parent = workspace end)
        b:Destroy()
        assert(b.Parent == nil)
        fails('The Parent property of B is locked, current parent: NULL, new parent A', function() b.Parent = a end)
        b.Name = 'still writable'
        a.Parent = nil a.Parent = workspace
        assert(workspace.A == a)",
    );
}

#[test]
fn destroy_locks_all_descendants() {
    check_with_fails(
        "local a = Instance.new('Folder', workspace) local b = Instance.new('Part', a)
        local fired = {}
        a.Destroying:Connect(function() table.insert(fired, 'a') end)
        b.AncestryChanged:Connect(function() table.insert(fired, 'b') end)
        a:Destroy()
        assert(b.Parent == nil and #a:GetChildren() == 0)
        fails('is locked', function() b.Parent = workspace end)
        task.wait()
        assert(table.find(fired, 'a'), #fired)",
    );
}

#[test]
fn clones_remap_internal_references() {
    check(
        "local m = Instance.new('Model') local p = Instance.new('Part', m) m.PrimaryPart = p
        local o = Instance.new('ObjectValue', m) o.Value = workspace
        p:SetAttribute('A', 1) p:AddTag('T')
        local hidden = Instance.new('Part', m) hidden.Archivable = false
        local c = m:Clone()
        assert(c ~= m and c.Parent == nil and c.PrimaryPart == c.Part and c.Part ~= p)
        assert(c.ObjectValue.Value == workspace and c.Part:GetAttribute('A') == 1 and c.Part:HasTag('T'))
        assert(#c:GetChildren() == 2 and hidden:Clone() == nil)
        assert(c.Part:GetDebugId() ~= p:GetDebugId())",
    );
}

#[test]
fn children_keep_their_order() {
    check(
        "local names = {}
        for i = 1, 3 do local f = Instance.new('Folder') f.Name = 'n' .. i f.Parent = workspace end
        workspace.n1.Parent = nil
        for _, child in workspace:GetChildren() do if child:IsA('Folder') then table.insert(names, child.Name) end end
        assert(table.concat(names, ' ') == 'n2 n3')",
    );
}

#[test]
fn attributes_and_tags_are_stored_and_signaled() {
    check_with_fails(
        "local p = Instance.new('Part', workspace)
        local seen = {}
        p.AttributeChanged:Connect(function(name) table.insert(seen, name) end)
        p:GetAttributeChangedSignal('A'):Connect(function() table.insert(seen, 'one') end)
        p:SetAttribute('A', Vector3.one) p:SetAttribute('A', Vector3.one)
        assert(p:GetAttribute('A') == Vector3.one and p:GetAttributes().A == Vector3.one)
        fails('is not a supported attribute type', function() p:SetAttribute('B', {}) end)
        fails('Attribute names may only contain', function() p:SetAttribute('a b', 1) end)
        local C = game:GetService('CollectionService')
        local added, tags = {}, {}
        C.TagAdded:Connect(function(tag) table.insert(tags, '+' .. tag) end)
        C.TagRemoved:Connect(function(tag) table.insert(tags, '-' .. tag) end)
        C:GetInstanceAddedSignal('T'):Connect(function(it) table.insert(added, it) end)
        C:GetInstanceRemovedSignal('T'):Connect(function(it) table.insert(added, 'gone') end)
        p:AddTag('T') p:AddTag('T')
        assert(C:GetTagged('T')[1] == p and p:HasTag('T') and p:GetTags()[1] == 'T')
        p.Parent = nil
        assert(#C:GetTagged('T') == 0)
        p.Parent = workspace
        C:RemoveTag(p, 'T')
        task.wait()
        assert(table.concat(tags, ' ') == '+T -T +T -T', table.concat(tags, ' '))
        assert(#seen == 2 and seen[2] ~= seen[1], #seen)
        assert(#added == 4 and added[1] == p and added[2] == 'gone' and added[4] == 'gone')",
    );
}

#[test]
fn wait_for_child_waits_or_times_out() {
    check(
        "task.delay(1, function() local f = Instance.new('Folder') f.Name = 'Late' f.Parent = workspace end)
        local start = os.clock()
        assert(workspace:WaitForChild('Late').Name == 'Late' and os.clock() - start >= 1)
        assert(workspace:WaitForChild('Never', 2) == nil and os.clock() - start >= 3)",
    );
}

#[test]
fn tree_changes_fire_child_and_descendant_signals() {
    check(
        "local log = {}
        workspace.ChildAdded:Connect(function(c) table.insert(log, '+' .. c.Name) end)
        workspace.ChildRemoved:Connect(function(c) table.insert(log, '-' .. c.Name) end)
        workspace.DescendantAdded:Connect(function(c) table.insert(log, 'd+' .. c.Name) end)
        workspace.DescendantRemoving:Connect(function(c) table.insert(log, 'd-' .. c.Name) end)
        local f = Instance.new('Folder') f.Name = 'F' local p = Instance.new('Part', f)
        f.Parent = workspace task.wait()
        p.Name = 'Q' f.Parent = nil task.wait()
        assert(table.concat(log, ' ') == '+F d+F d+Part d-F d-Q -F', table.concat(log, ' '))",
    );
}
