//! Tests of properties: types, defaults, derived properties, changes.

use super::{check, check_with_fails};

#[test]
fn new_instances_have_engine_defaults() {
    check(
        "local p = Instance.new('Part')
        assert(p.Size == Vector3.new(4, 1.2, 2), tostring(p.Size))
        assert(p.Anchored == false and p.Transparency == 0 and p.Material == Enum.Material.Plastic)
        assert(p.BrickColor.Name == 'Medium stone grey' and p.Shape == Enum.PartType.Block)
        assert(p.CanCollide and p.CFrame == CFrame.identity and p.CustomPhysicalProperties == nil)
        assert(Instance.new('ObjectValue').Value == nil and Instance.new('TextLabel').Text == 'Label')
        assert(Instance.new('Frame').Size == UDim2.new() and Instance.new('Frame').BackgroundTransparency == 0)
        assert(workspace.Gravity > 196 and Instance.new('Script').Source ~= nil)",
    );
}

#[test]
fn values_are_checked_and_converted() {
    check_with_fails(
        "local p = Instance.new('Part')
        fails('Unable to assign property Size. Vector3 expected, got string', function() p.Size = 'x' end)
        fails('Unable to assign property Anchored. boolean expected, got nil', function() p.Anchored = nil end)
        fails('Unable to assign property Transparency. number expected, got boolean', function() p.Transparency = true end)
        fails('Invalid value \"Cheese\" for enum Material', function() p.Material = 'Cheese' end)
        fails('EnumItem of type Material expected', function() p.Material = Enum.Font.Code end)
        p.Material = 'Neon' assert(p.Material == Enum.Material.Neon)
        p.Material = 256 assert(p.Material == Enum.Material.Plastic)
        p.Transparency = 0.1 assert(p.Transparency ~= 0.1 and math.abs(p.Transparency - 0.1) < 1e-7)
        local i = Instance.new('IntValue') i.Value = 2.9 assert(i.Value == 2)
        local n = Instance.new('NumberValue') n.Value = 0.1 assert(n.Value == 0.1)
        local s = Instance.new('StringValue') s.Value = 5 assert(s.Value == '5')
        p.Size = Vector3.zero assert(p.Size.X > 0)
        fails('Instance expected, got string', function() Instance.new('ObjectValue').Value = 'x' end)",
    );
}

#[test]
fn derived_properties_stay_in_sync() {
    check(
        "local p = Instance.new('Part', workspace)
        p.Position = Vector3.new(1, 2, 3)
        assert(p.CFrame.Position == Vector3.new(1, 2, 3))
        p.Orientation = Vector3.new(0, 90, 0)
        assert(math.abs(p.Orientation.Y - 90) < 1e-3 and p.Position == Vector3.new(1, 2, 3))
        p.BrickColor = BrickColor.new('Bright red')
        assert(p.Color == BrickColor.new('Bright red').Color and p.BrickColor.Number == 21)
        p.Color = Color3.new(0.5001, 0, 0) assert(p.Color.R == Color3.fromRGB(128, 0, 0).R)
        local l = Instance.new('TextLabel') l.Font = Enum.Font.Code
        assert(l.FontFace.Family:find('Inconsolata') and l.Font == Enum.Font.Code)
        local i = Instance.new('ImageLabel') i.Image = 'rbxassetid://5'
        assert(i.Image == 'rbxassetid://5' and i.ImageContent.Uri == 'rbxassetid://5')
        local a = Instance.new('Attachment', p) a.Position = Vector3.xAxis
        p.CFrame = CFrame.new(5, 0, 0) assert(a.WorldPosition == Vector3.new(6, 0, 0))
        a.WorldPosition = Vector3.new(7, 1, 0) assert(a.Position == Vector3.new(2, 1, 0))
        local light = game.Lighting light.ClockTime = 6.5
        assert(light.TimeOfDay == '06:30:00' and light.ClockTime == 6.5)
        assert(Instance.new('Humanoid').Health == 100 and Instance.new('SpawnLocation').TeamColor.Number == 194)
        local f = Instance.new('Frame') f.Transparency = 0.5 assert(f.BackgroundTransparency == 0.5)
        assert(not pcall(function() return p.UniqueId end) and not pcall(function() return p.Attributes end))
        local m = Instance.new('Model', workspace) p.Parent = m
        m:PivotTo(CFrame.new(0, 10, 0)) assert((p.Position - Vector3.new(0, 10, 0)).Magnitude < 1e-3)
        local at, size = m:GetBoundingBox() assert(at.Y == 10 and size.Y > 1)",
    );
}

#[test]
fn property_changes_fire_signals() {
    check(
        "local p = Instance.new('Part', workspace)
        local log = {}
        p.Changed:Connect(function(name) table.insert(log, name) end)
        p:GetPropertyChangedSignal('Position'):Connect(function() table.insert(log, 'moved') end)
        p.Anchored = true p.Anchored = true
        p.Position = Vector3.one
        task.wait()
        assert(table.find(log, 'Anchored') == 1 and table.find(log, 'CFrame') and table.find(log, 'moved'))
        local v = Instance.new('IntValue') local got
        v.Changed:Connect(function(value) got = value end)
        v.Value = 3 task.wait() assert(got == 3)
        assert(p:IsPropertyModified('Anchored') and not p:IsPropertyModified('Locked'))
        p:ResetPropertyToDefault('Anchored') assert(p.Anchored == false)",
    );
}
