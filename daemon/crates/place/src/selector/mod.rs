//! The language of Roblox's `Instance:QueryDescendants`: which instances below a root are meant.
//!
//! `ClassName` (subclasses too), `.Tag`, `#Name`, `[property = value]`, `[$attribute]` and
//! `[$attribute = value]` combine without a space; `>` steps to children, `>>` to descendants (also
//! the first step where none is written), `,` lists alternatives, `:not(...)` and `:has(...)` nest.
//! Values are booleans, numbers, strings and enum items by name. All steps are matched by instances
//! below the root; the root itself never matches, nor does anything above it.
//!
//! Ours in addition: quotes around names that are no plain words (`#"My Name"`, `."Big Boss"`). White
//! space that stands for a step, as in CSS, is not part of the language and refused, as is `*`.
//!
//! Roblox's documentation does not say how a test of a value treats types; here the property's or
//! attribute's own type says how the value is read, so `4` fits a number and the string "4".
//! Nothing here changes a scene or knows what the instances are wanted for.

mod check;
mod eval;
mod parse;

use std::fmt;

use scene_schemas::refusal::Refusal;

use super::flat_tree::FlatTree;
use super::{Node, Scene};

/// A selector that was read. Printing it gives the canonical text.
#[derive(Debug, Clone)]
pub struct Selector {
    any_of: Vec<ComplexSelector>,
    slots: TestCounts,
}

/// How many of each kind of test a selector has; tests are numbered so that what is found out about
/// one can be kept beside it.
#[derive(Debug, Clone, Copy, Default)]
struct TestCounts {
    classes: usize,
    properties: usize,
    nested: usize,
}

/// Steps from the root to the instance that is meant, at least one and at most [`MAX_STEPS`].
#[derive(Debug, Clone)]
struct ComplexSelector {
    steps: Vec<SelectorStep>,
}

/// The most steps of one alternative: they are the bits of one word.
const MAX_STEPS: usize = 64;

#[derive(Debug, Clone)]
struct SelectorStep {
    combinator: Combinator,
    /// What one instance has to be, cheapest test first.
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

/// A value as it was written.
#[derive(Debug, Clone)]
struct SelectorLiteral {
    text: String,
    /// Text in quotes is never a boolean or a number.
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

    /// The number, read as the type that it is compared with: 0.1 is not the same number in all.
    fn as_number<N: std::str::FromStr>(&self) -> Option<N> {
        (!self.is_quoted && is_number(&self.text)).then(|| self.text.parse().ok()).flatten()
    }

    /// An enum item's name, without `Enum.Material.` in front.
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

/// Characters of a word that needs no quotes.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

impl SelectorTest {
    /// The canonical order, which is also from cheap to dear.
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
    /// Reads a selector.
    ///
    /// # Errors
    /// It is not one: what is wrong, at which character (from 1), and an example.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        parse::parse_selector(text)
    }

    /// Whether the classes, properties and enum items that it names exist, in Roblox or in the
    /// scene. A misspelt one would silently select nothing, or under `:not` everything.
    ///
    /// # Errors
    /// One does not exist: which, and what was probably meant.
    pub fn check(&self, scene: &Scene) -> Result<(), Refusal> {
        check::check_selector(self, scene)
    }

    /// The instances below `root` that match, each once, in tree order. Works through the subtree
    /// once for each alternative, and once more for each `:has` and each `:not` with several steps.
    pub fn select(&self, scene: &Scene, root: Node) -> Vec<Node> {
        let flat = FlatTree::from_scene(scene, root);
        eval::SelectorSearch::new(self, &flat).select_nodes(&self.any_of)
    }

    /// Reads, checks and selects.
    ///
    /// # Errors
    /// As [`Selector::parse`] and [`Selector::check`]. That nothing matches is no error.
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

/// A word, in quotes where it needs them.
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
        // Quotes make a difference only around what would otherwise be a boolean or a number.
        let bare = Self { text: self.text.clone(), is_quoted: false };
        let says_more = bare.as_bool().is_some() || is_number(&self.text);
        match (self.is_quoted, says_more) {
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
