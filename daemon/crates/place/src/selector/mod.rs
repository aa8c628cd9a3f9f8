//! Selectors in the language of Roblox's `Instance:QueryDescendants`, which match instances below a
//! root.
//!
//! `ClassName` (including subclasses), `.Tag`, `#Name`, `[property = value]`, `[$attribute]` and
//! `[$attribute = value]` combine without a space. `>` steps to children and `>>` to descendants
//! (the default for the first step), `,` separates alternatives, and `:not(...)` and `:has(...)`
//! nest. Values are booleans, numbers, strings and names of enum items. All steps match instances
//! below the root; neither the root nor its ancestors ever match.
//!
//! As an extension, names that are not plain words may be quoted (`#"My Name"`, `."Big Boss"`).
//! White space as a combinator, as in CSS, is not part of the language and is refused, as is `*`.
//!
//! Roblox's documentation does not specify how value tests treat types. Here the type of the
//! property or attribute determines how the literal is read, so `4` matches a number and the string
//! "4". This module does not change scenes and does not know what the instances are used for.

mod check;
mod eval;
mod parse;
mod watch;

use std::fmt;

use scene_schemas::refusal::Refusal;

pub use self::watch::SelectorWatch;

use super::flat_tree::FlatTree;
use super::{Node, Scene};

/// A parsed selector. Its `Display` form is the canonical text.
#[derive(Debug, Clone)]
pub struct Selector {
    any_of: Vec<ComplexSelector>,
    slots: TestCounts,
}

/// The number of tests of each kind. Tests are numbered so that cached results can be stored per
/// test.
#[derive(Debug, Clone, Copy, Default)]
struct TestCounts {
    classes: usize,
    properties: usize,
    nested: usize,
}

/// The steps from the root to the matched instance, at least one and at most [`MAX_STEPS`].
#[derive(Debug, Clone)]
struct ComplexSelector {
    steps: Vec<SelectorStep>,
}

/// Maximum number of steps of one alternative: they are tracked as bits of a `u64`.
const MAX_STEPS: usize = 64;

#[derive(Debug, Clone)]
struct SelectorStep {
    combinator: Combinator,
    /// The tests that one instance must pass, cheapest first.
    tests: Vec<SelectorTest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combinator {
    Child,
    Descendant,
}

#[derive(Debug, Clone)]
enum SelectorTest {
    Class { name: String, slot: usize },
    Name(String),
    Tag(String),
    HasAttribute(String),
    Attribute(String, SelectorLiteral),
    Property(PropertyTest),
    Not(NestedSelector),
    Has(NestedSelector),
}

#[derive(Debug, Clone)]
struct PropertyTest {
    name: String,
    value: SelectorLiteral,
    slot: usize,
}

#[derive(Debug, Clone)]
struct NestedSelector {
    any_of: Vec<ComplexSelector>,
    slot: usize,
}

/// A value as written.
#[derive(Debug, Clone)]
struct SelectorLiteral {
    text: String,
    /// Quoted text is never a boolean or a number.
    is_quoted: bool,
}

impl SelectorLiteral {
    fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" if !self.is_quoted => Some(true),
            "false" if !self.is_quoted => Some(false),
            _ => None,
        }
    }

    /// Parses the number as the type it is compared with: 0.1 is not the same number in every type.
    fn as_number<N: std::str::FromStr>(&self) -> Option<N> {
        (!self.is_quoted && is_number(&self.text)).then(|| self.text.parse().ok()).flatten()
    }

    /// Returns an enum item's name, without a prefix such as `Enum.Material.`.
    fn enum_item_name(&self, enum_type: &str) -> &str {
        self.text
            .strip_prefix("Enum.")
            .and_then(|rest| rest.strip_prefix(enum_type))
            .and_then(|rest| rest.strip_prefix('.'))
            .unwrap_or(&self.text)
    }
}

/// Whether a text is a finite decimal number; `inf` and `nan` are words.
fn is_number(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    text.chars().all(plain) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a character needs no quotes in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

impl SelectorTest {
    /// Position in the canonical order, which is also from cheap to expensive.
    fn rank(&self) -> u8 {
        match self {
            Self::Class { .. } => 0,
            Self::Name(_) => 1,
            Self::Tag(_) => 2,
            Self::HasAttribute(_) => 3,
            Self::Attribute(..) => 4,
            Self::Property(_) => 5,
            Self::Not(_) => 6,
            Self::Has(_) => 7,
        }
    }
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// The text is not a selector. The refusal names the problem, its character position (from 1)
    /// and an example.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        parse::parse_selector(text)
    }

    /// Checks that the named classes, properties and enum items exist, in Roblox or in the scene. A
    /// misspelt one would silently select nothing, or under `:not` everything.
    ///
    /// # Errors
    /// One of them does not exist. The refusal names it and the probable intention.
    pub fn check(&self, scene: &Scene) -> Result<(), Refusal> {
        check::check_selector(self, scene)
    }

    /// Returns the matching instances below `root`, each once, in tree order. Walks the subtree
    /// once for each alternative, and once more for each `:has` and each `:not` with several steps.
    pub fn select(&self, scene: &Scene, root: Node) -> Vec<Node> {
        let flat = FlatTree::from_scene(scene, root);
        eval::SelectorSearch::new(self, &flat).select_nodes(&self.any_of)
    }

    /// Parses, checks and runs a selector.
    ///
    /// # Errors
    /// See [`Selector::parse`] and [`Selector::check`]. It is not an error if nothing matches.
    pub fn find(text: &str, scene: &Scene, root: Node) -> Result<Vec<Node>, Refusal> {
        let selector = Self::parse(text)?;
        selector.check(scene)?;
        Ok(selector.select(scene, root))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_list(f, &self.any_of)
    }
}

fn print_list(f: &mut fmt::Formatter<'_>, any_of: &[ComplexSelector]) -> fmt::Result {
    for (n, complex) in any_of.iter().enumerate() {
        if n > 0 {
            f.write_str(", ")?;
        }
        for (n, step) in complex.steps.iter().enumerate() {
            match (n, step.combinator) {
                (0, Combinator::Child) => f.write_str("> ")?,
                (0, Combinator::Descendant) => {}
                (_, Combinator::Child) => f.write_str(" > ")?,
                (_, Combinator::Descendant) => f.write_str(" >> ")?,
            }
            step.tests.iter().try_for_each(|test| print_test(f, test))?;
        }
    }
    Ok(())
}

fn print_test(f: &mut fmt::Formatter<'_>, test: &SelectorTest) -> fmt::Result {
    match test {
        SelectorTest::Class { name, .. } => f.write_str(name),
        SelectorTest::Name(name) => write!(f, "#{}", QuotedWord(name)),
        SelectorTest::Tag(name) => write!(f, ".{}", QuotedWord(name)),
        SelectorTest::HasAttribute(name) => write!(f, "[${}]", QuotedWord(name)),
        SelectorTest::Attribute(name, value) => write!(f, "[${} = {value}]", QuotedWord(name)),
        SelectorTest::Property(test) => write!(f, "[{} = {}]", QuotedWord(&test.name), test.value),
        SelectorTest::Not(nested) => {
            f.write_str(":not(")?;
            print_list(f, &nested.any_of)?;
            f.write_str(")")
        }
        SelectorTest::Has(nested) => {
            f.write_str(":has(")?;
            print_list(f, &nested.any_of)?;
            f.write_str(")")
        }
    }
}

/// A word, quoted if needed.
struct QuotedWord<'a>(&'a str);

impl fmt::Display for QuotedWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(is_plain) {
            f.write_str(self.0)
        } else {
            write_quoted(f, self.0)
        }
    }
}

impl fmt::Display for SelectorLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quotes matter only around what would otherwise be a boolean or a number.
        let bare = Self { text: self.text.clone(), is_quoted: false };
        let is_ambiguous = bare.as_bool().is_some() || is_number(&self.text);
        match (self.is_quoted, is_ambiguous) {
            (false, true) => f.write_str(&self.text),
            (true, true) => write_quoted(f, &self.text),
            (_, false) => QuotedWord(&self.text).fmt(f),
        }
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    write!(f, "\"{escaped}\"")
}

#[cfg(test)]
mod tests;
