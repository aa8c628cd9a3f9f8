//! Stored values as bytes, so that equal values have equal bytes: what comparing and hashing share.
//!
//! What makes no difference to Roblox makes none here: negative zero, which NaN it is, whether text
//! is kept as a string, bytes or an address, a colour as floats or bytes, a rounding error in a rotation along
//! the axes, the order of tags, and the cached face of a font. References are what the caller says they are.

use rbx_types::{
    BrickColor, CFrame, Color3, ContentType, Font, Matrix3, PhysicalProperties, Ref, UDim, Variant,
    VariantType, Vector2, Vector3, Vector3int16,
};

/// What a reference counts as; 0 for none.
pub(super) type Point<'a> = &'a dyn Fn(Ref) -> u64;

/// Where the bytes go.
pub(super) struct Bytes<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) point: Point<'a>,
}

impl Bytes<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn float(&mut self, it: f64) {
        let it = if it.is_nan() { f64::NAN } else { it + 0.0 };
        self.put(&it.to_bits().to_le_bytes());
    }

    fn floats(&mut self, all: &[f32]) {
        for it in all {
            let it = if it.is_nan() { f32::NAN } else { it + 0.0 };
            self.put(&it.to_bits().to_le_bytes());
        }
    }

    fn whole(&mut self, it: i64) {
        self.put(&it.to_le_bytes());
    }

    /// Text inside of a larger value.
    fn part(&mut self, bytes: &[u8]) {
        self.whole(bytes.len() as i64);
        self.put(bytes);
    }

    fn vector2(&mut self, v: Vector2) {
        self.floats(&[v.x, v.y]);
    }

    fn vector3(&mut self, v: Vector3) {
        self.floats(&[v.x, v.y, v.z]);
    }

    fn vector3int16(&mut self, v: Vector3int16) {
        for n in [v.x, v.y, v.z] {
            self.whole(n.into());
        }
    }

    fn cframe(&mut self, v: &CFrame) {
        // The binary format writes a rotation that is along the axes, but for an error of rounding,
        // as one that is exactly so.
        let along = v.orientation.to_basic_rotation_id();
        let along = along.and_then(|id| Matrix3::from_basic_rotation_id(id).ok());
        let rotation = along.unwrap_or(v.orientation);
        self.vector3(v.position);
        self.vector3(rotation.x);
        self.vector3(rotation.y);
        self.vector3(rotation.z);
    }

    fn colour(&mut self, v: Color3) {
        self.floats(&[v.r, v.g, v.b]);
    }

    fn udim(&mut self, v: UDim) {
        self.floats(&[v.scale]);
        self.whole(v.offset.into());
    }

    fn physical(&mut self, v: &PhysicalProperties) {
        if let PhysicalProperties::Custom(v) = v {
            self.floats(&[
                v.density(),
                v.friction(),
                v.elasticity(),
                v.friction_weight(),
                v.elasticity_weight(),
                v.acoustic_absorption(),
            ]);
            self.put(&[1]);
        }
    }

    fn font(&mut self, v: &Font) {
        self.part(v.family.as_bytes());
        self.whole(v.weight.as_u16().into());
        self.whole(v.style.as_u8().into());
    }

    pub(super) fn variant(&mut self, variant: &Variant) {
        match variant {
            Variant::String(v) => self.text(v.as_bytes()),
            Variant::BinaryString(v) => self.text(v.as_ref()),
            Variant::ContentId(v) => self.text(v.as_str().as_bytes()),
            Variant::Content(v) => match v.value() {
                ContentType::Uri(uri) => self.text(uri.as_bytes()),
                ContentType::Object(to) if self.point_of(*to) != 0 => self.reference(*to),
                _ => self.text(b""),
            },
            Variant::Ref(v) => self.reference(*v),
            Variant::Tags(v) => self.tags(v),
            Variant::Attributes(v) => {
                self.kind(VariantType::Attributes);
                for (name, value) in v {
                    self.part(name.as_bytes());
                    self.variant(value);
                }
            }
            Variant::Color3(v) => {
                self.kind(VariantType::Color3);
                self.colour(*v);
            }
            Variant::Color3uint8(v) => {
                self.kind(VariantType::Color3);
                self.colour(Color3::from(*v));
            }
            Variant::Float32(v) => {
                self.kind(VariantType::Float64);
                self.float((*v).into());
            }
            Variant::Int32(v) => {
                self.kind(VariantType::Int64);
                self.whole((*v).into());
            }
            other => {
                self.kind(other.ty());
                self.plain(other);
            }
        }
    }

    fn kind(&mut self, kind: VariantType) {
        self.put(&[kind as u8]);
    }

    fn text(&mut self, bytes: &[u8]) {
        self.kind(VariantType::String);
        self.put(bytes);
    }

    fn reference(&mut self, to: Ref) {
        self.kind(VariantType::Ref);
        self.put(&self.point_of(to).to_le_bytes());
    }

    fn point_of(&self, to: Ref) -> u64 {
        if to.is_some() { (self.point)(to) } else { 0 }
    }

    fn tags(&mut self, tags: &rbx_types::Tags) {
        self.kind(VariantType::Tags);
        let mut sorted: Vec<_> = tags.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        for tag in sorted {
            self.part(tag.as_bytes());
        }
    }

    /// The types that are just what they hold.
    fn plain(&mut self, variant: &Variant) {
        match variant {
            Variant::Axes(v) => self.put(&[v.bits()]),
            Variant::Faces(v) => self.put(&[v.bits()]),
            Variant::Bool(v) => self.put(&[u8::from(*v)]),
            Variant::BrickColor(v) => self.whole(*v as i64),
            Variant::CFrame(v) | Variant::OptionalCFrame(Some(v)) => self.cframe(v),
            Variant::OptionalCFrame(None) => {}
            Variant::ColorSequence(v) => v.keypoints.iter().for_each(|point| {
                self.floats(&[point.time]);
                self.colour(point.color);
            }),
            Variant::Enum(v) => self.whole(v.to_u32().into()),
            Variant::EnumItem(v) => {
                self.part(v.ty.as_bytes());
                self.whole(v.value.into());
            }
            Variant::Float64(v) => self.float(*v),
            Variant::Font(v) => self.font(v),
            Variant::Int64(v) => self.whole(*v),
            Variant::MaterialColors(v) => self.put(&v.encode()),
            Variant::NetAssetRef(v) => self.put(v.hash().as_bytes()),
            Variant::NumberRange(v) => self.floats(&[v.min, v.max]),
            Variant::NumberSequence(v) => v
                .keypoints
                .iter()
                .for_each(|point| self.floats(&[point.time, point.value, point.envelope])),
            Variant::PhysicalProperties(v) => self.physical(v),
            Variant::Ray(v) => {
                self.vector3(v.origin);
                self.vector3(v.direction);
            }
            Variant::Rect(v) => {
                self.vector2(v.min);
                self.vector2(v.max);
            }
            Variant::Region3(v) => {
                self.vector3(v.min);
                self.vector3(v.max);
            }
            Variant::Region3int16(v) => {
                self.vector3int16(v.min);
                self.vector3int16(v.max);
            }
            Variant::SecurityCapabilities(v) => self.put(&v.bits().to_le_bytes()),
            Variant::SharedString(v) => self.put(v.hash().as_bytes()),
            Variant::UDim(v) => self.udim(*v),
            Variant::UDim2(v) => {
                self.udim(v.x);
                self.udim(v.y);
            }
            Variant::UniqueId(v) => {
                self.whole(v.index().into());
                self.whole(v.time().into());
                self.whole(v.random());
            }
            Variant::Vector2(v) => self.vector2(*v),
            Variant::Vector2int16(v) => {
                self.whole(v.x.into());
                self.whole(v.y.into());
            }
            Variant::Vector3(v) => self.vector3(*v),
            Variant::Vector3int16(v) => self.vector3int16(*v),
            // A type that a later rbx_types may add; its debug form is all that is known of it.
            other => self.put(format!("{other:?}").as_bytes()),
        }
    }
}

/// Whether a value is what the binary format writes for an instance that does not have a property
/// whose default nobody knows. Then having it and not having it are the same: a file cannot tell.
pub(super) fn is_blank(variant: &Variant, bytes: &[u8]) -> bool {
    match variant {
        Variant::CFrame(v) => *v == CFrame::identity(),
        Variant::Enum(v) => v.to_u32() == u32::MAX,
        Variant::BrickColor(v) => *v == BrickColor::MediumStoneGrey,
        Variant::Font(v) => *v == Font::default(),
        Variant::SharedString(v) => v.data().is_empty(),
        Variant::NetAssetRef(v) => v.data().is_empty(),
        Variant::MaterialColors(v) => *v == rbx_types::MaterialColors::new(),
        Variant::OptionalCFrame(v) => v.is_none(),
        Variant::EnumItem(_) => false,
        _ => bytes.iter().skip(1).all(|byte| *byte == 0),
    }
}
