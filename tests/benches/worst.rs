//! Adversarial texts: the time of every operation of the edit engine on them.

#![allow(
    clippy::format_collect,
    clippy::too_many_lines,
    reason = "a list of cases reads best as a list"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;
use vector_text_edit::TextReplacement;

use super::texts::{script, text};

/// Slower operations are marked.
const LIMIT: Duration = Duration::from_millis(50);
/// Number of runs per operation. The fastest one counts, because others use the machine too.
const RUNS: usize = 3;

/// A named pair of texts.
struct Pair {
    name: &'static str,
    before: String,
    after: String,
}

/// Measures every operation on every pair of texts, and then the single-operation cases.
pub(crate) fn run(lines: usize, only: Option<&str>) {
    let mut table = Table { only, slowest: (Duration::ZERO, String::new()), over: 0 };
    println!(
        "Worst cases, {lines} lines; milliseconds, the fastest of {RUNS} runs; `!` is over 50"
    );
    for pair in pairs(lines) {
        table.pair(&pair);
    }
    println!();
    singles(&mut table, lines);
    let (time, name) = &table.slowest;
    println!("\nover 50 ms: {}; slowest: {name}, {:.1} ms", table.over, millis(*time));
}

struct Table<'a> {
    only: Option<&'a str>,
    slowest: (Duration, String),
    over: usize,
}

impl Table<'_> {
    fn skips(&self, name: &str) -> bool {
        self.only.is_some_and(|only| !name.contains(only))
    }

    fn time<T>(&mut self, name: &str, operation: &str, run: impl Fn() -> T) -> String {
        let once = || {
            let start = Instant::now();
            black_box(run());
            start.elapsed()
        };
        let time = (0..RUNS).map(|_| once()).min().unwrap_or_default();
        if time > self.slowest.0 {
            self.slowest = (time, format!("{name}, {operation}"));
        }
        let is_over = time > LIMIT;
        self.over += usize::from(is_over);
        format!("{operation} {:.1}{}", millis(time), if is_over { " !" } else { "" })
    }

    fn pair(&mut self, Pair { name, before, after }: &Pair) {
        if self.skips(name) {
            return;
        }
        let edits = vector_text_edit::diff_lines(before, after);
        let patch = vector_text_edit::format_hunks(&vector_text_edit::diff_hunks(before, after, 3));
        let spoiled = spoiled(&patch);
        let other = rotated(after);
        let search = |find: String| TextReplacement {
            search: find,
            replace: "x\n".into(),
            should_replace_all: false,
        };
        let first: String = after.split_inclusive('\n').take(100).collect();
        let near = search(first + "and nothing else");
        let last: String = before.split_inclusive('\n').rev().take(119).collect();
        let far = search(last.replace('e', "3"));
        let times = [
            self.time(name, "hunks", || vector_text_edit::diff_hunks(before, after, 3)),
            self.time(name, "whole", || vector_text_edit::diff_lines(before, after)),
            self.time(name, "counts", || vector_text_edit::line_counts(before, after)),
            self.time(name, "class", || vector_text_edit::classify_change(before, after)),
            self.time(name, "duplicated", || vector_text_edit::find_duplicates(before, &edits)),
            self.time(name, "apply", || vector_text_edit::apply_patch(before, &patch, &[])),
            self.time(name, "refuse", || vector_text_edit::apply_patch(before, &spoiled, &[])),
            self.time(name, "search", || {
                vector_text_edit::apply_replacements(before, std::slice::from_ref(&near))
            }),
            self.time(name, "search far", || {
                vector_text_edit::apply_replacements(before, std::slice::from_ref(&far))
            }),
            self.time(name, "merge", || vector_text_edit::merge_texts(before, after, &other)),
            self.time(name, "merge alike", || vector_text_edit::merge_texts(before, after, after)),
        ];
        println!("  {name}\n      {}", times.join(", "));
    }

    fn single<T>(&mut self, name: &str, run: impl Fn() -> Result<T, String>) {
        if self.skips(name) {
            return;
        }
        let outcome = match run() {
            Ok(_) => "done".to_owned(),
            Err(error) => error.chars().take(90).collect(),
        };
        let time = self.time(name, "takes", &run);
        println!("  {name}\n      {time}: {outcome}");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A patch of which no hunk fits: something is appended to every context and removed line.
fn spoiled(patch: &str) -> String {
    let line = |line: &str| {
        let is_old = line.starts_with([' ', '-']);
        format!("{line}{}\n", if is_old { " -- spoiled" } else { "" })
    };
    patch.lines().map(line).collect()
}

/// Rotates the lines by a third, and swaps some pairs of neighbours.
fn rotated(text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let third = lines.len() / 3;
    lines.rotate_left(third);
    for pair in lines.chunks_exact_mut(2).step_by(3) {
        pair.swap(0, 1);
    }
    lines.concat()
}

fn pairs(count: usize) -> Vec<Pair> {
    let mut random = Rng::with_seed(2);
    let mut pairs = Vec::new();
    let mut add = |name, before: &[String], after: &[String]| {
        pairs.push(Pair { name, before: text(before), after: text(after) });
    };
    let numbered = |what: &str| -> Vec<String> {
        (0..count).map(|n| format!("local {what}{n} = compute({n})")).collect()
    };
    let of = |line: &dyn Fn(usize) -> String| -> Vec<String> { (0..count).map(line).collect() };
    let any_of = |random: &mut Rng, kinds: usize| -> Vec<String> {
        (0..count).map(|_| format!("\tcall(self, {})", random.usize(..kinds))).collect()
    };

    let before = script(&mut random, count);
    let mut after = before.clone();
    for at in (0..count).step_by(50) {
        after[at] = format!("changed({at})");
    }
    add("ordinary", &before, &after);
    let mut after = before.clone();
    after.reverse();
    add("ordinary, reversed", &before, &after);
    random.shuffle(&mut after);
    add("ordinary, shuffled", &before, &after);
    let mut functions: Vec<&[String]> = before.split_inclusive(|line| line == "end").collect();
    random.shuffle(&mut functions);
    add("ordinary, functions shuffled", &before, &functions.concat());
    add("another script", &before, &script(&mut random, count));

    let equal = vec!["\tend".to_owned(); count];
    add("all lines equal, fewer of them", &equal, &equal[..count * 7 / 10]);
    let mut after = equal.clone();
    for at in (0..count).step_by(7) {
        after[at] = format!("x{at}");
    }
    add("all lines equal, some replaced", &equal, &after);
    add("all lines equal, put together again", &after, &equal);
    let alternating = of(&|n| ["if a then", "end"][n % 2].to_owned());
    let mut after = alternating.clone();
    after.rotate_left(1);
    "x".clone_into(&mut after[count / 2]);
    add("two lines in turns", &alternating, &after);
    for (name, kinds) in [
        ("two lines at random", 2),
        ("10 lines at random", 10),
        ("100 lines at random", 100),
        ("160 lines at random", 160),
        ("200 lines at random", 200),
        ("1,000 lines at random", 1_000),
        ("5,000 lines at random", 5_000),
    ] {
        add(name, &any_of(&mut random, kinds), &any_of(&mut random, kinds));
    }
    let (one, other) = (numbered("a"), numbered("b"));
    add("all lines different", &one, &other);
    let mut after = one.clone();
    after.reverse();
    add("reversed", &one, &after);
    random.shuffle(&mut after);
    add("shuffled", &one, &after);
    let mut blocks: Vec<&[String]> = one.chunks(20).collect();
    random.shuffle(&mut blocks);
    add("blocks of 20 shuffled", &one, &blocks.concat());
    let mut swapped = one.clone();
    swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    add("neighbours swapped", &one, &swapped);
    let second = |own: &[String]| of(&|n| if n % 2 == 0 { one[n].clone() } else { own[n].clone() });
    add("every second line shared", &second(&numbered("c")), &second(&other));
    add(
        "every second line added",
        &second(&other),
        &one.iter().step_by(2).cloned().collect::<Vec<_>>(),
    );
    add(
        "every second line equal",
        &of(&|n| if n % 2 == 0 { "end".into() } else { one[n].clone() }),
        &of(&|n| if n % 2 == 0 { "end".into() } else { other[n].clone() }),
    );
    let mut shuffled = second(&other);
    random.shuffle(&mut shuffled);
    add("half shared, shuffled", &one, &shuffled);
    let blank = of(&|n| if n % 100 == 0 { format!("x{n}") } else { String::new() });
    let blanker = of(&|n| if n % 101 == 0 { format!("y{n}") } else { "\t".repeat(n % 3) });
    add("blank lines", &blank, &blanker);
    let long = |end: &'static str| move |n: usize| format!("{}{n}{end}", "long ".repeat(200));
    let (before, after) = (of(&long("")), of(&long("x")));
    add("long lines, all different", &before, &after);
    let mut shuffled = before.clone();
    random.shuffle(&mut shuffled);
    add("long lines, shuffled", &before, &shuffled);
    let equal = of(&|_| "long ".repeat(200));
    let mut after = equal.clone();
    "x".clone_into(&mut after[count / 2]);
    after.rotate_left(3);
    add("long lines, all equal", &equal, &after);
    let words = |n: usize| format!("{}{n}", "a+".repeat(500));
    let grown = |n: usize| format!("{}{n} + 1", "a+b+".repeat(250));
    add("long lines of short words", &of(&words), &of(&grown));
    let period = of(&|n| format!("x{}", n % 64));
    add("64 lines in turns, rotated", &period, &of(&|n| format!("x{}", (n * 7) % 64)));
    add(
        "ruler",
        &of(&|n| format!("x{}", n.trailing_zeros())),
        &of(&|n| format!("x{}", (n + 1).trailing_zeros() % 9)),
    );
    pairs
}

/// Cases of single operations.
fn singles(table: &mut Table<'_>, count: usize) {
    let mut random = Rng::with_seed(3);
    let equal = "\tend\n".repeat(count);
    let distinct: String = (0..count).map(|n| format!("local v{n} = {n}\n")).collect();
    let ordinary = text(&script(&mut random, count));
    let patch = |text: &str, patch: &str| {
        vector_text_edit::apply_patch(text, patch, &[]).map_err(|error| error.to_string())
    };
    let replace = |text: &str, search: &str, put: &str, all: bool| {
        let one =
            TextReplacement { search: search.into(), replace: put.into(), should_replace_all: all };
        vector_text_edit::apply_replacements(text, &[one]).map_err(|error| error.to_string())
    };

    let almost =
        |header: &str| format!("{header}\n{}-\tend,\n+\treturn\n", " \tend\n".repeat(count / 2));
    table.single("hunk that almost fits everywhere, bare", || patch(&equal, &almost("@@")));
    let header = format!("@@ -{},{1} +{0},{1} @@", count / 4, count / 2 + 1);
    table.single("hunk that almost fits everywhere", || patch(&equal, &almost(&header)));
    let late =
        |header: &str| format!("{header}\n-\tend,\n+\treturn\n{}", " \tend\n".repeat(count / 2));
    table.single("hunk whose first line fits nowhere", || patch(&equal, &late(&header)));
    let fits = |header: &str| format!("{header}\n{}+\treturn\n", " \tend\n".repeat(count / 2));
    table.single("hunk that fits everywhere, bare", || patch(&equal, &fits("@@")));
    table.single("hunk that fits everywhere", || patch(&equal, &fits("@@ -1,5000 +1,5001 @@")));
    table.single("bare hunk of repeated lines", || {
        patch(&equal, "@@\n \tend\n-\tend\n+\treturn\n \tend\n")
    });
    let blanks = |mark: &str| format!("@@{mark}\n-\tend,\n+x\n{}", " \n".repeat(count));
    table.single("hunk with blank lines at its end, bare", || patch(&equal, &blanks("")));
    table.single("hunk with blank lines at its end", || patch(&equal, &blanks(" -5,1 +5,1 @@")));
    let blank_text = "\n".repeat(count);
    table.single("the same in blank lines, bare", || patch(&blank_text, &blanks("")));
    let half = "\n".repeat(count / 2) + "x\n";
    let inner = format!("@@\n-x,\n+y\n{}", " \n".repeat(count));
    table.single("the same where half are blank", || patch(&half, &inner));
    let hunk = |n: usize, end: &str| format!("-local v{n} = {n}{end}\n+local v{n} = 0\n");
    let many = |header: &dyn Fn(usize) -> String, end: &str| -> String {
        (0..count).step_by(2).map(|n| header(n) + &hunk(n, end)).collect()
    };
    let numbers = |n: usize| format!("@@ -{0},1 +{0},1 @@\n", n + 1);
    let off = |n: usize| format!("@@ -{0},1 +{0},1 @@\n", n + 30);
    let bare = |_| "@@\n".to_owned();
    table.single("a hunk for every second line", || patch(&distinct, &many(&numbers, "")));
    table.single("the same, 30 lines off", || patch(&distinct, &many(&off, "")));
    table.single("the same, bare", || patch(&distinct, &many(&bare, "")));
    table.single("the same, bare, in white space", || patch(&distinct, &many(&bare, "  ")));
    table.single("the same, all wrong", || patch(&distinct, &many(&numbers, "0")));
    table.single("hunks of equal lines", || patch(&equal, &many(&numbers, "").replace(" = ", "?")));
    let anchored = |n: usize| format!("@@ local v{} = {}\n", n / 2, n / 2);
    table.single("the same, each with an anchor", || patch(&distinct, &many(&anchored, "")));
    let elided: String = (0..count).map(|n| format!("+-- ... rest of {n} ...\n")).collect();
    let standing = elided.replace('+', "");
    table.single("comments that stand for code, all there", || {
        patch(&standing, &format!("@@ -1,1 +1,9999 @@\n -- ... rest of 0 ...\n{elided}"))
    });
    let bare_lines = distinct.replace("local", "locol");
    table.single("a patch without signs", || patch(&distinct, &format!("@@\n-x\n{bare_lines}")));
    table.single("a patch of fences", || patch(&distinct, &"```\n".repeat(count)));
    table.single("a patch of headers", || patch(&distinct, &"--- a\n+++ b\n".repeat(count / 2)));
    table.single("a patch of hunk headers", || patch(&distinct, &"@@\n".repeat(count)));
    table.single("a patch of prose", || patch(&distinct, &ordinary));
    table.single("a patch that is indented", || {
        patch(
            &distinct,
            &many(&numbers, "").lines().map(|line| format!("   {line}\n")).collect::<String>(),
        )
    });
    let invisible = many(&numbers, "\u{200b}");
    table.single("a patch of invisible characters", || patch(&distinct, &invisible));

    table.single("search of 119 repeated lines", || {
        replace(&equal, &("\tend\n".repeat(118) + "return\n"), "x\n", false)
    });
    table.single("search of 119 repeated lines in white space", || {
        replace(&equal, &("  end\n".repeat(118) + "return\n"), "x\n", false)
    });
    let speaking = "\tself.door:Update(amount)\n".repeat(count);
    table.single("search of 119 repeated lines that say something", || {
        replace(&speaking, &("\tself.door:Update(amount)\n".repeat(118) + "return\n"), "x\n", false)
    });
    table.single("search of all lines but one, everywhere", || {
        replace(&equal, &("\tend\n".repeat(count / 2) + "return\n"), "x\n", true)
    });
    table.single("search of lines in turns", || {
        let turns = "if a == b then\nend\n".repeat(count / 2);
        replace(&turns, &("if a == b then\nend\n".repeat(59) + "end\n"), "x\n", false)
    });
    table.single("search of a single sign", || replace(&speaking, "a", "bb", true));
    table.single("search of a line end", || replace(&equal, "\n", "\r\n\n", true));
    let long = format!("{}\n", "a b ".repeat(250)).repeat(count);
    table.single("search in long lines", || {
        replace(&long, &(format!("{}\n", "a b ".repeat(250)).repeat(118) + "b"), "x\n", false)
    });
    table.single("search of a word that is nowhere in long lines", || {
        replace(&long, "function nowhere(b, a)", "x\n", false)
    });
    let one_line = "a b ".repeat(count * 100);
    table.single("search in a text of one line", || {
        replace(&one_line, &("a b ".repeat(100) + "c"), "x\n", false)
    });
    let near_miss = format!("{}b", "a".repeat(5_000));
    let letters = "a".repeat(count * 30);
    table
        .single("search of one letter 5,000 times", || replace(&letters, &near_miss, "x\n", false));
}
