//! Random values of every type, random names and texts, and the same values in the form of edits.

use rbx_types::{
    Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, ContentType, CustomPhysicalProperties, Enum, Faces,
    Font, FontStyle, FontWeight, MaterialColors, Matrix3, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, SecurityCapabilities, SharedString,
    Tags, TerrainMaterials, UDim, UDim2, UniqueId, Variant, VariantType, Vector2, Vector3,
    Vector3int16,
};
use scene_schemas::value::{EnumItem, EnumName};
use scene_schemas::{Target, Value};

/// A random generator that gives the same sequence in every run.
#[derive(Debug, Clone)]
pub(super) struct Chance(pub(super) u64);

/// The pieces of random texts, many of which a format could trip over.
const SCRAPS: [&str; 24] = [
    "a",
    "Wall",
    "local x = 1",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    ".",
    "\"",
    "'",
    "&",
    "<",
    ">",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "-- ",
    "[1]",
    "é",
    "日本",
    "🜁",
    "\r",
    "</string>",
];

/// Only a few names, so that some siblings share one.
const NAMES: [&str; 14] = [
    "Part",
    "Part",
    "Wall",
    "Wall",
    "Door",
    "",
    "Größe",
    "日本 語",
    "a.b",
    "say \"no\"",
    "<&>",
    " edge ",
    "two\nlines",
    "]]>",
];

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True once in `times` times.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    pub(super) fn name(&mut self) -> String {
        self.pick(&NAMES).to_owned()
    }

    pub(super) fn text(&mut self) -> String {
        let scraps = if self.one_in(20) { 400 } else { 9 };
        let text: String = (0..self.below(scraps)).map(|_| self.pick(&SCRAPS)).collect();
        // XML cannot hold a carriage return in a text that is otherwise only white space.
        if text.trim().is_empty() { text.replace('\r', "") } else { text }
    }

    /// A text of one line.
    fn word(&mut self) -> String {
        let words = ["", "rbxassetid://1", "rbxassetid://2", "http://x/?a=1&b=<2>", "é \"q\""];
        self.pick(&words).to_owned()
    }

    fn bytes(&mut self, end: usize) -> Vec<u8> {
        (0..self.below(end)).map(|_| self.next() as u8).collect()
    }

    /// Mostly ordinary numbers, sometimes a special one.
    fn f32(&mut self) -> f32 {
        match self.below(12) {
            0 => self.pick(&[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 3e38]),
            1 => f32::from_bits(self.next() as u32 & 0x7f7f_ffff),
            2..6 => self.below(5) as f32,
            _ => (self.below(20_000) as f32 - 10_000.0) / 100.0,
        }
    }

    fn f64(&mut self) -> f64 {
        if self.one_in(2) { self.f32().into() } else { self.below(1 << 40) as f64 / 1000.0 }
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

    /// A colour that fits into bytes.
    fn colour(&mut self) -> Color3 {
        Color3uint8::new(self.next() as u8, self.next() as u8, self.next() as u8).into()
    }

    /// Rotated by right angles, or by a rotation that is far from any of these.
    fn cframe(&mut self) -> CFrame {
        let turned = Matrix3::new(
            Vector3::new(0.8, 0.0, 0.6),
            Vector3::new(0.0, 1.0, 0.0),
            Vector3::new(-0.6, 0.0, 0.8),
        );
        let basic = Matrix3::from_basic_rotation_id(self.below(36) as u8);
        CFrame::new(self.vector(), basic.unwrap_or(turned))
    }

    fn font(&mut self) -> Font {
        let weight = FontWeight::from_u16(100 * (1 + self.below(9) as u16)).unwrap();
        let style = self.pick(&[FontStyle::Normal, FontStyle::Italic]);
        let mut font = Font::new(&self.word(), weight, style);
        font.cached_face_id = Some(self.word()).filter(|face| !face.is_empty());
        font
    }

    fn physical(&mut self) -> PhysicalProperties {
        if self.one_in(3) {
            return PhysicalProperties::Default;
        }
        let mut next = || self.below(100) as f32 / 10.0;
        let (density, friction, elasticity) = (next(), next(), next());
        let (weight, other_weight, absorption) = (next(), next(), next());
        CustomPhysicalProperties::new(
            density,
            friction,
            elasticity,
            weight,
            other_weight,
            absorption,
        )
        .into()
    }

    pub(super) fn brick_colour(&mut self) -> BrickColor {
        loop {
            if let Some(colour) = BrickColor::from_number(self.below(1033) as u16) {
                return colour;
            }
        }
    }

    /// A unique id with a time stamp long ago.
    pub(super) fn unique_id(&mut self) -> UniqueId {
        UniqueId::new(self.next() as u32, self.below(1000) as u32, (self.next() >> 1) as i64)
    }

    fn times(&mut self) -> Vec<f32> {
        let count = 2 + self.below(3);
        (0..count).map(|at| at as f32 / (count - 1) as f32).collect()
    }

    /// A value of a type that attributes can have.
    pub(super) fn attribute(&mut self) -> Variant {
        let kinds = [
            VariantType::BinaryString,
            VariantType::Bool,
            VariantType::BrickColor,
            VariantType::CFrame,
            VariantType::Color3,
            VariantType::Float32,
            VariantType::Float64,
            VariantType::Font,
            VariantType::NumberRange,
            VariantType::Rect,
            VariantType::UDim2,
            VariantType::Vector3,
        ];
        let kind = self.pick(&kinds);
        self.value(kind, &[])
    }

    /// A value of a type. References are to instances of `refs`, or to none.
    pub(super) fn value(&mut self, kind: VariantType, refs: &[Ref]) -> Variant {
        match kind {
            VariantType::Attributes => {
                let count = self.below(3);
                let mut all = rbx_types::Attributes::new();
                for _ in 0..count {
                    all.insert(format!("Key{}", self.below(4)), self.attribute());
                }
                all.into()
            }
            VariantType::Axes => Axes::from_bits(self.below(8) as u8).unwrap().into(),
            VariantType::BinaryString => BinaryString::from(self.bytes(9)).into(),
            VariantType::Bool => self.one_in(2).into(),
            VariantType::BrickColor => self.brick_colour().into(),
            VariantType::CFrame => self.cframe().into(),
            VariantType::Color3 => self.colour().into(),
            VariantType::Color3uint8 => Color3uint8::from(self.colour()).into(),
            VariantType::Content => self.content(refs).into(),
            VariantType::ContentId => ContentId::from(self.word()).into(),
            VariantType::Enum => Enum::from_u32(self.below(30) as u32).into(),
            VariantType::Faces => Faces::from_bits(self.below(64) as u8).unwrap().into(),
            VariantType::Float32 => self.f32().into(),
            VariantType::Float64 => self.f64().into(),
            VariantType::Font => self.font().into(),
            VariantType::Int32 => (self.next() as i32 >> self.below(32)).into(),
            VariantType::Int64 => (self.next() as i64 >> self.below(64)).into(),
            VariantType::NetAssetRef => NetAssetRef::new(self.shared()).into(),
            VariantType::PhysicalProperties => self.physical().into(),
            VariantType::Ref => self.target(refs).into(),
            VariantType::SharedString => SharedString::new(self.shared()).into(),
            VariantType::String => self.text().into(),
            VariantType::Tags => {
                let count = self.below(3);
                Tags::from((0..count).map(|_| self.name() + "tag").collect::<Vec<_>>()).into()
            }
            VariantType::UniqueId => self.unique_id().into(),
            other => self.numbers(other),
        }
    }

    fn numbers(&mut self, kind: VariantType) -> Variant {
        match kind {
            VariantType::ColorSequence => {
                let times = self.times();
                let keypoint = |time| ColorSequenceKeypoint::new(time, self.colour());
                ColorSequence { keypoints: times.into_iter().map(keypoint).collect() }.into()
            }
            VariantType::MaterialColors => {
                let mut colours = MaterialColors::new();
                colours.set_color(TerrainMaterials::Grass, self.colour().into());
                colours.into()
            }
            VariantType::NumberRange => NumberRange::new(self.f32(), self.f32()).into(),
            VariantType::NumberSequence => {
                let times = self.times();
                let keypoint = |time| NumberSequenceKeypoint::new(time, self.f32(), self.f32());
                NumberSequence { keypoints: times.into_iter().map(keypoint).collect() }.into()
            }
            VariantType::OptionalCFrame => match self.below(2) {
                0 => Variant::OptionalCFrame(None),
                _ => Some(self.cframe()).into(),
            },
            VariantType::Ray => Ray::new(self.vector(), self.vector()).into(),
            VariantType::Rect => Rect::new(self.vector2(), self.vector2()).into(),
            VariantType::SecurityCapabilities => {
                SecurityCapabilities::from_bits(self.next() >> 1).into()
            }
            VariantType::UDim => self.udim().into(),
            VariantType::UDim2 => UDim2::new(self.udim(), self.udim()).into(),
            VariantType::Vector2 => self.vector2().into(),
            VariantType::Vector3 => self.vector().into(),
            VariantType::Vector3int16 => {
                Vector3int16::new(self.next() as i16, self.next() as i16, self.next() as i16).into()
            }
            other => panic!("no chance for {other:?}"),
        }
    }

    fn shared(&mut self) -> Vec<u8> {
        if self.one_in(4) { self.bytes(40) } else { vec![self.below(3) as u8; 40] }
    }

    fn target(&mut self, refs: &[Ref]) -> Ref {
        if refs.is_empty() || self.one_in(4) { Ref::none() } else { self.pick(refs) }
    }

    fn content(&mut self, refs: &[Ref]) -> Content {
        match self.below(4) {
            0 => Content::none(),
            1 if !refs.is_empty() => Content::from_referent(self.pick(refs)),
            _ => Content::from_uri(self.word()),
        }
    }
}

/// Whether this module generates values of a type and edits can express them.
pub(super) fn is_known(kind: VariantType) -> bool {
    !matches!(
        kind,
        VariantType::Region3
            | VariantType::Region3int16
            | VariantType::Vector2int16
            | VariantType::EnumItem
            | VariantType::Attributes
            | VariantType::UniqueId
    )
}

/// The value in the form of an edit.
pub(super) fn as_edit(
    value: &Variant,
    enum_type: &str,
    target: &dyn Fn(Ref) -> Option<Target>,
) -> Value {
    match value {
        Variant::Axes(v) => Value::Axes(*v),
        Variant::BinaryString(v) => Value::Binary(v.clone().into_vec()),
        Variant::Bool(v) => Value::Bool(*v),
        Variant::BrickColor(v) => Value::BrickColor(*v),
        Variant::CFrame(v) => Value::CFrame(*v),
        Variant::Color3(v) => Value::Color3(*v),
        Variant::Color3uint8(v) => Value::Color3uint8(*v),
        Variant::ColorSequence(v) => Value::ColorSequence(v.clone()),
        Variant::Content(v) => Value::Content(match v.value() {
            ContentType::Uri(uri) => scene_schemas::value::Content::Uri(uri.clone()),
            ContentType::Object(to) => scene_schemas::value::Content::Object(target(*to)),
            _ => scene_schemas::value::Content::None,
        }),
        Variant::ContentId(v) => Value::ContentId(v.as_str().to_owned()),
        Variant::Enum(v) => Value::EnumItem(EnumItem {
            enum_type: enum_type.to_owned(),
            item: EnumName::Number(v.to_u32()),
        }),
        Variant::Faces(v) => Value::Faces(*v),
        Variant::Float32(v) => Value::Float32(*v),
        Variant::Float64(v) => Value::Float64(*v),
        Variant::Font(v) => Value::Font(v.clone()),
        Variant::Int32(v) => Value::Int32(*v),
        Variant::Int64(v) => Value::Int64(*v),
        Variant::MaterialColors(v) => Value::MaterialColors(Box::new(v.clone())),
        Variant::NetAssetRef(v) => Value::NetAssetRef(v.data().to_vec()),
        Variant::NumberRange(v) => Value::NumberRange(*v),
        Variant::NumberSequence(v) => Value::NumberSequence(v.clone()),
        Variant::OptionalCFrame(v) => Value::OptionalCFrame(*v),
        Variant::PhysicalProperties(v) => Value::PhysicalProperties(*v),
        Variant::Ray(v) => Value::Ray(*v),
        Variant::Rect(v) => Value::Rect(*v),
        Variant::Ref(v) => Value::Ref(target(*v)),
        Variant::SecurityCapabilities(v) => Value::SecurityCapabilities(v.bits()),
        Variant::SharedString(v) => Value::SharedString(v.data().to_vec()),
        Variant::String(v) => Value::String(v.clone()),
        Variant::Tags(v) => Value::Tags(v.iter().map(str::to_owned).collect()),
        Variant::UDim(v) => Value::UDim(*v),
        Variant::UDim2(v) => Value::UDim2(*v),
        Variant::Vector2(v) => Value::Vector2(*v),
        Variant::Vector3(v) => Value::Vector3(*v),
        Variant::Vector3int16(v) => Value::Vector3int16(*v),
        other => panic!("no edit sets {other:?}"),
    }
}
