//! Stored values as canonical bytes, so that equal values have equal bytes. Used to compare and to
//! hash.
//!
//! Differences that Roblox ignores are ignored here: negative zero, the payload of a NaN, whether
//! text is kept as a string, bytes or an address, a colour as floats or bytes, rounding errors in
//! an axis-aligned rotation, the order of tags, and the cached face of a font. The caller supplies
//! the key of each reference.

use rbx_types::{
    BrickColor, CFrame, Color3, ContentType, Font, Matrix3, PhysicalProperties, Ref, UDim, Variant,
    VariantType, Vector2, Vector3, Vector3int16,
};

/// Maps a reference to its key; 0 for none.
pub(super) type ReferenceKey<'a> = &'a dyn Fn(Ref) -> u64;

/// Writer of canonical bytes.
pub(super) struct CanonicalBytes<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) point: ReferenceKey<'a>,
}

impl CanonicalBytes<'_> {
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn put_float(&mut self, it: f64) {
        let it = if it.is_nan() { f64::NAN } else { it + 0.0 };
        self.put_bytes(&it.to_bits().to_le_bytes());
    }

    fn put_floats<const N: usize>(&mut self, all: &[f32; N]) {
        let bytes = all.map(|it| if it.is_nan() { f32::NAN } else { it + 0.0 }.to_le_bytes());
        self.put_bytes(bytes.as_flattened());
    }

    fn put_integer(&mut self, it: i64) {
        self.put_bytes(&it.to_le_bytes());
    }

    /// Writes text inside a larger value, with its length.
    fn put_sized(&mut self, bytes: &[u8]) {
        self.put_integer(bytes.len() as i64);
        self.put_bytes(bytes);
    }

    fn put_vector2(&mut self, v: Vector2) {
        self.put_floats(&[v.x, v.y]);
    }

    fn put_vector3(&mut self, v: Vector3) {
        self.put_floats(&[v.x, v.y, v.z]);
    }

    fn put_vector3int16(&mut self, v: Vector3int16) {
        for n in [v.x, v.y, v.z] {
            self.put_integer(n.into());
        }
    }

    fn put_cframe(&mut self, v: &CFrame) {
        // The binary format writes a rotation that is axis-aligned up to a rounding error as
        // exactly axis-aligned.
        let along = v.orientation.to_basic_rotation_id();
        let along = along.and_then(|id| Matrix3::from_basic_rotation_id(id).ok());
        let rotation = along.unwrap_or(v.orientation);
        self.put_vector3(v.position);
        self.put_vector3(rotation.x);
        self.put_vector3(rotation.y);
        self.put_vector3(rotation.z);
    }

    fn put_color(&mut self, v: Color3) {
        self.put_floats(&[v.r, v.g, v.b]);
    }

    fn put_udim(&mut self, v: UDim) {
        self.put_floats(&[v.scale]);
        self.put_integer(v.offset.into());
    }

    fn put_physical(&mut self, v: &PhysicalProperties) {
        if let PhysicalProperties::Custom(v) = v {
            self.put_floats(&[
                v.density(),
                v.friction(),
                v.elasticity(),
                v.friction_weight(),
                v.elasticity_weight(),
                v.acoustic_absorption(),
            ]);
            self.put_bytes(&[1]);
        }
    }

    fn put_font(&mut self, v: &Font) {
        self.put_sized(v.family.as_bytes());
        self.put_integer(v.weight.as_u16().into());
        self.put_integer(v.style.as_u8().into());
    }

    pub(super) fn put_variant(&mut self, variant: &Variant) {
        match variant {
            Variant::String(v) => self.put_text(v.as_bytes()),
            Variant::BinaryString(v) => self.put_text(v.as_ref()),
            Variant::ContentId(v) => self.put_text(v.as_str().as_bytes()),
            Variant::Content(v) => match v.value() {
                ContentType::Uri(uri) => self.put_text(uri.as_bytes()),
                ContentType::Object(to) if self.point_of(*to) != 0 => self.put_reference(*to),
                _ => self.put_text(b""),
            },
            Variant::Ref(v) => self.put_reference(*v),
            Variant::Tags(v) => self.put_tags(v),
            Variant::Attributes(v) => {
                self.put_kind(VariantType::Attributes);
                for (name, value) in v {
                    self.put_sized(name.as_bytes());
                    self.put_variant(value);
                }
            }
            Variant::Color3(v) => {
                self.put_kind(VariantType::Color3);
                self.put_color(*v);
            }
            Variant::Color3uint8(v) => {
                self.put_kind(VariantType::Color3);
                self.put_color(Color3::from(*v));
            }
            Variant::Float32(v) => {
                self.put_kind(VariantType::Float64);
                self.put_float((*v).into());
            }
            Variant::Int32(v) => {
                self.put_kind(VariantType::Int64);
                self.put_integer((*v).into());
            }
            other => {
                self.put_kind(other.ty());
                self.put_plain(other);
            }
        }
    }

    fn put_kind(&mut self, kind: VariantType) {
        self.put_bytes(&[kind as u8]);
    }

    fn put_text(&mut self, bytes: &[u8]) {
        self.put_kind(VariantType::String);
        self.put_bytes(bytes);
    }

    fn put_reference(&mut self, to: Ref) {
        self.put_kind(VariantType::Ref);
        self.put_bytes(&self.point_of(to).to_le_bytes());
    }

    fn point_of(&self, to: Ref) -> u64 {
        if to.is_some() { (self.point)(to) } else { 0 }
    }

    fn put_tags(&mut self, tags: &rbx_types::Tags) {
        self.put_kind(VariantType::Tags);
        let mut sorted: Vec<_> = tags.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        for tag in sorted {
            self.put_sized(tag.as_bytes());
        }
    }

    /// Writes types whose bytes are just their content.
    fn put_plain(&mut self, variant: &Variant) {
        match variant {
            Variant::Axes(v) => self.put_bytes(&[v.bits()]),
            Variant::Faces(v) => self.put_bytes(&[v.bits()]),
            Variant::Bool(v) => self.put_bytes(&[u8::from(*v)]),
            Variant::BrickColor(v) => self.put_integer(*v as i64),
            Variant::CFrame(v) | Variant::OptionalCFrame(Some(v)) => self.put_cframe(v),
            Variant::OptionalCFrame(None) => {}
            Variant::ColorSequence(v) => v.keypoints.iter().for_each(|point| {
                self.put_floats(&[point.time]);
                self.put_color(point.color);
            }),
            Variant::Enum(v) => self.put_integer(v.to_u32().into()),
            Variant::EnumItem(v) => {
                self.put_sized(v.ty.as_bytes());
                self.put_integer(v.value.into());
            }
            Variant::Float64(v) => self.put_float(*v),
            Variant::Font(v) => self.put_font(v),
            Variant::Int64(v) => self.put_integer(*v),
            Variant::MaterialColors(v) => self.put_bytes(&v.encode()),
            Variant::NetAssetRef(v) => self.put_bytes(v.hash().as_bytes()),
            Variant::NumberRange(v) => self.put_floats(&[v.min, v.max]),
            Variant::NumberSequence(v) => v
                .keypoints
                .iter()
                .for_each(|point| self.put_floats(&[point.time, point.value, point.envelope])),
            Variant::PhysicalProperties(v) => self.put_physical(v),
            Variant::Ray(v) => {
                self.put_vector3(v.origin);
                self.put_vector3(v.direction);
            }
            Variant::Rect(v) => {
                self.put_vector2(v.min);
                self.put_vector2(v.max);
            }
            Variant::Region3(v) => {
                self.put_vector3(v.min);
                self.put_vector3(v.max);
            }
            Variant::Region3int16(v) => {
                self.put_vector3int16(v.min);
                self.put_vector3int16(v.max);
            }
            Variant::SecurityCapabilities(v) => self.put_bytes(&v.bits().to_le_bytes()),
            Variant::SharedString(v) => self.put_bytes(v.hash().as_bytes()),
            Variant::UDim(v) => self.put_udim(*v),
            Variant::UDim2(v) => {
                self.put_udim(v.x);
                self.put_udim(v.y);
            }
            Variant::UniqueId(v) => {
                self.put_integer(v.index().into());
                self.put_integer(v.time().into());
                self.put_integer(v.random());
            }
            Variant::Vector2(v) => self.put_vector2(*v),
            Variant::Vector2int16(v) => {
                self.put_integer(v.x.into());
                self.put_integer(v.y.into());
            }
            Variant::Vector3(v) => self.put_vector3(*v),
            Variant::Vector3int16(v) => self.put_vector3int16(*v),
            // A type that a later rbx_types may add. Only its debug form is available.
            other => self.put_bytes(format!("{other:?}").as_bytes()),
        }
    }
}

/// Whether a value is what the binary format writes for instances that lack a property without a
/// known default. Having that value and lacking the property are then equal, because a file cannot
/// tell.
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
