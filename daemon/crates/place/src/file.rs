//! What a scene was read from, a file in either format or an open place: what it says of an instance,
//! and how a new file is made of it.

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

/// A file that was read.
#[derive(Debug)]
pub(super) enum SourceFile {
    Binary(Box<BinaryFile>),
    Xml(Box<XmlFile>),
    /// No file: a place that is open in Studio.
    Studio(Box<StudioMirror>),
}

impl SourceFile {
    /// Reads a file's index.
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

    /// A file without instances.
    pub(super) fn empty(format: FileFormat) -> (Self, InstanceTree) {
        let bytes = match format {
            FileFormat::Binary => binary::EMPTY,
            FileFormat::Xml => xml::EMPTY.as_bytes(),
        };
        match Self::open(bytes.into()) {
            Ok(file) => file,
            // It is known to be one; a test reads it.
            Err(_) => unreachable!("a file without instances can be read"),
        }
    }

    pub(super) fn format(&self) -> FileFormat {
        match self {
            Self::Binary(_) | Self::Studio(_) => FileFormat::Binary,
            Self::Xml(_) => FileFormat::Xml,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Binary(binary) => binary.bytes(),
            Self::Xml(xml) => xml.bytes(),
            Self::Studio(_) => &[],
        }
    }

    /// The properties that it has for an instance, hidden ones too.
    pub(super) fn keys_of(&self, node: u32, class: &str) -> Cow<'_, [Ustr]> {
        match self {
            Self::Binary(binary) => Cow::Borrowed(binary.keys_of(node)),
            Self::Xml(xml) => Cow::Owned(xml.keys_of(node)),
            Self::Studio(mirror) => Cow::Owned(mirror.keys_of(node, class)),
        }
    }

    /// What it has for a property of an instance.
    pub(super) fn value_of(&self, node: u32, key: Ustr) -> Option<Variant> {
        match self {
            Self::Binary(binary) => binary.value_of(node, key),
            Self::Xml(xml) => xml.value_of(node, key),
            Self::Studio(mirror) => mirror.value_of(node, key).cloned(),
        }
    }

    /// What it has for some properties of an instance.
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

    /// Visits what it has for all properties of an instance that can be shown.
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

    /// The properties of an instance that can point to another.
    pub(super) fn reference_keys(&self, node: u32) -> Vec<Ustr> {
        match self {
            Self::Binary(binary) => binary.reference_keys(node),
            Self::Xml(xml) => xml.reference_keys(node),
            Self::Studio(mirror) => mirror.reference_keys(node),
        }
    }

    /// What it has for a property that is a text.
    pub(super) fn text_of(&self, node: u32, key: Ustr) -> Option<Cow<'_, str>> {
        match self {
            Self::Binary(binary) => binary.text_of(node, key).map(String::from_utf8_lossy),
            Self::Xml(xml) => xml.text_of(node, key),
            Self::Studio(mirror) => mirror.text_of(node, key).map(Cow::Borrowed),
        }
    }

    /// The references that it has: who points, by which property, to whom.
    pub(super) fn references(&self) -> Vec<(u32, Ustr, u32)> {
        match self {
            Self::Binary(binary) => binary.references(),
            Self::Xml(xml) => xml.references(),
            Self::Studio(mirror) => mirror.references(),
        }
    }

    /// What it calls an instance; none where it calls it nothing that would tell it from others.
    pub(super) fn id_of(&self, node: u32) -> Option<Cow<'_, str>> {
        match self {
            Self::Binary(binary) => binary.referent_of(node).map(|it| Cow::Owned(it.to_string())),
            Self::Xml(xml) => xml.id_of(node),
            Self::Studio(mirror) => mirror.id_of(node),
        }
    }

    /// The instance that it calls by a name.
    pub(super) fn node_of(&self, id: &str) -> Option<u32> {
        match self {
            Self::Binary(binary) => binary.node_of(id.parse().ok()?),
            Self::Xml(xml) => xml.node_of(id),
            Self::Studio(mirror) => mirror.node_of(id),
        }
    }

    /// The number from which on instances that were not read are numbered.
    pub(super) fn next_number(&self) -> u32 {
        match self {
            Self::Binary(binary) => {
                u32::try_from(binary.highest_referent()).map_or(0, ids::next_number)
            }
            Self::Xml(xml) => xml.next_number(),
            Self::Studio(_) => 0,
        }
    }

    /// Whether an instance of the file is called so, or something points to that name and to nobody.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        match self {
            Self::Binary(binary) => id.parse().is_ok_and(|it| binary.is_taken(it)),
            Self::Xml(xml) => xml.is_taken(id),
            Self::Studio(mirror) => mirror.node_of(id).is_some(),
        }
    }

    /// What the file calls an instance of a number.
    pub(super) fn id_of_number(&self, number: u32) -> String {
        match self {
            Self::Binary(_) | Self::Studio(_) => number.to_string(),
            Self::Xml(xml) => xml.id_of_number(number),
        }
    }

    /// Why no instance of a class can come or go; none where it can.
    pub(super) fn fixed_reason(&self, class: u32) -> Option<String> {
        match self {
            Self::Binary(binary) => binary.fixed_reason(class),
            Self::Xml(_) | Self::Studio(_) => None,
        }
    }

    /// The type of what it has for a property of a class, where a value cannot be stored beside that.
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

    /// What it has and nobody here understands, in a person's words.
    pub(super) fn unsupported_items(&self) -> Vec<String> {
        match self {
            Self::Binary(binary) => binary.unsupported_items(),
            Self::Xml(xml) => xml.unsupported_items(),
            Self::Studio(_) => Vec::new(),
        }
    }

    /// The file with all changes applied.
    ///
    /// # Errors
    /// It cannot hold what was set.
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
