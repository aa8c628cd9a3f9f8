//! The bytes of a file that an edit touches: chunks of a binary file, lines of an XML file. All
//! others stay unchanged, and so does the whole file if nothing is edited.

use std::collections::BTreeMap;

use serde_json::json;
use vector_engine::NextStep;
use vector_place::{FileFormat, Scene};

use super::{Bench, as_one, place};

/// The stored bytes of each chunk of a binary file. The keys are `INST Class`,
/// `PROP Class.Property`, and the kind alone for all others.
pub(crate) fn chunks(file: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut found, mut classes) = (BTreeMap::new(), BTreeMap::new());
    found.insert("head".to_owned(), file[..32].to_vec());
    let mut at = 32;
    while at < file.len() {
        let (packed, size) = (number(at + 4), number(at + 8));
        let end = at + 16 + if packed == 0 { size } else { packed };
        let body = &file[at + 16..end];
        let content = match packed {
            0 => body.to_vec(),
            _ if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
                zstd::bulk::decompress(body, size).unwrap()
            }
            _ => lz4_flex::block::decompress(body, size).unwrap(),
        };
        let text = |at: usize| {
            let len = u32::from_le_bytes(content[at..at + 4].try_into().unwrap()) as usize;
            String::from_utf8_lossy(&content[at + 4..at + 4 + len]).into_owned()
        };
        let id = content.get(..4).map(<[u8]>::to_vec);
        let name = match &file[at..at + 4] {
            b"INST" => {
                classes.insert(id, text(4));
                format!("INST {}", text(4))
            }
            b"PROP" => format!("PROP {}.{}", classes[&id], text(4)),
            other => String::from_utf8_lossy(other).into_owned(),
        };
        let before = found.insert(name.clone(), file[at..end].to_vec());
        assert!(before.is_none(), "two of the name {name}");
        at = end;
    }
    found
}

/// The chunks of a binary file that were changed, added or removed.
fn touched(before: &[u8], after: &[u8]) -> Vec<String> {
    let (before, after) = (chunks(before), chunks(after));
    let names = before.keys().chain(after.keys());
    let mut touched: Vec<String> =
        names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
    touched.sort();
    touched.dedup();
    touched
}

/// Asserts that an edit of one property of one instance touched nothing else.
#[track_caller]
pub(super) fn assert_touched(before: &[u8], after: &[u8], property: &str, what: &str) {
    if before.starts_with(b"<roblox!") {
        let touched = touched(before, after);
        assert!(
            touched.len() == 1 && touched[0].ends_with(&format!(".{property}")),
            "{what}: {touched:?}"
        );
        return;
    }
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let front = same(before, after);
    let back = before[front..].iter().rev().zip(after[front..].iter().rev());
    let back = back.take_while(|(a, b)| a == b).count();
    let (gone, came) = (before.len() - front - back, after.len() - front - back);
    // The value itself, and the tags of its element if that is new.
    let value = if property == "Source" { 30_000 } else { 100 };
    assert!(gone <= value && came <= 200, "{what}: {gone} bytes became {came}");
}

#[test]
fn unedited_file_keeps_its_bytes() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let bytes = place(format);
        assert!(Scene::decode(&bytes).unwrap().encode().unwrap() == bytes);
    }
}

/// A file with content that Vector does not understand: a property of parts in an unknown type, one
/// in a type that is not its own, and a chunk of an unknown kind.
fn from_the_future() -> Vec<u8> {
    let file = place(FileFormat::Binary);
    let all = chunks(&file);
    let content = |chunk: &[u8]| {
        let size = u32::from_le_bytes(chunk[8..12].try_into().unwrap()) as usize;
        match u32::from_le_bytes(chunk[4..8].try_into().unwrap()) {
            0 => chunk[16..].to_vec(),
            _ => lz4_flex::block::decompress(&chunk[16..], size).unwrap(),
        }
    };
    let id = content(&all["INST Part"])[..4].to_vec();
    let chunk = |name: &[u8; 4], body: &[u8]| {
        [&name[..], &[0; 4], &(body.len() as u32).to_le_bytes(), &[0; 4], body].concat()
    };
    let property = |name: &str, ty: u8, payload: &[u8]| {
        let len = (name.len() as u32).to_le_bytes();
        chunk(b"PROP", &[&id[..], &len, name.as_bytes(), &[ty], payload].concat())
    };
    let added = [
        property("Future", 0x7e, b"whatever"),
        property("Massless", 0x03, &[0; 21 * 4]),
        chunk(b"NEWS", b"of a later Studio"),
    ]
    .concat();
    let parents = memchr::memmem::find(&file, b"PRNT").unwrap();
    [&file[..parents], &added, &file[parents..]].concat()
}

#[test]
fn unsupported_items_are_kept_and_named() {
    let before = from_the_future();
    assert!(rbx_binary::from_reader(&before[..]).is_err(), "the tree engine refuses it");
    let scene = Scene::decode(&before).unwrap();
    let named = scene.unsupported_items().join("\n");
    assert!(named.contains("Part.Future: ") && named.contains("\"NEWS\""), "{named}");
    let part = scene.resolve(&"game.Workspace.Wall[1]".parse().unwrap()).unwrap();
    assert_eq!(scene.stored_value(part, "Massless").unwrap().to_brief(), "0");

    let (bench, wall) = (Bench::new(), "game.Workspace.Wall[3]");
    let file = bench.file(&before);
    let calls = json!([
        ["set_properties", { "path": wall, "props": { "Anchored": true } }],
        ["rename_instance", { "path": wall, "newName": "Gate" }],
        ["delete_instance", { "path": "game.Workspace.House.Hinge" }],
    ]);
    bench.edit(&file, as_one(&calls));
    let touched = touched(&before, &std::fs::read(&file).unwrap());
    assert!(!touched.iter().any(|it| it.contains("Future") || it.contains("NEWS")), "{touched:?}");

    let mut run = bench.engine(&file);
    run.add_calls(as_one(&json!([["delete_instance", { "path": "game.Workspace.Gate" }]])))
        .unwrap();
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let reason = run.workflow().unwrap().refusals().next().unwrap().1.to_owned();
    assert!(
        reason.contains("No Part of this file can be") && reason.contains("`Future`"),
        "{reason}"
    );
}

#[test]
fn binary_edit_changes_only_its_chunks() {
    let wall = "game.Workspace.Wall[3]";
    for (calls, wanted) in [
        (json!([["rename_instance", { "path": wall, "newName": "Gate" }]]), "PROP Part.Name"),
        (
            json!([["set_properties", { "path": wall, "props": { "Anchored": true } }]]),
            "PROP Part.Anchored",
        ),
        (
            json!([["move_instance", { "path": wall, "parentPath": "game.Workspace.House" }]]),
            "PRNT",
        ),
        (
            json!([["write_script", { "path": "game.ServerScriptService.Main", "source": "return 1\n" }]]),
            "PROP Script.Source",
        ),
        (
            json!([["create_instance", { "className": "Folder", "parentPath": "game.Workspace" }]]),
            "INST Folder, PRNT, PROP Folder.Name, head",
        ),
        (
            json!([["create_instance", { "className": "Model", "parentPath": "game.Workspace" }]]),
            "INST Model, PRNT, PROP Model.Name, head",
        ),
        (
            // The last instance of its class, and a reference to it.
            json!([["delete_instance", { "path": "game.Workspace.House.Hinge" }]]),
            "INST ObjectValue, PRNT, PROP ObjectValue.Name, PROP ObjectValue.Value, head",
        ),
        (
            json!([["delete_instance", { "path": "game.ServerScriptService.Main" }]]),
            "INST Script, PRNT, PROP Script.Name, PROP Script.Source, head",
        ),
    ] {
        let (bench, before) = (Bench::new(), place(FileFormat::Binary));
        let file = bench.file(&before);
        bench.edit(&file, as_one(&calls));
        let after = std::fs::read(&file).unwrap();
        assert_eq!(touched(&before, &after).join(", "), wanted, "{calls}");
    }
}

/// The line diff of the edit below.
const CHANGES: &str = "\
+\t\t\t\t<bool name=\"Anchored\">true</bool>
-\t\t\t\t<string name=\"Name\">Wall</string>
+\t\t\t\t<string name=\"Name\">Gate</string>
-\t\t\t<Item class=\"Part\" referent=\"23\">
-\t\t\t\t<Properties>
-\t\t\t\t\t<string name=\"Name\">Door</string>
-\t\t\t\t\t<BinaryString name=\"Tags\">T3BlbmFibGU=</BinaryString>
-\t\t\t\t</Properties>
-\t\t\t</Item>
-\t\t\t\t<Ref name=\"Value\">23</Ref>
+\t\t\t\t<Ref name=\"Value\">null</Ref>
-\t\t\t\t<string name=\"Source\">local speed = 10&#13;
+\t\t\t\t<string name=\"Source\">local speed = 20&#13;
+\t\t\t<Item class=\"Folder\" referent=\"27\">
+\t\t\t\t<Properties>
+\t\t\t\t\t<string name=\"Name\">Folder</string>
+\t\t\t\t</Properties>
+\t\t\t</Item>
";

#[test]
fn xml_edit_changes_only_its_lines() {
    let (bench, before) = (Bench::new(), place(FileFormat::Xml));
    let file = bench.file(&before);
    let calls = json!([
        ["set_properties", { "path": "game.Workspace.Wall[3]", "props": { "Anchored": true } }],
        ["rename_instance", { "path": "game.Workspace.Wall[20]", "newName": "Gate" }],
        ["delete_instance", { "path": "game.Workspace.House.Door" }],
        ["create_instance", { "className": "Folder", "parentPath": "game.ServerScriptService.Main" }],
        ["replace_text", { "path": "game.ServerScriptService.Main", "search": "10", "replace": "20" }],
    ]);
    bench.edit(&file, as_one(&calls));
    let after = std::fs::read_to_string(&file).unwrap();
    let before = String::from_utf8(before).unwrap();
    let diff = similar::TextDiff::from_lines(&before, &after);
    let changes = diff.iter_all_changes().filter(|it| it.tag() != similar::ChangeTag::Equal);
    let changes: Vec<String> = changes.map(|it| format!("{}{}", it.tag(), it.value())).collect();
    let changes = changes.concat();
    assert_eq!(changes, CHANGES, "\n{changes}");
}
