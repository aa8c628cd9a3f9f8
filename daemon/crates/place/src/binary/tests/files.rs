//! Tests on every column of the shared places.

use std::collections::BTreeMap;
use std::path::PathBuf;

use random_draws::RandomDraws;
use rbx_types::Ref;

use super::super::cell;
use super::super::container::{
    CHUNK_HEADER, ChunkPacking, FileHeader, HEADER, pack_chunk, read_chunks, unpack_chunk,
    unpack_front,
};
use super::{Table, assert_rewrites, props, shared_strings};

/// Returns the binary files among the shared places; empty if `VECTOR_CASES` is not set.
pub(super) fn places() -> Vec<(PathBuf, Vec<u8>)> {
    let Some(cases) = std::env::var_os("VECTOR_CASES") else {
        eprintln!("skipped: VECTOR_CASES does not say where the shared places are");
        return Vec::new();
    };
    let folder = std::fs::read_dir(PathBuf::from(cases).join("places")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "rbxl" || it == "rbxm"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn chunks_round_trip_through_packing() {
    let mut packings = BTreeMap::new();
    for (path, file) in places() {
        let all = read_chunks(&file).unwrap();
        assert_eq!(FileHeader::parse(&file).unwrap().to_bytes(), file[..HEADER]);
        assert_eq!(all.last().unwrap().at.end, file.len(), "{path:?}");
        for chunk in &all {
            let content = unpack_chunk(&file, chunk).unwrap();
            let packing = ChunkPacking::of_chunk(&file, chunk);
            *packings.entry(format!("{packing:?}")).or_insert(0) += 1;
            let own =
                [&file[..HEADER], &pack_chunk(chunk.name, &content, packing).unwrap()].concat();
            let copy = super::ChunkSpan {
                at: HEADER..own.len(),
                packed: u32::from_le_bytes(own[HEADER + 4..HEADER + 8].try_into().unwrap()),
                ..chunk.clone()
            };
            assert_eq!(ChunkPacking::of_chunk(&own, &copy), packing);
            assert_eq!(unpack_chunk(&own, &copy).unwrap(), content);
            for n in [0, 1, CHUNK_HEADER, 300, content.len() / 2, content.len(), content.len() + 9]
            {
                let front = unpack_front(&file, chunk, n).unwrap();
                assert_eq!(front, content[..n.min(content.len())]);
            }
        }
    }
    eprintln!("chunks: {packings:?}");
}

#[test]
fn columns_are_rebuilt_from_their_cells() {
    let draws = &mut RandomDraws::from_seed(7);
    let (mut read, mut opaque) = (0, BTreeMap::new());
    for (path, file) in places() {
        for prop in props(&file) {
            match prop.read() {
                Ok(column) => {
                    assert_rewrites(&column, draws);
                    read += 1;
                }
                Err(why) => {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    *opaque.entry((name, why.to_string())).or_insert(0) += 1;
                }
            }
        }
    }
    eprintln!("{read} columns were read; opaque: {opaque:#?}");
}

#[test]
fn cell_values_can_be_written_again() {
    let (mut cells, mut without, mut changed) = (0, BTreeMap::new(), BTreeMap::new());
    for (_, file) in places() {
        let count = FileHeader::parse(&file).unwrap().instances as usize;
        let refs = (0..count).map(|_| Ref::new()).collect();
        let mut links = Table { refs, shared: shared_strings(&file) };
        for prop in props(&file) {
            let Ok(column) = prop.read() else { continue };
            for row in 0..column.row_count() {
                cells += 1;
                let stored = super::cell(&column, row);
                let Some(value) = cell::read_cell(column.type_byte(), &stored, &links) else {
                    *without.entry((column.type_byte(), prop.name.clone())).or_insert(0) += 1;
                    continue;
                };
                let mut own = Vec::new();
                assert!(cell::write_cell(column.type_byte(), &value, &mut links, &mut own));
                if own != stored {
                    *changed.entry((column.type_byte(), prop.name.clone())).or_insert(0) += 1;
                }
            }
        }
    }
    eprintln!("{cells} cells; without a value: {without:?}; written otherwise: {changed:?}");
}
