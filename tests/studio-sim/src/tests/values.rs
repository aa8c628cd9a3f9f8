//! Tests of datatypes: construction, arithmetic, text and equality.

use super::{check, check_with_fails};

#[test]
fn vector3_is_the_native_luau_vector() {
    check(
        "local v = Vector3.new(1, 2, 2)
        assert(type(v) == 'vector' and typeof(v) == 'Vector3')
        assert(v.X == 1 and v.y == 2 and v.Magnitude == 3)
        assert(v:Dot(Vector3.yAxis) == 2 and v:Cross(Vector3.xAxis) == Vector3.new(0, 2, -2))
        assert(v + Vector3.one == Vector3.new(2, 3, 3) and v * 2 == Vector3.new(2, 4, 4))
        assert(Vector3.new(0, 3, 0).Unit == Vector3.yAxis)
        assert(v:Lerp(Vector3.zero, 0.5) == Vector3.new(0.5, 1, 1))
        local t = {} t[v] = 1 assert(t[Vector3.new(1, 2, 2)] == 1)
        assert(tostring(v) == '1, 2, 2')
        assert(Vector3.fromNormalId(Enum.NormalId.Front) == Vector3.new(0, 0, -1))",
    );
    check_with_fails(
        "fails('Foo is not a valid member of Vector3', function() return Vector3.one.Foo end)",
    );
}

#[test]
fn datatypes_are_userdata_and_equal_by_value() {
    check_with_fails(
        "local u = UDim2.new(0.5, 10, 1, -4)
        assert(type(u) == 'userdata' and typeof(u) == 'UDim2')
        assert(u == UDim2.new(UDim.new(0.5, 10), UDim.new(1, -4)) and u ~= UDim2.new())
        assert(u.X.Offset == 10 and u.Width.Scale == 0.5 and tostring(u) == '{0.5, 10}, {1, -4}')
        assert(u + UDim2.fromOffset(1, 1) == UDim2.new(0.5, 11, 1, -3))
        assert(Vector2.new(3, 4).Magnitude == 5 and -Vector2.one == Vector2.new(-1, -1))
        assert(Vector2.new(4, 6) / 2 == Vector2.new(2, 3) and 2 * Vector2.one == Vector2.new(2, 2))
        assert(Rect.new(1, 2, 4, 8).Width == 3 and Rect.new(Vector2.one, Vector2.one).Height == 0)
        assert(NumberRange.new(1).Max == 1 and NumberRange.new(1, 2) == NumberRange.new(1, 2))
        assert(Vector3int16.new(1.9, -3, 40000).Z == 40000 - 65536)
        assert(Region3.new(Vector3.zero, Vector3.one * 2).CFrame.Position == Vector3.one)
        fails('X cannot be assigned to', function() u.X = 1 end)
        fails('Foo is not a valid member of UDim2', function() return u.Foo end)
        fails('invalid range', NumberRange.new, 2, 1)
        assert(getmetatable(u) == 'The metatable is locked')",
    );
}

#[test]
fn colors_convert_between_formats() {
    check(
        "local c = Color3.fromRGB(255, 128, 0)
        assert(c:ToHex() == 'ff8000' and Color3.fromHex('#FF8000') == c and Color3.fromHex('f00').R == 1)
        local h, s, v = Color3.new(0, 1, 0):ToHSV()
        assert(math.abs(h - 1 / 3) < 1e-6 and s == 1 and v == 1)
        assert(Color3.fromHSV(1 / 3, 1, 1):ToHex() == '00ff00')
        assert(Color3.new():Lerp(Color3.new(1, 1, 1), 0.5).G == 0.5)
        assert(BrickColor.new('Bright red').Number == 21 and tostring(BrickColor.new(21)) == 'Bright red')
        assert(BrickColor.new(Color3.fromRGB(196, 40, 28)).Name == 'Bright red')",
    );
}

#[test]
fn cframes_rotate_and_translate() {
    check(
        "local quarter = CFrame.Angles(0, math.pi / 2, 0)
        assert((quarter * Vector3.xAxis):FuzzyEq(Vector3.new(0, 0, -1), 1e-5))
        local c = CFrame.new(1, 2, 3) * quarter
        assert((c:Inverse() * c):FuzzyEq(CFrame.identity, 1e-5))
        assert(c:PointToObjectSpace(c * Vector3.one):FuzzyEq(Vector3.one, 1e-4))
        assert(select('#', c:GetComponents()) == 12 and c.Position == Vector3.new(1, 2, 3))
        local look = CFrame.lookAt(Vector3.zero, Vector3.new(0, 0, -5))
        assert(look:FuzzyEq(CFrame.identity, 1e-5) and look.LookVector == Vector3.new(0, 0, -1))
        local x, y, z = CFrame.fromOrientation(0.1, 0.2, 0.3):ToOrientation()
        assert(math.abs(x - 0.1) + math.abs(y - 0.2) + math.abs(z - 0.3) < 1e-5)
        local x, y, z = CFrame.Angles(0.1, 0.2, 0.3):ToEulerAnglesXYZ()
        assert(math.abs(x - 0.1) + math.abs(y - 0.2) + math.abs(z - 0.3) < 1e-5)
        assert(CFrame.new():Lerp(CFrame.new(2, 0, 0), 0.5).X == 1)
        assert(CFrame.fromMatrix(Vector3.one, Vector3.xAxis, Vector3.yAxis) == CFrame.new(1, 1, 1))
        local axis, angle = CFrame.fromAxisAngle(Vector3.yAxis, 1):ToAxisAngle()
        assert(axis:FuzzyEq(Vector3.yAxis, 1e-4) and math.abs(angle - 1) < 1e-5)
        assert((CFrame.new(1, 0, 0) + Vector3.yAxis).Y == 1)",
    );
}

#[test]
fn enums_are_interned() {
    check_with_fails(
        "local neon = Enum.Material.Neon
        assert(neon == Enum.Material.Neon and typeof(neon) == 'EnumItem' and neon.Value == 288)
        assert(tostring(neon) == 'Enum.Material.Neon' and neon.EnumType == Enum.Material)
        assert(tostring(Enum.Material) == 'Material' and typeof(Enum.Material) == 'Enum')
        assert(Enum.Material:FromValue(288) == neon and Enum.Material:FromName('Neon') == neon)
        assert(#Enum.Axis:GetEnumItems() == 3 and ({[neon] = 1})[Enum.Material.Neon] == 1)
        assert(Enum.KeyCode.Unknown == Enum.KeyCode.None)
        fails('Cheese is not a valid member of \"Enum.Material\"', function() return Enum.Material.Cheese end)
        fails('Cheese is not a valid member of \"Enum\"', function() return Enum.Cheese end)",
    );
}

#[test]
fn sequences_fonts_and_other_datatypes_can_be_constructed() {
    check_with_fails(
        "local s = NumberSequence.new({NumberSequenceKeypoint.new(0, 1), NumberSequenceKeypoint.new(1, 2, 0.5)})
        assert(#s.Keypoints == 2 and s.Keypoints[2].Envelope == 0.5 and s ~= NumberSequence.new(1, 2))
        assert(ColorSequence.new(Color3.new(1, 0, 0)).Keypoints[2].Value == Color3.new(1, 0, 0))
        fails('must start at time=0.0', NumberSequence.new, {NumberSequenceKeypoint.new(0, 1), NumberSequenceKeypoint.new(0.5, 2)})
        local f = Font.fromEnum(Enum.Font.SourceSansBold)
        assert(f.Weight == Enum.FontWeight.Bold and f == Font.fromName('SourceSansPro', Enum.FontWeight.Bold))
        assert(Faces.new(Enum.NormalId.Top).Top and not Faces.new(Enum.NormalId.Top).Left)
        assert(PhysicalProperties.new(1, 0.5, 0).FrictionWeight == 1)
        assert(TweenInfo.new(2).EasingStyle == Enum.EasingStyle.Quad)
        local r = Random.new(7) local n = r:NextInteger(1, 6)
        assert(n >= 1 and n <= 6 and Random.new(7):NextInteger(1, 6) == n)
        assert(DateTime.fromUnixTimestamp(0):ToIsoDate() == '1970-01-01T00:00:00Z')
        assert(DateTime.fromUniversalTime(2020, 1, 2).UnixTimestamp == 1577923200)
        assert(Content.fromUri('rbxassetid://1').Uri == 'rbxassetid://1')",
    );
}

#[test]
fn capabilities_are_sets_that_instances_hold() {
    check_with_fails(
        "local all = Enum.SecurityCapability
        local set = SecurityCapabilities.new(all.Basic, all.AvatarBehavior, all.Assistant)
        assert(typeof(set) == 'SecurityCapabilities' and set:Contains(all.Basic, all.Assistant))
        assert(set:Contains(SecurityCapabilities.new(all.Basic)) and not set:Contains(all.Audio))
        assert(set:Remove(all.Basic) == SecurityCapabilities.new(all.Assistant, all.AvatarBehavior))
        assert(set:Add(all.Audio):Contains(all.Audio) and set:Add(set) == set)
        local folder = Instance.new('Folder')
        assert(folder.Capabilities == SecurityCapabilities.new() and not folder.Sandboxed)
        folder.Capabilities, folder.Sandboxed = set, true
        assert(folder.Capabilities == set and folder:Clone().Sandboxed)
        fails('Enum.SecurityCapability expected', SecurityCapabilities.new, Enum.Material.Wood)
        fails('SecurityCapabilities expected, got number', function() folder.Capabilities = 1 end)",
    );
}
