//! Roblox's datatypes, against the implementation of Lune: expressions by chance have the same value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use random_draws::RandomDraws;

use super::lune::{is_same, lunes, ours};

/// How many expressions are compared, and how many of them at once.
const EXPRESSIONS: usize = 20_000;
const AT_ONCE: usize = 1_000;
/// How many expressions of each form are compared.
const EACH: usize = 60;

/// The forms whose values differ, with the reason. They are not parts of other expressions.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "%U:Lerp(%U, %n)",
        "which whole number an offset between two becomes is not known: here the lower one",
    ),
    ("%v:Sign()", "Lune takes the sign of 0 for 1; in Roblox it is 0"),
    ("%w:Sign()", "Lune takes the sign of 0 for 1; in Roblox it is 0"),
    (
        "CFrame.fromRotationBetweenVectors(%v, %v)",
        "Lune takes vectors that are nearly parallel for parallel",
    ),
    ("(%i * %i)", "Lune leaves the 16 bits"),
    ("(%j * %j)", "Lune leaves the 16 bits"),
    ("(%i * %l)", "Lune multiplies with whole numbers only"),
    ("(%j * %l)", "Lune multiplies with whole numbers only"),
    ("(%v // %n)", "Luau divides a vector's components in double precision"),
    ("(-%i)", "Roblox's reference has no unary minus of it"),
    ("(-%j)", "Roblox's reference has no unary minus of it"),
    ("BrickColor.new(%k)", "which brick color is next to a color outside of 0 to 1"),
    (
        "BrickColor.new(%n)",
        "Roblox gives Medium stone grey for a number without a brick color, Lune another",
    ),
    ("BrickColor.new(%n, %n, %n)", "which brick color is next to a color outside of 0 to 1"),
    (
        "BrickColor.new('Not a color')",
        "Roblox gives Medium stone grey for a name without a brick color, Lune another",
    ),
    ("BrickColor.palette(7)", "Roblox counts the palette from 0, Lune from 1"),
    ("CFrame.fromAxisAngle(%v, %n)", "Lune does not normalize the axis, which makes no rotation"),
    ("Color3.fromHSV(%n, %n, %n)", "a hue outside of 0 to 1"),
    ("NumberRange.new(%n, %n)", "Roblox refuses a maximum below the minimum, Lune swaps them"),
    (
        "Rect.new(%n, %n, %n, %n)",
        "Lune swaps a maximum below the minimum; what Roblox does is not known",
    ),
    ("Rect.new(%w, %w)", "Lune swaps a maximum below the minimum; what Roblox does is not known"),
    ("Vector3.FromAxis(Enum.Axis.Y)", "Lune has only the other name"),
    ("Vector3.FromNormalId(Enum.NormalId.Front)", "Lune has only the other name"),
    ("(select(2, %c:ToEulerAnglesYXZ()))", "half a turn is the same in both directions"),
    ("tostring(%r)", "Roblox writes it without a comma"),
    ("tostring(Enum.KeyCode)", "Roblox writes an enum's name alone"),
    ("tostring(Enum.Material.Wood.EnumType)", "Roblox writes an enum's name alone"),
];

/// The beginnings of forms that agree and are not parts of other expressions either, because a small
/// difference of their parts becomes a large one: whole numbers, signs, angles at half a turn, and
/// matrices that do more than rotate.
const ALONE: [&str; 14] = [
    "%v:Ceil",
    "%v:Floor",
    "%w:Ceil",
    "%w:Floor",
    "(%w // ",
    "(%c:ToEuler",
    "(select(2, %c:To",
    "(select(3, %c:To",
    "%v:Angle",
    "CFrame.fromMatrix",
    "%c:Orthonormalize",
    "%v.Unit",
    "%w.Unit",
    "(%k:ToHSV())",
];

/// Writes any value by its components.
const SHOW: &str = r##"
local function numbers(...)
    local parts = {}
    for index = 1, select("#", ...) do
        parts[index] = string.format("%.9g", (select(index, ...)))
    end
    return table.concat(parts, " ")
end
local function xyz(it) return numbers(it.X, it.Y, it.Z) end
local shows = {
    number = numbers,
    Vector3 = xyz, Vector3int16 = xyz,
    Vector2 = function(it) return numbers(it.X, it.Y) end,
    Vector2int16 = function(it) return numbers(it.X, it.Y) end,
    CFrame = function(it) return numbers(it:GetComponents()) end,
    Color3 = function(it) return numbers(it.R, it.G, it.B) end,
    UDim = function(it) return numbers(it.Scale, it.Offset) end,
    UDim2 = function(it) return numbers(it.X.Scale, it.X.Offset, it.Y.Scale, it.Y.Offset) end,
    Rect = function(it) return numbers(it.Min.X, it.Min.Y, it.Max.X, it.Max.Y) end,
    NumberRange = function(it) return numbers(it.Min, it.Max) end,
    Ray = function(it) return xyz(it.Origin) .. " " .. xyz(it.Direction) end,
    Region3 = function(it) return xyz(it.CFrame.Position) .. " " .. xyz(it.Size) end,
    BrickColor = function(it) return numbers(it.Number) .. " " .. string.gsub(it.Name, " ", "_") end,
    PhysicalProperties = function(it)
        return numbers(it.Density, it.Friction, it.Elasticity, it.FrictionWeight, it.ElasticityWeight)
    end,
    NumberSequence = function(it)
        local parts = {}
        for index, key in it.Keypoints do
            parts[index] = numbers(key.Time, key.Value, key.Envelope)
        end
        return table.concat(parts, " ")
    end,
    ColorSequence = function(it)
        local parts = {}
        for index, key in it.Keypoints do
            parts[index] = numbers(key.Time, key.Value.R, key.Value.G, key.Value.B)
        end
        return table.concat(parts, " ")
    end,
}
local lines = {}
local function add(work)
    local ok, value = pcall(work)
    local kind = typeof(value)
    local show = shows[kind] or tostring
    local isMissing = not ok and string.find(tostring(value), "NotInRuntime", 1, true) ~= nil
    table.insert(lines, if ok then kind .. " " .. show(value) elseif isMissing then "missing" else "error")
end
"##;

/// The forms of all values.
const FORMS: &str = include_str!("forms.txt");

/// The forms, each with the letter of its kind.
fn forms() -> impl Iterator<Item = (char, &'static str)> {
    let lines = FORMS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (kind, form) = line.split_once(' ').unwrap();
        (kind.chars().next().unwrap(), form)
    })
}

const NUMBERS: [&str; 14] =
    ["0", "1", "-1", "0.5", "2", "-0.25", "3", "1.5", "10", "-7", "100", "0.1", "255", "1000.5"];

/// An expression of a form, whose parts have at most so many levels.
fn draw_form(draws: &mut RandomDraws, form: &str, depth: usize, text: &mut String) {
    let mut letters = form.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' {
            let kind = letters.next().unwrap();
            draw(draws, kind, depth, text);
        } else {
            text.push(letter);
        }
    }
}

/// An expression of a kind, of forms in which both agree.
fn draw(draws: &mut RandomDraws, kind: char, depth: usize, text: &mut String) {
    if kind == 'l' || kind == 'n' && (depth == 0 || !draws.one_in(4)) {
        text.push_str(draws.pick(&NUMBERS));
        return;
    }
    let mut all: Vec<&str> = forms().filter(|(of, _)| *of == kind).map(|(_, form)| form).collect();
    if depth == 0 {
        // The first of each kind have little in them.
        all.truncate(2);
    }
    all.retain(|form| !DIFFERENCES.iter().any(|(of, _)| of == form));
    all.retain(|form| !ALONE.iter().any(|start| form.starts_with(start)));
    let form = draws.pick(&all);
    draw_form(draws, form, depth.saturating_sub(1), text);
}

/// A script that evaluates expressions, each on its own.
fn script(expressions: &[String]) -> String {
    let mut text = SHOW.to_owned();
    for expression in expressions {
        writeln!(text, "add(function() return {expression} end)").unwrap();
    }
    text += "return lines";
    text
}

/// Compares expressions, and returns those that differ, by their index.
fn differences(expressions: &[String]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (part, expressions) in expressions.chunks(AT_ONCE).enumerate() {
        let source = script(expressions);
        let pairs = ours(&source).into_iter().zip(lunes(&source));
        for (index, (ours, theirs)) in pairs.enumerate() {
            if !is_same(&ours, &theirs) {
                let line = format!("{}\n    ours {ours}\n    Lune {theirs}", expressions[index]);
                found.push((part * AT_ONCE + index, line));
            }
        }
    }
    found
}

#[test]
fn forms_have_the_values_that_lune_gives_them() {
    let mut draws = RandomDraws::from_seed(1);
    let (mut of, mut expressions) = (Vec::new(), Vec::new());
    for (_, form) in forms() {
        for _ in 0..EACH {
            let mut text = String::new();
            draw_form(&mut draws, form, 0, &mut text);
            of.push(form);
            expressions.push(text);
        }
    }
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (index, line) in differences(&expressions) {
        found.entry(of[index]).or_default().push(line);
    }
    let mut wrong = String::new();
    for (form, lines) in &found {
        if !DIFFERENCES.iter().any(|(of, _)| of == form) {
            writeln!(wrong, "{form}: {} of {EACH} differ, such as\n  {}", lines.len(), lines[0])
                .unwrap();
        }
    }
    for (form, _) in DIFFERENCES {
        if !found.contains_key(form) {
            writeln!(wrong, "{form}: does not differ any longer").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn expressions_have_the_values_that_lune_gives_them() {
    let mut draws = RandomDraws::from_seed(2);
    let kinds: BTreeSet<char> = forms().map(|(kind, _)| kind).collect();
    let kinds: Vec<char> = kinds.into_iter().collect();
    let expressions: Vec<String> = (0..EXPRESSIONS)
        .map(|_| {
            let (kind, depth) = (draws.pick(&kinds), 1 + draws.below(3));
            let mut text = String::new();
            draw(&mut draws, kind, depth, &mut text);
            text
        })
        .collect();
    let mut found: Vec<String> =
        differences(&expressions).into_iter().map(|(_, line)| line).collect();
    found.sort_by_key(String::len);
    let count = found.len();
    found.truncate(20);
    assert!(count == 0, "{count} differ, such as\n{}", found.join("\n"));
}
