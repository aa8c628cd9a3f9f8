//! Equality of two trees by meaning: canonical values, and values that are equivalent to none.

use std::collections::{BTreeSet, HashMap};

use rbx_types::{
    Attributes, Axes, BrickColor, CFrame, Color3, ColorSequence, ColorSequenceKeypoint, Content,
    ContentType, Enum, Faces, Font, MaterialColors, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, SecurityCapabilities, SharedString,
    Tags, UDim, UDim2, UniqueId, Variant, VariantType, Vector2, Vector3, Vector3int16,
};

use super::{Item, Tree, pointed};

/// The index of each instance in its tree.
type Places = HashMap<Ref, usize>;

/// The differences between two trees.
pub(super) fn differences(one: &Tree, other: &Tree, by_class: bool) -> Vec<String> {
    let (left, right) = (one.subtree(one.root), other.subtree(other.root));
    let (mut found, places) = (Vec::new(), (of(&left), of(&right)));
    for (at, (a, b)) in left.iter().zip(&right).enumerate() {
        let (a, b) = (one.item(*a), other.item(*b));
        let parents = (places.0.get(&a.parent), places.1.get(&b.parent));
        // The name and class of the root are not compared.
        let is_same = (&a.class, &a.name) == (&b.class, &b.name) || at == 0;
        if !is_same || parents.0 != parents.1 || a.children.len() != b.children.len() {
            let said = |it: &Item, parent: Option<&usize>| {
                format!("{} {:?} below {parent:?}, of {}", it.class, it.name, it.children.len())
            };
            found.push(format!("{at}: {} and {}", said(a, parents.0), said(b, parents.1)));
            break;
        }
        let keys: BTreeSet<&String> = a.properties.keys().chain(b.properties.keys()).collect();
        for key in keys {
            let (x, y) = (a.properties.get(key), b.properties.get(key));
            if !are_same(&a.class, key, (x, &places.0), (y, &places.1), by_class) {
                let name = &a.name;
                let ends = (end(x, &places.0), end(y, &places.1));
                let class = &a.class;
                found.push(format!("{at}: {class} {name:?}.{key}: {x:?} and {y:?} {ends:?}"));
            }
        }
    }
    if left.len() != right.len() && found.is_empty() {
        found.push(format!("{} and {} instances", left.len(), right.len()));
    }
    found
}

fn end(value: Option<&Variant>, places: &Places) -> Option<usize> {
    places.get(&pointed(value?)?).copied()
}

fn of(order: &[Ref]) -> Places {
    order.iter().enumerate().map(|(at, to)| (*to, at)).collect()
}

fn are_same(
    class: &str,
    key: &str,
    (x, left): (Option<&Variant>, &Places),
    (y, right): (Option<&Variant>, &Places),
    by_class: bool,
) -> bool {
    match (x, y) {
        (Some(x), Some(y)) => said(x, left) == said(y, right),
        (Some(one), None) => by_class && is_default(class, key, one, left),
        (None, Some(one)) => by_class && is_default(class, key, one, right),
        (None, None) => true,
    }
}

/// Whether a value is the default of its class, or the blank of its type if the default is unknown.
fn is_default(class: &str, key: &str, value: &Variant, places: &Places) -> bool {
    let database = rbx_reflection_database::get_bundled();
    let known = database.classes.get(class);
    match known.and_then(|class| database.find_default_property(class, key)) {
        Some(default) => said(default, places) == said(value, places),
        None => is_blank(value, places),
    }
}

/// The canonical meaning of a value. It ignores NaN payloads, the encoding of colors and texts, and
/// the target of a reference to an instance outside the tree.
fn said(value: &Variant, places: &Places) -> String {
    let bytes = |bytes: &[u8]| format!("text {bytes:?}");
    match value {
        Variant::Ref(_) => format!("reference {:?}", pointed(value).and_then(|to| places.get(&to))),
        Variant::String(text) => bytes(text.as_bytes()),
        Variant::BinaryString(text) => bytes(text.as_ref()),
        Variant::ContentId(text) => bytes(text.as_str().as_bytes()),
        Variant::Color3uint8(colour) => format!("{:?}", Color3::from(*colour)),
        Variant::Color3(colour) => format!("{colour:?}"),
        Variant::Content(content) => match content.value() {
            ContentType::Uri(uri) => bytes(uri.as_bytes()),
            ContentType::Object(to) => match places.get(to) {
                Some(at) => format!("reference {:?}", Some(at)),
                None => bytes(b""),
            },
            _ => bytes(b""),
        },
        Variant::Tags(tags) => format!("tags {:?}", tags.iter().collect::<Vec<_>>()),
        Variant::SharedString(content) => format!("shared {:?}", content.data()),
        Variant::NetAssetRef(content) => format!("asset {:?}", content.data()),
        Variant::MaterialColors(colours) => format!("materials {:?}", colours.encode()),
        Variant::Attributes(all) => {
            let all: Vec<_> = all.iter().map(|(key, it)| (key, said(it, places))).collect();
            format!("attributes {all:?}")
        }
        other => format!("{other:?}"),
    }
}

/// Whether a value is what binary files contain for a missing value of its type.
fn is_blank(value: &Variant, places: &Places) -> bool {
    blank(value.ty()).is_some_and(|blank| said(&blank, places) == said(value, places))
}

fn blank(kind: VariantType) -> Option<Variant> {
    let (zero, zero2) = (Vector3::new(0.0, 0.0, 0.0), Vector2::new(0.0, 0.0));
    let (udim, black) = (UDim::new(0.0, 0), Color3::new(0.0, 0.0, 0.0));
    Some(match kind {
        VariantType::String | VariantType::BinaryString | VariantType::ContentId => {
            String::new().into()
        }
        VariantType::Attributes => Attributes::new().into(),
        VariantType::Axes => Axes::empty().into(),
        VariantType::Bool => false.into(),
        VariantType::BrickColor => BrickColor::MediumStoneGrey.into(),
        VariantType::CFrame => CFrame::identity().into(),
        VariantType::Color3 | VariantType::Color3uint8 => black.into(),
        VariantType::ColorSequence => {
            let keypoint = ColorSequenceKeypoint::new(0.0, black);
            ColorSequence { keypoints: vec![keypoint, keypoint] }.into()
        }
        VariantType::Content => Content::none().into(),
        VariantType::Enum => Enum::from_u32(u32::MAX).into(),
        VariantType::Faces => Faces::empty().into(),
        VariantType::Float32 => 0.0_f32.into(),
        VariantType::Float64 => 0.0_f64.into(),
        VariantType::Font => Font::default().into(),
        VariantType::Int32 => 0_i32.into(),
        VariantType::Int64 => 0_i64.into(),
        VariantType::MaterialColors => MaterialColors::new().into(),
        VariantType::NetAssetRef => NetAssetRef::new(Vec::new()).into(),
        VariantType::NumberRange => NumberRange::new(0.0, 0.0).into(),
        VariantType::NumberSequence => {
            let keypoint = NumberSequenceKeypoint::new(0.0, 0.0, 0.0);
            NumberSequence { keypoints: vec![keypoint, keypoint] }.into()
        }
        VariantType::OptionalCFrame => Variant::OptionalCFrame(None),
        VariantType::PhysicalProperties => PhysicalProperties::Default.into(),
        VariantType::Ray => Ray::new(zero, zero).into(),
        VariantType::Rect => Rect::new(zero2, zero2).into(),
        VariantType::Ref => Ref::none().into(),
        VariantType::SecurityCapabilities => SecurityCapabilities::from_bits(0).into(),
        VariantType::SharedString => SharedString::new(Vec::new()).into(),
        VariantType::Tags => Tags::new().into(),
        VariantType::UDim => udim.into(),
        VariantType::UDim2 => UDim2::new(udim, udim).into(),
        VariantType::UniqueId => UniqueId::nil().into(),
        VariantType::Vector2 => zero2.into(),
        VariantType::Vector3 => zero.into(),
        VariantType::Vector3int16 => Vector3int16::new(0, 0, 0).into(),
        _ => return None,
    })
}
