//! Values of every kind, compared with what rbx_binary reads and writes.

use random_draws::{RandomDraws, check_seeds};
use rbx_dom_weak::{InstanceBuilder, WeakDom, ustr};
use rbx_types::{
    Attributes, BinaryString, CFrame, Color3, Color3uint8, Content, ContentId, Matrix3, Ref,
    SharedString, Tags, Variant, VariantType, Vector3,
};

use super::super::cell::{self, WriteLinks};
use super::super::column::PropertyColumn;
use super::super::column_writer::ColumnWriter;
use super::super::container::{ChunkPacking, pack_chunk};
use super::super::layout::ty;
use super::random_values::{KINDS, draw_value};
use super::{Table, assert_rewrites, props, shared_strings};

/// Returns a class, property and stored name for which rbx_binary both writes and reads a kind.
fn home(kind: VariantType) -> (&'static str, &'static str, &'static str) {
    match kind {
        VariantType::Color3uint8 => ("Part", "Color", "Color3uint8"),
        VariantType::Attributes => ("Folder", "Attributes", "AttributesSerialize"),
        _ => ("Zz", "Zz", "Zz"),
    }
}

fn encode(dom: &WeakDom) -> Vec<u8> {
    let mut file = Vec::new();
    rbx_binary::to_writer(&mut file, dom, dom.root().children()).unwrap();
    file
}

/// Decodes the values with rbx_binary. References are shown as the index of their target.
fn decode(file: &[u8], property: &str) -> Vec<String> {
    let dom = rbx_binary::from_reader(file).unwrap();
    let children = dom.root().children();
    let place = |to: Ref| children.iter().position(|child| *child == to);
    let text = |child: &Ref| match &dom.get_by_ref(*child).unwrap().properties[&ustr(property)] {
        Variant::Ref(to) => format!("{:?}", place(*to)),
        Variant::Content(content) => {
            format!("{:?} {:?}", content.as_uri(), content.as_object().map(place))
        }
        other => format!("{other:?}"),
    };
    children.iter().map(text).collect()
}

/// Returns the value that the cell of a value is decoded to.
fn as_stored(value: &Variant, refs: &[Ref]) -> Variant {
    let bytes = |bytes: Vec<u8>| BinaryString::from(bytes).into();
    match value {
        Variant::String(value) => bytes(value.clone().into_bytes()),
        Variant::ContentId(value) => bytes(value.as_str().as_bytes().to_vec()),
        Variant::Tags(value) => bytes(value.encode()),
        Variant::MaterialColors(value) => bytes(value.encode()),
        Variant::Attributes(value) => {
            let mut encoded = Vec::new();
            value.to_writer(&mut encoded).unwrap();
            bytes(encoded)
        }
        Variant::NetAssetRef(value) => SharedString::new(value.data().to_vec()).into(),
        Variant::Ref(to) if !refs.contains(to) => Ref::none().into(),
        Variant::Content(content) if content.as_object().is_some_and(|to| !refs.contains(&to)) => {
            Content::none().into()
        }
        other => other.clone(),
    }
}

fn column_named(file: &[u8], name: &str) -> (PropertyColumn, super::Prop) {
    let prop = props(file).into_iter().find(|prop| prop.name == name).unwrap();
    (prop.read().unwrap(), prop)
}

fn check_kind(kind: VariantType, rows: usize, draws: &mut RandomDraws) {
    let (class, property, stored) = home(kind);
    let mut dom = WeakDom::new(InstanceBuilder::new("DataModel"));
    let root = dom.root_ref();
    let refs: Vec<_> = (0..rows).map(|_| dom.insert(root, InstanceBuilder::new(class))).collect();
    let values: Vec<_> = refs.iter().map(|_| draw_value(draws, kind, &refs)).collect();
    for (to, value) in refs.iter().zip(&values) {
        let instance = dom.get_by_ref_mut(*to).unwrap();
        instance.properties.insert(ustr(property), value.clone());
    }
    let file = encode(&dom);
    let (column, prop) = column_named(&file, stored);
    assert_eq!(Some(column.type_byte()), cell::type_of(kind));
    let mut links = Table { refs: refs.clone(), shared: shared_strings(&file) };
    let mut writer = ColumnWriter::new(column.type_byte(), rows).unwrap();
    for (row, value) in values.iter().enumerate() {
        let stored = super::cell(&column, row);
        let read = cell::read_cell(column.type_byte(), &stored, &links).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", as_stored(value, &refs)), "{kind:?}");
        let mut own = vec![1, 2, 3];
        assert!(cell::write_cell(column.type_byte(), value, &mut links, &mut own));
        if is_lost(value, &links) {
            // An object reference without a target is written as none; rbx_binary still writes an
            // object.
            assert_eq!(own[3..], [0; 4], "{value:?}");
            own.splice(3.., stored.clone());
        }
        assert_eq!(own[3..], stored, "{kind:?} {value:?}");
        assert!(writer.push_row(&own[3..]));
    }
    assert_rewrites(&column, draws);
    assert_eq!(writer.finish(), column.payload());
    let expected = decode(&file, property);
    for packing in [ChunkPacking::Stored, ChunkPacking::Lz4, ChunkPacking::Zstd] {
        let own = pack_chunk(*b"PROP", &prop.bytes, packing).unwrap();
        let at = prop.chunk.at.clone();
        let file = [&file[..at.start], &own, &file[at.end..]].concat();
        assert_eq!(decode(&file, property), expected, "{kind:?}");
    }
}

fn is_lost(value: &Variant, links: &Table) -> bool {
    let Variant::Content(content) = value else {
        return false;
    };
    matches!(content.value(), rbx_types::ContentType::Object(to) if links.referent_of(*to) == -1)
}

#[test]
fn every_kind_is_read_and_written_like_rbx_binary() {
    for kind in KINDS {
        for rows in [1, 2, 100] {
            let seed = rows as u64;
            check_seeds(seed..seed + 1, |draws| check_kind(kind, rows, draws));
        }
    }
}

#[test]
fn columns_without_rows_are_read_and_written() {
    for kind in KINDS {
        let ty = cell::type_of(kind).unwrap();
        let payload = ColumnWriter::new(ty, 0).unwrap().finish();
        let column = PropertyColumn::parse([&[ty][..], &payload].concat(), 0, 0).unwrap();
        assert_rewrites(&column, &mut RandomDraws::from_seed(5));
        let mut longer = [&[ty][..], &payload].concat();
        longer.push(0);
        assert!(PropertyColumn::parse(longer, 0, 0).is_err(), "{kind:?}");

        let class = home(kind).0;
        let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let inst = [&[0; 4][..], &text(class), &[0; 5]].concat();
        let prop = [&[0; 4][..], &text(home(kind).2), &[ty], &payload].concat();
        let mut file = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a\0\0\x01".to_vec();
        file.resize(32, 0);
        for (name, content) in [(b"INST", &inst[..]), (b"PROP", &prop), (b"PRNT", &[0; 5])] {
            file.extend_from_slice(&pack_chunk(*name, content, ChunkPacking::Lz4).unwrap());
        }
        file.extend_from_slice(&pack_chunk(*b"END\0", b"</roblox>", ChunkPacking::Stored).unwrap());
        assert!(decode(&file, "Zz").is_empty());
    }
}

#[test]
fn blank_values_match_rbx_binary() {
    let draws = &mut RandomDraws::from_seed(6);
    for kind in KINDS.into_iter().filter(|kind| *kind != VariantType::Attributes) {
        let mut dom = WeakDom::new(InstanceBuilder::new("DataModel"));
        let root = dom.root_ref();
        let value = draw_value(draws, kind, &[root]);
        dom.insert(root, InstanceBuilder::new("Zz").with_property("Zz", value));
        dom.insert(root, InstanceBuilder::new("Zz"));
        let file = encode(&dom);
        let (column, _) = column_named(&file, "Zz");
        let mut links = Table { refs: Vec::new(), shared: shared_strings(&file) };
        let blank = cell::blank_value(kind).unwrap();
        assert_eq!(blank.ty(), kind);
        let mut own = Vec::new();
        assert!(cell::write_cell(column.type_byte(), &blank, &mut links, &mut own));
        assert_eq!(own, super::cell(&column, 1), "{kind:?}");
    }
    assert_eq!(cell::blank_value(VariantType::Attributes), Some(Attributes::new().into()));
    assert_eq!(cell::blank_value(VariantType::Region3), None);
}

/// Returns the cell of a value; None if the type does not accept it.
fn written(ty: u8, value: impl Into<Variant>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let is_written = cell::write_cell(ty, &value.into(), &mut Table::default(), &mut out);
    assert!(is_written || out.is_empty());
    is_written.then_some(out)
}

#[test]
fn types_accept_equivalent_values() {
    assert_eq!(written(ty::FLOAT64, 0.5_f32), written(ty::FLOAT64, 0.5_f64));
    assert_eq!(written(ty::INT64, -7_i32), written(ty::INT64, -7_i64));
    let (bytes, color) = (Color3uint8::new(255, 0, 255), Color3::new(1.0, 0.0, 1.0));
    for ty in [ty::COLOR3, ty::COLOR3_UINT8] {
        assert_eq!(written(ty, bytes), written(ty, color));
        assert!(written(ty, color).is_some());
    }
    let tags = Tags::from(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(written(ty::STRING, tags.clone()).unwrap(), b"\x03\0\0\0a\0b");
    assert_eq!(written(ty::SHARED_STRING, tags).unwrap(), [0; 4]);
    assert_eq!(written(ty::SHARED_STRING, BinaryString::new()).unwrap(), [0; 4]);
    assert_eq!(written(ty::STRING, Content::from_uri("a")).unwrap(), b"\x01\0\0\0a");
    assert_eq!(written(ty::STRING, Content::none()).unwrap(), [0; 4]);
    assert_eq!(written(ty::STRING, Content::from_referent(Ref::new())), None);
    assert_eq!(written(ty::CONTENT, ContentId::new()), written(ty::CONTENT, Content::none()));
    let uri = (ContentId::from("a"), Content::from_uri("a"));
    assert_eq!(written(ty::CONTENT, uri.0), written(ty::CONTENT, uri.1));
    assert_eq!(written(ty::FLOAT32, 0.5_f64), None);
    assert_eq!(written(ty::INT32, 5_i64), None);
    assert_eq!(written(ty::STRING, true), None);
    assert_eq!(written(0x0f, true), None);
}

#[test]
fn rotations_are_never_snapped() {
    let turned = |x: f32, y: f32| {
        let rows = [Vector3::new(x, y, 0.0), Vector3::new(0.0, 1.0, 0.0)];
        Matrix3::new(rows[0], rows[1], Vector3::new(0.0, 0.0, 1.0))
    };
    let zero = Vector3::new(0.0, 0.0, 0.0);
    let cell_of = |matrix| written(ty::CFRAME, CFrame::new(zero, matrix)).unwrap();
    assert_eq!(cell_of(turned(1.0, 0.0)).len(), 13);
    for near in [turned(1.0, -0.0), turned(1.0 - f32::EPSILON, 0.0), turned(1.0, 1e-9)] {
        let cell = cell_of(near);
        assert_eq!(cell.len(), 49);
        let read = cell::read_cell(ty::CFRAME, &cell, &Table::default());
        assert_eq!(
            format!("{read:?}"),
            format!("{:?}", Some(Variant::from(CFrame::new(zero, near))))
        );
    }
    let ids = (0..=255).filter(|id| {
        let basic = Matrix3::from_basic_rotation_id(*id);
        basic.is_ok_and(|basic| cell_of(basic) == [&[*id][..], &[0; 12]].concat())
    });
    assert_eq!(ids.count(), 24);
}

#[test]
fn invalid_bytes_give_no_value() {
    let read = |ty, cell: &[u8]| cell::read_cell(ty, cell, &Table::default());
    assert_eq!(read(ty::FACES, &[64]), None);
    assert_eq!(read(ty::AXES, &[8]), None);
    assert_eq!(read(ty::BRICK_COLOR, &[0, 0, 0, 0]), None);
    assert_eq!(read(ty::BRICK_COLOR, &[0, 1, 0, 1]), None);
    assert_eq!(read(ty::SHARED_STRING, &[0, 0, 0, 0]), None);
    assert_eq!(read(ty::CFRAME, &[[1].as_slice(), &[0; 12]].concat()), None);
    assert_eq!(read(ty::OPTIONAL_CFRAME, &[[1].as_slice(), &[0; 12], &[1]].concat()), None);
    let absent = read(ty::OPTIONAL_CFRAME, &[[1].as_slice(), &[0; 13]].concat());
    assert_eq!(absent, Some(Variant::OptionalCFrame(None)));
    assert_eq!(read(ty::BOOL, &[2]), Some(true.into()));
    assert_eq!(read(ty::BOOL, &[1, 0]), None);
    assert_eq!(read(ty::STRING, &[9, 0, 0, 0, 1]), None);
    assert_eq!(read(ty::NUMBER_SEQUENCE, &[255, 255, 255, 255]), None);
    assert_eq!(read(0x0f, &[]), None);
}
