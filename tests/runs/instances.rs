//! The tree of instances, against the implementation of Lune: scripts by chance see the same in both.

use std::fmt::Write as _;

use random_draws::{RandomDraws, check_seeds};

use super::lune::{is_same, lunes, ours};

/// How many scripts are compared, and how many statements each has.
const SCRIPTS: u64 = 300;
const STATEMENTS: usize = 60;

const NAMES: [&str; 3] = ["A", "B", "C"];
const CLASSES: [&str; 6] = ["Part", "Folder", "Model", "StringValue", "SpawnLocation", "Decal"];
const ANCESTORS: [&str; 5] = ["Instance", "BasePart", "PVInstance", "ValueBase", "Part"];

/// What a script begins with: instances by their numbers, and a list of what it saw.
const BEGIN: &str = r#"
local all, numbers, lines = {}, {}, {}
local function add(it)
    table.insert(all, it)
    numbers[it] = #all
    return it
end
local function addAll(it)
    add(it)
    for _, child in it:GetChildren() do
        addAll(child)
    end
end
local function at(index)
    return all[(index - 1) % #all + 1]
end
local function show(value)
    if typeof(value) == "Instance" then
        return `instance {numbers[value]} {value.ClassName} {value.Name}`
    elseif typeof(value) == "table" then
        local parts = {}
        for index, item in value do
            parts[index] = show(item)
        end
        return table.concat(parts, " ")
    elseif typeof(value) == "number" then
        return string.format("%.9g", value)
    end
    return tostring(value)
end
local function see(work)
    local ok, value = pcall(work)
    table.insert(lines, if ok then show(value) else "error")
end
local function sorted(list)
    table.sort(list)
    return list
end
add(Instance.new("Folder"))
"#;

/// What a script ends with: the whole tree.
const END: &str = r#"
for index, it in all do
    see(function() return { it.Name, it.ClassName, it.Parent or "none", it:GetFullName() } end)
    see(function() return it:GetChildren() end)
    see(function()
        local found = {}
        for _, child in it:GetDescendants() do
            table.insert(found, numbers[child])
        end
        return sorted(found)
    end)
    see(function() return sorted(it:GetTags()) end)
    see(function()
        local names = {}
        for name, value in it:GetAttributes() do
            table.insert(names, `{name} {value}`)
        end
        return sorted(names)
    end)
    see(function() return it.Transparency end)
    see(function() return it.Value end)
end
return lines
"#;

fn draw_statement(draws: &mut RandomDraws) -> String {
    let it = format!("at({})", 1 + draws.below(20));
    let other = format!("at({})", 1 + draws.below(20));
    let (name, class) = (draws.pick(&NAMES), draws.pick(&CLASSES));
    let ancestor = draws.pick(&ANCESTORS);
    match draws.below(26) {
        0..=3 => {
            format!(
                "local above = {other} local it = add(Instance.new('{class}')) it.Name = '{name}' it.Parent = above"
            )
        }
        // Lune hangs where an instance gets below itself, and moves one to the end of the children that it
        // is among already, which Roblox does not.
        4 => format!(
            "if {other} ~= {it} and {it}.Parent ~= {other} and not {other}:IsDescendantOf({it}) then {it}.Parent = {other} end"
        ),
        5 => format!("{it}.Parent = nil"),
        6 => format!("addAll({it}:Clone())"),
        7 => format!("{it}.Name = '{name}'"),
        8 => format!("see(function() return {it}:FindFirstChild('{name}') end)"),
        // Which of several is the first is not the same in both: depth or breadth first.
        9 => format!("see(function() return {it}:FindFirstChild('{name}', true) ~= nil end)"),
        10 => format!("see(function() return {it}:FindFirstChildOfClass('{class}') end)"),
        11 => format!("see(function() return {it}:FindFirstChildWhichIsA('{ancestor}') end)"),
        12 => format!(
            "see(function() return {it}:FindFirstChildWhichIsA('{ancestor}', true) ~= nil end)"
        ),
        13 => format!("see(function() return {it}:FindFirstAncestor('{name}') end)"),
        14 => format!("see(function() return {it}:FindFirstAncestorOfClass('{class}') end)"),
        15 => format!("see(function() return {it}:FindFirstAncestorWhichIsA('{class}') end)"),
        16 => format!("see(function() return {it}:IsA('{ancestor}') end)"),
        17 => format!("see(function() return {it}:IsDescendantOf({other}) end)"),
        18 => format!("see(function() return {it}:IsAncestorOf({other}) end)"),
        19 => {
            let value = draws.pick(&["1", "'x'", "true", "nil", "Vector3.new(1, 2, 3)", "{}"]);
            format!("see(function() return {it}:SetAttribute('{name}', {value}) end)")
        }
        20 => format!("see(function() return {it}:GetAttribute('{name}') end)"),
        // Lune keeps a tag twice.
        21 => format!("if not {it}:HasTag('{name}') then {it}:AddTag('{name}') end"),
        22 => format!("{it}:RemoveTag('{name}') see(function() return {it}:HasTag('{name}') end)"),
        23 => {
            let value = draws.pick(&["0.5", "'x'", "1", "nil", "true"]);
            format!("see(function() {it}.Transparency = {value} return {it}.Transparency end)")
        }
        24 => {
            let value = draws.pick(&["'text'", "nil", "{}"]);
            format!("see(function() {it}.Value = {value} return {it}.Value end)")
        }
        _ => {
            let property = draws.pick(&[
                "Size",
                "CFrame",
                "Color",
                "Anchored",
                "Material",
                "Shape",
                "Nothing",
                "Name",
                "ClassName",
                "Parent",
                "Face",
                "Enabled",
                "Locked",
                "CanCollide",
            ]);
            format!("see(function() return {it}.{property} end)")
        }
    }
}

#[test]
fn scripts_see_the_tree_that_lune_gives_them() {
    check_seeds(0..SCRIPTS, |draws| {
        let mut source = BEGIN.to_owned();
        for _ in 0..STATEMENTS {
            writeln!(source, "do {} end", draw_statement(draws)).unwrap();
        }
        source += END;
        let (ours, theirs) = (ours(&source), lunes(&source));
        let apart = ours.iter().zip(&theirs).position(|(one, other)| !is_same(one, other));
        assert!(
            apart.is_none() && ours.len() == theirs.len(),
            "line {apart:?}: {:?}\n{source}",
            apart.map(|at| (&ours[at], &theirs[at]))
        );
    });
}
