//! Packing of chunks with every compression, and unpacking of whole chunks and of their first
//! bytes.

use random_draws::{RandomDraws, check_seeds};

use super::super::container::{
    CHUNK_HEADER, ChunkPacking, ContainerError, FileHeader, HEADER, pack_chunk, read_chunks,
    unpack_chunk, unpack_front,
};

const PACKINGS: [ChunkPacking; 3] = [ChunkPacking::Stored, ChunkPacking::Lz4, ChunkPacking::Zstd];

/// Builds a file of these chunks.
fn file(contents: &[(&[u8; 4], &[u8], ChunkPacking)]) -> Vec<u8> {
    let mut file = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a\0\0".to_vec();
    file.extend_from_slice(&[0; 16]);
    for (name, content, packing) in contents {
        file.extend_from_slice(&pack_chunk(**name, content, *packing).unwrap());
    }
    file.extend_from_slice(&pack_chunk(*b"END\0", b"</roblox>", ChunkPacking::Stored).unwrap());
    file
}

/// Returns content that is partly random and partly repetitive.
fn content(draws: &mut RandomDraws) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..draws.below(30) {
        let len = draws.below(400);
        match draws.below(3) {
            0 => out.extend(draws.bytes(len)),
            1 => out.extend(vec![draws.bits() as u8; len * 10]),
            _ if !out.is_empty() => {
                let start = draws.below(out.len());
                let end = (start + len).min(out.len());
                out.extend_from_within(start..end);
            }
            _ => {}
        }
    }
    out
}

#[test]
fn packed_chunks_unpack_whole_and_from_the_front() {
    check_seeds(0..300, |draws| {
        let content = content(draws);
        for packing in PACKINGS {
            let file = file(&[(b"PROP", &content, packing)]);
            let chunk = &read_chunks(&file).unwrap()[0];
            assert_eq!(ChunkPacking::of_chunk(&file, chunk), packing);
            assert_eq!(unpack_chunk(&file, chunk).unwrap(), content);
            for n in [0, 1, 100, draws.below(content.len() + 1), content.len(), usize::MAX] {
                let front = unpack_front(&file, chunk, n).unwrap();
                assert_eq!(front, &content[..n.min(content.len())], "{packing:?} {n}");
            }
        }
    });
}

#[test]
fn chunks_stop_at_end_chunk_and_truncation_fails() {
    let mut bytes =
        file(&[(b"META", b"abc", ChunkPacking::Lz4), (b"PRNT", b"", ChunkPacking::Zstd)]);
    let end = bytes.len();
    bytes.extend_from_slice(b"behind");
    let all = read_chunks(&bytes).unwrap();
    let names: Vec<_> = all.iter().map(|chunk| &chunk.name).collect();
    assert_eq!(names, [b"META", b"PRNT", b"END\0"]);
    assert_eq!((all[0].at.start, all[2].at.end), (HEADER, end));
    for cut in 0..end {
        assert_eq!(read_chunks(&bytes[..cut]), Err(ContainerError::CutOff), "{cut}");
    }
}

#[test]
fn file_header_round_trips() {
    let mut bytes = file(&[]);
    bytes[24..32].copy_from_slice(b"whatever");
    let mut header = FileHeader::parse(&bytes).unwrap();
    assert_eq!(header.to_bytes(), bytes[..HEADER]);
    header.instances = 258;
    assert_eq!(header.to_bytes()[20..], *b"\x02\x01\0\0whatever");
    assert_eq!(FileHeader::parse(&bytes[..31]), Err(ContainerError::CutOff));
    bytes[14] = 7;
    assert_eq!(FileHeader::parse(&bytes), Err(ContainerError::Version(7)));
    bytes[0] = 7;
    assert_eq!(FileHeader::parse(&bytes), Err(ContainerError::Damaged));
}

#[test]
fn highly_compressed_content_is_unpacked() {
    let content = vec![7; 40_000_000];
    for packing in PACKINGS {
        let file = file(&[(b"PROP", &content, packing)]);
        let chunk = &read_chunks(&file).unwrap()[0];
        assert_eq!(unpack_chunk(&file, chunk).unwrap().len(), content.len(), "{packing:?}");
        assert_eq!(unpack_front(&file, chunk, 2_000_000).unwrap(), &content[..2_000_000]);
    }
}

#[test]
fn wrong_chunk_size_is_an_error() {
    let draws = &mut RandomDraws::from_seed(2);
    for packing in PACKINGS {
        let bytes = file(&[(b"PROP", &draws.bytes(1000), packing)]);
        for size in [0_u32, 999, 1001, 30_000, u32::MAX] {
            let mut bent = bytes.clone();
            bent[HEADER + 8..HEADER + 12].copy_from_slice(&size.to_le_bytes());
            let read = read_chunks(&bent).and_then(|all| unpack_chunk(&bent, &all[0]).map(|_| ()));
            assert!(read.is_err(), "{packing:?} {size}");
        }
    }
}

#[test]
fn malformed_chunk_bodies_never_panic() {
    check_seeds(0..6000, |draws| {
        let content = content(draws);
        let mut bytes = file(&[(b"PROP", &content, PACKINGS[1 + draws.below(2)])]);
        let body = HEADER + CHUNK_HEADER..bytes.len() - CHUNK_HEADER - 9;
        for _ in 0..=draws.below(3) {
            let at = body.start + draws.below(body.len());
            bytes[at] ^= 1 << draws.below(8);
        }
        let Ok(all) = read_chunks(&bytes) else { return };
        let whole = unpack_chunk(&bytes, &all[0]);
        let n = draws.below(content.len() + 1);
        let front = unpack_front(&bytes, &all[0], n);
        // If the whole chunk can be unpacked, so can its first bytes, with the same result.
        if let (Ok(whole), ChunkPacking::Lz4) = (&whole, ChunkPacking::of_chunk(&bytes, &all[0])) {
            assert_eq!(front.unwrap(), whole[..n]);
        }
    });
}
