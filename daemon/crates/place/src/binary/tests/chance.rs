//! Random values of every kind.

use rbx_types::{
    Attributes, Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, CustomPhysicalProperties, Enum, Faces, Font,
    FontStyle, FontWeight, MaterialColors, Matrix3, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, SecurityCapabilities, SharedString,
    Tags, TerrainMaterials, UDim, UDim2, UniqueId, Variant, VariantType, Vector2, Vector3,
    Vector3int16,
};

use super::Chance;

/// Every kind of value that a file can store.
pub(super) const KINDS: [VariantType; 37] = [
    VariantType::Axes,
    VariantType::BinaryString,
    VariantType::Bool,
    VariantType::BrickColor,
    VariantType::CFrame,
    VariantType::Color3,
    VariantType::Color3uint8,
    VariantType::ColorSequence,
    VariantType::ContentId,
    VariantType::Enum,
    VariantType::Faces,
    VariantType::Float32,
    VariantType::Float64,
    VariantType::Int32,
    VariantType::Int64,
    VariantType::NumberRange,
    VariantType::NumberSequence,
    VariantType::PhysicalProperties,
    VariantType::Ray,
    VariantType::Rect,
    VariantType::Ref,
    VariantType::SharedString,
    VariantType::String,
    VariantType::UDim,
    VariantType::UDim2,
    VariantType::Vector2,
    VariantType::Vector3,
    VariantType::Vector3int16,
    VariantType::OptionalCFrame,
    VariantType::Tags,
    VariantType::Attributes,
    VariantType::Font,
    VariantType::UniqueId,
    VariantType::MaterialColors,
    VariantType::SecurityCapabilities,
    VariantType::Content,
    VariantType::NetAssetRef,
];

impl Chance {
    /// Returns any number, sometimes a special one.
    fn f32(&mut self) -> f32 {
        let special = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE];
        let at = self.below(20);
        special.get(at).copied().unwrap_or_else(|| f32::from_bits(self.next() as u32))
    }

    fn text(&mut self) -> String {
        (0..self.below(12)).map(|_| ['a', 'Z', ' ', '.', 'é', '字', '🜁'][self.below(7)]).collect()
    }

    fn vector2(&mut self) -> Vector2 {
        Vector2::new(self.f32(), self.f32())
    }

    fn vector(&mut self) -> Vector3 {
        Vector3::new(self.f32(), self.f32(), self.f32())
    }

    fn udim(&mut self) -> UDim {
        UDim::new(self.f32(), self.next() as i32)
    }

    fn color(&mut self) -> Color3 {
        Color3::new(self.f32(), self.f32(), self.f32())
    }

    fn cframe(&mut self) -> CFrame {
        let basic = Matrix3::from_basic_rotation_id(self.below(36) as u8);
        let any = Matrix3::new(self.vector(), self.vector(), self.vector());
        CFrame::new(self.vector(), basic.unwrap_or(any))
    }

    fn font(&mut self) -> Font {
        let weight = FontWeight::from_u16(100 * (1 + self.below(9) as u16)).unwrap();
        let style = [FontStyle::Normal, FontStyle::Italic][self.below(2)];
        let mut font = Font::new(&self.text(), weight, style);
        font.cached_face_id = Some(self.text()).filter(|face| !face.is_empty());
        font
    }

    fn physical(&mut self) -> PhysicalProperties {
        let [density, friction, elasticity, weight, other, any] = [(); 6].map(|()| self.f32());
        let absorption = match self.below(3) {
            0 => return PhysicalProperties::Default,
            1 => 1.0,
            _ => any,
        };
        let mut custom =
            CustomPhysicalProperties::new(density, friction, elasticity, weight, other, any);
        custom.set_acoustic_absorption(absorption);
        custom.into()
    }

    fn attributes(&mut self) -> Attributes {
        let mut attributes = Attributes::new();
        for _ in 0..self.below(4) {
            attributes.insert(format!("k{}", self.below(9)), self.f32().into());
            attributes.insert(self.text() + "t", BinaryString::from(self.bytes(5)).into());
        }
        attributes
    }

    fn target(&mut self, refs: &[Ref]) -> Ref {
        match self.below(4) {
            0 => Ref::none(),
            1 => Ref::new(),
            _ => refs[self.below(refs.len())],
        }
    }

    fn keypoints<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.below(5)).map(|_| make(self)).collect()
    }

    /// Returns a random value of a kind. References are to one of `refs`, null, or to an instance
    /// that is not in the file.
    pub(super) fn value(&mut self, kind: VariantType, refs: &[Ref]) -> Variant {
        match kind {
            VariantType::Axes => Axes::from_bits(self.below(8) as u8).unwrap().into(),
            VariantType::BinaryString => BinaryString::from(self.bytes_below(9)).into(),
            VariantType::Bool => (self.below(2) == 1).into(),
            VariantType::BrickColor => self.brick_color().into(),
            VariantType::CFrame => self.cframe().into(),
            VariantType::Color3 => self.color().into(),
            VariantType::Color3uint8 => self.color_bytes().into(),
            VariantType::ColorSequence => {
                let make = |it: &mut Self| ColorSequenceKeypoint::new(it.f32(), it.color());
                ColorSequence { keypoints: self.keypoints(make) }.into()
            }
            VariantType::ContentId => ContentId::from(self.text()).into(),
            VariantType::Enum => Enum::from_u32(self.next() as u32).into(),
            VariantType::Faces => Faces::from_bits(self.below(64) as u8).unwrap().into(),
            VariantType::Float32 => self.f32().into(),
            VariantType::Float64 => f64::from_bits(self.next()).into(),
            VariantType::Int32 => (self.next() as i32).into(),
            VariantType::Int64 => (self.next() as i64).into(),
            VariantType::NumberRange => NumberRange::new(self.f32(), self.f32()).into(),
            VariantType::NumberSequence => {
                let make =
                    |it: &mut Self| NumberSequenceKeypoint::new(it.f32(), it.f32(), it.f32());
                NumberSequence { keypoints: self.keypoints(make) }.into()
            }
            VariantType::PhysicalProperties => self.physical().into(),
            VariantType::Ray => Ray::new(self.vector(), self.vector()).into(),
            VariantType::Rect => Rect::new(self.vector2(), self.vector2()).into(),
            VariantType::Ref => self.target(refs).into(),
            VariantType::SharedString => SharedString::new(self.bytes_below(3)).into(),
            VariantType::String => self.text().into(),
            VariantType::UDim => self.udim().into(),
            VariantType::UDim2 => UDim2::new(self.udim(), self.udim()).into(),
            VariantType::Vector2 => self.vector2().into(),
            VariantType::Vector3 => self.vector().into(),
            VariantType::Vector3int16 => self.small_vector().into(),
            VariantType::OptionalCFrame => match self.below(2) {
                0 => Variant::OptionalCFrame(None),
                _ => Some(self.cframe()).into(),
            },
            VariantType::Tags => Tags::from(vec![self.text() + "a", self.text() + "b"]).into(),
            VariantType::Attributes => self.attributes().into(),
            VariantType::Font => self.font().into(),
            VariantType::UniqueId => self.unique_id().into(),
            VariantType::MaterialColors => self.material_colors().into(),
            VariantType::SecurityCapabilities => {
                SecurityCapabilities::from_bits(self.next()).into()
            }
            VariantType::Content => self.content(refs).into(),
            VariantType::NetAssetRef => NetAssetRef::new(self.bytes_below(3)).into(),
            other => panic!("no chance for {other:?}"),
        }
    }

    fn bytes_below(&mut self, end: usize) -> Vec<u8> {
        let len = self.below(end);
        self.bytes(len)
    }

    fn brick_color(&mut self) -> BrickColor {
        loop {
            if let Some(color) = BrickColor::from_number(self.below(1033) as u16) {
                return color;
            }
        }
    }

    fn color_bytes(&mut self) -> Color3uint8 {
        Color3uint8::new(self.next() as u8, self.next() as u8, self.next() as u8)
    }

    fn small_vector(&mut self) -> Vector3int16 {
        Vector3int16::new(self.next() as i16, self.next() as i16, self.next() as i16)
    }

    fn unique_id(&mut self) -> UniqueId {
        UniqueId::new(self.next() as u32, self.next() as u32, self.next() as i64)
    }

    fn material_colors(&mut self) -> MaterialColors {
        let mut colors = MaterialColors::new();
        colors.set_color(TerrainMaterials::Grass, self.color_bytes());
        colors
    }

    fn content(&mut self, refs: &[Ref]) -> Content {
        match self.below(3) {
            0 => Content::none(),
            1 => Content::from_uri(self.text()),
            _ => Content::from_referent(self.target(refs)),
        }
    }
}
