//! Values of every type, compared with rbx_xml.

use std::cell::Cell;

use random_draws::{RandomDraws, check_seeds};
use rbx_dom_weak::{InstanceBuilder, WeakDom, ustr};
use rbx_types::{
    Attributes, Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, CustomPhysicalProperties, Enum, Faces, Font,
    FontStyle, FontWeight, MaterialColors, Matrix3, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, Region3, SecurityCapabilities,
    SharedString, Tags, UDim, UDim2, UniqueId, Variant, Vector2, Vector2int16, Vector3,
    Vector3int16,
};
use rbx_xml::{EncodeOptions, EncodePropertyBehavior};
use rustc_hash::FxHashMap;

use super::super::text::TextStyle;
use super::super::value::{TextTag, ValueLinks, read_value, write_text, write_value};
use super::super::{props, shared_strings};
use super::reference;

fn float(draws: &mut RandomDraws) -> f32 {
    match draws.below(8) {
        0 => 0.0,
        1 => -0.0,
        2 => f32::INFINITY,
        3 => f32::NEG_INFINITY,
        4 => draws.below(1000) as f32 / 8.0,
        5 => f32::MIN_POSITIVE / 2.0,
        _ => Some(f32::from_bits(draws.bits() as u32)).filter(|it| !it.is_nan()).unwrap_or(1.5),
    }
}

fn vector3(draws: &mut RandomDraws) -> Vector3 {
    Vector3::new(float(draws), float(draws), float(draws))
}

fn vector2(draws: &mut RandomDraws) -> Vector2 {
    Vector2::new(float(draws), float(draws))
}

fn udim(draws: &mut RandomDraws) -> UDim {
    UDim::new(float(draws), draws.bits() as i32)
}

fn color3(draws: &mut RandomDraws) -> Color3 {
    Color3::new(float(draws), float(draws), float(draws))
}

fn cframe(draws: &mut RandomDraws) -> CFrame {
    CFrame::new(vector3(draws), Matrix3::new(vector3(draws), vector3(draws), vector3(draws)))
}

fn text(draws: &mut RandomDraws) -> String {
    const PIECES: &[&str] =
        &["a", " ", "\n", "&", "<", ">", "\"", "'", "]]>", "é", "😀", "\t", "x"];
    (0..draws.below(8)).map(|_| draws.pick(PIECES)).collect()
}

fn bytes(draws: &mut RandomDraws) -> Vec<u8> {
    (0..draws.below(40)).map(|_| draws.bits() as u8).collect()
}

fn plain_values(draws: &mut RandomDraws) -> Vec<Variant> {
    vec![
        Axes::from_bits(draws.below(8) as u8).unwrap().into(),
        Faces::from_bits(draws.below(64) as u8).unwrap().into(),
        (draws.below(2) == 0).into(),
        cframe(draws).into(),
        Variant::OptionalCFrame((draws.below(2) == 0).then(|| cframe(draws))),
        color3(draws).into(),
        Color3uint8::new(draws.bits() as u8, draws.bits() as u8, draws.bits() as u8).into(),
        Variant::Enum(Enum::from_u32(draws.bits() as u32)),
        float(draws).into(),
        (draws.bits() as i32).into(),
        (draws.bits() as i64).into(),
        f64::from(float(draws)).into(),
        (draws.below(1_000_000) as f64 / 7.0).into(),
        NumberRange::new(float(draws), float(draws)).into(),
        Rect::new(vector2(draws), vector2(draws)).into(),
        Ray::new(vector3(draws), vector3(draws)).into(),
        udim(draws).into(),
        UDim2::new(udim(draws), udim(draws)).into(),
        vector2(draws).into(),
        vector3(draws).into(),
        Vector2int16::new(draws.bits() as i16, draws.bits() as i16).into(),
        Vector3int16::new(draws.bits() as i16, draws.bits() as i16, 7).into(),
        SecurityCapabilities::from_bits(draws.bits() >> 1).into(),
        UniqueId::new(draws.bits() as u32, draws.bits() as u32, (draws.bits() >> 1) as i64).into(),
        PhysicalProperties::Default.into(),
        BinaryString::from(bytes(draws)).into(),
    ]
}

fn other_values(draws: &mut RandomDraws) -> Vec<Variant> {
    let number = |draws: &mut RandomDraws| NumberSequenceKeypoint::new(float(draws), 1.0, 0.5);
    let color = |draws: &mut RandomDraws| {
        let part = |draws: &mut RandomDraws| draws.below(100) as f32 / 100.0;
        let color = Color3::new(part(draws), part(draws), part(draws));
        ColorSequenceKeypoint::new(part(draws), color)
    };
    let font = Font {
        family: format!("rbxasset://{}", draws.below(9)),
        weight: FontWeight::Bold,
        style: FontStyle::Italic,
        cached_face_id: (draws.below(2) == 0).then(|| "rbxasset://x&y".to_owned()),
    };
    let custom = CustomPhysicalProperties::new(float(draws), 0.25, 0.5, 1.0, 2.0, 3.0);
    vec![
        text(draws).into(),
        PhysicalProperties::Custom(custom).into(),
        NumberSequence { keypoints: (0..2 + draws.below(3)).map(|_| number(draws)).collect() }
            .into(),
        ColorSequence { keypoints: (0..2 + draws.below(3)).map(|_| color(draws)).collect() }.into(),
        font.into(),
        ContentId::from(text(draws)).into(),
        Content::from_uri(text(draws)).into(),
        Content::none().into(),
        SharedString::new(bytes(draws)).into(),
        NetAssetRef::from(SharedString::new(bytes(draws))).into(),
    ]
}

fn document(value: &Variant) -> Vec<u8> {
    let dom = WeakDom::new(InstanceBuilder::new("A").with_property("p", value.clone()));
    let options = EncodeOptions::new().property_behavior(EncodePropertyBehavior::NoReflection);
    let mut file = Vec::new();
    rbx_xml::to_writer(&mut file, &dom, &[dom.root_ref()], options).unwrap();
    file
}

fn property(file: &[u8]) -> Option<Variant> {
    let mut dom = reference(file).unwrap();
    let item = dom.root().children()[0];
    dom.get_by_ref_mut(item).unwrap().properties.remove(&ustr("p"))
}

/// Reads a value with this module, from a whole document.
fn ours(file: &[u8]) -> Option<Variant> {
    let (mut content, mut table) = (0..0, 0..0);
    let document = super::super::scan::scan_file(file, &mut |found| {
        if let super::super::scan::ScanEvent::Properties(it) = found {
            let range = it.content.unwrap();
            content = range.start as usize..range.end as usize;
        }
    });
    if let Some(range) = document.unwrap().shared {
        table = range.start as usize..range.end as usize;
    }
    let (content, table) = (&file[content], &file[table]);
    let all: FxHashMap<_, _> = shared_strings::read_shared(table)
        .map(|it| (it.key.into_owned(), shared_strings::decode_shared(&table[it.text]).unwrap()))
        .collect();
    let element = props::find_element(content, "p")?;
    read_value(&content[element.whole], &|key| all.get(key).cloned(), &|_| Ref::none())
}

#[derive(Default)]
struct Table(Vec<u8>);

impl ValueLinks for Table {
    fn referent_of(&mut self, _: Ref) -> String {
        "R<1>".to_owned()
    }

    fn shared_key(&mut self, content: &SharedString) -> String {
        let key = shared_strings::key_of(content);
        self.0.extend(shared_strings::encode_entry(&key, content.data()));
        key
    }
}

fn wrapped(element: &[u8], table: &Table) -> Vec<u8> {
    let parts: [&[u8]; 5] = [
        b"<roblox version=\"4\"><Item class=\"A\" referent=\"R&lt;1&gt;\"><Properties>",
        element,
        b"</Properties></Item><SharedStrings>",
        &table.0,
        b"</SharedStrings></roblox>",
    ];
    parts.concat()
}

#[test]
fn values_are_read_and_written_like_rbx_xml() {
    check_seeds(0..300, |draws| {
        let mut values = plain_values(draws);
        values.extend(other_values(draws));
        for value in values {
            let file = document(&value);
            let expected = property(&file);
            assert_eq!(ours(&file), expected, "{}", String::from_utf8_lossy(&file));
            let mut table = Table::default();
            let element = write_value("p", &value, &mut table).unwrap();
            let file = wrapped(&element, &table);
            assert_eq!(property(&file), expected, "{}", String::from_utf8_lossy(&file));
            assert_eq!(ours(&file), expected);
        }
    });
}

#[test]
fn blobs_become_binary_strings() {
    let mut table = Table::default();
    let attributes = Attributes::new().with("a", 1.0);
    let tags = Tags::from(vec!["b".to_owned()]);
    for value in [attributes.into(), tags.into(), MaterialColors::new().into()] {
        let value: Variant = value;
        let element = write_value("p", &value, &mut table).unwrap();
        assert_eq!(property(&wrapped(&element, &table)), property(&document(&value)));
    }
    let empty = write_value("PropertiesSerialize", &Attributes::new().into(), &mut table).unwrap();
    let expected = b"<BinaryString name=\"PropertiesSerialize\">AAAAAA==</BinaryString>";
    assert_eq!(empty, expected);
    let color = write_value("p", &BrickColor::Black.into(), &mut table).unwrap();
    assert_eq!(color, b"<int name=\"p\">26</int>");
}

#[test]
fn nan_values_are_kept() {
    let written = write_value("p", &f32::NAN.into(), &mut Table::default()).unwrap();
    assert_eq!(written, b"<float name=\"p\">NAN</float>");
    let read = |text: &[u8]| read_value(text, &|_| None, &|_| Ref::none());
    assert!(matches!(read(&written), Some(Variant::Float32(it)) if it.is_nan()));
    let vector = b"<Vector3 name='a'><X>NAN</X>\n<Y>-INF</Y><Z>1e3</Z></Vector3>";
    assert!(matches!(read(vector), Some(Variant::Vector3(it)) if it.x.is_nan() && it.z == 1000.0));
}

const TAGS: &[&str] = &[
    "string",
    "bool",
    "int",
    "int64",
    "float",
    "double",
    "token",
    "Vector3",
    "Vector2",
    "Color3",
    "Color3uint8",
    "BinaryString",
    "CoordinateFrame",
    "UDim",
    "Content",
    "unknown",
    "OptionalCoordinateFrame",
    "Font",
    "NumberSequence",
    "UniqueId",
    "SecurityCapabilities",
];
const PIECES: &[&str] = &[
    "1",
    "-1",
    "+1",
    "1.5",
    "true",
    "false",
    " ",
    "\n",
    "<X>1</X>",
    "<Y>2</Y>",
    "<Z>3</Z>",
    "<R>1</R><G>2</G><B>3</B>",
    "<X> 1</X>",
    "<X a='b'>1</X>",
    "<X/>",
    "<!-- c -->",
    "INF",
    "-INF",
    "NAN",
    "inf",
    "nan",
    "infinity",
    "<![CDATA[1]]>",
    "&#49;",
    "<url>a</url>",
    "YQ==",
    "<null></null>",
    "<uri>b</uri>",
    "<S>1</S><O>2</O>",
    "0 1 0 1 1 0 ",
    "é",
    "1e400",
    "e",
    "<Ref>null</Ref>",
    "<?a b?>",
    "99999999999",
    "0123456789abcdef",
    "7FFF0000ABCD0000",
    "89abcdef01234567",
];

#[test]
fn odd_elements_are_read_like_rbx_xml() {
    let read_any = Cell::new(0);
    check_seeds(0..20_000, |draws| {
        let tag = draws.pick(TAGS);
        let inside: String = (0..draws.below(5)).map(|_| draws.pick(PIECES)).collect();
        let element = format!("<{tag} name=\"p\">{inside}</{tag}>");
        let mine = read_value(element.as_bytes(), &|_| None, &|_| Ref::none());
        if tag == "Content" && inside.trim().contains("<Ref>") {
            return;
        }
        let file = wrapped(element.as_bytes(), &Table::default());
        let theirs = std::panic::catch_unwind(|| reference(&file).ok()).ok().flatten();
        let theirs = theirs.and_then(|mut dom| {
            let item = dom.root().children()[0];
            dom.get_by_ref_mut(item).unwrap().properties.remove(&ustr("p"))
        });
        assert_eq!(format!("{mine:?}"), format!("{theirs:?}"), "{element}");
        read_any.set(read_any.get() + usize::from(mine.is_some()));
    });
    assert!(read_any.get() > 1000, "{read_any:?}");
}

#[test]
fn references_are_resolved() {
    let target = Ref::new();
    let instance = |text: &str| if text == "R<1>" { target } else { Ref::none() };
    let values = [
        Variant::Ref(target),
        Variant::Ref(Ref::none()),
        Variant::Content(Content::from_referent(target)),
    ];
    for value in values {
        let element = write_value("p", &value, &mut Table::default()).unwrap();
        assert_eq!(read_value(&element, &|_| None, &instance), Some(value));
    }
    let file = wrapped(
        &write_value("p", &Variant::Ref(target), &mut Table::default()).unwrap(),
        &Table::default(),
    );
    assert!(matches!(property(&file), Some(Variant::Ref(to)) if to.is_some()));
    assert_eq!(
        read_value(b"<Ref name='p'>RBX9</Ref>", &|_| None, &instance),
        Some(Ref::none().into())
    );
    assert_eq!(read_value(b"<SharedString name='p'>x</SharedString>", &|_| None, &instance), None);
}

#[test]
fn unwritable_values_are_refused() {
    let refused = |value: Variant| write_value("p", &value, &mut Table::default()).unwrap_err();
    assert!(refused("a\0".into()).contains("U+0000"));
    assert!(refused(" \r".into()).contains("whitespace"));
    let region = Region3::new(Vector3::new(0.0, 0.0, 0.0), Vector3::new(1.0, 1.0, 1.0));
    assert!(refused(region.into()).contains("Region3"));
    assert!(refused(NumberSequence { keypoints: Vec::new() }.into()).contains("NumberSequence"));
    assert!(refused(ContentId::from("a\u{1}").into()).contains("ContentId"));
    assert!(
        write_value("a\u{2}", &true.into(), &mut Table::default()).unwrap_err().contains("name")
    );
    let text = write_text("a\"<&\n", TextTag::Protected, "x\ny", TextStyle::CData).unwrap();
    let expected: &[u8] = b"<ProtectedString name=\"a&quot;&lt;&amp;&#10;\"><![CDATA[x\ny]]>\
</ProtectedString>";
    assert_eq!(text, expected);
    assert_eq!(props::find_element(&text, "a\"<&\n").unwrap().tag, "ProtectedString");
}

#[test]
fn every_listed_type_is_known_to_rbx_xml() {
    for tag in super::super::value::TYPES {
        let known = format!(
            "<roblox version=\"4\"><Item class=\"Folder\"><Properties><{tag} name=\"a\"/></Properties></Item></roblox>"
        );
        let options = || {
            rbx_xml::DecodeOptions::new()
                .property_behavior(rbx_xml::DecodePropertyBehavior::NoReflection)
        };
        // rbx_xml silently skips types that it does not know.
        let read = rbx_xml::from_reader(known.as_bytes(), options());
        let is_left_out = read.is_ok_and(|dom| {
            let item = dom.get_by_ref(dom.root().children()[0]).unwrap();
            item.properties.is_empty()
        });
        assert!(!is_left_out, "{tag}");
    }
}
