//! Encodes values as cells.

use rbx_types::{
    CFrame, Color3, Color3uint8, ColorSequence, Content, ContentType, Font, Matrix3,
    NumberSequence, PhysicalProperties, SharedString, UDim, UniqueId, Variant, Vector2, Vector3,
};

use super::cell::WriteLinks;
use super::layout::{ContentKind, ty};

/// Appends the cell of a value. Returns `false`, and appends nothing, if the type cannot hold it.
///
/// A type also accepts values with the same meaning: a text accepts tags, a number accepts one of a
/// smaller range.
#[must_use]
pub(super) fn write_cell(
    ty: u8,
    value: &Variant,
    links: &mut impl WriteLinks,
    out: &mut Vec<u8>,
) -> bool {
    let start = out.len();
    let is_written = match ty {
        ty::STRING => write_string(value, out),
        ty::SHARED_STRING => write_shared(value, links, out),
        ty::REF | ty::CONTENT => write_link(ty, value, links, out),
        _ => write_plain(ty, value, out),
    };
    if is_written.is_none() {
        out.truncate(start);
    }
    is_written.is_some()
}

fn write_string(value: &Variant, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Variant::String(value) => put_text(value.as_bytes(), out),
        Variant::BinaryString(value) => put_text(value.as_ref(), out),
        Variant::ContentId(value) => put_text(value.as_str().as_bytes(), out),
        Variant::Tags(value) => put_text(&value.encode(), out),
        Variant::MaterialColors(value) => put_text(&value.encode(), out),
        Variant::Attributes(value) => {
            let mut encoded = Vec::new();
            value.to_writer(&mut encoded).ok()?;
            put_text(&encoded, out)
        }
        Variant::Content(value) => match value.value() {
            ContentType::None => put_text(b"", out),
            ContentType::Uri(uri) => put_text(uri.as_bytes(), out),
            _ => None,
        },
        _ => None,
    }
}

fn write_shared(value: &Variant, links: &mut impl WriteLinks, out: &mut Vec<u8>) -> Option<()> {
    let index = match value {
        Variant::SharedString(value) => links.shared_index(value),
        Variant::NetAssetRef(value) => links.shared_index(value.as_ref()),
        Variant::Tags(value) => links.shared_index(&SharedString::new(value.encode())),
        Variant::BinaryString(value) => {
            links.shared_index(&SharedString::new(value.clone().into_vec()))
        }
        _ => return None,
    };
    out.extend_from_slice(&index.to_be_bytes());
    Some(())
}

/// Writes values that may refer to an instance.
fn write_link(ty: u8, value: &Variant, links: &impl WriteLinks, out: &mut Vec<u8>) -> Option<()> {
    match (ty, value) {
        (ty::REF, Variant::Ref(to)) => out.extend_from_slice(&links.referent_of(*to).to_le_bytes()),
        (ty::CONTENT, Variant::Content(value)) => put_content(value, links, out)?,
        (ty::CONTENT, Variant::ContentId(id)) if id.as_str().is_empty() => {
            put_content(&Content::none(), links, out)?;
        }
        (ty::CONTENT, Variant::ContentId(id)) => {
            put_content(&Content::from_uri(id.as_str()), links, out)?;
        }
        _ => return None,
    }
    Some(())
}

/// Writes values that need no links.
fn write_plain(ty: u8, value: &Variant, out: &mut Vec<u8>) -> Option<()> {
    match (ty, value) {
        (ty::BOOL, Variant::Bool(value)) => out.push(u8::from(*value)),
        (ty::INT32, Variant::Int32(value)) => put_i32(*value, out),
        (ty::INT64, Variant::Int64(value)) => put_i64(*value, out),
        (ty::INT64, Variant::Int32(value)) => put_i64(i64::from(*value), out),
        (ty::FLOAT32, Variant::Float32(value)) => put_f32s(&[*value], out),
        (ty::FLOAT64, Variant::Float64(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (ty::FLOAT64, Variant::Float32(value)) => {
            out.extend_from_slice(&f64::from(*value).to_le_bytes());
        }
        (ty::FACES, Variant::Faces(value)) => out.push(value.bits()),
        (ty::AXES, Variant::Axes(value)) => out.push(value.bits()),
        (ty::BRICK_COLOR, Variant::BrickColor(value)) => put_u32(*value as u32, out),
        (ty::ENUM, Variant::Enum(value)) => put_u32(value.to_u32(), out),
        (ty::ENUM, Variant::EnumItem(value)) => put_u32(value.value, out),
        (ty::COLOR3, Variant::Color3(value)) => put_f32s(&[value.r, value.g, value.b], out),
        (ty::COLOR3, Variant::Color3uint8(value)) => {
            let value = Color3::from(*value);
            put_f32s(&[value.r, value.g, value.b], out);
        }
        (ty::COLOR3_UINT8, Variant::Color3uint8(value)) => put_color_bytes(*value, out),
        (ty::COLOR3_UINT8, Variant::Color3(value)) => put_color_bytes((*value).into(), out),
        (ty::CAPABILITIES, Variant::SecurityCapabilities(value)) => {
            put_i64(value.bits() as i64, out);
        }
        (ty::UNIQUE_ID, Variant::UniqueId(value)) => put_unique_id(*value, out),
        (ty::FONT, Variant::Font(value)) => put_font(value, out)?,
        _ => return write_spatial(ty, value, out),
    }
    Some(())
}

/// Writes values that consist of several numbers.
fn write_spatial(ty: u8, value: &Variant, out: &mut Vec<u8>) -> Option<()> {
    match (ty, value) {
        (ty::UDIM, Variant::UDim(value)) => put_udims(&[*value], out),
        (ty::UDIM2, Variant::UDim2(value)) => put_udims(&[value.x, value.y], out),
        (ty::VECTOR2, Variant::Vector2(value)) => put_vector2(*value, out),
        (ty::VECTOR3, Variant::Vector3(value)) => put_vector3(*value, out),
        (ty::VECTOR3_INT16, Variant::Vector3int16(value)) => {
            for number in [value.x, value.y, value.z] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        (ty::RECT, Variant::Rect(value)) => {
            put_vector2(value.min, out);
            put_vector2(value.max, out);
        }
        (ty::RAY, Variant::Ray(value)) => {
            put_plain(&vector_parts(value.origin), out);
            put_plain(&vector_parts(value.direction), out);
        }
        (ty::NUMBER_RANGE, Variant::NumberRange(value)) => put_plain(&[value.min, value.max], out),
        (ty::NUMBER_SEQUENCE, Variant::NumberSequence(value)) => put_number_sequence(value, out)?,
        (ty::COLOR_SEQUENCE, Variant::ColorSequence(value)) => put_color_sequence(value, out)?,
        (ty::PHYSICAL, Variant::PhysicalProperties(value)) => put_physical(*value, out),
        (ty::CFRAME, Variant::CFrame(value)) => put_cframe(*value, out),
        (ty::OPTIONAL_CFRAME, Variant::OptionalCFrame(value)) => {
            put_cframe(value.unwrap_or(CFrame::identity()), out);
            out.push(u8::from(value.is_some()));
        }
        _ => return None,
    }
    Some(())
}

fn put_count(count: usize, out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    Some(())
}

fn put_text(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    put_count(text.len(), out)?;
    out.extend_from_slice(text);
    Some(())
}

fn put_u32(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn put_i32(value: i32, out: &mut Vec<u8>) {
    put_u32(((value << 1) ^ (value >> 31)) as u32, out);
}

fn put_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&((value << 1) ^ (value >> 63)).to_be_bytes());
}

/// Writes floats in the form used in planes.
fn put_f32s(values: &[f32], out: &mut Vec<u8>) {
    for value in values {
        put_u32(value.to_bits().rotate_left(1), out);
    }
}

fn put_plain(values: &[f32], out: &mut Vec<u8>) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_color_bytes(color: Color3uint8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[color.r, color.g, color.b]);
}

fn put_vector2(value: Vector2, out: &mut Vec<u8>) {
    put_f32s(&[value.x, value.y], out);
}

fn put_vector3(value: Vector3, out: &mut Vec<u8>) {
    put_f32s(&vector_parts(value), out);
}

fn vector_parts(value: Vector3) -> [f32; 3] {
    [value.x, value.y, value.z]
}

/// Writes all scales before all offsets.
fn put_udims(values: &[UDim], out: &mut Vec<u8>) {
    for value in values {
        put_f32s(&[value.scale], out);
    }
    for value in values {
        put_i32(value.offset, out);
    }
}

fn put_unique_id(value: UniqueId, out: &mut Vec<u8>) {
    put_u32(value.index(), out);
    put_u32(value.time(), out);
    out.extend_from_slice(&value.random().rotate_left(1).to_be_bytes());
}

fn put_font(value: &Font, out: &mut Vec<u8>) -> Option<()> {
    put_text(value.family.as_bytes(), out)?;
    out.extend_from_slice(&value.weight.as_u16().to_le_bytes());
    out.push(value.style.as_u8());
    put_text(value.cached_face_id.as_deref().unwrap_or_default().as_bytes(), out)
}

fn put_number_sequence(value: &NumberSequence, out: &mut Vec<u8>) -> Option<()> {
    put_count(value.keypoints.len(), out)?;
    for keypoint in &value.keypoints {
        put_plain(&[keypoint.time, keypoint.value, keypoint.envelope], out);
    }
    Some(())
}

fn put_color_sequence(value: &ColorSequence, out: &mut Vec<u8>) -> Option<()> {
    put_count(value.keypoints.len(), out)?;
    for keypoint in &value.keypoints {
        let Color3 { r, g, b } = keypoint.color;
        // The last number is an envelope, which files have and values lack.
        put_plain(&[keypoint.time, r, g, b, 0.0], out);
    }
    Some(())
}

fn put_physical(value: PhysicalProperties, out: &mut Vec<u8>) {
    let PhysicalProperties::Custom(custom) = value else {
        return out.push(0b00);
    };
    // Files that predate the absorption mean 1, so 1 is written by omitting it.
    let absorption = Some(custom.acoustic_absorption()).filter(|absorption| *absorption != 1.0);
    out.push(if absorption.is_some() { 0b11 } else { 0b01 });
    let (density, friction) = (custom.density(), custom.friction());
    put_plain(&[density, friction, custom.elasticity()], out);
    put_plain(&[custom.friction_weight(), custom.elasticity_weight()], out);
    put_plain(absorption.as_slice(), out);
}

fn put_cframe(value: CFrame, out: &mut Vec<u8>) {
    put_rotation(value.orientation, out);
    put_vector3(value.position, out);
}

/// Writes a rotation as an id only if the id denotes exactly the same matrix. A rotation that is
/// nearly axis-aligned must not be snapped to the axes.
fn put_rotation(rotation: Matrix3, out: &mut Vec<u8>) {
    let is_same = |id: &u8| {
        Matrix3::from_basic_rotation_id(*id)
            .is_ok_and(|basic| matrix_bits(basic) == matrix_bits(rotation))
    };
    if let Some(id) = rotation.to_basic_rotation_id().filter(is_same) {
        return out.push(id);
    }
    out.push(0);
    for row in [rotation.x, rotation.y, rotation.z] {
        put_plain(&vector_parts(row), out);
    }
}

fn matrix_bits(matrix: Matrix3) -> [[u32; 3]; 3] {
    [matrix.x, matrix.y, matrix.z].map(|row| vector_parts(row).map(f32::to_bits))
}

fn put_content(value: &Content, links: &impl WriteLinks, out: &mut Vec<u8>) -> Option<()> {
    match value.value() {
        ContentType::None => out.extend_from_slice(&ContentKind::None.to_bytes()),
        ContentType::Uri(uri) => {
            out.extend_from_slice(&ContentKind::Uri.to_bytes());
            put_text(uri.as_bytes(), out)?;
        }
        ContentType::Object(to) => match links.referent_of(*to) {
            -1 => out.extend_from_slice(&ContentKind::None.to_bytes()),
            to => {
                out.extend_from_slice(&ContentKind::Object.to_bytes());
                out.extend_from_slice(&to.to_le_bytes());
            }
        },
        _ => return None,
    }
    Some(())
}
