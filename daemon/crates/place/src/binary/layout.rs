//! The binary layout of property values, by type.
//!
//! A column is a list of fields, each of which has a part of every row. In a file, the parts of one
//! field are contiguous, often as the first byte of every row, then the second, and so on. In a
//! **cell**, the parts of one row are contiguous, in field order. This module does not interpret
//! bytes.

/// The type bytes of the format.
pub(in crate::binary) mod ty {
    pub(in crate::binary) const STRING: u8 = 0x01;
    pub(in crate::binary) const BOOL: u8 = 0x02;
    pub(in crate::binary) const INT32: u8 = 0x03;
    pub(in crate::binary) const FLOAT32: u8 = 0x04;
    pub(in crate::binary) const FLOAT64: u8 = 0x05;
    pub(in crate::binary) const UDIM: u8 = 0x06;
    pub(in crate::binary) const UDIM2: u8 = 0x07;
    pub(in crate::binary) const RAY: u8 = 0x08;
    pub(in crate::binary) const FACES: u8 = 0x09;
    pub(in crate::binary) const AXES: u8 = 0x0a;
    pub(in crate::binary) const BRICK_COLOR: u8 = 0x0b;
    pub(in crate::binary) const COLOR3: u8 = 0x0c;
    pub(in crate::binary) const VECTOR2: u8 = 0x0d;
    pub(in crate::binary) const VECTOR3: u8 = 0x0e;
    pub(in crate::binary) const CFRAME: u8 = 0x10;
    pub(in crate::binary) const ENUM: u8 = 0x12;
    pub(in crate::binary) const REF: u8 = 0x13;
    pub(in crate::binary) const VECTOR3_INT16: u8 = 0x14;
    pub(in crate::binary) const NUMBER_SEQUENCE: u8 = 0x15;
    pub(in crate::binary) const COLOR_SEQUENCE: u8 = 0x16;
    pub(in crate::binary) const NUMBER_RANGE: u8 = 0x17;
    pub(in crate::binary) const RECT: u8 = 0x18;
    pub(in crate::binary) const PHYSICAL: u8 = 0x19;
    pub(in crate::binary) const COLOR3_UINT8: u8 = 0x1a;
    pub(in crate::binary) const INT64: u8 = 0x1b;
    pub(in crate::binary) const SHARED_STRING: u8 = 0x1c;
    pub(in crate::binary) const OPTIONAL_CFRAME: u8 = 0x1e;
    pub(in crate::binary) const UNIQUE_ID: u8 = 0x1f;
    pub(in crate::binary) const FONT: u8 = 0x20;
    pub(in crate::binary) const CAPABILITIES: u8 = 0x21;
    pub(in crate::binary) const CONTENT: u8 = 0x22;
}

/// One field of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldLayout {
    /// This many bytes per row, row by row.
    Packed(usize),
    /// This many planes: the first byte of every row, then the second byte of every row, and so on.
    /// Consecutive numbers in this layout form one field.
    Planes(usize),
    /// One item per row, row by row; its own bytes encode its size.
    Run(VariableItem),
    /// Instance referents, as planes of the difference from the previous row. In a cell it is the
    /// referent itself, because a cell must not depend on other rows.
    Refs,
    /// The kind of each row, then the texts and the instances of the rows that have one.
    Content,
    /// A byte that occurs once per column and is not part of cells.
    Marker(u8),
}

/// An item of variable size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableItem {
    /// A length and that many bytes.
    Text,
    /// The id of a rotation, or 0 and nine numbers.
    Rotation,
    /// A count and that many elements of this size in bytes.
    Counted(usize),
    /// Flags and the numbers that they announce.
    Physical,
    /// Family, weight, style, and the file of the face.
    Font,
}

/// Returns the fields of a type; None if the type is not known.
pub(super) fn fields_of(ty: u8) -> Option<&'static [FieldLayout]> {
    use FieldLayout::{Content, Marker, Packed, Planes, Refs, Run};
    Some(match ty {
        ty::STRING => &[Run(VariableItem::Text)],
        ty::BOOL | ty::FACES | ty::AXES => &[Packed(1)],
        ty::INT32 | ty::FLOAT32 | ty::BRICK_COLOR | ty::ENUM | ty::SHARED_STRING => &[Planes(4)],
        ty::FLOAT64 | ty::NUMBER_RANGE => &[Packed(8)],
        ty::UDIM | ty::VECTOR2 | ty::INT64 | ty::CAPABILITIES => &[Planes(8)],
        ty::UDIM2 | ty::RECT | ty::UNIQUE_ID => &[Planes(16)],
        ty::RAY => &[Packed(24)],
        ty::COLOR3 | ty::VECTOR3 => &[Planes(12)],
        ty::COLOR3_UINT8 => &[Planes(3)],
        ty::CFRAME => &[Run(VariableItem::Rotation), Planes(12)],
        ty::REF => &[Refs],
        ty::VECTOR3_INT16 => &[Packed(6)],
        ty::NUMBER_SEQUENCE => &[Run(VariableItem::Counted(12))],
        ty::COLOR_SEQUENCE => &[Run(VariableItem::Counted(20))],
        ty::PHYSICAL => &[Run(VariableItem::Physical)],
        ty::OPTIONAL_CFRAME => &[
            Marker(ty::CFRAME),
            Run(VariableItem::Rotation),
            Planes(12),
            Marker(ty::BOOL),
            Packed(1),
        ],
        ty::FONT => &[Run(VariableItem::Font)],
        ty::CONTENT => &[Content],
        _ => return None,
    })
}

impl FieldLayout {
    /// Returns the size of this field at the start of a cell; None if the cell is too short.
    pub(super) fn len_in(self, cell: &[u8]) -> Option<usize> {
        let len = match self {
            Self::Packed(width) | Self::Planes(width) => width,
            Self::Run(item) => return item.len(cell),
            Self::Refs => 4,
            Self::Content => match ContentKind::from_bytes(*cell.first_chunk()?)? {
                ContentKind::None => 4,
                ContentKind::Uri => 4 + VariableItem::Text.len(cell.get(4..)?)?,
                ContentKind::Object => 8,
            },
            Self::Marker(_) => 0,
        };
        (len <= cell.len()).then_some(len)
    }
}

impl VariableItem {
    /// Returns the size of the item at the start of these bytes; None if they are too short.
    pub(super) fn len(self, bytes: &[u8]) -> Option<usize> {
        let len = match self {
            Self::Text => 4 + read_count(bytes)?,
            Self::Rotation => match bytes.first()? {
                0 => 37,
                _ => 1,
            },
            Self::Counted(width) => read_count(bytes)?.checked_mul(width)?.checked_add(4)?,
            Self::Physical => match bytes.first()? {
                0b00 | 0b10 => 1,
                0b01 => 21,
                0b11 => 25,
                _ => return None,
            },
            Self::Font => {
                let face = Self::Text.len(bytes)? + 3;
                face + Self::Text.len(bytes.get(face..)?)?
            }
        };
        (len <= bytes.len()).then_some(len)
    }

    /// Returns the minimum size of an item.
    pub(super) fn min_size(self) -> usize {
        match self {
            Self::Rotation | Self::Physical => 1,
            Self::Text | Self::Counted(_) => 4,
            Self::Font => 11,
        }
    }
}

/// The kind of a Content value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    None,
    Uri,
    Object,
}

impl ContentKind {
    /// Decodes the kind in a cell.
    pub(super) fn from_bytes(bytes: [u8; 4]) -> Option<Self> {
        [Self::None, Self::Uri, Self::Object].into_iter().find(|kind| kind.to_bytes() == bytes)
    }

    /// Encodes the kind for a cell: a big-endian number whose last bit is the sign.
    pub(super) fn to_bytes(self) -> [u8; 4] {
        match self {
            Self::None => [0, 0, 0, 0],
            Self::Uri => [0, 0, 0, 2],
            Self::Object => [0, 0, 0, 4],
        }
    }
}

/// Reads the count at the start of these bytes.
pub(super) fn read_count(bytes: &[u8]) -> Option<usize> {
    bytes.first_chunk().map(|four| u32::from_le_bytes(*four) as usize)
}

/// Reads instance referents from four planes. Each is the difference from the previous one, with
/// its sign in the last bit. The difference wraps around, so any bytes can be read and written
/// again.
pub(super) fn read_refs(planes: &[u8], rows: usize) -> Vec<u32> {
    let plane = |n: usize| planes.iter().skip(n * rows).take(rows);
    let bytes = plane(0).zip(plane(1)).zip(plane(2)).zip(plane(3));
    let mut last = 0_u32;
    bytes
        .map(|(((a, b), c), d)| {
            let folded = u32::from_be_bytes([*a, *b, *c, *d]);
            last = last.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg());
            last
        })
        .collect()
}

/// Appends instance referents as four planes.
pub(super) fn write_refs(refs: &[u32], out: &mut Vec<u8>) {
    let mut last = 0_u32;
    let folded = refs.iter().map(|to| {
        let distance = to.wrapping_sub(last);
        last = *to;
        (distance << 1) ^ ((distance as i32) >> 31) as u32
    });
    let folded: Vec<[u8; 4]> = folded.map(u32::to_be_bytes).collect();
    for plane in 0..4 {
        out.extend(folded.iter().map(|bytes| bytes[plane]));
    }
}
