//! Malformed columns and files.

use random_draws::{RandomDraws, check_seeds};

use super::super::cell;
use super::super::column::{OpaqueReason, PropertyColumn};
use super::super::container::{FileHeader, read_chunks, unpack_chunk, unpack_front};
use super::super::layout::ty;
use super::files::places;
use super::{Table, assert_rewrites, props};

/// Returns a made-up column of each type, and the short columns of the shared places.
fn columns() -> Vec<(Vec<u8>, usize, usize)> {
    let mut all: Vec<_> = (0..=0x30).map(|ty| (vec![ty; 200], 0, 5)).collect();
    for (_, file) in places() {
        let short = props(&file).into_iter().filter(|prop| prop.bytes.len() < 4000);
        all.extend(short.map(|prop| (prop.bytes, prop.offset, prop.rows)));
    }
    all
}

/// Asserts that a column is either opaque or rewritten unchanged.
fn check(bytes: Vec<u8>, offset: usize, rows: usize, draws: &mut RandomDraws) {
    let Ok(column) = PropertyColumn::parse(bytes, offset, rows) else { return };
    assert_rewrites(&column, draws);
    for row in 0..column.row_count() {
        let _ = cell::read_cell(column.type_byte(), &super::cell(&column, row), &Table::default());
        let _ = (column.text_at(row), column.reference_at(row));
    }
}

fn bend(bytes: &mut Vec<u8>, from: usize, draws: &mut RandomDraws) {
    let len = bytes.len() - from;
    match draws.below(4) {
        0 => bytes.truncate(from + draws.below(len)),
        1 => bytes.extend(draws.bytes(5)),
        2 if len >= 4 => {
            let at = from + draws.below(len - 3);
            let huge = [u32::MAX, 1 << 31, 1 << 28, 70_000, 3][draws.below(5)];
            bytes[at..at + 4].copy_from_slice(&huge.to_le_bytes());
        }
        _ if len > 0 => {
            let at = from + draws.below(len);
            bytes[at] ^= 1 << draws.below(8);
        }
        _ => {}
    }
}

#[test]
fn malformed_columns_are_opaque_or_rewritten_unchanged() {
    for (bytes, offset, rows) in columns() {
        check_seeds(0..12, |draws| {
            let mut bent = bytes.clone();
            bend(&mut bent, offset + 1, draws);
            check(bent, offset, rows, draws);
        });
        let other = [0, 1, rows + 1, rows.saturating_sub(1), usize::MAX, usize::MAX / 3 + 1];
        for rows in other {
            check(bytes.clone(), offset, rows, &mut RandomDraws::from_seed(8));
        }
    }
}

#[test]
fn malformed_files_never_panic() {
    for (_, file) in places() {
        check_seeds(0..40, |draws| {
            let mut bent = file.clone();
            for _ in 0..=draws.below(4) {
                bend(&mut bent, 0, draws);
            }
            let _ = FileHeader::parse(&bent);
            let Ok(all) = read_chunks(&bent) else { return };
            for chunk in &all {
                let _ = unpack_chunk(&bent, chunk);
                let _ = unpack_front(&bent, chunk, 300);
            }
        });
    }
}

#[test]
fn opaque_columns_state_the_reason() {
    let read = |bytes: &[u8], rows| {
        PropertyColumn::parse(bytes.to_vec(), 0, rows).map(|_| ()).unwrap_err()
    };
    assert_eq!(read(&[], 3), OpaqueReason::NoType);
    assert_eq!(read(&[0x1d, 1, 2], 3), OpaqueReason::Unknown(0x1d));
    assert_eq!(read(&[ty::BOOL, 1, 2], 3), OpaqueReason::Malformed(ty::BOOL));
    assert_eq!(read(&[ty::BOOL, 1, 2, 3, 4], 3), OpaqueReason::Malformed(ty::BOOL));
    assert_eq!(read(&[ty::PHYSICAL, 4], 1), OpaqueReason::Malformed(ty::PHYSICAL));
    let content = |kind: u8, uris: u8, objects: u8, externals: u8| {
        let mut bytes = vec![ty::CONTENT, 0, 0, 0, kind, uris, 0, 0, 0];
        bytes.extend(vec![0; 4 * usize::from(uris)]);
        bytes.extend([objects, 0, 0, 0]);
        bytes.extend(vec![0; 4 * usize::from(objects)]);
        bytes.extend([externals, 0, 0, 0]);
        bytes.extend(vec![0; 4 * usize::from(externals)]);
        bytes
    };
    for (kind, uris, objects) in [(0, 0, 0), (2, 1, 0), (4, 0, 1)] {
        check(content(kind, uris, objects, 0), 0, 1, &mut RandomDraws::from_seed(10));
        assert!(PropertyColumn::parse(content(kind, uris, objects, 0), 0, 1).is_ok());
        assert_eq!(
            read(&content(kind, uris + 1, objects, 0), 1),
            OpaqueReason::Malformed(ty::CONTENT)
        );
        assert_eq!(
            read(&content(kind, uris, objects + 1, 0), 1),
            OpaqueReason::Malformed(ty::CONTENT)
        );
        assert_eq!(read(&content(kind, uris, objects, 2), 1), OpaqueReason::External);
    }
    assert_eq!(read(&content(1, 0, 0, 0), 1), OpaqueReason::Malformed(ty::CONTENT));
    assert_eq!(read(&content(6, 0, 0, 0), 1), OpaqueReason::Malformed(ty::CONTENT));
}

#[test]
fn rows_are_read_by_column_type() {
    let text = PropertyColumn::parse(b"\x01\x02\0\0\0ab\0\0\0\0".to_vec(), 0, 2).unwrap();
    assert_eq!((text.text_at(0), text.text_at(1)), (Some(&b"ab"[..]), Some(&b""[..])));
    assert_eq!((text.text_at(2), text.reference_at(0)), (None, None));
    // Differences 1, -1 and 5, with the sign in the last bit and in planes.
    let refs = [&[ty::REF][..], &[0; 9], &[2, 1, 10]].concat();
    let refs = PropertyColumn::parse(refs, 0, 3).unwrap();
    assert_eq!([0, 1, 2, 3].map(|row| refs.reference_at(row)), [Some(1), Some(0), Some(5), None]);
}
