//! Files to start from: random trees as the rbx crates write them, with current or outdated names
//! and types, and XML in the variants that other tools may write.

use std::collections::HashMap;
use std::sync::LazyLock;

use random_draws::RandomDraws;
use rbx_binary::{CompressionType, Serializer};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_reflection::{
    DataType, PropertyDescriptor, PropertyKind, PropertySerialization, ReflectionDatabase,
};
use rbx_types::{BinaryString, Color3uint8, ContentId, Enum, Ref, UDim, Variant, VariantType};
use rbx_xml::{EncodeOptions, EncodePropertyBehavior};
use vector_tests::oracle::pointed;

use super::random_values::{
    draw_brick_colour, draw_name, draw_text, draw_unique_id, draw_value, is_known,
};

/// The classes of random instances. Reflection does not know the last one.
pub(super) const CLASSES: [&str; 34] = [
    "Part",
    "Part",
    "MeshPart",
    "UnionOperation",
    "Model",
    "Folder",
    "Script",
    "LocalScript",
    "ModuleScript",
    "ObjectValue",
    "Weld",
    "WeldConstraint",
    "Decal",
    "TextLabel",
    "ImageLabel",
    "UICorner",
    "Sound",
    "StringValue",
    "IntValue",
    "NumberValue",
    "BrickColorValue",
    "CFrameValue",
    "Color3Value",
    "RayValue",
    "BoolValue",
    "Attachment",
    "SurfaceGui",
    "ScreenGui",
    "Humanoid",
    "ParticleEmitter",
    "Terrain",
    "Workspace",
    "Lighting",
    "ClassOfTomorrow",
];

/// A property that is stored in files.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) kind: VariantType,
    /// The name of its enum, or empty.
    pub(super) enum_type: &'static str,
    /// Its name and type in files.
    stored: (&'static str, VariantType),
}

fn property(
    of: &HashMap<&'static str, PropertyDescriptor<'static>>,
    found: &'static PropertyDescriptor<'static>,
) -> Option<Property> {
    let kind = found.data_type.ty();
    let PropertyKind::Canonical { serialization } = &found.kind else {
        return None;
    };
    let stored = match serialization {
        PropertySerialization::Serializes => (found.name, kind),
        PropertySerialization::SerializesAs(name) => {
            let stored = of.get(name)?;
            // Some are stored under an alias.
            let PropertyKind::Alias { alias_for } = &stored.kind else {
                return None;
            };
            (*alias_for == found.name).then_some((stored.name, stored.data_type.ty()))?
        }
        _ => return None,
    };
    let enum_type = match &found.data_type {
        DataType::Enum(name) => name,
        _ => "",
    };
    // Names, ids and sources are set in other ways.
    let is_own = matches!(found.name, "Name" | "Parent" | "UniqueId" | "HistoryId" | "Source");
    (is_known(kind) && !is_own).then_some(Property { name: found.name, kind, enum_type, stored })
}

/// The properties of a class, including inherited ones.
pub(super) fn properties(class: &str) -> &'static [Property] {
    static KNOWN: LazyLock<HashMap<&str, Vec<Property>>> = LazyLock::new(|| {
        let database = rbx_reflection_database::get_bundled();
        let of_class = |name: &&'static str| {
            let ancestors = database.classes.get(name);
            let ancestors = ancestors.into_iter().flat_map(|it| database.superclasses_iter(it));
            let mut all: Vec<_> = ancestors
                .flat_map(|it| {
                    it.properties.values().filter_map(|found| property(&it.properties, found))
                })
                .collect();
            all.sort_by_key(|property| property.name);
            (*name, all)
        };
        database.classes.keys().map(of_class).collect()
    });
    KNOWN.get(class).map_or(&[], Vec::as_slice)
}

/// A property that reflection does not know. Its name says its type.
pub(super) fn unknown(draws: &mut RandomDraws) -> Property {
    let kinds = [
        ("NewBool", VariantType::Bool),
        ("NewColor", VariantType::Color3),
        ("NewFrame", VariantType::CFrame),
        ("NewInt", VariantType::Int32),
        ("NewLong", VariantType::Int64),
        ("NewPlace", VariantType::UDim2),
        ("NewRef", VariantType::Ref),
        ("NewShared", VariantType::SharedString),
        ("NewText", VariantType::String),
        ("NewTimes", VariantType::NumberSequence),
    ];
    let (name, kind) = draws.pick(&kinds);
    Property { name, kind, enum_type: "", stored: (name, kind) }
}

/// Properties of old files, under names and in types that are no longer in use.
fn of_the_past(class: &str, draws: &mut RandomDraws) -> Vec<(&'static str, Variant)> {
    let uri = || Variant::ContentId(ContentId::from("rbxassetid://77"));
    let all: Vec<(&str, Variant)> = match class {
        "Part" | "MeshPart" | "UnionOperation" => vec![
            ("BrickColor", draw_brick_colour(draws).into()),
            ("Size", draw_value(draws, VariantType::Vector3, &[])),
            ("size", draw_value(draws, VariantType::Vector3, &[])),
            ("archivable", true.into()),
        ],
        "TextLabel" => {
            vec![("Font", Enum::from_u32(draws.below(20) as u32).into()), ("TextWrap", true.into())]
        }
        "ImageLabel" => vec![("Image", uri())],
        "Decal" => vec![("Texture", uri())],
        "Sound" => vec![("SoundId", uri())],
        "UICorner" => vec![("CornerRadius", UDim::new(0.5, draws.below(9) as i32).into())],
        "ScreenGui" => vec![("IgnoreGuiInset", draws.one_in(2).into())],
        "Humanoid" => vec![("Health", 50.0_f32.into()), ("Health_XML", 40.0_f32.into())],
        "IntValue" => vec![("Value", 7_i32.into())],
        _ => vec![("Tags", BinaryString::from(b"old\0tags".to_vec()).into())],
    };
    all.into_iter().filter(|_| draws.one_in(2)).collect()
}

/// The value in the type that files store.
fn as_stored(value: Variant, kind: VariantType) -> Variant {
    match (value, kind) {
        (Variant::Color3(it), VariantType::Color3uint8) => Color3uint8::from(it).into(),
        (Variant::Tags(it), VariantType::BinaryString) => BinaryString::from(it.encode()).into(),
        (Variant::MaterialColors(it), VariantType::BinaryString) => {
            BinaryString::from(it.encode()).into()
        }
        (Variant::Attributes(it), VariantType::BinaryString) => {
            let mut bytes = Vec::new();
            it.to_writer(&mut bytes).unwrap();
            BinaryString::from(bytes).into()
        }
        (value, _) => value,
    }
}

/// A random tree.
struct Grown {
    dom: WeakDom,
    all: Vec<Ref>,
}

fn grow(draws: &mut RandomDraws) -> Grown {
    let mut grown = Grown { dom: WeakDom::new(InstanceBuilder::new("DataModel")), all: Vec::new() };
    let (count, kinds) = (draws.below(40), 1 + draws.below(8));
    let classes: Vec<_> = (0..kinds).map(|_| draws.pick(&CLASSES)).collect();
    for _ in 0..count {
        let root = grown.dom.root_ref();
        let parent =
            if draws.one_in(4) || grown.all.is_empty() { root } else { draws.pick(&grown.all) };
        let new = InstanceBuilder::new(draws.pick(&classes)).with_name(draw_name(draws));
        grown.all.push(grown.dom.insert(parent, new));
    }
    grown
}

/// Fills a tree with values. If `raw`, they have the names and types of stored properties,
/// otherwise those of reflection.
fn fill(grown: &mut Grown, raw: bool, xml: bool, draws: &mut RandomDraws) {
    for at in grown.all.clone() {
        let class = grown.dom.get_by_ref(at).unwrap().class.to_string();
        let mut set: Vec<(&str, Variant)> = Vec::new();
        let known = properties(&class);
        for _ in 0..draws.below(6).min(known.len()) {
            let property = draws.pick(known);
            let value = draw_value(draws, property.kind, &grown.all);
            if xml && matches!(value, Variant::Content(_)) && pointed(&value).is_some() {
                // The crates cannot write it to XML.
                continue;
            }
            set.push(if raw {
                (property.stored.0, as_stored(value, property.stored.1))
            } else {
                (property.name, value)
            });
        }
        if draws.one_in(5) {
            let property = unknown(draws);
            set.push((property.name, draw_value(draws, property.kind, &grown.all)));
        }
        if draws.one_in(3) && !known.is_empty() {
            let value = draw_value(draws, VariantType::Attributes, &[]);
            set.push(if raw {
                ("AttributesSerialize", as_stored(value, VariantType::BinaryString))
            } else {
                ("Attributes", value)
            });
        }
        for name in ["UniqueId", "HistoryId"] {
            if draws.one_in(3) {
                set.push((name, draw_unique_id(draws).into()));
            }
        }
        if class.ends_with("Script") {
            set.push(("Source", draw_text(draws).into()));
        }
        if raw {
            set.extend(of_the_past(&class, draws));
        }
        let item = grown.dom.get_by_ref_mut(at).unwrap();
        item.properties.extend(set.into_iter().map(|(name, value)| (name.into(), value)));
    }
}

/// Keeps one type of value for each property of a class, because a column has one type.
fn agree(grown: &mut Grown) {
    let mut kinds: HashMap<(String, String), VariantType> = HashMap::new();
    for at in grown.all.clone() {
        let item = grown.dom.get_by_ref_mut(at).unwrap();
        let class = item.class.to_string();
        item.properties.retain(|name, value| {
            let kind = kinds.entry((class.clone(), name.to_string())).or_insert(value.ty());
            *kind == value.ty()
        });
    }
}

/// A random file and its description.
pub(super) fn file(draws: &mut RandomDraws) -> (Vec<u8>, String) {
    let (mut grown, raw, xml) = (grow(draws), draws.one_in(3), draws.one_in(2));
    fill(&mut grown, raw, xml, draws);
    let (mut bytes, roots) = (Vec::new(), grown.dom.root().children().to_vec());
    let past = if raw { " of the past" } else { "" };
    if xml {
        let behavior = if raw {
            EncodePropertyBehavior::NoReflection
        } else {
            EncodePropertyBehavior::WriteUnknown
        };
        let options = EncodeOptions::new().property_behavior(behavior);
        rbx_xml::to_writer(&mut bytes, &grown.dom, &roots, options).unwrap();
        let (text, how) = set_otherwise(String::from_utf8_lossy(&bytes).into_owned(), draws);
        // The content of a text may look like the file's own markup.
        return match rbx_xml::from_reader_default(text.as_bytes()) {
            Ok(_) => (text.into_bytes(), format!("XML{past}{how}")),
            Err(_) => (bytes, format!("XML{past}")),
        };
    }
    agree(&mut grown);
    let empty = ReflectionDatabase::new();
    let packing = draws.pick(&[CompressionType::Lz4, CompressionType::None, CompressionType::Zstd]);
    let mut serializer = Serializer::new().compression_type(packing);
    if raw {
        serializer = serializer.reflection_database(&empty);
    }
    serializer.serialize(&mut bytes, &grown.dom, &roots).unwrap();
    (bytes, format!("binary{past}, {packing:?}"))
}

/// The same XML, or almost the same, in a variant that other tools may write.
fn set_otherwise(mut text: String, draws: &mut RandomDraws) -> (String, String) {
    let mut how = String::new();
    if draws.one_in(4) {
        how += ", without names";
        text = each(&text, "<string name=\"Name\">", "</string>", |it| {
            if draws.one_in(2) { String::new() } else { it.to_owned() }
        });
    }
    if draws.one_in(4) {
        how += ", with referents of Studio's";
        let long = |it: &str, front: &str, back: &str| {
            let number = it.strip_prefix(front).and_then(|it| it.strip_suffix(back));
            let number = number.and_then(|it| it.parse::<u32>().ok());
            number.map_or(it.to_owned(), |it| format!("{front}RBX{it:032X}{back}"))
        };
        text = each(&text, "referent=\"", "\"", |it| long(it, "referent=\"", "\""));
        text = each(&text, "<Ref", "</Ref>", |it| match it.split_once('>') {
            Some((front, back)) => format!("{front}>{}", long(back, "", "</Ref>")),
            None => it.to_owned(),
        });
    }
    if draws.one_in(4) {
        how += ", protected";
        text = each(&text, "<string name=\"Source\">", "</string>", |it| {
            let inside = it.strip_prefix("<string ").and_then(|it| it.strip_suffix("</string>"));
            format!("<ProtectedString {}</ProtectedString>", inside.unwrap_or_default())
        });
    }
    if draws.one_in(4) {
        how += ", with remarks";
        text = each(&text, "<Item", ">", |it| format!("<!-- a remark -->{it}"));
    }
    match draws.below(6) {
        0 => {
            how += ", in one line";
            text = lines(&text, "");
        }
        1 => {
            how += ", with line ends of Windows";
            text = lines(&text, "\r\n");
        }
        _ => {}
    }
    if draws.one_in(3) {
        how += ", short";
        text = text.replace("<Properties></Properties>", "<Properties/>");
        let blank = |it: &str| it["<Properties>".len()..it.len() - 13].trim().is_empty();
        text = each(&text, "<Properties>", "</Properties>", |it| match draws.below(2) {
            0 if blank(it) => String::new(),
            1 if blank(it) => "<Properties />".to_owned(),
            _ => it.to_owned(),
        });
        text = each(&text, "<Item", "</Item>", |it| match it.split_once('>') {
            Some((tag, "</Item>")) => format!("{tag}/>"),
            _ => it.to_owned(),
        });
    }
    if draws.one_in(3) {
        how += ", with a head";
        let head = "<roblox version=\"4\"><Meta name=\"ExplicitAutoJoints\">true</Meta>\
                    <External>null</External>";
        text = text.replacen("<roblox version=\"4\">", head, 1);
    }
    (text, how)
}

/// Replaces each range from `from` to the next `to`.
fn each(text: &str, from: &str, to: &str, mut replace: impl FnMut(&str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(from) {
        let end = rest[start + from.len()..].find(to);
        let Some(end) = end.map(|end| start + from.len() + end + to.len()) else {
            break;
        };
        out += &rest[..start];
        out += &replace(&rest[start..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// Replaces the line ends between two tags.
fn lines(text: &str, end: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(">\n") {
        let (line, behind) = rest.split_at(at + 1);
        let next = behind.trim_start_matches(['\n', ' ', '\t']);
        out += line;
        if next.starts_with('<') {
            let indent = &behind[1..behind.len() - next.len()];
            out += end;
            out += if end.is_empty() { "" } else { indent };
            rest = next;
        } else {
            out.push('\n');
            rest = &behind[1..];
        }
    }
    out + rest
}
