//! A workaround for a bug in rbx_binary's reader: it assigns the objects of a content column to the
//! rows in reverse order, though its writer writes them in order.

use std::collections::HashMap;

const HEADER: usize = 32;
const HEAD: usize = 16;
const CONTENT: u8 = 0x22;

fn number(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four) as usize)
}

fn unpacked(body: &[u8], packed: usize, size: usize) -> Vec<u8> {
    if packed == 0 {
        body.to_vec()
    } else if body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        zstd::bulk::decompress(body, size).expect("a chunk can be unpacked")
    } else {
        lz4_flex::block::decompress(body, size).expect("a chunk can be unpacked")
    }
}

/// The same binary file, with the objects of each column reversed for the reader.
pub(super) fn turned(file: &[u8]) -> Vec<u8> {
    let (mut out, mut at, mut rows) = (file[..HEADER].to_vec(), HEADER, HashMap::new());
    while at < file.len() {
        let (packed, size) = (number(file, at + 4), number(file, at + 8));
        let end = at + HEAD + if packed == 0 { size } else { packed };
        let mut content = unpacked(&file[at + HEAD..end], packed, size);
        let mut is_turned = false;
        match &file[at..at + 4] {
            b"INST" => {
                rows.insert(number(&content, 0), number(&content, 9 + number(&content, 4)));
            }
            b"PROP" => {
                let start = 8 + number(&content, 4);
                if content.get(start) == Some(&CONTENT) {
                    let rows = rows[&number(&content, 0)];
                    turn(&mut content, start + 1 + 4 * rows);
                    is_turned = true;
                }
            }
            _ => {}
        }
        if is_turned {
            out.extend_from_slice(&file[at..at + 4]);
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&(content.len() as u32).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&content);
        } else {
            out.extend_from_slice(&file[at..end]);
        }
        at = end;
    }
    out
}

/// Reverses the list of objects, which follows the addresses.
fn turn(content: &mut [u8], mut at: usize) {
    let addresses = number(content, at);
    at += 4;
    for _ in 0..addresses {
        at += 4 + number(content, at);
    }
    let count = number(content, at);
    let planes = &mut content[at + 4..at + 4 + 4 * count];
    let mut last = 0_i32;
    let mut objects: Vec<i32> = (0..count)
        .map(|row| {
            let byte = |plane: usize| planes[plane * count + row];
            let folded = u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
            last = last.wrapping_add((folded >> 1) as i32 ^ -((folded & 1) as i32));
            last
        })
        .collect();
    objects.reverse();
    last = 0;
    for (row, object) in objects.into_iter().enumerate() {
        let distance = object.wrapping_sub(last);
        last = object;
        let folded = ((distance << 1) ^ (distance >> 31)) as u32;
        for (plane, byte) in folded.to_be_bytes().into_iter().enumerate() {
            planes[plane * count + row] = byte;
        }
    }
}
