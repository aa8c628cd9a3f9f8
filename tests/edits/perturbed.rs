//! Diffs with faults typical of models, and the results that they were meant to have.

use random_draws::RandomDraws;

use super::diffs::{Hunk, Line, NAMES, hunks, places, stands, with_hunks, written};
use super::random_text::{Text, change_text, draw_line, draw_text};

/// The allowed results of a patch. Refusing it is always allowed as well.
#[derive(Debug, Clone)]
pub(super) enum Meant {
    /// No result: the patch has to be refused.
    Nothing,
    /// One of these texts.
    Texts(Vec<String>),
    /// This text, except that added lines may have `unit` spaces in place of a tab. `come` marks
    /// the added lines.
    Spaced { text: String, come: Vec<bool>, unit: usize },
}

impl Meant {
    pub(super) fn allows(&self, got: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Texts(texts) => texts.iter().any(|text| text == got),
            Self::Spaced { text, come, unit } => {
                let wide = |line: &str| line.replace('\t', &" ".repeat(*unit));
                let both = text.split('\n').zip(got.split('\n'));
                let is_same = |(at, (one, other)): (usize, (&str, &str))| {
                    let comes = come.get(at).copied().unwrap_or(false);
                    let is_blank = one.trim().is_empty() && other.trim().is_empty();
                    one == other || comes && (is_blank || wide(one) == wide(other))
                };
                text.split('\n').count() == got.split('\n').count() && both.enumerate().all(is_same)
            }
        }
    }
}

/// A patch with a fault.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) fault: &'static str,
    pub(super) base: String,
    pub(super) patch: String,
    pub(super) meant: Meant,
    /// Whether the patch may be applied only if it is marked for review.
    pub(super) confirm: bool,
}

const FAULTS: [&str; 25] = [
    "wrong counts",
    "no numbers",
    "no headers",
    "numbers moved together",
    "numbers moved",
    "blank context bare",
    "white space behind context",
    "tabs as spaces",
    "fence",
    "prose",
    "CRLF",
    "envelope",
    "unseen characters",
    "outer context changed",
    "inner context changed",
    "removed line changed",
    "shuffled",
    "doubled",
    "cut off in a line",
    "cut off behind a line",
    "applied twice",
    "reversed",
    "indented",
    "context without signs",
    "drifted base",
];

/// A text, its changed version, and the diff between them.
struct Pair {
    old: Text,
    new: Text,
    hunks: Vec<Hunk>,
}

impl Pair {
    fn by(draws: &mut RandomDraws) -> Option<Self> {
        let old = draw_text(draws, false);
        let new = change_text(draws, &old, false);
        let context = if draws.one_in(3) { 1 + draws.below(2) } else { 3 };
        let hunks = hunks(&old, &new, context, draws);
        (!hunks.is_empty()).then_some(Self { old, new, hunks })
    }

    fn meant(&self) -> Meant {
        Meant::Texts(vec![self.new.with("\n")])
    }
}

/// The diff with a different header for each hunk.
fn with_headers(hunks: &[Hunk], header: impl FnMut(&Hunk) -> String) -> String {
    let headers = hunks.iter().map(header);
    let hunks = hunks.iter().zip(headers).map(|(hunk, header)| header + "\n" + &hunk.body());
    NAMES.to_owned() + &hunks.collect::<String>()
}

/// A patch with a fault. None if its meaning would be ambiguous.
pub(super) fn case(draws: &mut RandomDraws) -> Option<Case> {
    let pair = Pair::by(draws)?;
    let fault = draws.pick(&FAULTS);
    let base = pair.old.with("\n");
    let case = |patch: String| Case { fault, base, patch, meant: pair.meant(), confirm: false };
    let whole = written(&pair.hunks);
    let mut case = match fault {
        "wrong counts" => case(with_counts(&pair.hunks, draws)),
        "no numbers" => case(with_headers(&pair.hunks, |_| "@@".to_owned())),
        "no headers" if pair.hunks.len() == 1 => case(pair.hunks[0].body()),
        "numbers moved together" | "numbers moved" => {
            let patch = moved(&pair, fault == "numbers moved", draws)?;
            case(patch)
        }
        "fence" => {
            let info = draws.pick(&["", "diff", "patch"]);
            case(format!("Here is the change:\n\n```{info}\n{whole}```\n\nTell me if it fails.\n"))
        }
        "prose" => case(format!("I have changed the script:\n\n{whole}")),
        "CRLF" => case(whole.replace('\n', "\r\n")),
        "envelope" => {
            let hunks = with_headers(&pair.hunks, |_| "@@".to_owned());
            let hunks = hunks.strip_prefix(NAMES).unwrap();
            case(format!("*** Begin Patch\n*** Update File: src/Main.luau\n{hunks}*** End Patch\n"))
        }
        "indented" => {
            let lines = whole.lines().map(|line| format!("    {line}\n"));
            case(lines.collect())
        }
        "shuffled" => {
            let mut hunks = pair.hunks.clone();
            for at in 1..hunks.len() {
                hunks.swap(at, draws.below(at + 1));
            }
            let is_bare = draws.one_in(3);
            case(with_headers(&hunks, |hunk| if is_bare { "@@".into() } else { hunk.header() }))
        }
        "doubled" => {
            let mut hunks = pair.hunks.clone();
            let again = draws.pick(&hunks);
            hunks.insert(draws.below(hunks.len() + 1), again);
            let is_bare = draws.one_in(3);
            case(with_headers(&hunks, |hunk| if is_bare { "@@".into() } else { hunk.header() }))
        }
        "blank context bare"
        | "white space behind context"
        | "unseen characters"
        | "outer context changed"
        | "inner context changed"
        | "removed line changed"
        | "context without signs" => {
            let is_numbered = !draws.one_in(4);
            let mut case = case(String::new());
            change_lines(&mut case, &pair, is_numbered, draws)?;
            case
        }
        "tabs as spaces" => return spaced(&pair, fault, draws),
        "cut off in a line" | "cut off behind a line" => return cut(&pair, fault, draws),
        "applied twice" | "reversed" => return again(&pair, fault, draws),
        "drifted base" => return drifted(&pair, fault, draws),
        _ => return None,
    };
    if draws.one_in(6) && !matches!(fault, "fence" | "prose" | "indented") {
        case.patch = format!("```diff\n{}```\n", case.patch);
    }
    if draws.one_in(6) {
        case.patch = case.patch.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Some(case)
}

fn with_counts(hunks: &[Hunk], draws: &mut RandomDraws) -> String {
    with_headers(hunks, |hunk| {
        let (old, new) = hunk.counts();
        let mut wrong = |count: usize| (count + draws.below(4)).saturating_sub(draws.below(4));
        // Keep an old count of 0: it has a special meaning.
        let (old, new) = if old == 0 { (0, wrong(new)) } else { (wrong(old).max(1), wrong(new)) };
        format!("@@ -{},{old} +{},{new} @@", hunk.old + usize::from(old > 0), hunk.new + 1)
    })
}

/// The diff with wrong line numbers. None if a hunk happens to match at its wrong line, or has no
/// old lines to match.
fn moved(pair: &Pair, is_each: bool, draws: &mut RandomDraws) -> Option<String> {
    let mut by = || (1 + draws.below(60)) as isize * if draws.one_in(2) { 1 } else { -1 };
    let together = by();
    let (mut hunks, mut meets) = (pair.hunks.clone(), false);
    for hunk in &mut hunks {
        let by = if is_each { by() } else { together };
        let start = hunk.old.checked_add_signed(by)?;
        meets |= stands(&pair.old, &hunk.side('+'), start) || hunk.counts().0 == 0;
        hunk.new = hunk.new.saturating_add_signed(by);
        hunk.old = start;
    }
    (!meets).then(|| written(&hunks))
}

/// Applies a fault that changes single lines.
fn change_lines(
    case: &mut Case,
    pair: &Pair,
    is_numbered: bool,
    draws: &mut RandomDraws,
) -> Option<()> {
    let mut hunks = pair.hunks.clone();
    let mut is_hit = false;
    for hunk in &mut hunks {
        is_hit |= match case.fault {
            "outer context changed" | "inner context changed" => change_context(case, hunk, draws),
            "removed line changed" => change_removed(case, hunk, draws),
            "white space behind context" | "unseen characters" => soil(case.fault, hunk, draws),
            _ => true,
        };
    }
    let stands_elsewhere = |hunk: &Hunk| {
        let there = places(&pair.old, &hunk.side('+'));
        there.iter().any(|at| *at != hunk.old)
    };
    let is_exact = matches!(case.fault, "inner context changed" | "blank context bare");
    if !is_hit || !is_exact && hunks.iter().any(stands_elsewhere) {
        return None;
    }
    let mut headers = pair.hunks.iter().map(Hunk::header);
    case.patch = with_headers(&hunks, |_| {
        let header = headers.next().unwrap();
        if is_numbered { header } else { "@@".to_owned() }
    });
    let lines = case.patch.split_inclusive('\n');
    case.patch = match case.fault {
        "blank context bare" => lines.map(|line| if line == " \n" { "\n" } else { line }).collect(),
        "context without signs" => {
            lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect()
        }
        _ => return Some(()),
    };
    Some(())
}

/// A line that does not occur in any text.
fn fresh(draws: &mut RandomDraws) -> String {
    format!("local fresh{} = {}", draws.below(1000), draws.below(1000))
}

/// Replaces a context line of a hunk. Returns false if there is none at the chosen position.
fn change_context(case: &mut Case, hunk: &mut Hunk, draws: &mut RandomDraws) -> bool {
    let is_change = |line: &Line| line.sign != ' ';
    let first = hunk.lines.iter().position(is_change).unwrap();
    let last = hunk.lines.iter().rposition(is_change).unwrap();
    let count = hunk.lines.len();
    let at = if case.fault == "inner context changed" {
        let inner = first.saturating_sub(1)..(last + 2).min(count);
        inner.start + draws.below(inner.len())
    } else {
        draws.pick(&[0, count - 1])
    };
    if is_change(&hunk.lines[at]) {
        return false;
    }
    hunk.lines[at].text = fresh(draws);
    case.confirm = true;
    if (first..last).contains(&at) {
        case.meant = Meant::Nothing;
    }
    true
}

/// Replaces a removed line of a hunk. Returns false if there is none.
fn change_removed(case: &mut Case, hunk: &mut Hunk, draws: &mut RandomDraws) -> bool {
    let gone = (0..hunk.lines.len()).filter(|at| hunk.lines[*at].sign == '-');
    let gone: Vec<usize> = gone.collect();
    if gone.is_empty() {
        return false;
    }
    hunk.lines[draws.pick(&gone)].text = fresh(draws);
    case.meant = Meant::Nothing;
    true
}

/// Appends white space to context lines, or inserts invisible characters into them.
fn soil(fault: &str, hunk: &mut Hunk, draws: &mut RandomDraws) -> bool {
    let mut is_hit = false;
    for line in hunk.lines.iter_mut().filter(|line| line.sign == ' ') {
        if draws.one_in(2) {
            continue;
        }
        let places: Vec<usize> = line.text.char_indices().map(|(at, _)| at).collect();
        if fault == "white space behind context" {
            line.text.push_str(draws.pick(&[" ", "\t", "  "]));
        } else if !places.is_empty() {
            line.text.insert(draws.pick(&places), '\u{200b}');
        } else {
            continue;
        }
        is_hit = true;
    }
    is_hit
}

/// A patch whose tabs are all replaced by spaces.
fn spaced(pair: &Pair, fault: &'static str, draws: &mut RandomDraws) -> Option<Case> {
    let unit = draws.pick(&[4, 4, 2]);
    let mut patch = written(&pair.hunks).replace('\t', &" ".repeat(unit));
    if draws.one_in(4) {
        let lines = patch.split_inclusive('\n');
        patch = lines.map(|line| if line.starts_with("@@") { "@@\n" } else { line }).collect();
    }
    let mut come = vec![false; pair.new.lines.len()];
    for hunk in &pair.hunks {
        let new = hunk.lines.iter().filter(|line| line.sign != '-');
        for (line, at) in new.zip(hunk.new..) {
            come[at] = line.sign == '+';
        }
    }
    // The same lines could occur elsewhere, indented with spaces.
    for hunk in &pair.hunks {
        let wide: Vec<String> =
            hunk.side('+').iter().map(|line| line.replace('\t', &" ".repeat(unit))).collect();
        let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
        if places(&pair.old, &wide).iter().any(|at| *at != hunk.old) {
            return None;
        }
    }
    let meant = Meant::Spaced { text: pair.new.with("\n"), come, unit };
    Some(Case { fault, base: pair.old.with("\n"), patch, meant, confirm: false })
}

/// A patch that is cut off.
fn cut(pair: &Pair, fault: &'static str, draws: &mut RandomDraws) -> Option<Case> {
    let whole = written(&pair.hunks);
    let mut at = draws.below(whole.len());
    while !whole.is_char_boundary(at) {
        at -= 1;
    }
    if fault == "cut off behind a line" {
        at = whole[..at].rfind('\n')? + 1;
    } else if whole[..at].ends_with('\n') {
        return None;
    }
    let mut texts = vec![pair.new.with("\n")];
    // A patch that is cut off right after a hunk is valid. The engine cannot know of the missing
    // hunks.
    let mut end = NAMES.len();
    for (number, hunk) in pair.hunks.iter().enumerate() {
        let start = end;
        end += format!("{}\n{}", hunk.header(), hunk.body()).len();
        let body = &whole[start..end];
        let body = body.split("\\ No newline").next().unwrap_or(body);
        let is_complete = start + body.trim_end_matches('\n').len() <= at;
        let last = hunk.lines.last()?;
        // If the last line is an added one that is cut off, the engine cannot know its full text.
        let line = end.checked_sub(last.text.len() + 1)?;
        if last.sign == '+'
            && !last.is_open
            && at >= line
            && at < end
            && !whole[..at].ends_with('\n')
            || last.is_open && at > start
        {
            return None;
        }
        if at > start && at < end && looks_whole(&whole[start..at], &whole[at..end]) {
            return None;
        }
        if is_complete && (at <= end || at < end + 3) {
            texts.push(with_hunks(&pair.old, &pair.hunks[..=number]));
        }
    }
    let patch = whole[..at].to_owned();
    let meant = Meant::Texts(texts);
    Some(Case { fault, base: pair.old.with("\n"), patch, meant, confirm: false })
}

/// Whether the rest of a cut-off hunk could end there, and lacks so few lines that its counts could
/// be mistaken.
fn looks_whole(left: &str, rest: &str) -> bool {
    let tail = left.lines().rev().take_while(|line| line.starts_with(' ')).count();
    let goes_on = rest.lines().any(|line| !line.starts_with('+'));
    let lacks = |sign| rest.lines().filter(|line| !line.starts_with([sign, '\\'])).count() <= 3;
    lacks('+') && lacks('-') && (tail >= 3 || tail > 0 && !goes_on)
}

/// A patch that is already applied, or that is reversed.
fn again(pair: &Pair, fault: &'static str, draws: &mut RandomDraws) -> Option<Case> {
    let (base, hunks) = if fault == "reversed" {
        let context = 1 + draws.below(3);
        (&pair.old, hunks(&pair.new, &pair.old, context, draws))
    } else {
        (&pair.new, pair.hunks.clone())
    };
    let first = hunks.first()?;
    // If the first hunk matches at its stated line, that place could be meant. If every hunk
    // matches somewhere, they may have moved there.
    let finds = |hunk: &Hunk| !places(base, &hunk.side('+')).is_empty();
    if stands(base, &first.side('+'), first.old) || hunks.iter().all(finds) {
        return None;
    }
    let patch = written(&hunks);
    Some(Case { fault, base: base.with("\n"), patch, meant: Meant::Nothing, confirm: false })
}

/// A base with additional lines that the diff does not know of.
fn drifted(pair: &Pair, fault: &'static str, draws: &mut RandomDraws) -> Option<Case> {
    let gaps: Vec<usize> = (0..=pair.old.lines.len())
        .filter(|at| {
            pair.hunks.iter().all(|hunk| *at <= hunk.old || *at >= hunk.old + hunk.counts().0)
        })
        .collect();
    // Skip a gap right beside a hunk: it could belong to the hunk or to its neighbour.
    let at = if gaps.is_empty() { return None } else { draws.pick(&gaps) };
    let touches = |hunk: &Hunk| at == hunk.old + hunk.counts().0 || at == hunk.old && at > 0;
    if pair.hunks.iter().any(|hunk| touches(hunk) || hunk.counts().0 == 0)
        || at == pair.old.lines.len()
    {
        return None;
    }
    let is_far = draws.one_in(3);
    let count = 1 + draws.below(if is_far { 70 } else { 12 });
    let more: Vec<String> = if draws.one_in(2) {
        (0..count).map(|at| format!("local more{at} = {at}")).collect()
    } else {
        (0..count).map(|_| draw_line(draws, false)).collect()
    };
    let (mut old, mut new) = (pair.old.clone(), pair.new.clone());
    old.lines.splice(at..at, more.iter().cloned());
    let delta: isize = pair
        .hunks
        .iter()
        .filter(|hunk| hunk.old < at)
        .map(|hunk| hunk.counts().1 as isize - hunk.counts().0 as isize)
        .sum();
    let there = at.checked_add_signed(delta)?;
    new.lines.splice(there..there, more);
    // If a hunk below the insertion still matches at its stated line, that place could be meant.
    let meets = |hunk: &Hunk| hunk.old >= at && stands(&old, &hunk.side('+'), hunk.old);
    if pair.hunks.iter().any(meets) {
        return None;
    }
    let meant = Meant::Texts(vec![new.with("\n")]);
    Some(Case { fault, base: old.with("\n"), patch: written(&pair.hunks), meant, confirm: false })
}
