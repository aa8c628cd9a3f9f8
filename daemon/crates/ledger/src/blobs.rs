//! Blobs: large texts and removed subtrees, stored once under the hash of their bytes.
//!
//! The hash is that of the uncompressed bytes, so the compression can change without renaming
//! blobs. This module must not know what a blob contains.

use std::path::Path;

use scene_schemas::Fingerprint;

use super::LedgerError;

/// The fastest compression level. It shrinks a scene to a seventh; higher levels gain little more.
const LEVEL: i32 = 1;

/// A blob as it is stored.
#[derive(Debug)]
pub(super) struct StoredBlob {
    /// The hash of the uncompressed bytes.
    pub(super) hash: Fingerprint,
    /// Number of uncompressed bytes.
    pub(super) size: usize,
    /// Whether `bytes` are compressed.
    pub(super) packed: bool,
    pub(super) bytes: Vec<u8>,
}

impl StoredBlob {
    /// Hashes the bytes, and compresses them if that makes them smaller.
    pub(super) fn pack(plain: Vec<u8>) -> Self {
        let hash = Fingerprint::hash_bytes(&plain);
        let size = plain.len();
        let smaller = zstd::bulk::compress(&plain, LEVEL).ok().filter(|packed| packed.len() < size);
        Self { hash, size, packed: smaller.is_some(), bytes: smaller.unwrap_or(plain) }
    }
}

/// Returns the uncompressed bytes. Checks them against their hash, so that a damaged subtree is
/// never restored.
pub(super) fn unpack_blob(
    file: &Path,
    hash: &Fingerprint,
    packed: bool,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, LedgerError> {
    let plain = if packed { zstd::stream::decode_all(bytes.as_slice()).ok() } else { Some(bytes) };
    plain
        .filter(|plain| Fingerprint::hash_bytes(plain) == *hash)
        .ok_or_else(|| LedgerError::DamagedBlob { file: file.to_owned(), hash: hash.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plain: &[u8], packed: bool) {
        let blob = StoredBlob::pack(plain.to_vec());
        assert_eq!((blob.packed, blob.size), (packed, plain.len()));
        let back = unpack_blob(Path::new("x"), &blob.hash, blob.packed, blob.bytes);
        assert_eq!(back.unwrap(), plain);
    }

    #[test]
    fn blob_bytes_round_trip() {
        check(&[7; 10_000], true);
        check(b"", false);
        check(b"short", false);
    }

    #[test]
    fn damaged_blob_is_detected() {
        let mut blob = StoredBlob::pack(vec![7; 10_000]);
        blob.bytes.truncate(8);
        for packed in [true, false] {
            let result = unpack_blob(Path::new("x"), &blob.hash, packed, blob.bytes.clone());
            assert!(matches!(result, Err(LedgerError::DamagedBlob { .. })));
        }
    }
}
