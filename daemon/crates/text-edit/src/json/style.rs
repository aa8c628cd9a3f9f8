//! The layout of new JSON values: it follows the text that they are added to.

use serde_json::Value as Json;

use super::tree::{JsonContainer, JsonItem, JsonKey, JsonNode, own_line};

/// The indentation for a text that does not show one.
const INDENT: &str = "  ";

/// How new values are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonLayout {
    /// Each element is on a line of its own, as `JSON.stringify` writes it. An object on one line
    /// stays on it.
    Stringified,
    /// Arrays of plain values are on one line. An object on one line is broken up for a new object,
    /// and stays on it for a plain value.
    Compact,
}

/// A new value. Unlike a map, an object keeps the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonInput {
    Scalar(Json),
    Array(Vec<JsonInput>),
    Object(Vec<(String, JsonInput)>),
}

impl JsonInput {
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::Array(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), value.to_json())).collect()
            }
        }
    }

    fn has_items(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Array(items) => !items.is_empty(),
            Self::Object(fields) => !fields.is_empty(),
        }
    }

    /// Wraps a value in one object per key.
    pub(super) fn wrap_in_keys(&self, path: &[&str]) -> Self {
        let wrap = |value, key: &&str| Self::Object(vec![((*key).to_owned(), value)]);
        path.iter().rev().fold(self.clone(), wrap)
    }
}

impl From<&Json> for JsonInput {
    fn from(value: &Json) -> Self {
        match value {
            Json::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Json::Object(fields) => {
                let field = |(key, value): (&String, &Json)| (key.clone(), Self::from(value));
                Self::Object(fields.iter().map(field).collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                Self::Scalar(value.clone())
            }
        }
    }
}

impl From<&str> for JsonInput {
    fn from(text: &str) -> Self {
        Self::Scalar(text.into())
    }
}

/// The formatting of a text.
#[derive(Debug)]
pub(super) struct JsonStyle {
    layout: JsonLayout,
    pub(super) newline: &'static str,
    indent: String,
}

/// The position of a container in the text.
#[derive(Debug, Clone)]
pub(super) struct ContainerPlace {
    /// The indentation of its closing bracket.
    indent: String,
    /// Whether each container around it begins on a line of its own, so that the lines show the
    /// indentation.
    is_by_line: bool,
    /// Whether it is in an object on one line.
    is_in_line: bool,
    /// Whether no space separates its key from it.
    is_tight: bool,
}

/// The form of a new value.
#[derive(Debug, Clone, Copy)]
enum ValueFlow<'a> {
    /// On several lines, if it is not a plain value. The first one is already indented.
    Lines {
        indent: &'a str,
    },
    OneLine {
        is_tight: bool,
    },
}

impl ContainerPlace {
    pub(super) fn of_root(head: &str) -> Self {
        let indent = if head.contains('\n') { own_line(head) } else { Some(head) };
        let indent = indent.filter(|indent| indent.trim().is_empty()).unwrap_or_default();
        let indent = indent.trim_start_matches('\u{feff}').to_owned();
        Self { indent, is_by_line: true, is_in_line: false, is_tight: false }
    }
}

impl JsonStyle {
    pub(super) fn new(text: &str, root: Option<&JsonNode>, layout: JsonLayout) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = match root {
            Some(JsonNode::Object(root)) => root.items.first(),
            Some(JsonNode::Array(_) | JsonNode::Scalar(_)) | None => None,
        };
        let indent = first.and_then(|first| own_line(&first.before));
        let indent = indent.filter(|indent| !indent.is_empty()).unwrap_or(INDENT).to_owned();
        Self { layout, newline, indent }
    }

    pub(super) fn place_of_item(
        &self,
        container: &JsonContainer,
        at: usize,
        place: &ContainerPlace,
    ) -> ContainerPlace {
        let item = &container.items[at];
        let line = own_line(&item.before).filter(|_| place.is_by_line);
        ContainerPlace {
            indent: line.map_or_else(|| format!("{}{}", place.indent, self.indent), str::to_owned),
            is_by_line: line.is_some(),
            is_in_line: container.is_flat(),
            is_tight: item.key.as_ref().is_some_and(|key| key.colon == ":"),
        }
    }

    /// Appends a property, or an element if there is no key.
    pub(super) fn append(
        &self,
        container: &mut JsonContainer,
        place: &ContainerPlace,
        key: Option<&str>,
        value: &JsonInput,
    ) {
        if container.items.is_empty() {
            return self.append_first(container, place, key, value);
        }
        let is_flat = container.is_flat();
        let is_broken = is_flat && self.layout == JsonLayout::Compact && self.needs_lines(value);
        // Values over several lines whose brackets share lines with each other: `[{`, `}, {`, `}]`.
        let is_hugged = is_broken && container.items.iter().any(|it| it.value.has_line_break());
        if is_broken && !is_hugged {
            self.break_lines(container, place);
        }
        let has_several = container.items.len() > 1;
        let Some(last) = container.items.last_mut() else { return };
        let is_tight = match &last.key {
            Some(key) => key.colon == ":",
            None => has_several && last.before.is_empty(),
        };
        let mut item = if is_hugged {
            self.new_item(" ".to_owned(), key, value, ValueFlow::Lines { indent: &place.indent })
        } else if is_flat && !is_broken {
            let before = if is_tight { "" } else { " " }.to_owned();
            self.new_item(before, key, value, ValueFlow::OneLine { is_tight })
        } else {
            let below = own_line(&last.before)
                .map_or_else(|| self.indent_below(&place.indent), str::to_owned);
            let before = format!("{}{below}", self.newline);
            self.new_item(before, key, value, ValueFlow::Lines { indent: &below })
        };
        item.has_comma = std::mem::replace(&mut last.has_comma, true);
        container.items.push(item);
    }

    fn append_first(
        &self,
        container: &mut JsonContainer,
        place: &ContainerPlace,
        key: Option<&str>,
        value: &JsonInput,
    ) {
        // Comments between the brackets are kept. Everything else there is white space.
        let kept = container.tail.trim_end();
        let is_in_line = kept.is_empty()
            && match self.layout {
                JsonLayout::Stringified => place.is_in_line,
                JsonLayout::Compact => key.is_none() && !self.needs_lines(value),
            };
        let item = if is_in_line {
            let is_tight = place.is_tight || key.is_none();
            if is_tight { "" } else { " " }.clone_into(&mut container.tail);
            let flow = ValueFlow::OneLine { is_tight: place.is_tight };
            self.new_item(container.tail.clone(), key, value, flow)
        } else {
            let below = self.indent_below(&place.indent);
            let before = format!("{kept}{}{below}", self.newline);
            container.tail = format!("{}{}", self.newline, place.indent);
            self.new_item(before, key, value, ValueFlow::Lines { indent: &below })
        };
        container.items.push(item);
    }

    /// Replaces the value of an item that is at `place`.
    pub(super) fn replace(&self, item: &mut JsonItem, place: &ContainerPlace, value: &JsonInput) {
        let is_plain = match self.layout {
            JsonLayout::Stringified => !matches!(value, JsonInput::Object(_)) || place.is_in_line,
            JsonLayout::Compact => !self.needs_lines(value),
        };
        let flow = if is_plain && !item.value.has_line_break() {
            ValueFlow::OneLine { is_tight: place.is_tight }
        } else {
            ValueFlow::Lines { indent: &place.indent }
        };
        item.value = self.new_node(value, flow);
    }

    /// Puts each item of a container on a line of its own.
    fn break_lines(&self, container: &mut JsonContainer, place: &ContainerPlace) {
        let below = self.indent_below(&place.indent);
        for item in container.items.iter_mut().filter(|item| !item.before.contains('\n')) {
            let comment = item.before.trim();
            let space = if comment.is_empty() { "" } else { " " };
            item.before = format!("{}{below}{comment}{space}", self.newline);
        }
        container.tail = format!("{}{}{}", container.tail.trim_end(), self.newline, place.indent);
    }

    fn indent_below(&self, indent: &str) -> String {
        format!("{indent}{}", self.indent)
    }

    /// Whether a new value takes several lines where there is room for them.
    fn spans_lines(&self, value: &JsonInput) -> bool {
        match (value, self.layout) {
            (JsonInput::Array(items), JsonLayout::Compact) => {
                items.iter().any(JsonInput::has_items)
            }
            (JsonInput::Scalar(_) | JsonInput::Array(_) | JsonInput::Object(_), _) => {
                value.has_items()
            }
        }
    }

    /// Whether an object on one line is broken up for a new value. An empty object may get fields.
    fn needs_lines(&self, value: &JsonInput) -> bool {
        matches!(value, JsonInput::Object(_)) || self.spans_lines(value)
    }

    fn new_item(
        &self,
        before: String,
        key: Option<&str>,
        value: &JsonInput,
        flow: ValueFlow<'_>,
    ) -> JsonItem {
        let is_tight = matches!(flow, ValueFlow::OneLine { is_tight: true });
        let key = key.map(|key| JsonKey {
            name: key.to_owned(),
            raw: Json::from(key).to_string(),
            colon: if is_tight { ":" } else { ": " }.to_owned(),
        });
        JsonItem {
            before,
            key,
            value: self.new_node(value, flow),
            after: String::new(),
            has_comma: false,
            trail: String::new(),
        }
    }

    fn new_node(&self, value: &JsonInput, flow: ValueFlow<'_>) -> JsonNode {
        match value {
            JsonInput::Scalar(value) => JsonNode::Scalar(value.to_string()),
            JsonInput::Array(items) => {
                let items = items.iter().map(|value| NewItem { key: None, value });
                JsonNode::Array(self.new_container(items.collect(), self.flow_of(value, flow)))
            }
            JsonInput::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| NewItem { key: Some(key), value });
                JsonNode::Object(self.new_container(fields.collect(), self.flow_of(value, flow)))
            }
        }
    }

    fn flow_of<'a>(&self, value: &JsonInput, flow: ValueFlow<'a>) -> ValueFlow<'a> {
        match flow {
            ValueFlow::Lines { .. } if !self.spans_lines(value) => {
                ValueFlow::OneLine { is_tight: false }
            }
            ValueFlow::Lines { .. } | ValueFlow::OneLine { .. } => flow,
        }
    }

    fn new_container(&self, items: Vec<NewItem<'_>>, flow: ValueFlow<'_>) -> JsonContainer {
        let below = match flow {
            ValueFlow::Lines { indent } => self.indent_below(indent),
            ValueFlow::OneLine { .. } => String::new(),
        };
        let is_object = items.first().is_some_and(|first| first.key.is_some());
        let (first, between, tail, inner) = match flow {
            ValueFlow::Lines { indent } => {
                let before = format!("{}{below}", self.newline);
                let tail = format!("{}{indent}", self.newline);
                (before.clone(), before, tail, ValueFlow::Lines { indent: &below })
            }
            ValueFlow::OneLine { is_tight } => {
                let space = |is_there: bool| if is_there { " " } else { "" }.to_owned();
                let end = space(is_object && !is_tight);
                (end.clone(), space(!is_tight), end, flow)
            }
        };
        let count = items.len();
        let items = items.into_iter().enumerate().map(|(at, NewItem { key, value })| {
            let before = if at == 0 { &first } else { &between };
            let item = self.new_item(before.clone(), key, value, inner);
            JsonItem { has_comma: at + 1 < count, ..item }
        });
        JsonContainer { items: items.collect(), tail }
    }
}

struct NewItem<'a> {
    key: Option<&'a str>,
    value: &'a JsonInput,
}
