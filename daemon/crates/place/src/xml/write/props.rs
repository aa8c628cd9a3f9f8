//! Writes the properties of an item: unchanged ones keep their bytes, changed ones are rewritten in
//! place, and new ones follow.

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Ref, SharedString, Variant};

use super::XmlOutput;
use crate::change::referenced_instance;
use crate::codec::CodecError;
use crate::edits::{EditSlot, PropertyEdit};
use crate::property_layout::{self, HIDDEN, PropertyLayout};
use crate::reflection;
use crate::xml::props::PropertyElement;
use crate::xml::value::{self, TextTag, ValueLinks};
use crate::xml::{NAME, text};

impl XmlOutput<'_> {
    /// Writes the `<Properties>` of an item that has none, on lines of their own.
    pub(super) fn write_new_properties(
        &mut self,
        node: u32,
        base: Option<u32>,
        depth: usize,
    ) -> Result<(), CodecError> {
        let is_new = node >= self.changes.tree.read_len();
        if !is_new && !self.has_new_properties(node) {
            return Ok(());
        }
        self.pieces.add_bytes(self.style.line_start(depth + 1));
        self.pieces.add_bytes(b"<Properties>".to_vec());
        if let Some(base) = base.filter(|base| !self.xml.properties_content(*base).is_empty()) {
            self.copy_properties(node, base, depth)?;
        } else {
            let lead = self.style.line_start(depth + 2);
            self.write_name_property(node, &lead)?;
            self.add_properties(node, &[], &PropertyLayout::default(), &lead)?;
            self.pieces.add_bytes(self.style.line_start(depth + 1));
        }
        self.pieces.add_bytes(b"</Properties>".to_vec());
        Ok(())
    }

    /// Writes properties in place of `<Properties/>`.
    pub(super) fn expand_properties(&mut self, node: u32, depth: usize) -> Result<(), CodecError> {
        self.pieces.add_bytes(b"<Properties>".to_vec());
        let lead = self.style.line_start(depth + 2);
        if self.is_renamed(node) {
            self.write_name_property(node, &lead)?;
        }
        self.add_properties(node, &[], &PropertyLayout::default(), &lead)?;
        self.pieces.add_bytes(self.style.line_start(depth + 1));
        self.pieces.add_bytes(b"</Properties>".to_vec());
        Ok(())
    }

    fn write_name_property(&mut self, node: u32, lead: &[u8]) -> Result<(), CodecError> {
        let name = Variant::String(self.changes.tree.name_text(node).to_owned());
        let element = self.write_element(NAME, &name)?;
        self.pieces.add_bytes(lead.to_vec());
        self.pieces.add_bytes(element);
        Ok(())
    }

    /// Whether an item that was read without properties has some now.
    pub(super) fn has_new_properties(&self, node: u32) -> bool {
        self.is_renamed(node) || !self.edited_keys(node).is_empty()
    }

    fn is_renamed(&self, node: u32) -> bool {
        self.changes.renamed.contains(&node)
            && self.xml.name_of(node) != self.changes.tree.name_text(node)
    }

    /// Returns the properties that were set for an instance, sorted.
    fn edited_keys(&self, node: u32) -> Vec<Ustr> {
        let class = self.changes.tree.class(node);
        let columns = self.changes.edits.columns_of_class(class);
        let is_set = |edit: PropertyEdit<'_>| matches!(edit, PropertyEdit::Set(_));
        let mut keys: Vec<Ustr> = columns
            .filter(|column| is_set(self.changes.edits.edit_in_column(column, node)))
            .map(|column| column.key)
            .collect();
        keys.sort_unstable_by_key(Ustr::as_str);
        keys
    }

    fn slot_of(&self, node: u32, key: Ustr) -> EditSlot {
        self.changes.edits.slot_of(self.changes.tree.class(node), key, node)
    }

    fn edit_of(&self, node: u32, key: Ustr) -> PropertyEdit<'_> {
        self.changes.edits.edit_of(self.changes.tree.class(node), key, node)
    }

    /// Writes the properties of an item of the file, with its edits.
    pub(super) fn edit_properties(&mut self, node: u32, depth: usize) -> Result<(), CodecError> {
        let start = self.xml.span_of(node).props.0 as usize;
        let has_removed = self.has_removed(node);
        let (elements, layout) = self.xml.elements_of(node);
        let mut behind = 0;
        for (at, element) in (0..).zip(&elements) {
            match self.replace_element(node, node, at, element, &layout, has_removed)? {
                None => {}
                Some(new) if new.is_empty() => {
                    // Also remove the whitespace before it, and with it the line.
                    let gap = self.xml.properties_content(node).get(behind..element.whole.start);
                    let blank = gap.is_some_and(|gap| gap.trim_ascii().is_empty());
                    let end = if blank { behind } else { element.whole.start };
                    self.pieces.keep_range(start + behind..start + end);
                    behind = element.whole.end;
                }
                Some(new) => {
                    self.pieces.keep_range(start + behind..start + element.whole.start);
                    self.pieces.add_bytes(new);
                    behind = element.whole.end;
                }
            }
        }
        let last = elements.last().map_or(0, |element| element.whole.end);
        if behind < last {
            self.pieces.keep_range(start + behind..start + last);
            behind = last;
        }
        let lead = self.leading_space(node, &elements, depth);
        if self.is_renamed(node) && !elements.iter().any(|element| element.name == NAME) {
            self.write_name_property(node, &lead)?;
        }
        self.add_properties(node, &elements, &layout, &lead)?;
        self.pieces.keep_range(start + behind..self.xml.span_of(node).props.1 as usize);
        Ok(())
    }

    /// Returns the whitespace before a property of an item.
    fn leading_space(&self, node: u32, elements: &[PropertyElement<'_>], depth: usize) -> Vec<u8> {
        let first = elements.first().map(|element| element.whole.start);
        let lead = first.and_then(|first| self.xml.properties_content(node).get(..first));
        match lead.filter(|lead| lead.trim_ascii().is_empty()) {
            Some(lead) => lead.to_vec(),
            None => self.style.line_start(depth + 2),
        }
    }

    /// Writes the properties of a copy: those of its original, with the edits of the copy.
    fn copy_properties(&mut self, node: u32, base: u32, depth: usize) -> Result<(), CodecError> {
        let content = self.xml.properties_content(base);
        let has_removed = self.has_removed(node);
        let (elements, layout) = self.xml.elements_of(base);
        let (mut out, mut behind) = (Vec::new(), 0);
        for (at, element) in (0..).zip(&elements) {
            let gap = content.get(behind..element.whole.start).unwrap_or_default();
            behind = element.whole.end;
            let new = self.replace_element(node, base, at, element, &layout, has_removed)?;
            let bytes = match &new {
                Some(new) => new.as_slice(),
                None => content.get(element.whole.clone()).unwrap_or_default(),
            };
            if !bytes.is_empty() {
                out.extend_from_slice(gap);
                out.extend_from_slice(bytes);
            }
        }
        self.pieces.add_bytes(out);
        let lead = self.leading_space(base, &elements, depth);
        let is_called = elements.iter().any(|element| element.name == NAME);
        if !is_called && self.changes.tree.name_text(node) != self.changes.tree.class_name(node) {
            self.write_name_property(node, &lead)?;
        }
        self.add_properties(node, &elements, &layout, &lead)?;
        self.pieces.add_bytes(content.get(behind..).unwrap_or_default().to_vec());
        Ok(())
    }

    /// Returns the replacement of an element of `base` for `node`: None to keep it, empty to remove
    /// it.
    fn replace_element(
        &mut self,
        node: u32,
        base: u32,
        at: u32,
        element: &PropertyElement<'_>,
        layout: &PropertyLayout,
        has_removed: bool,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let content = self.xml.properties_content(base);
        if element.name == NAME {
            let name = self.changes.tree.name_text(node);
            let inside = content.get(element.inside.clone()).unwrap_or_default();
            if text::decode_text(inside) == name {
                return Ok(None);
            }
            return Ok(Some(replace_element_text(content, element, name)?));
        }
        let keys: Vec<Ustr> = layout.names_at(at).collect();
        let is_edited = |key: &Ustr| self.edit_of(node, *key) != PropertyEdit::None;
        let is_twin = has_removed && self.is_twin_of_removed(node, element, &keys);
        if is_twin && keys.iter().all(|key| key.starts_with(HIDDEN)) {
            return Ok(Some(Vec::new()));
        }
        if !is_twin && !keys.iter().any(is_edited) {
            return Ok(self.clear_deleted_link(base, content, element));
        }
        let is_replaced = |key: &Ustr| layout.get(*key).is_some_and(|it| it.migration.is_some());
        if keys.iter().any(is_replaced) {
            return self.write_migrated(node, base, &keys).map(Some);
        }
        let Some(key) = keys.first().copied() else {
            return Ok(None);
        };
        match self.edit_of(node, key) {
            PropertyEdit::None => Ok(None),
            PropertyEdit::Removed => Ok(Some(Vec::new())),
            PropertyEdit::Set(Variant::String(text))
                if matches!(element.tag, "string" | "ProtectedString") =>
            {
                let text = text.clone();
                replace_element_text(content, element, &text).map(Some)
            }
            PropertyEdit::Set(value) => {
                // Many instances have the same value and the same element, so the result is cached.
                let element_label = format!("{} {}", element.tag, element.name);
                let written = (self.slot_of(node, key), element_label);
                if let Some(written) = self.written.get(&written) {
                    return Ok(Some(written.clone()));
                }
                let class = self.changes.tree.class_name(node).to_owned();
                let stored = self.xml.read_element(base, element).map(|stored| stored.ty());
                let (name, value) = stored_form(&class, key, value, &element.name, stored);
                let new = self.write_element(&name, &value)?;
                self.written.insert(written, new.clone());
                Ok(Some(new))
            }
        }
    }

    /// Whether a property of an instance was removed.
    fn has_removed(&self, node: u32) -> bool {
        let edits = self.changes.edits;
        let mut columns = edits.columns_of_class(self.changes.tree.class(node));
        columns.any(|column| edits.edit_in_column(column, node) == PropertyEdit::Removed)
    }

    /// Whether an element has a value for a removed property that another element has overridden so
    /// far.
    fn is_twin_of_removed(&self, node: u32, element: &PropertyElement<'_>, keys: &[Ustr]) -> bool {
        let names = reflection::script_names(self.changes.tree.class_name(node), &element.name);
        let is_removed =
            |key: Ustr| self.edit_of(node, key) == PropertyEdit::Removed && !keys.contains(&key);
        names.iter().any(|name| is_removed(ustr(name)))
    }

    /// Returns the element with its reference emptied, if that points to a deleted instance.
    fn clear_deleted_link(
        &self,
        base: u32,
        content: &[u8],
        element: &PropertyElement<'_>,
    ) -> Option<Vec<u8>> {
        if self.changes.removed.is_empty() || !matches!(element.tag, "Ref" | "Content") {
            return None;
        }
        let to = self.xml.read_element(base, element).as_ref().and_then(referenced_instance)?;
        if !self.changes.removed.contains(&to) {
            return None;
        }
        let front = content.get(element.whole.start..element.inside.start)?;
        let back = content.get(element.inside.end..element.whole.end)?;
        let inside = if element.tag == "Ref" { "null" } else { "<null></null>" };
        Some([front, inside.as_bytes(), back].concat())
    }

    /// Writes the current properties that replace a deprecated element.
    fn write_migrated(
        &mut self,
        node: u32,
        base: u32,
        keys: &[Ustr],
    ) -> Result<Vec<u8>, CodecError> {
        let mut out = Vec::new();
        for key in keys {
            let value = match self.edit_of(node, *key) {
                PropertyEdit::Set(value) => Some(value.clone()),
                PropertyEdit::Removed => None,
                PropertyEdit::None => self.xml.value_of(base, *key),
            };
            if let Some(value) = value {
                let class = self.changes.tree.class_name(node).to_owned();
                let (name, value) = stored_form(&class, *key, &value, "", None);
                out.extend(self.write_element(&name, &value)?);
            }
        }
        Ok(out)
    }

    /// Writes the properties that were set and that have no element.
    fn add_properties(
        &mut self,
        node: u32,
        elements: &[PropertyElement<'_>],
        layout: &PropertyLayout,
        lead: &[u8],
    ) -> Result<(), CodecError> {
        for key in self.edited_keys(node) {
            let has_element = layout.get(key).is_some_and(|it| (it.at as usize) < elements.len());
            let PropertyEdit::Set(value) = self.edit_of(node, key) else {
                continue;
            };
            if has_element {
                continue;
            }
            let class = self.changes.tree.class_name(node).to_owned();
            let (name, value) = stored_form(&class, key, value, "", None);
            let element = self.write_element(&name, &value)?;
            self.pieces.add_bytes(lead.to_vec());
            self.pieces.add_bytes(element);
        }
        Ok(())
    }

    fn write_element(&mut self, name: &str, value: &Variant) -> Result<Vec<u8>, CodecError> {
        if let Variant::String(text) = value
            && name == "Source"
            && self.xml.has_protected()
        {
            let style = text::TextStyle::CData;
            return value::write_text(name, TextTag::Protected, text, style)
                .map_err(CodecError::Write);
        }
        value::write_value(name, value, self)
            .map_err(|why| CodecError::Write(format!("an XML file cannot hold `{name}`: {why}")))
    }
}

/// Returns a text element with its text replaced.
fn replace_element_text(
    content: &[u8],
    element: &PropertyElement<'_>,
    new: &str,
) -> Result<Vec<u8>, CodecError> {
    text::check_text(new).map_err(CodecError::Write)?;
    let inside = content.get(element.inside.clone()).unwrap_or_default();
    if element.inside.end == element.whole.end {
        // `<string name="Name"/>`
        let value = Variant::String(new.to_owned());
        return value::write_value(&element.name, &value, &mut TextOnlyLinks)
            .map_err(CodecError::Write);
    }
    let front = content.get(element.whole.start..element.inside.start).unwrap_or_default();
    let back = content.get(element.inside.end..element.whole.end).unwrap_or_default();
    Ok([front, &text::replace_text(inside, new), back].concat())
}

/// Links for a text, which refers to nothing.
struct TextOnlyLinks;

impl ValueLinks for TextOnlyLinks {
    fn referent_of(&mut self, _: Ref) -> String {
        "null".to_owned()
    }

    fn shared_key(&mut self, _: &SharedString) -> String {
        String::new()
    }
}

/// Returns the name and value under which a property is written. Keeps the form of the existing
/// element if that is of an older kind and can hold the value.
fn stored_form(
    class: &str,
    key: Ustr,
    value: &Variant,
    element: &str,
    stored: Option<rbx_types::VariantType>,
) -> (String, Variant) {
    let key = key.trim_start_matches(HIDDEN);
    let known = reflection::stored_name(class, key);
    if let Some(stored) = stored
        && known.is_none_or(|(name, _)| name != element)
    {
        let value = property_layout::convert_variant(value.clone(), stored);
        if value.ty() == stored {
            return (element.to_owned(), value);
        }
    }
    match known {
        Some((name, kind)) => {
            (name.to_owned(), property_layout::convert_variant(value.clone(), kind))
        }
        None => (key.to_owned(), value.clone()),
    }
}
