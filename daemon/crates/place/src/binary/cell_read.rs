//! Decodes cells to values.

use rbx_types::{
    Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, CustomPhysicalProperties, Enum, Faces, Font, FontStyle,
    FontWeight, Matrix3, NumberRange, NumberSequence, NumberSequenceKeypoint, PhysicalProperties,
    Ray, Rect, SecurityCapabilities, UDim, UDim2, UniqueId, Variant, Vector2, Vector3,
    Vector3int16,
};

use super::cell::ReadLinks;
use super::layout::{ContentKind, ty};

/// Decodes a cell to the kind of value that its type stores: a text becomes bytes, whatever the
/// property. None if the bytes are invalid.
pub(super) fn read_cell(ty: u8, cell: &[u8], links: &(impl ReadLinks + ?Sized)) -> Option<Variant> {
    let mut rest = CellReader(cell);
    let value = read_value(ty, &mut rest, links)?;
    rest.0.is_empty().then_some(value)
}

fn read_value(
    ty: u8,
    rest: &mut CellReader<'_>,
    links: &(impl ReadLinks + ?Sized),
) -> Option<Variant> {
    Some(match ty {
        ty::STRING => BinaryString::from(rest.read_text()?.to_vec()).into(),
        ty::BOOL => (rest.byte()? != 0).into(),
        ty::INT32 => rest.i32()?.into(),
        ty::FLOAT32 => rest.f32()?.into(),
        ty::FLOAT64 => f64::from_le_bytes(rest.bytes()?).into(),
        ty::UDIM => UDim::new(rest.f32()?, rest.i32()?).into(),
        ty::UDIM2 => {
            let (x, y) = (rest.f32()?, rest.f32()?);
            UDim2::new(UDim::new(x, rest.i32()?), UDim::new(y, rest.i32()?)).into()
        }
        ty::RAY => Ray::new(rest.plain_vector()?, rest.plain_vector()?).into(),
        ty::FACES => Faces::from_bits(rest.byte()?)?.into(),
        ty::AXES => Axes::from_bits(rest.byte()?)?.into(),
        ty::BRICK_COLOR => BrickColor::from_number(rest.u32()?.try_into().ok()?)?.into(),
        ty::COLOR3 => Color3::new(rest.f32()?, rest.f32()?, rest.f32()?).into(),
        ty::VECTOR2 => rest.read_vector2()?.into(),
        ty::VECTOR3 => rest.read_vector3()?.into(),
        ty::CFRAME => rest.read_cframe()?.into(),
        ty::ENUM => Enum::from_u32(rest.u32()?).into(),
        ty::REF => links.instance_of(rest.read_referent()?).into(),
        ty::VECTOR3_INT16 => Vector3int16::new(rest.i16()?, rest.i16()?, rest.i16()?).into(),
        ty::NUMBER_SEQUENCE => rest.number_sequence()?.into(),
        ty::COLOR_SEQUENCE => rest.color_sequence()?.into(),
        ty::NUMBER_RANGE => NumberRange::new(rest.plain_f32()?, rest.plain_f32()?).into(),
        ty::RECT => Rect::new(rest.read_vector2()?, rest.read_vector2()?).into(),
        ty::PHYSICAL => rest.read_physical()?.into(),
        ty::COLOR3_UINT8 => Color3uint8::new(rest.byte()?, rest.byte()?, rest.byte()?).into(),
        ty::INT64 => rest.i64()?.into(),
        ty::SHARED_STRING => links.shared_string(rest.u32()?)?.clone().into(),
        ty::OPTIONAL_CFRAME => rest.optional_cframe()?,
        ty::UNIQUE_ID => {
            let (index, time) = (rest.u32()?, rest.u32()?);
            UniqueId::new(index, time, i64::from_be_bytes(rest.bytes()?).rotate_right(1)).into()
        }
        ty::FONT => rest.read_font()?.into(),
        ty::CAPABILITIES => SecurityCapabilities::from_bits(rest.i64()? as u64).into(),
        ty::CONTENT => rest.read_content(links)?.into(),
        _ => return None,
    })
}

/// The unread rest of a cell. Numbers from planes are big-endian with the sign in the last bit;
/// plain numbers are little-endian.
struct CellReader<'a>(&'a [u8]);

impl<'a> CellReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.u32().map(|folded| (folded >> 1) as i32 ^ -((folded & 1) as i32))
    }

    fn i64(&mut self) -> Option<i64> {
        let folded = u64::from_be_bytes(self.bytes()?);
        Some((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    fn f32(&mut self) -> Option<f32> {
        self.u32().map(|bits| f32::from_bits(bits.rotate_right(1)))
    }

    fn i16(&mut self) -> Option<i16> {
        self.bytes().map(i16::from_le_bytes)
    }

    fn plain_f32(&mut self) -> Option<f32> {
        self.bytes().map(f32::from_le_bytes)
    }

    fn read_count(&mut self) -> Option<usize> {
        self.bytes().map(|four| u32::from_le_bytes(four) as usize)
    }

    fn read_referent(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_le_bytes)
    }

    fn read_text(&mut self) -> Option<&'a [u8]> {
        let len = self.read_count()?;
        self.take(len)
    }

    fn read_utf8(&mut self) -> Option<String> {
        let text = self.read_text()?;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    fn read_vector2(&mut self) -> Option<Vector2> {
        Some(Vector2::new(self.f32()?, self.f32()?))
    }

    fn read_vector3(&mut self) -> Option<Vector3> {
        Some(Vector3::new(self.f32()?, self.f32()?, self.f32()?))
    }

    fn plain_vector(&mut self) -> Option<Vector3> {
        Some(Vector3::new(self.plain_f32()?, self.plain_f32()?, self.plain_f32()?))
    }

    /// Reads a count and exactly that many keypoints of `N` numbers.
    fn read_keypoints<T, const N: usize>(&mut self, make: fn([f32; N]) -> T) -> Option<Vec<T>> {
        let len = self.read_count()?.checked_mul(4 * N)?;
        let keypoint = |bytes: &[u8]| {
            let mut numbers = [0.0; N];
            let mut rest = CellReader(bytes);
            for number in &mut numbers {
                *number = rest.plain_f32().unwrap_or_default();
            }
            make(numbers)
        };
        Some(self.take(len)?.chunks_exact(4 * N).map(keypoint).collect())
    }

    fn number_sequence(&mut self) -> Option<NumberSequence> {
        let make =
            |[time, value, envelope]: [f32; 3]| NumberSequenceKeypoint::new(time, value, envelope);
        Some(NumberSequence { keypoints: self.read_keypoints(make)? })
    }

    fn color_sequence(&mut self) -> Option<ColorSequence> {
        let make = |[time, r, g, b, _envelope]: [f32; 5]| {
            ColorSequenceKeypoint::new(time, Color3::new(r, g, b))
        };
        Some(ColorSequence { keypoints: self.read_keypoints(make)? })
    }

    fn read_physical(&mut self) -> Option<PhysicalProperties> {
        let flags = self.byte()?;
        if flags & !0b11 != 0 {
            return None;
        }
        if flags & 0b01 == 0 {
            return Some(PhysicalProperties::Default);
        }
        let mut next = || self.plain_f32();
        let (density, friction, elasticity) = (next()?, next()?, next()?);
        let (friction_weight, elasticity_weight) = (next()?, next()?);
        let absorption = if flags == 0b11 { next()? } else { 1.0 };
        let custom = CustomPhysicalProperties::new(
            density,
            friction,
            elasticity,
            friction_weight,
            elasticity_weight,
            absorption,
        );
        Some(custom.into())
    }

    /// Reads a rotation; the inner result is an error if its id is not known.
    fn read_rotation(&mut self) -> Option<Result<Matrix3, rbx_types::Error>> {
        Some(match self.byte()? {
            0 => {
                let (x, y, z) = (self.plain_vector()?, self.plain_vector()?, self.plain_vector()?);
                Ok(Matrix3::new(x, y, z))
            }
            id => Matrix3::from_basic_rotation_id(id),
        })
    }

    fn read_cframe(&mut self) -> Option<CFrame> {
        let (rotation, position) = (self.read_rotation()?, self.read_vector3()?);
        Some(CFrame::new(position, rotation.ok()?))
    }

    fn optional_cframe(&mut self) -> Option<Variant> {
        let (rotation, position) = (self.read_rotation()?, self.read_vector3()?);
        // If there is no value, the other stored bytes do not matter.
        Some(Variant::OptionalCFrame(match self.byte()? {
            0 => None,
            _ => Some(CFrame::new(position, rotation.ok()?)),
        }))
    }

    fn read_font(&mut self) -> Option<Font> {
        let family = self.read_utf8()?;
        let weight = u16::from_le_bytes(self.bytes()?);
        let style = self.byte()?;
        let face = self.read_utf8()?;
        Some(Font {
            family,
            weight: FontWeight::from_u16(weight).unwrap_or_default(),
            style: FontStyle::from_u8(style).unwrap_or_default(),
            cached_face_id: (!face.is_empty()).then_some(face),
        })
    }

    fn read_content(&mut self, links: &(impl ReadLinks + ?Sized)) -> Option<Content> {
        Some(match ContentKind::from_bytes(self.bytes()?)? {
            ContentKind::None => Content::none(),
            ContentKind::Uri => Content::from_uri(self.read_utf8()?),
            ContentKind::Object => match links.instance_of(self.read_referent()?) {
                none if none.is_none() => Content::none(),
                object => Content::from_referent(object),
            },
        })
    }
}
