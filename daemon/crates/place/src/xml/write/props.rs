//! The properties of an item: those that stay keep their bytes, others are written anew where they
//! stood, and new ones come behind them.

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Ref, SharedString, Variant};

use super::Output;
use crate::change::pointed;
use crate::codec::CodecError;
use crate::edits::{Edit, Slot};
use crate::reflection;
use crate::stored::{self, HIDDEN, Layout};
use crate::xml::props::Element;
use crate::xml::value::{self, Links, TextTag};
use crate::xml::{NAME, text};

impl Output<'_> {
    /// Properties for an item that has none, on lines of their own.
    pub(super) fn new_properties(
        &mut self,
        node: u32,
        base: Option<u32>,
        depth: usize,
    ) -> Result<(), CodecError> {
        let is_new = node >= self.changes.tree.read_len();
        if !is_new && !self.has_new_properties(node) {
            return Ok(());
        }
        self.pieces.add(self.style.line(depth + 1));
        self.pieces.add(b"<Properties>".to_vec());
        if let Some(base) = base.filter(|base| !self.xml.content(*base).is_empty()) {
            self.copy_properties(node, base, depth)?;
        } else {
            let lead = self.style.line(depth + 2);
            self.name_property(node, &lead)?;
            self.add_properties(node, &[], &Layout::default(), &lead)?;
            self.pieces.add(self.style.line(depth + 1));
        }
        self.pieces.add(b"</Properties>".to_vec());
        Ok(())
    }

    /// Properties in the place of `<Properties/>`.
    pub(super) fn inline_properties(&mut self, node: u32, depth: usize) -> Result<(), CodecError> {
        self.pieces.add(b"<Properties>".to_vec());
        let lead = self.style.line(depth + 2);
        if self.is_named_anew(node) {
            self.name_property(node, &lead)?;
        }
        self.add_properties(node, &[], &Layout::default(), &lead)?;
        self.pieces.add(self.style.line(depth + 1));
        self.pieces.add(b"</Properties>".to_vec());
        Ok(())
    }

    fn name_property(&mut self, node: u32, lead: &[u8]) -> Result<(), CodecError> {
        let name = Variant::String(self.changes.tree.name_text(node).to_owned());
        let element = self.element(NAME, &name)?;
        self.pieces.add(lead.to_vec());
        self.pieces.add(element);
        Ok(())
    }

    /// Whether an item that was read without properties has some now.
    pub(super) fn has_new_properties(&self, node: u32) -> bool {
        self.is_named_anew(node) || !self.set_keys(node).is_empty()
    }

    fn is_named_anew(&self, node: u32) -> bool {
        self.changes.renamed.contains(&node)
            && self.xml.name_of(node) != self.changes.tree.name_text(node)
    }

    /// The properties that were set for an instance, sorted.
    fn set_keys(&self, node: u32) -> Vec<Ustr> {
        let class = self.changes.tree.class(node);
        let columns = self.changes.edits.of_class(class);
        let is_set = |edit: Edit<'_>| matches!(edit, Edit::Set(_));
        let mut keys: Vec<Ustr> = columns
            .filter(|column| is_set(self.changes.edits.of(column, node)))
            .map(|column| column.key)
            .collect();
        keys.sort_unstable_by_key(Ustr::as_str);
        keys
    }

    fn slot(&self, node: u32, key: Ustr) -> Slot {
        self.changes.edits.slot(self.changes.tree.class(node), key, node)
    }

    fn edit(&self, node: u32, key: Ustr) -> Edit<'_> {
        self.changes.edits.get(self.changes.tree.class(node), key, node)
    }

    /// The properties of an item that was read, with what was edited.
    pub(super) fn edit_properties(&mut self, node: u32, depth: usize) -> Result<(), CodecError> {
        let start = self.xml.span(node).props.0 as usize;
        let has_removed = self.has_removed(node);
        let (elements, layout) = self.xml.properties(node);
        let mut behind = 0;
        for (at, element) in (0..).zip(&elements) {
            match self.replacement((node, node), at, element, &layout, has_removed)? {
                None => {}
                Some(new) if new.is_empty() => {
                    // It goes with the line that it stands on.
                    let gap = self.xml.content(node).get(behind..element.whole.start);
                    let blank = gap.is_some_and(|gap| gap.trim_ascii().is_empty());
                    let end = if blank { behind } else { element.whole.start };
                    self.pieces.keep(start + behind..start + end);
                    behind = element.whole.end;
                }
                Some(new) => {
                    self.pieces.keep(start + behind..start + element.whole.start);
                    self.pieces.add(new);
                    behind = element.whole.end;
                }
            }
        }
        let last = elements.last().map_or(0, |element| element.whole.end);
        if behind < last {
            self.pieces.keep(start + behind..start + last);
            behind = last;
        }
        let lead = self.lead_of(node, &elements, depth);
        if self.is_named_anew(node) && !elements.iter().any(|element| element.name == NAME) {
            self.name_property(node, &lead)?;
        }
        self.add_properties(node, &elements, &layout, &lead)?;
        self.pieces.keep(start + behind..self.xml.span(node).props.1 as usize);
        Ok(())
    }

    /// The whitespace before a property of an item.
    fn lead_of(&self, node: u32, elements: &[Element<'_>], depth: usize) -> Vec<u8> {
        let first = elements.first().map(|element| element.whole.start);
        let lead = first.and_then(|first| self.xml.content(node).get(..first));
        match lead.filter(|lead| lead.trim_ascii().is_empty()) {
            Some(lead) => lead.to_vec(),
            None => self.style.line(depth + 2),
        }
    }

    /// The properties of a copy: those of what it was copied of, with what was edited.
    fn copy_properties(&mut self, node: u32, base: u32, depth: usize) -> Result<(), CodecError> {
        let content = self.xml.content(base);
        let has_removed = self.has_removed(node);
        let (elements, layout) = self.xml.properties(base);
        let (mut out, mut behind) = (Vec::new(), 0);
        for (at, element) in (0..).zip(&elements) {
            let gap = content.get(behind..element.whole.start).unwrap_or_default();
            behind = element.whole.end;
            let new = self.replacement((node, base), at, element, &layout, has_removed)?;
            let bytes = match &new {
                Some(new) => new.as_slice(),
                None => content.get(element.whole.clone()).unwrap_or_default(),
            };
            if !bytes.is_empty() {
                out.extend_from_slice(gap);
                out.extend_from_slice(bytes);
            }
        }
        self.pieces.add(out);
        let lead = self.lead_of(base, &elements, depth);
        let is_called = elements.iter().any(|element| element.name == NAME);
        if !is_called && self.changes.tree.name_text(node) != self.changes.tree.class_name(node) {
            self.name_property(node, &lead)?;
        }
        self.add_properties(node, &elements, &layout, &lead)?;
        self.pieces.add(content.get(behind..).unwrap_or_default().to_vec());
        Ok(())
    }

    /// What an element of `base` becomes for `node`: none where it stays, nothing where it goes.
    fn replacement(
        &mut self,
        (node, base): (u32, u32),
        at: u32,
        element: &Element<'_>,
        layout: &Layout,
        has_removed: bool,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let content = self.xml.content(base);
        if element.name == NAME {
            let name = self.changes.tree.name_text(node);
            let inside = content.get(element.inside.clone()).unwrap_or_default();
            if text::decode(inside) == name {
                return Ok(None);
            }
            return Ok(Some(with_text(content, element, name)?));
        }
        let keys: Vec<Ustr> = layout.standing_on(at).collect();
        let is_edited = |key: &Ustr| self.edit(node, *key) != Edit::None;
        let is_twin = has_removed && self.is_twin_of_removed(node, element, &keys);
        if is_twin && keys.iter().all(|key| key.starts_with(HIDDEN)) {
            return Ok(Some(Vec::new()));
        }
        if !is_twin && !keys.iter().any(is_edited) {
            return Ok(self.without_link(base, content, element));
        }
        let is_replaced = |key: &Ustr| layout.get(*key).is_some_and(|it| it.migration.is_some());
        if keys.iter().any(is_replaced) {
            return self.anew(node, base, &keys).map(Some);
        }
        let Some(key) = keys.first().copied() else {
            return Ok(None);
        };
        match self.edit(node, key) {
            Edit::None => Ok(None),
            Edit::Removed => Ok(Some(Vec::new())),
            Edit::Set(Variant::String(text))
                if matches!(element.tag, "string" | "ProtectedString") =>
            {
                let text = text.clone();
                with_text(content, element, &text).map(Some)
            }
            Edit::Set(value) => {
                // Many instances have the same value and the same element.
                let stands = format!("{} {}", element.tag, element.name);
                let written = (self.slot(node, key), stands);
                if let Some(written) = self.written.get(&written) {
                    return Ok(Some(written.clone()));
                }
                let class = self.changes.tree.class_name(node).to_owned();
                let stored = self.xml.read(base, element).map(|stored| stored.ty());
                let (name, value) = as_stored(&class, key, value, &element.name, stored);
                let new = self.element(&name, &value)?;
                self.written.insert(written, new.clone());
                Ok(Some(new))
            }
        }
    }

    /// Whether a property was taken off an instance.
    fn has_removed(&self, node: u32) -> bool {
        let edits = self.changes.edits;
        let mut columns = edits.of_class(self.changes.tree.class(node));
        columns.any(|column| edits.of(column, node) == Edit::Removed)
    }

    /// Whether an element has a value for a property that was removed, which another element has
    /// outdone so far.
    fn is_twin_of_removed(&self, node: u32, element: &Element<'_>, keys: &[Ustr]) -> bool {
        let names = reflection::meant(self.changes.tree.class_name(node), &element.name);
        let is_removed = |key: Ustr| self.edit(node, key) == Edit::Removed && !keys.contains(&key);
        names.iter().any(|name| is_removed(ustr(name)))
    }

    /// A reference to what is deleted, emptied.
    fn without_link(&self, base: u32, content: &[u8], element: &Element<'_>) -> Option<Vec<u8>> {
        if self.changes.gone.is_empty() || !matches!(element.tag, "Ref" | "Content") {
            return None;
        }
        let to = self.xml.read(base, element).as_ref().and_then(pointed)?;
        if !self.changes.gone.contains(&to) {
            return None;
        }
        let front = content.get(element.whole.start..element.inside.start)?;
        let back = content.get(element.inside.end..element.whole.end)?;
        let inside = if element.tag == "Ref" { "null" } else { "<null></null>" };
        Some([front, inside.as_bytes(), back].concat())
    }

    /// The properties that stand today for an element of the past.
    fn anew(&mut self, node: u32, base: u32, keys: &[Ustr]) -> Result<Vec<u8>, CodecError> {
        let mut out = Vec::new();
        for key in keys {
            let value = match self.edit(node, *key) {
                Edit::Set(value) => Some(value.clone()),
                Edit::Removed => None,
                Edit::None => self.xml.value(base, *key),
            };
            if let Some(value) = value {
                let class = self.changes.tree.class_name(node).to_owned();
                let (name, value) = as_stored(&class, *key, &value, "", None);
                out.extend(self.element(&name, &value)?);
            }
        }
        Ok(out)
    }

    /// The properties that were set and that no element stands for.
    fn add_properties(
        &mut self,
        node: u32,
        elements: &[Element<'_>],
        layout: &Layout,
        lead: &[u8],
    ) -> Result<(), CodecError> {
        for key in self.set_keys(node) {
            let stands = layout.get(key).is_some_and(|it| (it.at as usize) < elements.len());
            let Edit::Set(value) = self.edit(node, key) else {
                continue;
            };
            if stands {
                continue;
            }
            let class = self.changes.tree.class_name(node).to_owned();
            let (name, value) = as_stored(&class, key, value, "", None);
            let element = self.element(&name, &value)?;
            self.pieces.add(lead.to_vec());
            self.pieces.add(element);
        }
        Ok(())
    }

    fn element(&mut self, name: &str, value: &Variant) -> Result<Vec<u8>, CodecError> {
        if let Variant::String(text) = value
            && name == "Source"
            && self.xml.has_protected()
        {
            let style = text::Style::CData;
            return value::write_text(name, TextTag::Protected, text, style)
                .map_err(CodecError::Write);
        }
        value::write(name, value, self)
            .map_err(|why| CodecError::Write(format!("an XML file cannot hold `{name}`: {why}")))
    }
}

/// An element of a text, with another text.
fn with_text(content: &[u8], element: &Element<'_>, new: &str) -> Result<Vec<u8>, CodecError> {
    text::check(new).map_err(CodecError::Write)?;
    let inside = content.get(element.inside.clone()).unwrap_or_default();
    if element.inside.end == element.whole.end {
        // `<string name="Name"/>`
        let value = Variant::String(new.to_owned());
        return value::write(&element.name, &value, &mut NoLinks).map_err(CodecError::Write);
    }
    let front = content.get(element.whole.start..element.inside.start).unwrap_or_default();
    let back = content.get(element.inside.end..element.whole.end).unwrap_or_default();
    Ok([front, &text::replace_text(inside, new), back].concat())
}

/// For a text, which points to nothing.
struct NoLinks;

impl Links for NoLinks {
    fn referent(&mut self, _: Ref) -> String {
        "null".to_owned()
    }

    fn shared(&mut self, _: &SharedString) -> String {
        String::new()
    }
}

/// The name and the value under which a property is written: as the element says that stands for it
/// where that is of an older kind and can hold it.
fn as_stored(
    class: &str,
    key: Ustr,
    value: &Variant,
    element: &str,
    stored: Option<rbx_types::VariantType>,
) -> (String, Variant) {
    let key = key.trim_start_matches(HIDDEN);
    let known = reflection::written(class, key);
    if let Some(stored) = stored
        && known.is_none_or(|(name, _)| name != element)
    {
        let value = stored::convert(value.clone(), stored);
        if value.ty() == stored {
            return (element.to_owned(), value);
        }
    }
    match known {
        Some((name, kind)) => (name.to_owned(), stored::convert(value.clone(), kind)),
        None => (key.to_owned(), value.clone()),
    }
}
