//! Tests with scripts that are nested or long in every possible way: none may crash the process.

use std::thread;

use super::super::{SourceLinter, format_source, inspect_source, outline_script};
use super::*;

#[track_caller]
fn check(source: &str, deep: bool) {
    let expected = if deep { Err(UnfitReason::TooDeep) } else { Ok(()) };
    assert_eq!(check_nesting(source, ParsePurpose::Lint, StackSize::Usual), expected);
}

#[test]
fn long_flat_scripts_are_accepted() {
    let line = "for i = 1, 2 do\n\tif i == 1 then\n\t\ta.b[i] = f(i) .. 'x'\n\telse\n\t\ta:b()\n\tend\nend\n";
    check(&line.repeat(500), false);
    check(&"local x = if a then b else c\nx.y = -1\nrepeat x() until y\n".repeat(500), false);
    check(&format!("return {{ {} }}", "{ 1, f = function() return 2 end },\n".repeat(500)), false);
    check(&"x = if a < b then if c then d else e elseif f then g else h\n".repeat(500), false);
    check(
        &"if if a then b else c then d() elseif e < f then g() else h() end\n".repeat(500),
        false,
    );
    check(&"local a: A<B, C<D>>? = f<<T>>(b > c, d < e)\nlocal b: (A) -> B\n".repeat(500), false);
    check(&"type A<T = B<C>> = { read b: C<T>, [string]: D? }\n".repeat(500), false);
    check(&"export type A<T...> = (T...) -> ...B\nlocal x = `a{b}c{`{d}`}`\n".repeat(500), false);
    check(&"local x: A<B> if c > if d then e else f then g() end\n".repeat(15), false);
    check(&format!("return {{ {} }}", "a < 1, b .. c, f'x' .. g{},\n".repeat(500)), false);
    check(&format!("type A = {}nil", "'x' | ".repeat(500)), false);
}

#[test]
fn deeply_nested_scripts_are_refused() {
    check(&"do ".repeat(60), true);
    check(&"if a then ".repeat(60), true);
    check(&"f(".repeat(60), true);
    check(&format!("return 1{}", " .. 1".repeat(100)), true);
    check(&format!("return {}1", "not ".repeat(100)), true);
    check(&format!("return {}1", "if 1 then 1 else ".repeat(100)), true);
    check(&"x = function() ".repeat(60), true);
    check(&"x = `{".repeat(60), true);
    check(&"x = a :: A<b, ".repeat(60), true);
    let blocks = "do ".repeat(60);
    let large = check_nesting(&blocks, ParsePurpose::Lint, StackSize::Large);
    assert_eq!(large, Ok(()), "a large stack bears more");
}

/// An operand that contains statements or operators does not hide the operators around it.
#[test]
fn operands_do_not_hide_operators() {
    for operand in [
        "f'a'",
        "f\"a\"",
        "f[[a]]",
        "f{}",
        "f{1, 2}",
        "f(1, 2)",
        "f{1; 2}",
        "`{a}`",
        "f`a`",
        "{a = 1}",
        "(function() a() b() end)()",
        "(if a then b else c)",
        "f.a[1, 2]",
        "(a :: A<b, c>)",
        "(a < b)",
        "...",
        "nil",
        "f(function() local a = 1 end)",
        "#f{1,2}",
    ] {
        let source = format!("local x = {operand}{}", format!(" .. {operand}").repeat(97));
        assert_eq!(
            check_nesting(&source, ParsePurpose::Lint, StackSize::Usual),
            Err(UnfitReason::TooDeep),
            "{operand}"
        );
        let source = format!("local x = {}{operand}", format!("{operand} and ").repeat(97));
        assert_eq!(
            check_nesting(&source, ParsePurpose::Lint, StackSize::Usual),
            Err(UnfitReason::TooDeep),
            "{operand}"
        );
    }
    let hidden = "if if a then b else c then if d then end ".repeat(60);
    check(&hidden, true);
    check(&"local a: A<B> if c then d() end do ".repeat(60), true);
    check(&format!("x = {}1", "1 + if a then 1 else ".repeat(60)), true);
    check(&format!("x = 1{}", " + if a then 1 elseif b < c then 2 else 3".repeat(60)), true);
}

/// Text that the parser of the lints reads differently from the compiler hides nothing either.
#[test]
fn parser_differences_do_not_hide_nesting() {
    let nested = |open: &str| format!("{open}{}", "(".repeat(60));
    for open in [
        "x = '\\z\n' .. ",
        "x = '\\\r\n' .. ",
        "x = `\\u{41}` .. ",
        "-- a\r\n f = ",
        "x = `\\z` .. `",
    ] {
        check(&nested(open), true);
    }
    assert!(matches!(
        check_nesting("x = 'a\n", ParsePurpose::Lint, StackSize::Usual),
        Err(UnfitReason::UnknownSyntax(4, _))
    ));
}

/// Generates a shape, given the number of nested or consecutive repetitions.
type Shape = fn(usize) -> String;

fn around(open: &str, inner: &str, close: &str, n: usize) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

const SHAPES: [(&str, Shape); 56] = [
    ("do", |n| around("do ", "", "end ", n)),
    ("while", |n| around("while a do ", "", "end ", n)),
    ("for", |n| around("for i = 1, 2 do ", "", "end ", n)),
    ("in", |n| around("for a, b in c do ", "", "end ", n)),
    ("repeat", |n| around("repeat ", "", "until a ", n)),
    ("if", |n| around("if a then ", "", "end ", n)),
    ("else", |n| around("if a then else ", "", "end ", n)),
    ("elseif", |n| format!("if a then {} end", "elseif b then c() ".repeat(n))),
    ("local function", |n| around("local function f() ", "", "end ", n)),
    ("function value", |n| around("x = function() ", "", "end ", n)),
    ("callback", |n| around("f(function() ", "", "end) ", n)),
    ("callback between", |n| around("f(1, function() ", "", "end, 2) ", n)),
    ("method callback", |n| around("a:b(function() ", "", "end) ", n)),
    ("round", |n| around("x = ", "", "", 1) + &around("(", "1", ")", n)),
    ("call", |n| "x = ".to_owned() + &around("f(", "1", ")", n)),
    ("index", |n| "x = ".to_owned() + &around("a[", "1", "]", n)),
    ("curly", |n| "x = ".to_owned() + &around("{", "", "}", n)),
    ("field", |n| "x = ".to_owned() + &around("{ a = ", "1", "}", n)),
    ("key", |n| "x = ".to_owned() + &around("{ [", "1", "] = 1 }", n)),
    ("table call", |n| "x = ".to_owned() + &around("f{", "", "}", n)),
    ("text", |n| "x = ".to_owned() + &around("`{", "a", "}`", n)),
    ("text between", |n| "x = ".to_owned() + &around("`a{b}c{1 .. ", "a", "}d`", n)),
    ("text in a row", |n| format!("x = `{}`", "{a}b".repeat(n))),
    ("not", |n| format!("x = {}1", "not ".repeat(n))),
    ("minus", |n| format!("x = {}1", "- ".repeat(n))),
    ("concatenation", |n| format!("x = f'a'{}", " .. f'a'".repeat(n))),
    ("sum of tables", |n| format!("x = f{{}}{}", " + f{1, 2}".repeat(n))),
    ("power", |n| format!("x = 1{}", " ^ 1".repeat(n))),
    ("and or", |n| format!("x = 1{}", " and f'a' or f{}".repeat(n))),
    ("comparisons", |n| format!("x = a{}", " < b > c".repeat(n))),
    ("then", |n| format!("x = {}1{}", "if 1 then ".repeat(n), " else 1".repeat(n))),
    ("otherwise", |n| format!("x = {}1", "1 + if 1 then 1 else ".repeat(n))),
    ("otherwise if", |n| format!("x = if 1 then 1 {}else 1", "elseif 1 then 1 ".repeat(n))),
    ("casts", |n| format!("x = a{}", " :: any".repeat(n))),
    ("generics", |n| "type T = ".to_owned() + &around("A<number, ", "B", ">", n)),
    ("generic cast", |n| "x = a :: ".to_owned() + &around("A<...number, ", "B", ">", n)),
    ("function types", |n| "type T = ".to_owned() + &around("(a: ", "B", ") -> ()", n)),
    ("arrows", |n| format!("type T = {}()", "() -> ".repeat(n))),
    ("optionals", |n| format!("type T = a{}", "?".repeat(n))),
    ("unions", |n| format!("type T = a{}", " | 'b'".repeat(n))),
    ("table types", |n| "type T = ".to_owned() + &around("{ a: ", "B", "}", n)),
    ("type of", |n| "type T = ".to_owned() + &around("typeof(a :: ", "B", ")", n)),
    ("path", |n| format!("x = f{}", ".a".repeat(n))),
    ("returned callback", |n| around("return f(function() ", "", "end) ", n)),
    ("assigned callback", |n| around("x = f(function() ", "", "end) ", n)),
    ("method assigned callback", |n| around("local x = a:b(c, function() ", "", "end) ", n)),
    ("table callback", |n| around("f({ a = function() ", "", "end }) ", n)),
    ("table element", |n| "x = ".to_owned() + &around("e('F', { a = 1 }, { ", "", "})", n)),
    ("chained callback", |n| around("a:b():c(function() ", "", "end):d() ", n)),
    ("long callback", |n| {
        around(
            "someLongFunctionName(someLongArgument, function(someLongParameter) ",
            "",
            "end) ",
            n,
        )
    }),
    ("returned function", |n| around("return function() ", "", "end ", n)),
    ("negated callback", |n| around("x = not f(function() ", "", "end) ", n)),
    ("index call", |n| "x = ".to_owned() + &around("a[f(", "1", ")]", n)),
    ("sum in call", |n| "x = ".to_owned() + &around("f(1 + ", "1", ")", n)),
    ("round sum", |n| "x = ".to_owned() + &around("(1 + ", "1", ")", n)),
    ("calls", |n| format!("x = f{}", ":a(1)'b'{}[1]".repeat(n))),
];

/// Runs every function that parses a script.
fn bear(source: &str, linter: &SourceLinter, stack: StackSize) {
    inspect_source(source, linter, stack);
    // Both a refusal and a result are fine.
    let _ = format_source(source, None, None, stack);
    if stack == StackSize::Large {
        let _ = outline_script(source);
    }
}

#[track_caller]
fn on(stack: StackSize, work: impl FnOnce() + Send + 'static) {
    let size = if stack == StackSize::Usual { 2 << 20 } else { 64 << 20 };
    thread::Builder::new().stack_size(size).spawn(work).unwrap().join().unwrap();
}

/// The largest number of repetitions that is accepted for a purpose.
fn most(shape: Shape, reader: ParsePurpose, stack: StackSize) -> usize {
    let (mut low, mut high) = (1_usize, 1_000);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if check_nesting(&shape(middle), reader, stack).is_ok() {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

fn all_are_borne(stack: StackSize) {
    on(stack, move || {
        let linter = SourceLinter::default_lints();
        for (name, shape) in SHAPES {
            println!("{name}");
            for n in [100, 1_000, 10_000, 100_000] {
                bear(&shape(n), &linter, stack);
            }
            // Parse the largest accepted shape as well.
            for reader in [ParsePurpose::Lint, ParsePurpose::Format] {
                bear(&shape(most(shape, reader, stack)), &linter, stack);
            }
        }
    });
}

#[test]
fn deep_scripts_do_not_overflow_a_usual_stack() {
    all_are_borne(StackSize::Usual);
}

#[test]
fn deep_scripts_do_not_overflow_a_large_stack() {
    all_are_borne(StackSize::Large);
}

/// Common shapes are accepted at a sufficient depth.
#[test]
fn common_shapes_are_accepted_at_usual_depth() {
    for (name, lints, formats) in [
        ("do", 300, 80),
        ("callback", 80, 8),
        ("assigned callback", 50, 8),
        ("table element", 100, 12),
        ("key", 100, 20),
        ("index", 5, 20),
        ("and or", 500, 150),
    ] {
        let shape = SHAPES.iter().find(|it| it.0 == name).unwrap().1;
        assert!(most(shape, ParsePurpose::Lint, StackSize::Large) >= lints, "{name}");
        assert!(most(shape, ParsePurpose::Format, StackSize::Large) >= formats, "{name}");
    }
}
