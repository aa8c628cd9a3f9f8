//! Tests of the file index.

use std::collections::HashMap;
use std::ops::Range;

use rbx_types::{Ref, Variant};
use rustc_hash::FxHashMap;

use super::super::scan::{DocumentInfo, ScanEvent, XmlError, scan_file};
use super::super::{props, shared_strings, text, value};
use super::{places, reference};

#[derive(Debug, Default)]
struct Indexed {
    parent: Option<u32>,
    class: String,
    name: Option<String>,
    referent: Option<Range<u32>>,
    whole: Range<u32>,
    open_end: u32,
    content: Option<Range<u32>>,
    self_closing: bool,
}

fn index(file: &[u8]) -> Result<(DocumentInfo, Vec<Indexed>), XmlError> {
    let mut items: Vec<Indexed> = Vec::new();
    let document = scan_file(file, &mut |found| match found {
        ScanEvent::Item(item) => items.push(Indexed {
            parent: item.parent,
            class: item.class.into_owned(),
            referent: item.referent,
            whole: item.start..0,
            open_end: item.open_end,
            self_closing: item.self_closing,
            ..Indexed::default()
        }),
        ScanEvent::Properties(properties) => {
            let item = &mut items[properties.item as usize];
            item.name = properties.name.map(std::borrow::Cow::into_owned);
            item.content = properties.content;
        }
        ScanEvent::End { item, end, .. } => items[item as usize].whole.end = end,
    })?;
    assert_eq!(document.items as usize, items.len());
    Ok((document, items))
}

fn slice<'a>(file: &'a [u8], range: &Range<u32>) -> &'a str {
    std::str::from_utf8(&file[range.start as usize..range.end as usize]).unwrap()
}

#[test]
fn scan_reports_correct_positions() {
    let file = b"\xef\xbb\xbf<?xml version='1.0' encoding=\"utf-8\"?>\n<!-- <Item> -->\r\n\
<roblox xmlns:xmime=\"x\" version = '4' >\n<External>null</External><Meta name=\"a\">\xff</Meta>\
<New><Item class='no'/></New>\n<Item referent='R&amp;1'\n class = \"A&lt;B\" ><!-- > -->\n\
<Properties><ProtectedString name=\"Source\"><![CDATA[</Properties><Item class=\"x\">]]>\
</ProtectedString><a><string name=\"Name\">deep</string></a><string other='>' name='Na&#109;e'>\
x\xff&gt;<![CDATA[<]]></string></Properties>\n<Item class=\"B\"/><Item class=\"C\"><Properties/>\
</Item ><Other><Item class='no'></Item></Other></Item>\n<SharedStrings>\n<SharedString \
md5='k'>YQ==</SharedString></SharedStrings></roblox>\n junk <";
    let (document, items) = index(file).unwrap();
    let classes: Vec<_> = items.iter().map(|item| (item.parent, item.class.as_str())).collect();
    assert_eq!(classes, [(None, "A<B"), (Some(0), "B"), (Some(0), "C")]);
    assert_eq!(items[0].name.as_deref(), Some("x\u{fffd}><"));
    assert_eq!(slice(file, items[0].referent.as_ref().unwrap()), "R&amp;1");
    let content = items[0].content.clone().unwrap();
    let content = &file[content.start as usize..content.end as usize];
    assert!(content.starts_with(b"<ProtectedString") && content.ends_with(b"]]></string>"));
    assert!(items[1].self_closing && items[1].referent.is_none() && items[1].content.is_none());
    assert_eq!(slice(file, &items[1].whole), "<Item class=\"B\"/>");
    assert_eq!(slice(file, &items[2].whole), "<Item class=\"C\"><Properties/></Item >");
    assert!(items[2].content.is_none() && items[2].name.is_none());
    assert!(file[..items[0].open_end as usize].ends_with(b"\"A&lt;B\" >"));
    assert!(file[..document.open_end as usize].ends_with(b"'4' >"));
    assert!(file[document.close as usize..].starts_with(b"</roblox>\n"));
    let table = document.shared.unwrap();
    let table = &file[table.start as usize..table.end as usize];
    let entries: Vec<_> = shared_strings::read_shared(table).collect();
    assert_eq!((entries.len(), &*entries[0].key), (1, "k"));
    assert_eq!(shared_strings::decode_shared(&table[entries[0].text.clone()]).unwrap(), b"a");
    assert_eq!(table[entries[0].whole.clone()], *table.trim_ascii());
}

#[test]
fn errors_state_their_position() {
    let cases: &[(&str, &str)] = &[
        ("", "no `<roblox"),
        ("<html></html>", "`<html>`"),
        ("<roblox></roblox>", "version"),
        ("<roblox version='5'></roblox>", "\"5\""),
        ("<roblox version='4'/>", "`</roblox>`"),
        ("<roblox version='4'>\n<Item class='A'>\n", "line 3"),
        ("<roblox version='4'>\n<Item class='A'>\n</roblox>", "line 3"),
        ("<roblox version='4'>\n<Item></Item></roblox>", "class"),
        ("<roblox version='4'><Item class='A'><Properties></Item></roblox>", "byte 48"),
        ("<roblox version='4'><Item class='A'><Properties>\n<a><b></a></b>", "byte 55, line 2"),
        ("<roblox version='4'><Item class='A'><Properties>\n<a><![CDATA[", "byte 52, line 2"),
        ("<roblox version='4'><Meta></roblox>", "byte 26"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><roblox version='4'></roblox>", "entities"),
        ("<?xml version='1.0' encoding='latin1'?><roblox version='4'></roblox>", "latin1"),
        ("\u{feff}<roblox version='4'>\n</a></roblox>", "byte 24, line 2"),
    ];
    for (file, expected) in cases {
        let error = scan_file(file.as_bytes(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
    assert!(scan_file(b"\xff\xfe<\0", &mut |_| {}).unwrap_err().to_string().contains("UTF-16"));
    assert!(scan_file(b"<!DOCTYPE roblox><roblox version='4'></roblox>", &mut |_| {}).is_ok());
}

#[test]
fn million_nested_items_do_not_overflow_the_stack() {
    const DEPTH: u32 = 1_000_000;
    let one = "<Item class=\"Folder\"><Properties><string name=\"Name\">a</string></Properties>";
    let mut file = format!("<roblox version=\"4\">{}", one.repeat(DEPTH as usize));
    file.push_str(&"</Item>".repeat(DEPTH as usize));
    file.push_str("</roblox>");
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    let handle = thread.spawn(move || {
        let (mut last, mut ends) = (None, 0);
        scan_file(file.as_bytes(), &mut |found| match found {
            ScanEvent::Item(item) => last = item.parent,
            ScanEvent::Properties(properties) => assert_eq!(properties.name.as_deref(), Some("a")),
            ScanEvent::End { .. } => ends += 1,
        })
        .unwrap();
        assert_eq!((last, ends), (Some(DEPTH - 2), DEPTH));
        let nested = ["<a>".repeat(1_000_000), "</a>".repeat(1_000_000)].concat();
        assert_eq!(props::read_elements(nested.as_bytes()).count(), 1);
        let element = format!("<Vector3 name='a'>{nested}</Vector3>");
        assert_eq!(value::read_value(element.as_bytes(), &|_| None, &|_| Ref::none()), None);
    });
    handle.unwrap().join().unwrap();
}

#[test]
fn real_files_are_read_like_rbx_xml() {
    for (path, file) in places() {
        let dom = reference(&file).unwrap();
        let (document, items) = index(&file).unwrap();
        let mut stack: Vec<_> = dom.root().children().iter().rev().copied().collect();
        let mut nodes = Vec::new();
        while let Some(node) = stack.pop() {
            nodes.push(node);
            stack.extend(dom.get_by_ref(node).unwrap().children().iter().rev());
        }
        assert_eq!(nodes.len(), items.len());
        let numbers: HashMap<Ref, u32> = nodes.iter().copied().zip(0..).collect();
        let referents: FxHashMap<String, Ref> = items
            .iter()
            .zip(&nodes)
            .filter_map(|(item, node)| Some((slice(&file, item.referent.as_ref()?).into(), *node)))
            .collect();
        let table = document.shared.map_or(&[][..], |range| slice(&file, &range).as_bytes());
        let contents: FxHashMap<_, _> = shared_strings::read_shared(table)
            .map(|it| {
                (it.key.into_owned(), shared_strings::decode_shared(&table[it.text]).unwrap())
            })
            .collect();
        let mut count = 0;
        for (item, node) in items.iter().zip(&nodes) {
            let instance = dom.get_by_ref(*node).unwrap();
            assert_eq!(item.class, instance.class.as_str());
            assert_eq!(item.name.as_deref().unwrap_or(&item.class), instance.name);
            assert_eq!(item.parent, numbers.get(&instance.parent()).copied());
            assert!(slice(&file, &item.whole).starts_with("<Item "));
            assert!(slice(&file, &item.whole).ends_with("</Item>"));
            let content = item.content.as_ref().map_or("", |range| slice(&file, range)).as_bytes();
            let mut seen = 0;
            for element in props::read_elements(content) {
                let element = element.unwrap();
                let whole = &content[element.whole.clone()];
                let instance_of = |text: &str| referents.get(text).copied().unwrap_or(Ref::none());
                let value =
                    value::read_value(whole, &|key| contents.get(key).cloned(), &instance_of);
                if element.name != "Name" {
                    let expected = instance.properties.get(&(&*element.name).into());
                    assert!(same(value.as_ref(), expected), "{path:?} {value:?} {expected:?}");
                    seen += usize::from(value.is_some());
                }
                assert_eq!(props::find_element(content, &element.name).unwrap(), element);
            }
            assert_eq!(seen, instance.properties.len());
            count += seen;
        }
        println!("{}: {} items, {count} values", path.display(), items.len());
    }
}

/// Whether two values are equal, or contain a NaN and print the same.
fn same(a: Option<&Variant>, b: Option<&Variant>) -> bool {
    a == b || (format!("{a:?}") == format!("{b:?}") && format!("{a:?}").contains("NaN"))
}

#[test]
fn real_texts_keep_their_bytes() {
    for (_, file) in places() {
        let (_, items) = index(&file).unwrap();
        for content in items.iter().filter_map(|item| item.content.as_ref()) {
            let content = slice(&file, content).as_bytes();
            for element in props::read_elements(content).map(Result::unwrap) {
                if !matches!(element.tag, "string" | "ProtectedString") {
                    continue;
                }
                let inside = &content[element.inside];
                let old = text::decode_text(inside);
                let same = text::replace_text(inside, &old);
                assert!(same == inside || text::decode_text(&same) == old);
                if old.contains('\n') {
                    assert_eq!(String::from_utf8_lossy(&same), String::from_utf8_lossy(inside));
                }
            }
        }
    }
}
