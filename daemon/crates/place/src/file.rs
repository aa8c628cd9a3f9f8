//! The source of a scene: a file in either format, or a place that is open in Studio. Reads the
//! values of instances and writes the changed file.

use std::borrow::Cow;
use std::sync::Arc;

use rbx_dom_weak::Ustr;
use rbx_types::{Variant, VariantType};

use super::binary::{self, BinaryFile};
use super::codec::{self, CodecError, FileFormat};
use super::ids::{self, NewIds};
use super::mirror::StudioMirror;
use super::scene_changes::SceneChanges;
use super::splice::PieceList;
use super::tree::InstanceTree;
use super::xml::{self, XmlFile};

/// The source that a scene was read from.
#[derive(Debug, Clone)]
pub(super) enum SourceFile {
    Binary(Box<BinaryFile>),
    Xml(Box<XmlFile>),
    /// A place that is open in Studio; it has no file.
    Studio(Box<StudioMirror>),
}

impl SourceFile {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// The bytes are not a place or model.
    pub(super) fn open(bytes: Arc<[u8]>) -> Result<(Self, InstanceTree), CodecError> {
        match codec::detect_format(&bytes)? {
            FileFormat::Binary => {
                let (binary, tree) = BinaryFile::open(bytes)?;
                Ok((Self::Binary(Box::new(binary)), tree))
            }
            FileFormat::Xml => {
                let (xml, tree) = XmlFile::open(bytes)?;
                Ok((Self::Xml(Box::new(xml)), tree))
            }
        }
    }

    pub(super) fn empty(format: FileFormat) -> (Self, InstanceTree) {
        let bytes = match format {
            FileFormat::Binary => binary::EMPTY,
            FileFormat::Xml => xml::EMPTY.as_bytes(),
        };
        match Self::open(bytes.into()) {
            Ok(file) => file,
            // Cannot fail: the input is a constant, and a test reads it.
            Err(_) => unreachable!("a file without instances can be read"),
        }
    }

    pub(super) fn format(&self) -> FileFormat {
        match self {
            Self::Binary(_) | Self::Studio(_) => FileFormat::Binary,
            Self::Xml(_) => FileFormat::Xml,
        }
    }

    /// Returns the source as a binary file, if it is one.
    pub(super) fn binary(&self) -> Option<&BinaryFile> {
        match self {
            Self::Binary(binary) => Some(binary),
            Self::Xml(_) | Self::Studio(_) => None,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Binary(binary) => binary.bytes(),
            Self::Xml(xml) => xml.bytes(),
            Self::Studio(_) => &[],
        }
    }

    /// Returns the names of the properties that the source has for an instance, including hidden
    /// ones.
    pub(super) fn keys_of(&self, node: u32, class: &str) -> Cow<'_, [Ustr]> {
        match self {
            Self::Binary(binary) => Cow::Borrowed(binary.keys_of(node)),
            Self::Xml(xml) => Cow::Owned(xml.keys_of(node)),
            Self::Studio(mirror) => Cow::Owned(mirror.keys_of(node, class)),
        }
    }

    /// Returns the value that the source has for a property of an instance.
    pub(super) fn value_of(&self, node: u32, key: Ustr) -> Option<Variant> {
        match self {
            Self::Binary(binary) => binary.value_of(node, key),
            Self::Xml(xml) => xml.value_of(node, key),
            Self::Studio(mirror) => mirror.value_of(node, key).cloned(),
        }
    }

    /// Returns the values that the source has for several properties of an instance.
    pub(super) fn values_of<const N: usize>(
        &self,
        node: u32,
        keys: [Ustr; N],
    ) -> [Option<Variant>; N] {
        match self {
            Self::Xml(xml) => xml.values_of(node, keys),
            Self::Binary(_) | Self::Studio(_) => keys.map(|key| self.value_of(node, key)),
        }
    }

    /// Visits all readable values that the source has for an instance. A binary file includes hidden
    /// properties, an XML file does not.
    pub(super) fn visit_values(
        &self,
        node: u32,
        class: &str,
        visit: &mut dyn FnMut(Ustr, Variant),
    ) {
        match self {
            Self::Binary(binary) => binary.visit_values(node, visit),
            Self::Xml(xml) => xml.visit_values(node, visit),
            Self::Studio(mirror) => {
                for key in mirror.keys_of(node, class) {
                    mirror.value_of(node, key).cloned().into_iter().for_each(|it| visit(key, it));
                }
            }
        }
    }

    /// Returns the properties of an instance that can refer to another instance.
    pub(super) fn reference_keys(&self, node: u32) -> Vec<Ustr> {
        match self {
            Self::Binary(binary) => binary.reference_keys(node),
            Self::Xml(xml) => xml.reference_keys(node),
            Self::Studio(mirror) => mirror.reference_keys(node),
        }
    }

    /// Returns the value that the source has for a string property.
    pub(super) fn text_of(&self, node: u32, key: Ustr) -> Option<Cow<'_, str>> {
        match self {
            Self::Binary(binary) => binary.text_of(node, key).map(String::from_utf8_lossy),
            Self::Xml(xml) => xml.text_of(node, key),
            Self::Studio(mirror) => mirror.text_of(node, key).map(Cow::Borrowed),
        }
    }

    /// Returns all references of the source as (holder, property, referenced instance).
    pub(super) fn references(&self) -> Vec<(u32, Ustr, u32)> {
        match self {
            Self::Binary(binary) => binary.references(),
            Self::Xml(xml) => xml.references(),
            Self::Studio(mirror) => mirror.references(),
        }
    }

    /// Returns the id that the source gives an instance; None if it has no id or not a distinct
    /// one.
    pub(super) fn id_of(&self, node: u32) -> Option<Cow<'_, str>> {
        match self {
            Self::Binary(binary) => binary.referent_of(node).map(|it| Cow::Owned(it.to_string())),
            Self::Xml(xml) => xml.id_of(node),
            Self::Studio(mirror) => mirror.id_of(node),
        }
    }

    /// Returns the instance with an id of the source.
    pub(super) fn node_of(&self, id: &str) -> Option<u32> {
        match self {
            Self::Binary(binary) => binary.node_of(id.parse().ok()?),
            Self::Xml(xml) => xml.node_of(id),
            Self::Studio(mirror) => mirror.node_of(id),
        }
    }

    /// Returns the first number for the ids of new instances.
    pub(super) fn next_number(&self) -> u32 {
        match self {
            Self::Binary(binary) => {
                u32::try_from(binary.highest_referent()).map_or(0, ids::next_number)
            }
            Self::Xml(xml) => xml.next_number(),
            Self::Studio(_) => 0,
        }
    }

    /// Whether an id is in use: it belongs to an instance of the file or is a dangling reference.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        match self {
            Self::Binary(binary) => id.parse().is_ok_and(|it| binary.is_taken(it)),
            Self::Xml(xml) => xml.is_taken(id),
            Self::Studio(mirror) => mirror.node_of(id).is_some(),
        }
    }

    /// Formats a number as an id of the file.
    pub(super) fn id_of_number(&self, number: u32) -> String {
        match self {
            Self::Binary(_) | Self::Studio(_) => number.to_string(),
            Self::Xml(xml) => xml.id_of_number(number),
        }
    }

    /// Returns the reason why instances of a class cannot be created or deleted; None if they can.
    pub(super) fn fixed_reason(&self, class: u32) -> Option<String> {
        match self {
            Self::Binary(binary) => binary.fixed_reason(class),
            Self::Xml(_) | Self::Studio(_) => None,
        }
    }

    /// Returns the type that the file stores for a property of a class, if `value` cannot be stored
    /// beside it.
    pub(super) fn conflicting_kind(
        &self,
        class: u32,
        key: Ustr,
        value: &Variant,
    ) -> Option<VariantType> {
        match self {
            Self::Binary(binary) => binary.conflicting_kind(class, key, value),
            Self::Xml(_) | Self::Studio(_) => None,
        }
    }

    /// Returns user-readable descriptions of content that this crate does not understand.
    pub(super) fn unsupported_items(&self) -> Vec<String> {
        match self {
            Self::Binary(binary) => binary.unsupported_items(),
            Self::Xml(xml) => xml.unsupported_items(),
            Self::Studio(_) => Vec::new(),
        }
    }

    /// Builds the file with all changes applied.
    ///
    /// # Errors
    /// The format cannot hold a value that was set.
    pub(super) fn write(
        &self,
        changes: &SceneChanges<'_>,
        ids: &NewIds,
    ) -> Result<PieceList, CodecError> {
        match self {
            Self::Binary(binary) => binary.write(changes, ids),
            Self::Xml(xml) => xml.write(changes, ids),
            Self::Studio(_) => {
                Err(CodecError::Write("a place that is open in Studio is not a file".to_owned()))
            }
        }
    }
}
