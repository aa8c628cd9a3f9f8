//! Parses the text of a selector.
//!
//! Length and nesting are bounded, so that no text can exhaust the stack. The parser does not know
//! the scene: [`super::check`] verifies that classes and properties exist.

use scene_schemas::refusal::{Refusal, refuse};

use super::{
    Combinator, ComplexSelector, MAX_STEPS, NestedSelector, PropertyTest, Selector,
    SelectorLiteral, SelectorStep, SelectorTest, TestCounts, is_number, is_plain,
};

const MAX_CHARACTERS: usize = 4096;
const MAX_NESTING: usize = 32;

pub(super) fn parse_selector(text: &str) -> Result<Selector, Refusal> {
    let length = text.chars().count();
    if length > MAX_CHARACTERS {
        return refuse!(
            "A selector has at most {MAX_CHARACTERS} characters, and this one has {length}; split \
             it, or name the instances with `paths`."
        );
    }
    let mut parser = SelectorParser {
        text,
        chars: text.chars().collect(),
        at: 0,
        nesting: 0,
        slots: TestCounts::default(),
    };
    let any_of = parser.parse_list(ListContext::Top)?;
    if parser.at < parser.chars.len() {
        return parser.fail("`)` closes nothing");
    }
    Ok(Selector { any_of, slots: parser.slots })
}

/// The context of a list of alternatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListContext {
    Top,
    Not,
    Has,
}

struct SelectorParser<'a> {
    text: &'a str,
    chars: Vec<char>,
    at: usize,
    nesting: usize,
    slots: TestCounts,
}

impl SelectorParser<'_> {
    fn fail<T>(&self, problem: &str) -> Result<T, Refusal> {
        self.fail_at(self.at, problem)
    }

    fn fail_at<T>(&self, at: usize, problem: &str) -> Result<T, Refusal> {
        let (shown, more) = match self.text.char_indices().nth(200) {
            Some((end, _)) => (&self.text[..end], "…"),
            None => (self.text, ""),
        };
        refuse!(
            "The selector `{shown}{more}` is wrong at character {}: {problem}. Write for example \
             `Part.Enemy[Anchored = true]`, `#Shop >> Script` or `Model:has(> Humanoid)`.",
            at + 1
        )
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take_char(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    /// Skips white space and returns whether there was any.
    fn skip_space(&mut self) -> bool {
        let from = self.at;
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at > from
    }

    fn parse_list(&mut self, list: ListContext) -> Result<Vec<ComplexSelector>, Refusal> {
        let mut any_of = Vec::new();
        loop {
            any_of.push(self.parse_complex(list)?);
            if !self.take_char(',') {
                return Ok(any_of);
            }
        }
    }

    fn parse_combinator(&mut self) -> Option<Combinator> {
        if !self.take_char('>') {
            return None;
        }
        Some(if self.take_char('>') { Combinator::Descendant } else { Combinator::Child })
    }

    fn parse_complex(&mut self, list: ListContext) -> Result<ComplexSelector, Refusal> {
        self.skip_space();
        let start = self.at;
        let first = self.parse_combinator();
        if first.is_some() && list == ListContext::Not {
            return self.fail_at(start, "inside `:not(...)` nothing comes before the first step");
        }
        let mut by = first.unwrap_or(Combinator::Descendant);
        let mut steps = Vec::new();
        loop {
            self.skip_space();
            if steps.len() == MAX_STEPS {
                return self.fail(&format!("there are more than {MAX_STEPS} steps"));
            }
            let tests = self.parse_compound()?;
            steps.push(SelectorStep { combinator: by, tests });
            let gap = self.skip_space();
            match self.peek() {
                None | Some(',' | ')') => return Ok(ComplexSelector { steps }),
                Some('>') => {}
                Some(_) if gap => {
                    return self.fail(
                        "white space alone is not a step; write `>>` for descendants or `>` for \
                         children, or leave it out where one instance has to be both",
                    );
                }
                Some(c) => return self.fail(&unexpected_char(c)),
            }
            by = self.parse_combinator().unwrap_or(Combinator::Descendant);
        }
    }

    /// Parses the tests of one instance.
    fn parse_compound(&mut self) -> Result<Vec<SelectorTest>, Refusal> {
        let mut tests = Vec::new();
        while let Some(c) = self.peek() {
            let start = self.at;
            let test = match c {
                '.' => {
                    self.at += 1;
                    SelectorTest::Tag(self.parse_word("a tag's name must follow `.`")?)
                }
                '#' => {
                    self.at += 1;
                    SelectorTest::Name(self.parse_word("an instance's name must follow `#`")?)
                }
                '[' => self.parse_brackets()?,
                ':' => self.parse_pseudo()?,
                c if is_plain(c) && tests.is_empty() => self.parse_class()?,
                c if is_plain(c) => {
                    return self.fail_at(start, "a class must come first, as in `Part.Enemy`");
                }
                _ => break,
            };
            tests.push(test);
        }
        if tests.is_empty() {
            return self.fail(match self.peek() {
                Some('*') => "there is no `*`; `Instance` is every instance",
                Some('"' | '\'') => "a name in quotes needs `#` in front, as in `#\"My Part\"`",
                _ => "a class, `.Tag`, `#Name`, `[...]`, `:not(...)` or `:has(...)` is missing",
            });
        }
        tests.sort_by_key(SelectorTest::rank);
        Ok(tests)
    }

    fn parse_class(&mut self) -> Result<SelectorTest, Refusal> {
        let name = self.parse_word("a class is missing")?;
        let slot = self.slots.classes;
        self.slots.classes += 1;
        Ok(SelectorTest::Class { name, slot })
    }

    /// Parses a plain or quoted word.
    fn parse_word(&mut self, missing: &str) -> Result<String, Refusal> {
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.parse_quoted(quote);
        }
        let text: String = self.chars[self.at..].iter().take_while(|c| is_plain(**c)).collect();
        if text.is_empty() {
            return self.fail(missing);
        }
        self.at += text.chars().count();
        Ok(text)
    }

    fn parse_quoted(&mut self, quote: char) -> Result<String, Refusal> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                c if c == quote => return Ok(text),
                '\\' => match self.peek() {
                    Some(c @ ('\\' | '"' | '\'')) => {
                        self.at += 1;
                        text.push(c);
                    }
                    _ => return self.fail("only a quote or `\\` can follow `\\`"),
                },
                c => text.push(c),
            }
        }
        self.fail_at(start, "the quote that begins here is never closed")
    }

    /// Parses `[property = value]`, `[$attribute]` or `[$attribute = value]`.
    fn parse_brackets(&mut self) -> Result<SelectorTest, Refusal> {
        self.at += 1;
        self.skip_space();
        let is_attribute = self.take_char('$');
        let name = self.parse_word(if is_attribute {
            "an attribute's name must follow `$`"
        } else {
            "a property's name or `$` and an attribute's name must follow `[`"
        })?;
        self.skip_space();
        if is_attribute && self.take_char(']') {
            return Ok(SelectorTest::HasAttribute(name));
        }
        match self.peek() {
            Some('=') => self.at += 1,
            Some(']') => {
                return self.fail(
                    "a property needs a value, as in `[Anchored = true]`; only an attribute can be \
                     tested for being set, as in `[$Speed]`",
                );
            }
            Some('!' | '~' | '<' | '>' | '^' | '*') => {
                return self
                    .fail("values are only compared with `=`; for unequal write `:not([...])`");
            }
            _ => return self.fail("`=` is missing"),
        }
        self.skip_space();
        let value = self.parse_literal()?;
        self.skip_space();
        if !self.take_char(']') {
            return self.fail("`]` is missing; a value with other characters needs quotes");
        }
        if is_attribute {
            return Ok(SelectorTest::Attribute(name, value));
        }
        let slot = self.slots.properties;
        self.slots.properties += 1;
        Ok(SelectorTest::Property(PropertyTest { name, value, slot }))
    }

    fn parse_literal(&mut self) -> Result<SelectorLiteral, Refusal> {
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            let text = self.parse_quoted(quote)?;
            return Ok(SelectorLiteral { text, is_quoted: true });
        }
        let start = self.at;
        let text: String = self.chars[start..]
            .iter()
            .take_while(|c| is_plain(**c) || matches!(c, '.' | '+'))
            .collect();
        self.at += text.chars().count();
        let is_word = text.chars().all(is_plain) || text.starts_with("Enum.");
        if text.is_empty() {
            return self.fail("a value is missing");
        }
        if text == "nil" {
            return self.fail_at(
                start,
                "nothing is compared with nil; for an attribute that is not set write \
                 `:not([$Speed])`",
            );
        }
        if !is_word && !is_number(&text) {
            return self.fail_at(
                start,
                "a value with other characters than letters, digits, `_` and `-` needs quotes",
            );
        }
        Ok(SelectorLiteral { text, is_quoted: false })
    }

    /// Parses `:not(...)` or `:has(...)`.
    fn parse_pseudo(&mut self) -> Result<SelectorTest, Refusal> {
        let start = self.at;
        self.at += 1;
        let name: String = self.chars[self.at..].iter().take_while(|c| is_plain(**c)).collect();
        self.at += name.chars().count();
        let list = match name.as_str() {
            "not" => ListContext::Not,
            "has" => ListContext::Has,
            _ => return self.fail_at(start, "only `:not(...)` and `:has(...)` are known"),
        };
        if !self.take_char('(') {
            return self.fail("`(` is missing");
        }
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.fail(&format!("the nesting is deeper than {MAX_NESTING}"));
        }
        let any_of = self.parse_list(list)?;
        self.nesting -= 1;
        if !self.take_char(')') {
            return self.fail("`)` is missing");
        }
        let slot = self.slots.nested;
        self.slots.nested += 1;
        let nested = NestedSelector { any_of, slot };
        Ok(if list == ListContext::Not {
            SelectorTest::Not(nested)
        } else {
            SelectorTest::Has(nested)
        })
    }
}

fn unexpected_char(c: char) -> String {
    match c {
        '*' => "there is no `*`; `Instance` is every instance".to_owned(),
        '+' | '~' => format!("siblings cannot be selected, so there is no `{c}`"),
        ']' => "`]` closes nothing".to_owned(),
        c => format!("{c:?} cannot stand here; a name with other characters needs quotes"),
    }
}
