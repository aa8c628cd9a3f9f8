//! Tests of additive edits, and of many edits that only look additive.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Lua, Variadic};

use super::*;
use crate::compile_errors;

/// The server script of a shop: a guard, a limit, a list, a handler.
const BANK: &str = "\
local Players = game:GetService(\"Players\")
local Store = game:GetService(\"DataStoreService\"):GetDataStore(\"Coins\")
local admins = {101, 202}
local balance = {}

local function isAdmin(player)
\treturn table.find(admins, player.UserId) ~= nil
end

local function give(player, amount)
\tif not isAdmin(player) then
\t\treturn
\tend
\tif amount > 100 then
\t\twarn(\"too much\")
\t\treturn
\tend
\tbalance[player] += amount
end

Players.PlayerRemoving:Connect(function(player)
\tStore:SetAsync(player.UserId, balance[player])
end)
give(Players.LocalPlayer, 5)
";

/// A module that ends with `return`.
const MODULE: &str = "\
--!strict
local Config = { limit = 10, name = \"shop\" }
local Shop = {}
Shop.__index = Shop

function Shop.new(owner: string)
\tlocal self = setmetatable({}, Shop)
\tself.owner = owner
\treturn self
end

function Shop:canBuy(price: number): boolean
\tif price > Config.limit then
\t\treturn false
\tend
\treturn price <= 5 or self.owner == \"me\" -- small things are for all
end

return Shop
";

/// A script with loops and strings.
const LOOP: &str = "\
local total = 0
for index, value in ipairs({ 1, 2, 3 }) do
\tif value % 2 == 0 then
\t\tcontinue
\tend
\ttotal += value * index
\trecord(`{index}: {value}`)
end
while total > 4 do
\ttotal -= 3
\trecord(\"less\", total)
end
record([[the
end]], total)
";

const SCRIPTS: [&str; 3] = [BANK, MODULE, LOOP];

#[track_caller]
fn waits(before: &str, after: &str) {
    assert_eq!(compile_errors(after), [], "it does not compile:\n{after}");
    assert!(!is_additive_edit(before, after), "it passes as an addition:\n{after}");
}

#[track_caller]
fn passes(before: &str, after: &str) {
    assert_eq!(compile_errors(after), [], "it does not compile:\n{after}");
    assert!(is_additive_edit(before, after), "it does not pass:\n{after}");
}

/// Replaces a passage that occurs exactly once.
#[track_caller]
fn edited(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from:?}");
    text.replace(from, to)
}

#[test]
fn insertions_that_change_behaviour_are_not_additive() {
    let guard = "\tif not isAdmin(player) then\n\t\treturn\n\tend\n";
    let dashed = "\t--if not isAdmin(player) then\n\t--\treturn\n\t--end\n";
    for after in [
        format!("--[[\n{BANK}]]\n"),
        format!("local _ = [[\n{BANK}]]\n"),
        format!("local function never()\n{BANK}end\n"),
        format!("if false then\n{BANK}end\n"),
        edited(BANK, guard, dashed),
        edited(BANK, guard, &format!("\t--[[\n{guard}\t]]\n")),
        format!("do return end\n{BANK}"),
        format!("error(\"x\")\n{BANK}"),
        format!("while true do task.wait() end\n{BANK}"),
        format!("workspace:ClearAllChildren()\n{BANK}"),
        edited(BANK, "\treturn table", "\tif true then return true end\n\treturn table"),
        edited(BANK, "return table", "return true or table"),
        edited(BANK, "if not isAdmin(player)", "if not isAdmin(player) and false"),
        edited(BANK, "if not isAdmin", "if not not isAdmin"),
        edited(BANK, "> 100", "> 100000000"),
        edited(BANK, "> 100", ">= 100"),
        edited(BANK, "202}", "202, 66666}"),
        edited(BANK, "+= amount", "+= -amount"),
        format!("local game = workspace\n{BANK}"),
        edited(BANK, "\tStore:Set", "\tStore:RemoveAsync(player.UserId)\n\tStore:Set"),
        edited(BANK, "give(Players", "-- give(Players"),
        format!("{BANK}isAdmin = function() return true end\n"),
        format!("{BANK}function isAdmin() return true end\n"),
        format!("{BANK}workspace:ClearAllChildren()\n"),
        format!("{BANK}local cleared = workspace:ClearAllChildren()\n"),
        format!("{BANK}local module = require(script.Module)\n"),
    ] {
        assert!(is_subsequence(BANK, &after), "it removes something:\n{after}");
        waits(BANK, &after);
    }
}

#[test]
fn running_hiding_or_overriding_code_is_not_additive() {
    let behind = |text: &str| waits(BANK, &format!("{BANK}{text}\n"));
    // Values that run or read something.
    behind("local a = game.Workspace");
    behind("local a = (function() workspace:ClearAllChildren() end)()");
    behind("local a = { workspace:ClearAllChildren() }");
    behind("local a = -admins");
    behind("local a = #Players");
    behind("local a = balance[1]");
    behind("local a = `{workspace:ClearAllChildren()}`");
    behind("local a = if admins then 1 else 2");
    behind("local a = \"a\" + 1");
    behind("local a = {} .. \"x\"");
    behind("local a = 1 < 2");
    behind("local a = { [nil] = 1 }");
    behind("local a = { [0 / 0] = 1 }");
    behind("local a = ...");
    behind("local a = 1 give(nil, 1)");
    behind("local a; give(nil, 1)");
    // Names that exist already, are globals, or are declared twice.
    behind("local isAdmin = true");
    behind("local function give() end");
    behind("local UserId = 1");
    behind("type Players = number");
    behind("local function require() end");
    behind("local a = 1 local a = 2");
    // Statements other than local declarations.
    behind("function fresh() end");
    behind("fresh = 1");
    behind("function admins.fresh() end");
    behind("@native local function fresh() end");
    behind("type function Fresh(t) return t end");
    behind("do local a = 1 end");
    behind("if true then local a = 1 end");
    behind("return");
    // Statements before or after a closing `return`.
    let module = |text: &str| waits(MODULE, &edited(MODULE, "\nreturn Shop\n", text));
    module("\nfunction Shop.fresh() end\nreturn Shop\n");
    module("\nfunction Shop:canBuy() return true end\nreturn Shop\n");
    module("\nShop.fresh = 1\nreturn Shop\n");
    module("\nlocal a = 1 do return Config end\nreturn Shop\n");
    module("\nreturn Shop, 1\n");
    module("\nreturn (Shop)\n");
    module("\nreturn Shop;\n");
    // Declarations in the middle.
    waits(BANK, &edited(BANK, "\nlocal function give", "\nlocal a = 1\nlocal function give"));
    waits(BANK, &edited(BANK, "local admins", "local a = 1\nlocal admins"));
    // Scripts that access names by text.
    for word in ["getfenv()", "setfenv(1, {})", "loadstring(\"x\")"] {
        let before = format!("local env = {word}\n");
        waits(&before, &format!("{before}local a = 1\n"));
        passes(&before, &format!("{before}-- a\n"));
    }
}

#[test]
fn only_comments_without_effect_are_additive() {
    for directive in ["--!native", "--!strict", "--!nocheck", "--!nolint", "--!optimize 0"] {
        waits(BANK, &format!("{directive}\n{BANK}"));
        waits(BANK, &format!("{BANK}{directive}\n"));
    }
    waits(BANK, &format!("-- selene: allow(unused_variable)\n{BANK}"));
    waits(BANK, &format!("--# selene: allow(unused_variable)\n{BANK}"));
    waits(BANK, &edited(BANK, "local admins", "-- stylua: ignore\nlocal admins"));
    waits(MODULE, &edited(MODULE, "--!strict\n", "--!strict\n--!strict\n"));
    waits(MODULE, &edited(MODULE, "--!strict\n", "--[[\n--!strict\n]]\n"));
    waits(MODULE, &edited(MODULE, " -- small things are for all", ""));
    passes(MODULE, &edited(MODULE, "--!strict\n", "-- The shop.\n--!strict\n"));
    passes(BANK, &edited(BANK, "if not isAdmin(player)", "if not --[[ really ]] isAdmin(player)"));
    // The parser skips to the end of the line, but Luau resumes after the carriage return.
    let hidden = "local admins -- who may\rworkspace:ClearAllChildren() local b";
    waits(BANK, &edited(BANK, "local admins", hidden));
    waits(BANK, &format!("{BANK}-- x\rworkspace:ClearAllChildren()\n"));
    assert!(!is_additive_edit(BANK, &format!("{BANK}-- x\0workspace:ClearAllChildren()\n")));
    assert!(!is_additive_edit(BANK, &format!("#!/bin/sh\n{BANK}")));
}

/// Where the parser takes code for a part of a string, the added statements look like constants.
#[test]
fn strings_that_the_parser_reads_otherwise_are_not_additive() {
    let call = "workspace:ClearAllChildren()";
    let hidden =
        format!("local a = `\\z` {call} local b = ` local c = \"` .. \" local d = \" --\"");
    waits(BANK, &format!("{BANK}{hidden}\n"));
    waits(MODULE, &edited(MODULE, "\nreturn Shop\n", &format!("\n{hidden}\nreturn Shop\n")));
}

#[test]
fn edits_that_cannot_be_judged_are_not_additive() {
    // It compiles, but the parser does not know the syntax.
    let unknown = "@[native, checked]\nlocal function a() end\n";
    assert!(!is_additive_edit(unknown, &format!("{unknown}-- a\n")));
    assert!(!is_additive_edit(BANK, &format!("{BANK}{unknown}")));
    assert!(!is_additive_edit("local x =", "local x = -- a"));
    assert!(!is_additive_edit(BANK, &format!("{BANK}local a = \n")));
    let deep = format!("{}{}", "do ".repeat(150), "end ".repeat(150));
    assert!(
        !is_additive_edit(&deep, &format!("{deep}-- a\n")),
        "nested as deep as no parser should go"
    );
    assert!(!is_additive_edit(BANK, ""));
    assert!(!is_additive_edit(BANK, LOOP));
}

#[test]
fn any_edit_of_an_empty_script_is_additive() {
    passes("", BANK);
    passes("\n\t\n", BANK);
    waits("-- nothing yet\n", BANK);
}

/// Edits that change the behaviour of a script, generated by rules. They keep all old characters.
fn subversions(script: &str) -> Vec<String> {
    let lines: Vec<&str> = script.split_inclusive('\n').collect();
    let mut found = Vec::new();
    let mut with = |at: usize, until: usize, text: String| {
        found.push(format!("{}{text}{}", lines[..at].concat(), lines[until..].concat()));
    };
    for (at, line) in lines.iter().enumerate() {
        let code = line.split("--").next().unwrap_or_default().trim();
        for statement in
            ["do return end", "error(\"x\")", "while true do end", "workspace:Destroy()"]
        {
            with(at, at, format!("{statement}\n"));
        }
        if code.is_empty() {
            continue;
        }
        with(at, at + 1, format!("--{line}"));
        for until in at + 1..=(at + 4).min(lines.len()) {
            let text = lines[at..until].concat();
            with(at, until, format!("--[==[\n{text}]==]\n"));
            with(at, until, format!("if false then\n{text}end\n"));
            with(at, until, format!("local never = function()\n{text}end\n"));
        }
        let insert = |from: &str, to: &str| line.contains(from).then(|| line.replacen(from, to, 1));
        let within = [
            insert("if ", "if not "),
            insert(" then", " and false then"),
            insert(" then", " or true then"),
            insert("return ", "return nil and "),
            insert(" = ", " = nil and "),
            insert("(", "(nil, "),
            insert("1", "10"),
            insert("2", "-2"),
            insert("\"", "\"x"),
            insert(".", ".x."),
            insert(" do", " do break"),
        ];
        for text in within.into_iter().flatten() {
            with(at, at + 1, text);
        }
    }
    let names: HashSet<&str> =
        script.split(|c: char| !c.is_alphanumeric()).filter(|it| it.len() > 3).collect();
    for name in names {
        with(0, 0, format!("local {name} = nil\n"));
    }
    found.retain(|after| compile_errors(after).is_empty());
    found
}

#[test]
fn generated_behaviour_changes_are_never_additive() {
    let mut tried = 0;
    for script in SCRIPTS {
        for after in subversions(script) {
            assert!(is_subsequence(script, &after), "it removes something:\n{after}");
            waits(script, &after);
            tried += 1;
        }
    }
    assert!(tried >= 200, "{tried} edits");
}

/// Edits that do not change the behaviour of a script: comments anywhere, declarations at its end.
fn additions(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines: Vec<&str> = script.split_inclusive('\n').collect();
    let mut is_text = false;
    for (at, line) in lines.iter().enumerate() {
        let (front, back) = (lines[..at].concat(), lines[at..].concat());
        if !is_text {
            for comment in ["-- A note.\n", "\t--[[ two\n\tlines ]]\n", "--[=[ ]] ]=]\n\n", "\n"] {
                found.push(format!("{front}{comment}{back}"));
            }
        }
        is_text = line.contains("[[") || is_text && !line.contains("]]");
        if !is_text && !line.contains("--") {
            let (line, rest) = (line.trim_end_matches('\n'), lines[at + 1..].concat());
            found.push(format!("{front}{line} -- a note 😀\n{rest}"));
        }
    }
    let (body, closing) = match script.rfind("\nreturn ") {
        Some(at) => script.split_at(at + 1),
        None => (script, ""),
    };
    let values = [
        "1",
        "-1.5e3",
        "0xFF",
        "60 * 60",
        "\"a\" .. 1",
        "'it'",
        "[[long]]",
        "`plain`",
        "true",
        "nil",
        "not false",
        "{}",
        "{ 1, 2 }",
        "{ a = 1, [\"b c\"] = { true } }",
        "function() print(1) end",
        "(1)",
        "1 :: number",
        "{ run = function(x) return x end }",
        "2 ^ 10 // 3 % 4",
    ];
    for (at, value) in values.iter().enumerate() {
        found.push(format!("{body}\nlocal fresh{at} = {value}\n{closing}"));
        found.push(format!("{body}local fresh: any, other = {value}, {value}; -- why\n{closing}"));
    }
    for text in [
        "local function fresh(a: number, ...: string): ()\n\tgame:Shutdown(a)\nend\n",
        "local fresh\n",
        "type Fresh = { a: number }\nexport type Other<T> = { T } | nil\n",
        "local a, b = 1\nlocal function c() return a, b, c end\n",
        "-- first\nlocal fresh = 1\n-- second\nlocal other = 2 -- third\n\n",
    ] {
        found.push(format!("{body}{text}{closing}"));
    }
    found
}

/// Runs a script and records its calls with their arguments, in order.
fn trace(script: &str) -> Vec<String> {
    let lua = Lua::new();
    let calls = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&calls);
    let record = lua.create_function(move |_, said: Variadic<String>| {
        heard.borrow_mut().push(said.join(" "));
        Ok(())
    });
    lua.globals().set("record", record.unwrap()).unwrap();
    lua.load(script).exec().unwrap();
    calls.take()
}

#[test]
fn generated_additions_are_additive_and_keep_behaviour() {
    let mut tried = 0;
    for script in SCRIPTS {
        for after in additions(script) {
            passes(script, &after);
            if script == LOOP {
                assert_eq!(trace(&after), trace(script), "{after}");
            }
            tried += 1;
        }
    }
    assert!(tried >= 200, "{tried} edits");
}

#[test]
fn long_scripts_are_judged_in_bounded_time() {
    let line = "function a.run(b)\n\treturn b .. \"text\" -- note\nend\n";
    let script = format!("local a = {{}}\n{}", line.repeat(199_000 / line.len()));
    passes(&script, &format!("{script}local fresh = 1\n"));
    let nested = format!("local a = {}{}\n", "{".repeat(60_000), "}".repeat(60_000));
    assert!(!is_additive_edit(&nested, &format!("{nested}-- a\n")));
    let notes = "-- a\n".repeat(40_000);
    passes("print(1)\n", &format!("{notes}print(1)\n"));
}
