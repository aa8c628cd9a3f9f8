//! Broken files must never cause a panic.

use random_draws::{RandomDraws, check_seeds};
use rbx_types::Ref;

use super::super::scan::{ScanEvent, scan_file};
use super::super::{props, shared_strings, text, value};
use super::places;

/// Uses a file as an editor would, and returns the number of items found.
fn use_all(file: &[u8], reads_values: bool) -> usize {
    let mut contents = Vec::new();
    let mut ends = Vec::new();
    let document = scan_file(file, &mut |found| match found {
        ScanEvent::Item(item) => ends.push((item.start, 0)),
        ScanEvent::Properties(it) => contents.extend(it.content),
        ScanEvent::End { item, close, end } => {
            assert!(close <= end && end as usize <= file.len());
            ends[item as usize].1 = end;
        }
    });
    for content in &contents {
        let content = &file[content.start as usize..content.end as usize];
        for element in props::read_elements(content).map_while(Result::ok) {
            let inside = &content[element.inside.clone()];
            if matches!(element.tag, "string" | "ProtectedString") {
                let old = text::decode_text(inside);
                let new = text::replace_text(inside, &format!("{old}x"));
                if text::check_text(&old).is_ok() {
                    assert_eq!(text::decode_text(&new), format!("{old}x"));
                }
            } else if reads_values {
                value::read_value(&content[element.whole], &|_| None, &|_| Ref::none());
            }
        }
    }
    if let Ok(document) = document {
        assert!(ends.iter().all(|(start, end)| start < end && *end <= document.close));
        if let Some(table) = document.shared {
            let table = &file[table.start as usize..table.end as usize];
            for entry in shared_strings::read_shared(table) {
                shared_strings::decode_shared(&table[entry.text]);
            }
        }
    }
    ends.len()
}

fn damage(draws: &mut RandomDraws, file: &[u8]) -> Vec<u8> {
    const MARKS: &[&[u8]] = &[
        b"<",
        b">",
        b"</Item>",
        b"<Item class=\"A\">",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"\"",
        b"&",
        b"</Properties>",
        b"<Properties>",
        b"\0",
        b"\xff",
        b"</",
        b"/>",
        b"<?",
        b"<!DOCTYPE [",
    ];
    let mut damaged = file.to_vec();
    for _ in 0..=draws.below(4) {
        let at = draws.below(damaged.len());
        match draws.below(4) {
            0 => damaged.truncate(at),
            1 if !damaged.is_empty() => damaged[at] ^= 1 << draws.below(8),
            2 => {
                let mark = draws.pick(MARKS);
                damaged.splice(at..at, mark.iter().copied());
            }
            _ => {
                let end = (at + draws.below(300)).min(damaged.len());
                let moved: Vec<u8> = damaged.drain(at..end).collect();
                let to = draws.below(damaged.len());
                damaged.splice(to..to, moved);
            }
        }
    }
    damaged
}

#[test]
fn damaged_files_do_not_panic() {
    let small: &[u8] = b"<?xml version='1.0'?><roblox version='4'><Item class='A' referent='R'>\
<Properties><string name='Name'>a&amp;\r\n<![CDATA[<b>]]>c</string><Vector3 name='S'><X>1</X>\
<Y>2</Y><Z>3</Z></Vector3></Properties><Item class='B'/></Item><SharedStrings><SharedString \
md5='x'>YQ==</SharedString></SharedStrings></roblox>";
    check_seeds(0..20_000, |draws| {
        use_all(&damage(draws, small), true);
    });
    for (_, file) in places() {
        assert!(use_all(&file, false) > 0);
        let part = &file[..file.len().min(60_000)];
        check_seeds(0..300, |draws| {
            let reads_values = draws.one_in(50);
            use_all(&damage(draws, part), reads_values);
        });
    }
}
