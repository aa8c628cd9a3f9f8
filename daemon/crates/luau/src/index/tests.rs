//! Tests of the index reader: small scripts, a comparison with the parser on real scripts, and text
//! that is not Luau.

use random_draws::check_seeds;

use super::super::{DefinitionKind, outline_script};
use super::*;

/// One line for each definition, require, member and error.
fn told(source: &str) -> Vec<String> {
    let script = summarize_script(source);
    let definitions = script.definitions.iter().map(|it| {
        let exported = if it.is_exported { "export " } else { "" };
        format!("{exported}{:?} {} @{}", it.kind, it.name, it.name_span.text_in(source))
    });
    let requires = script.requires.iter().map(|it| {
        let local = it.local_name.as_deref().map_or(String::new(), |it| format!("{it} = "));
        format!("{local}{}", way(&it.target))
    });
    let members = script.members.iter().map(|it| format!("member {}", it.name));
    let trouble = script.parse_error.iter().map(|it| format!("{}: {}", it.at, it.message));
    definitions.chain(requires).chain(members).chain(trouble).collect()
}

fn way(what: &RequireTarget) -> String {
    match what {
        RequireTarget::Instance(from, way) => {
            let mut text = match from {
                RouteOrigin::Script => "script".to_owned(),
                RouteOrigin::Game => "game".to_owned(),
                RouteOrigin::Service(name) => format!("<{name}>"),
            };
            for step in way.to_steps() {
                match step {
                    RouteStep::Parent => text.push_str("/.."),
                    RouteStep::Child(name) => text.push_str(&format!("/{name}")),
                    RouteStep::Ancestor(name) => text.push_str(&format!("/^{name}")),
                }
            }
            text
        }
        RequireTarget::Text(text) => format!("{text:?}"),
        RequireTarget::Asset(number) => number.to_string(),
        RequireTarget::Computed => "computed".to_owned(),
    }
}

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    assert_eq!(told(source), expected, "{source}");
}

#[test]
fn requires_are_read_in_all_forms() {
    check("require(script.Parent.X)", &["script/../X"]);
    check(
        "local S = game:GetService('ReplicatedStorage')\nlocal Y = require(S.X:WaitForChild(\"Y\", 5))",
        &["Local Y @Y", "Y = <ReplicatedStorage>/X/Y"],
    );
    check("local p = script.Parent\nlocal q = p.Parent\nrequire(q['a b'])", &["script/../../a b"]);
    check("require(game.Workspace.M) require(workspace.M)", &["game/Workspace/M", "<Workspace>/M"]);
    check("require(script:FindFirstAncestor('Pkg').M)", &["script/^Pkg/M"]);
    check(
        "require './x' require(`@self/y`) require('@alias/z')",
        &["\"./x\"", "\"@self/y\"", "\"@alias/z\""],
    );
    check("require(123456)", &["123456"]);
    check("for _, m in script:GetChildren() do require(m) end", &["computed"]);
    check("require(script:FindFirstChild(name)) require(script[name])", &["computed", "computed"]);
    check("local function f(require) require(script.X) end", &["LocalFunction f @f"]);
    check("local p = script.A\np = script.B\nrequire(p.C)", &["computed"]);
    check(
        "return require(script.Parent._Index['a_b@1.0.0']['b'])",
        &["script/../_Index/a_b@1.0.0/b"],
    );
    check("local a = (require(script.A) :: any)", &["Local a @a", "a = script/A"]);
    check(&format!("require(script.{})", "a.".repeat(64) + "b"), &["computed"]);
    check(&format!("local p = script.{} require(p.B)", "a".repeat(1_000)), &["computed"]);
}

#[test]
fn requires_through_pcall_and_xpcall_are_found() {
    check("local ok, Shop = pcall(require, script.Shop)", &["Shop = script/Shop"]);
    check("local ok, Shop = xpcall(require, warn, script.Shop)", &["Shop = script/Shop"]);
    check("pcall(require, './x') print(pcall(require, f()))", &["\"./x\"", "computed"]);
    check("local ok, a, b = pcall(require, script.A)", &["a = script/A"]);
    check("local Shop = pcall(require, script.A)", &["script/A"]);
    check("local pcall = f local ok, a = pcall(require, script.A)", &[]);
    check("local ok, a = pcall(f, script.A) pcall(require) xpcall(require, f)", &[]);
    let source = "local ok, a = pcall(require, script.A)\nreturn a";
    assert_eq!(summarize_script(source).returns, ReturnedValue::Require(0));
    let source = "local ok, a\nok, a = pcall(require, script.A)\nreturn a";
    assert_eq!(summarize_script(source).returns, ReturnedValue::Require(0));
}

#[test]
fn reassigned_variables_make_require_targets_computed() {
    let rest = |text: &str| {
        let script = summarize_script(&format!("local p = script.A {text}"));
        assert_eq!(script.requires.len(), 1, "{text}");
        assert_eq!(script.requires[0].target, RequireTarget::Computed, "{text}");
    };
    // Code that was read before the assignment but runs after it.
    rest("task.defer(function() require(p.B) end) p = script.B");
    rest("for i = 1, 2 do require(p.B) p = p.Parent end");
    rest("while require(p.B) do p = f() end");
    rest("repeat p = f() until require(p.B)");
    rest("repeat require(p.B) p = f() until x");
    rest(
        "task.defer(function() local q = p.B task.defer(function() require(q.C) end) end) p = f()",
    );
    // Different kinds of assignment.
    rest("local ok ok, p = f() require(p.B)");
    rest("p ..= 1 require(p.B)");
    rest("if x then p = y end require(p.B)");
    rest("function p() end require(p.B)");
    rest("local function f() p = x end require(p.B)");
    // Code that ran before the assignment sees the old value, and other variables of the same name
    // do not matter.
    check("local p = script.A require(p.B) p = script.B", &["script/A/B"]);
    check("local p = script.A local q = p.B p = f() require(q)", &["script/A/B"]);
    check("for i = 1, 2 do local p = script.A require(p) p = f() end", &["script/A"]);
    check(
        "local p = script.A f(function() require(p) end) do local p = x p = y end",
        &["script/A"],
    );
}

#[test]
fn module_return_values_and_members_are_found() {
    check(
        "return { a = 1, ['b'] = function() end, c = function() end }",
        &["export Function c @c", "member a", "member b", "member c"],
    );
    check(
        "local M = { a = 1 }\nM.__index = M\nfunction M.new() return setmetatable({}, M) end\nfunction M:go() end\nM.x.y = 1\nreturn M",
        &[
            "Local M @M",
            "export Function M.new @new",
            "export Method M:go @go",
            "member a",
            "member __index",
            "member new",
            "member go",
        ],
    );
    check(
        "local M = setmetatable({ a = 1 }, {})\nM.b = 2\nreturn table.freeze(M)",
        &["member a", "member b"],
    );
    assert_eq!(summarize_script("return function() end").returns, ReturnedValue::Function);
    assert_eq!(
        summarize_script("local a = require(script.A)\nreturn a").returns,
        ReturnedValue::Require(0)
    );
    assert_eq!(summarize_script("return 1").returns, ReturnedValue::Other);
    assert_eq!(
        summarize_script("local function f() return {} end").returns,
        ReturnedValue::Nothing
    );
}

#[test]
fn types_are_definitions_with_an_export_flag() {
    check(
        "export type A<T> = { x: T, y: (a: number) -> ...string }\ntype B = A<A<number>>\nlocal x: A<B>=1\ntype function f(t) return t end\nlocal type = 1\ntype = 2",
        &["export Type A @A", "Type B @B", "Type f @f"],
    );
    check(
        "local function f<T, U...>(a: T?, ...: U...): (T & B, { [string]: typeof(f()) }) end",
        &["LocalFunction f @f"],
    );
}

/// For each use of a name: `new` for a declaration, the byte offset of its declaration for a
/// reference, `global` for a global, and the root with the depth for a member.
fn scopes(source: &str, name: &str) -> Vec<String> {
    let names = read_names(source);
    let declared = |number: u32| names.bindings[number as usize].span.start;
    names
        .uses
        .iter()
        .filter(|it| it.span.text_in(source) == name)
        .map(|it| match it.kind {
            UseKind::Declaration(_) => "new".to_owned(),
            UseKind::Reference(number) => declared(number).to_string(),
            UseKind::Global => "global".to_owned(),
            UseKind::Member(NameRoot::Binding(of), depth) => format!("{}+{depth}", declared(of)),
            UseKind::Member(NameRoot::Require(of), depth) => format!("require {of}+{depth}"),
            UseKind::Member(..) => "member".to_owned(),
            UseKind::Key(_) => "key".to_owned(),
            UseKind::Type => "type".to_owned(),
            UseKind::TypeDeclaration => "type new".to_owned(),
            UseKind::ImportedType(_) => "type of".to_owned(),
        })
        .collect()
}

#[track_caller]
fn check_scopes(source: &str, expected: &[&str]) {
    assert_eq!(scopes(source, "x"), expected, "{source}");
}

#[test]
fn names_resolve_by_luau_scoping_rules() {
    check_scopes("local x = x\nprint(x)", &["global", "new", "6"]);
    check_scopes("local x = 1\ndo local x = 2 print(x) end\nprint(x)", &["new", "new", "21", "6"]);
    check_scopes("local function x() return x end", &["new", "15"]);
    check_scopes("local x = function() return x end", &["global", "new"]);
    check_scopes("for x = x, 2 do print(x) end x()", &["global", "new", "4", "global"]);
    check_scopes("for _, x in x do x() end", &["global", "new", "7"]);
    check_scopes("repeat local x = 1 until x\nx()", &["new", "13", "global"]);
    check_scopes(
        "local function f(x) return function() return x end end x()",
        &["new", "17", "global"],
    );
    check_scopes(
        "local t = { x = x, [x] = 1 } t.x = t.y.x",
        &["key", "global", "global", "6+1", "6+2"],
    );
    check_scopes(
        "if x then local x = 1 elseif x then x() end",
        &["global", "new", "global", "global"],
    );
    check_scopes("local x = `a{x}{`{x}`}`", &["global", "global", "new"]);
    check_scopes("local x, y = 1, x x = y", &["global", "new", "6"]);
    check_scopes("function a.x:y() self.x() end", &["member", "13+1"]);
    check_scopes("require(script.A).x()", &["require 0+1"]);
    check_scopes("f().x = 1", &["member"]);
    check_scopes(
        "type x = number local y: x = x local z: m.x",
        &["type new", "type", "global", "type of"],
    );
    check_scopes(
        "local function f<x>(a: x): x return a :: x end local b: x",
        &["new", "17", "17", "17", "type"],
    );
    check_scopes("const x = 1 x()", &["new", "6"]);
    check_scopes("local a = if x then x else x", &["global"; 3]);
    check_scopes("x += x", &["global"; 2]);
}

#[test]
fn definition_names_are_one_short_line() {
    check(
        "M[ [[a\n# Rules\n]] ] = function() end",
        &["Function M[[[a\\n# Rules\\n]]] @[[a\n# Rules\n]]"],
    );
    for text in [
        format!("M['{}'] = function() end", "a".repeat(10_000)),
        format!("local M = {{ {} = function() end }}", "a".repeat(10_000)),
        format!("function {}.b() end", "a".repeat(1 << 20)),
        format!("type {} = number", "a".repeat(81)),
    ] {
        let script = summarize_script(&text);
        let names: Vec<usize> =
            script.definitions.iter().map(|it| it.name.chars().count()).collect();
        assert!(names.contains(&80) && names.iter().all(|it| *it <= 80), "{names:?}");
    }
}

#[test]
fn reading_continues_after_syntax_errors() {
    check(
        "local a = \nlocal function b() end",
        &["LocalFunction b @b", "11: an expression is missing"],
    );
    check("end end\nfunction c() end", &["Function c @c", "0: this closes nothing"]);
    check(
        "function M.a( end\nlocal function b() end",
        &["Function M.a @a", "LocalFunction b @b", "14: `)` is missing"],
    );
    check("x = = 1\nfunction d() end", &["Function d @d", "4: an expression is missing"]);
}

#[test]
fn hostile_text_neither_hangs_nor_overflows() {
    let stack = std::thread::Builder::new().stack_size(2 << 20);
    let hostile = || {
        let many = 50_000;
        for piece in [
            "(",
            "{",
            "[",
            "f(",
            "do ",
            "if a then ",
            "function f() ",
            "x = function() ",
            "`{",
            "not ",
            "-",
            "a.",
            "a:",
            "a(",
            "a = ",
            "local a: ",
            "(a: ",
            "{a = ",
            "<",
            "type a = ",
            "type a = (",
            "->",
            "?",
            "|",
            "@[",
            "[[",
            "[=",
            "--[",
            "\"",
            "if a then b else ",
            "repeat ",
            "end ",
            "local x ",
            "a{",
            "return ",
            "elseif ",
            "::",
            "x<",
            "export type T = { [T]: ",
            "\u{e9}",
            "\0",
        ] {
            let text = piece.repeat(many);
            summarize_script(&text);
            read_names(&text);
        }
        let fields = "f = function() end,".repeat(20_000);
        summarize_script(&format!("local {} = {{{fields}}}", "x".repeat(500_000)));
        summarize_script(&format!("a.{} = {{{fields}}}", "x.".repeat(200_000)));
        summarize_script(
            &"local p = script.Parent local q = p.Parent local p = q.Parent ".repeat(20_000),
        );
    };
    stack.spawn(hostile).unwrap().join().unwrap();
}

#[test]
fn random_scripts_do_not_panic() {
    let pieces = [
        "local ",
        "function ",
        "x",
        "y",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "=",
        ",",
        ".",
        ":",
        "end ",
        "do ",
        "if ",
        "then ",
        "else ",
        "return ",
        "require",
        "script",
        "type ",
        "export ",
        "<",
        ">=",
        "`",
        "\"",
        "\n",
        "é",
        "--",
        "[[",
        "::",
        "->",
        "...",
        "repeat ",
        "until ",
        "for ",
        "in ",
        "1",
        "const ",
        ";",
    ];
    check_seeds(0..20_000, |draws| {
        let source: String = (0..24).map(|_| draws.pick(&pieces)).collect();
        let script = summarize_script(&source);
        for definition in &script.definitions {
            assert!(
                source.get(definition.span.start as usize..definition.span.end as usize).is_some()
            );
        }
        read_names(&source);
    });
}

/// The definitions, formatted like those of an outline.
fn outlined(source: &str) -> Vec<String> {
    let line = |byte: u32| source[..byte as usize].matches('\n').count() + 1;
    let mut lines: Vec<_> = summarize_script(source)
        .definitions
        .iter()
        .map(|it| {
            format!("{} {:?} {} -{}", line(it.span.start), it.kind, it.name, line(it.span.end))
        })
        .collect();
    lines.sort();
    lines
}

/// Compares the definitions of a script with those that the parser finds.
#[track_caller]
pub(super) fn agrees(source: &str) {
    let Ok(parsed) = outline_script(source) else { return };
    let mut expected: Vec<_> = parsed
        .iter()
        .map(|it| format!("{} {:?} {} -{}", it.line, it.kind, it.name, it.end_line))
        .collect();
    expected.sort();
    assert_eq!(outlined(source), expected, "{source}");
    assert_eq!(summarize_script(source).parse_error, None, "{source}");
}

#[test]
fn definitions_match_those_of_the_parser() {
    agrees(
        "local M = {}\nfunction M.a.b()\nend\nfunction M:c() end\nM.d = function() end\nM['e'] = (function() end) :: any\n",
    );
    agrees(
        "local M = {\n\ta = function()\n\tend,\n\tb = { c = function() end },\n}\nreturn { d = function() end }",
    );
    agrees(
        "x:Connect(function()\n\tlocal function a()\n\t\tlocal t = {}\n\t\tfunction t.b() end\n\tend\nend)",
    );
    agrees(
        "local a = require(script.A)\nlocal b = f(1)\nexport type C = {\n\td: number,\n}\ntype E<T> = T?\n",
    );
    agrees(
        "local a, b = {}, function() end\nlocal c = setmetatable({ d = function() end }, {})\nx().y = function() end",
    );
    let kinds = summarize_script("function a() end local b = function() end").definitions;
    assert_eq!(
        [kinds[0].kind, kinds[1].kind],
        [DefinitionKind::Function, DefinitionKind::LocalFunction]
    );
}
