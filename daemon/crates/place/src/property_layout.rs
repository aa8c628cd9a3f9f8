//! Maps the property names in a file to the properties that scripts use, for one class or instance.
//!
//! Files store properties under old names, in older types, or replaced by others since. The rules
//! are those of the rbx crates, except that nothing is refused: a value of an unexpected type is
//! shown as it is.

use std::collections::hash_map::Entry;

use rbx_dom_weak::{Ustr, UstrMap, ustr};
use rbx_reflection::PropertyMigration;
use rbx_types::{
    BrickColor, Color3uint8, Content, ContentId, ContentType, Enum, MaterialColors, NetAssetRef,
    Tags, Variant, VariantType,
};
use rustc_hash::FxHashSet;

use super::attributes;
use super::reflection::{self, StoredNameKind};
use super::xml;

/// Prefix of names in a file that no edit can address. Their values are kept and copied with the
/// rest.
pub(super) const HIDDEN: char = '\u{1}';

/// The source of a property's value in a file, and its conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueSource {
    /// Index of the source among those that the file has for the class or instance.
    pub(super) at: u32,
    /// The expected type; None if it is not known.
    pub(super) want: Option<VariantType>,
    /// The translation of the value of a replaced property.
    pub(super) migration: Option<&'static PropertyMigration<'static>>,
}

impl ValueSource {
    /// Converts the stored value to the property's value.
    pub(super) fn convert_value(&self, stored: Variant) -> Option<Variant> {
        let value = match self.want {
            Some(want) => convert_variant(stored, want),
            None => stored,
        };
        match self.migration {
            Some(migration) => migration.perform(&value).ok(),
            None => Some(value),
        }
    }
}

/// The properties of a class or an instance, and their sources.
#[derive(Debug, Clone, Default)]
pub(super) struct PropertyLayout {
    sources: UstrMap<ValueSource>,
    /// The properties in file order.
    order: Vec<Ustr>,
    /// The properties by source index, sorted.
    names_by_source: Vec<(u32, Ustr)>,
}

impl PropertyLayout {
    /// Builds the layout from the names in a file, in file order.
    pub(super) fn from_names<'a>(class: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut layout = Self::default();
        let names: Vec<&str> = names.into_iter().collect();
        for (at, name) in (0..).zip(&names) {
            match reflection::classify_name(class, name) {
                StoredNameKind::Shown(name, want) => {
                    layout.add_direct(name, ValueSource { at, want: Some(want), migration: None });
                }
                StoredNameKind::Unknown => {
                    layout.add_direct(name, ValueSource { at, want: None, migration: None });
                }
                StoredNameKind::Replaced(want, migration) => {
                    let source = ValueSource { at, want: Some(want), migration: Some(migration) };
                    layout.add_replaced(source, migration.new_property_names());
                }
                StoredNameKind::Hidden => {}
            }
        }
        let shown: FxHashSet<u32> = layout.sources.values().map(|source| source.at).collect();
        for (at, name) in (0..).zip(&names).filter(|(at, _)| !shown.contains(at)) {
            let source = ValueSource { at, want: None, migration: None };
            layout.add_direct(&format!("{HIDDEN}{name}"), source);
        }
        let at = |name: &Ustr| layout.sources.get(name).map(|source| source.at);
        layout.names_by_source =
            layout.order.iter().filter_map(|name| Some((at(name)?, *name))).collect();
        layout.names_by_source.sort_by_key(|(at, _)| *at);
        layout
    }

    /// Adds a property stored under one of its own names. If several sources set it, the last one
    /// wins.
    fn add_direct(&mut self, name: &str, source: ValueSource) {
        let name = ustr(name);
        if self.sources.insert(name, source).is_none() {
            self.order.push(name);
        }
    }

    /// Adds the properties that replaced an old one, unless they have a source. A direct source
    /// overrides this one.
    fn add_replaced(&mut self, source: ValueSource, names: &[&str]) {
        for name in names {
            let name = ustr(name);
            if let Entry::Vacant(free) = self.sources.entry(name) {
                free.insert(source);
                self.order.push(name);
            }
        }
    }

    pub(super) fn get(&self, name: Ustr) -> Option<&ValueSource> {
        self.sources.get(&name)
    }

    /// Returns the properties, including hidden ones.
    pub(super) fn names(&self) -> &[Ustr] {
        &self.order
    }

    /// Returns the properties whose value comes from a source.
    pub(super) fn names_at(&self, at: u32) -> impl Iterator<Item = Ustr> {
        let first = self.names_by_source.partition_point(|(it, _)| *it < at);
        let behind = self.names_by_source.get(first..).unwrap_or_default();
        behind.iter().take_while(move |(it, _)| *it == at).map(|(_, name)| *name)
    }
}

/// Converts a value of a binary file for an XML file, which distinguishes text from other bytes.
/// Bytes of an unknown property become text if possible.
pub(super) fn to_xml_value(class: &str, key: Ustr, value: Variant) -> Variant {
    let name = key.trim_start_matches(HIDDEN);
    let Variant::BinaryString(bytes) = &value else {
        return value;
    };
    if !matches!(reflection::classify_name(class, name), StoredNameKind::Unknown) {
        return value;
    }
    match std::str::from_utf8(bytes.as_ref()) {
        Ok(text) if xml::check_text(text).is_ok() => text.to_owned().into(),
        _ => value,
    }
}

/// Converts a stored value to a type; returns it unchanged if there is no conversion.
pub(super) fn convert_variant(value: Variant, want: VariantType) -> Variant {
    let converted = match (&value, want) {
        (Variant::BinaryString(bytes), want) => from_bytes(bytes.as_ref(), want),
        (Variant::SharedString(shared), VariantType::NetAssetRef) => {
            Some(NetAssetRef::from(shared.clone()).into())
        }
        (Variant::SharedString(shared), VariantType::Tags) => from_bytes(shared.data(), want),
        (Variant::Int32(number), VariantType::Int64) => Some(i64::from(*number).into()),
        (Variant::Float32(number), VariantType::Float64) => Some(f64::from(*number).into()),
        (Variant::Int32(number), VariantType::BrickColor) => {
            u16::try_from(*number).ok().and_then(BrickColor::from_number).map(Into::into)
        }
        (Variant::Color3(colour), VariantType::Color3uint8) => {
            Some(Color3uint8::from(*colour).into())
        }
        (Variant::EnumItem(item), VariantType::Enum) => Some(Enum::from_u32(item.value).into()),
        (Variant::Content(content), VariantType::ContentId) => match content.value() {
            ContentType::None => Some(ContentId::new().into()),
            ContentType::Uri(uri) => Some(ContentId::from(uri.as_str()).into()),
            _ => None,
        },
        (Variant::ContentId(id), VariantType::Content) => Some(content_variant(id.as_str())),
        _ => None,
    };
    converted.unwrap_or(value)
}

fn content_variant(uri: &str) -> Variant {
    if uri.is_empty() { Content::none() } else { Content::from_uri(uri.to_owned()) }.into()
}

fn from_bytes(bytes: &[u8], want: VariantType) -> Option<Variant> {
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match want {
        VariantType::String => Some(text().into()),
        VariantType::ContentId => Some(ContentId::from(text()).into()),
        VariantType::Content => Some(content_variant(&text())),
        VariantType::Tags => Tags::decode(bytes).ok().map(Into::into),
        VariantType::Attributes => attributes::parse_attributes(bytes).map(Into::into),
        VariantType::MaterialColors => MaterialColors::decode(bytes).ok().map(Into::into),
        _ => None,
    }
}
