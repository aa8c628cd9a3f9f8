//! The chunk container of a binary file: positions, unpacking and packing of chunks.
//!
//! Unchanged chunks are written by copying their bytes from the file. This module does not
//! interpret chunk contents. It trusts no size stated in a file until the available bytes can yield
//! it, because requesting too much memory aborts the process.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use zstd::zstd_safe::DCtx;

use super::{content_edits, lz4, lz4_edit};
use crate::splice::PieceList;

/// Size of the file header: magic, signature and version, two counts, and eight unused bytes.
pub(super) const HEADER: usize = 32;
/// Size of a chunk header: name, packed size, size, and four unused bytes.
pub(super) const CHUNK_HEADER: usize = 16;
/// Content of fewer bytes is always packed as a whole.
const MIN_EDITED: usize = 256;
const MAGIC: &[u8; 14] = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a";
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The return value of zstd for `dstSize_tooSmall`; its codes below 100 are part of its interface.
const ZSTD_NO_ROOM: usize = 70_usize.wrapping_neg();

/// The reason why a file is not a sequence of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ContainerError {
    /// The file is truncated.
    #[error("it is truncated; save or download it again")]
    CutOff,
    /// The file contradicts itself.
    #[error("it is damaged; save or download it again")]
    Damaged,
    /// The file has another version of the format.
    #[error("it is of version {0} of the format, and only version 0 can be read")]
    Version(u16),
    /// A chunk would be larger than 4 GB.
    #[error("a part of it would be larger than the format can hold")]
    TooLarge,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// The number of classes, as stated by the file.
    pub(super) classes: u32,
    /// The number of instances, as stated by the file.
    pub(super) instances: u32,
    /// The header as read, so that bytes without a known meaning are written unchanged.
    raw: [u8; HEADER],
}

impl FileHeader {
    /// Parses the header of a file.
    ///
    /// # Errors
    /// The file is too short, not a binary place or model, or of another version.
    pub(super) fn parse(file: &[u8]) -> Result<Self, ContainerError> {
        let raw = *file.first_chunk::<HEADER>().ok_or(ContainerError::CutOff)?;
        if !raw.starts_with(MAGIC) {
            return Err(ContainerError::Damaged);
        }
        match u16::from_le_bytes([raw[14], raw[15]]) {
            0 => Ok(Self { classes: read_u32(&raw, 16), instances: read_u32(&raw, 20), raw }),
            version => Err(ContainerError::Version(version)),
        }
    }

    /// Returns the header with other counts.
    pub(super) fn with_counts(&self, classes: u32, instances: u32) -> Self {
        Self { classes, instances, ..self.clone() }
    }

    pub(super) fn to_bytes(&self) -> [u8; HEADER] {
        let mut raw = self.raw;
        raw[16..20].copy_from_slice(&self.classes.to_le_bytes());
        raw[20..24].copy_from_slice(&self.instances.to_le_bytes());
        raw
    }
}

/// The position of a chunk, and the values of its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkSpan {
    /// `INST`, `PROP` and so on.
    pub(super) name: [u8; 4],
    /// Range of the whole chunk in the file, including its header.
    pub(super) at: Range<usize>,
    /// Size of the stored body; 0 if it is not compressed.
    pub(super) packed: u32,
    /// Size of the unpacked content.
    pub(super) size: u32,
}

impl ChunkSpan {
    /// Returns the stored bytes after the chunk header.
    fn packed_body<'a>(&self, file: &'a [u8]) -> Result<&'a [u8], ContainerError> {
        file.get(self.at.start + CHUNK_HEADER..self.at.end).ok_or(ContainerError::CutOff)
    }
}

/// Finds all chunks, including `END`. Bytes after the last chunk are not part of the format.
///
/// # Errors
/// The file is truncated, or a chunk states an impossible size.
pub(super) fn read_chunks(file: &[u8]) -> Result<Vec<ChunkSpan>, ContainerError> {
    let mut chunks = Vec::new();
    let mut at = HEADER;
    loop {
        let chunk = read_chunk(file, at)?;
        at = chunk.at.end;
        let is_last = chunk.name == *b"END\0";
        chunks.push(chunk);
        if is_last {
            return Ok(chunks);
        }
    }
}

fn read_chunk(file: &[u8], at: usize) -> Result<ChunkSpan, ContainerError> {
    let rest = file.get(at..).ok_or(ContainerError::CutOff)?;
    let (head, behind) = rest.split_first_chunk::<CHUNK_HEADER>().ok_or(ContainerError::CutOff)?;
    let (packed, size) = (read_u32(head, 4), read_u32(head, 8));
    let stored = if packed == 0 { size } else { packed } as usize;
    let body = behind.get(..stored).ok_or(ContainerError::CutOff)?;
    if packed != 0 && size as usize > max_unpacked(body) {
        return Err(ContainerError::Damaged);
    }
    let name = [head[0], head[1], head[2], head[3]];
    Ok(ChunkSpan { name, at: at..at + CHUNK_HEADER + stored, packed, size })
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map_or(0, |four| u32::from_le_bytes(*four))
}

/// Returns the maximum unpacked size of a body: each byte of LZ4 adds up to 255 to a length, and
/// four bytes of zstd can encode a block of 128 KB.
fn max_unpacked(body: &[u8]) -> usize {
    let ratio = if body.starts_with(&ZSTD) { 32 * 1024 } else { 255 };
    body.len().saturating_mul(ratio).saturating_add(64)
}

/// Returns how much memory may be allocated for a body based only on its stated size.
fn trusted_size(body: &[u8]) -> usize {
    body.len().saturating_mul(16).max(1 << 20)
}

/// The compression of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPacking {
    Stored,
    /// A single LZ4 block, without a frame.
    Lz4,
    Zstd,
}

impl ChunkPacking {
    /// Detects the compression of a chunk in a file.
    pub(super) fn of_chunk(file: &[u8], chunk: &ChunkSpan) -> Self {
        // An LZ4 block cannot begin with these bytes: it would repeat data before its start.
        let is_zstd = || chunk.packed_body(file).is_ok_and(|body| body.starts_with(&ZSTD));
        match chunk.packed {
            0 => Self::Stored,
            _ if is_zstd() => Self::Zstd,
            _ => Self::Lz4,
        }
    }
}

/// Unpacks a chunk.
///
/// # Errors
/// The chunk cannot be unpacked, or its size differs from the stated one.
pub(super) fn unpack_chunk<'a>(
    file: &'a [u8],
    chunk: &ChunkSpan,
) -> Result<Cow<'a, [u8]>, ContainerError> {
    let (body, size) = (chunk.packed_body(file)?, chunk.size as usize);
    let content = match ChunkPacking::of_chunk(file, chunk) {
        ChunkPacking::Stored => Some(Cow::Borrowed(body)),
        ChunkPacking::Lz4 => unpack_lz4(body, size).map(Cow::Owned),
        ChunkPacking::Zstd => unpack_zstd(body, size).map(Cow::Owned),
    };
    content.filter(|content| content.len() == size).ok_or(ContainerError::Damaged)
}

fn unpack_lz4(body: &[u8], size: usize) -> Option<Vec<u8>> {
    if size > trusted_size(body) && lz4::unpacked_len(body) != Some(size) {
        return None;
    }
    lz4_flex::block::decompress(body, size).ok()
}

/// If the claimed size is disproportionate, the buffer grows only while there is more content.
fn unpack_zstd(body: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut context = DCtx::try_create()?;
    let mut room = size.min(trusted_size(body));
    loop {
        let mut content = Vec::new();
        content.try_reserve_exact(room).ok()?;
        match context.decompress(&mut content, body) {
            Ok(_) => return Some(content),
            Err(ZSTD_NO_ROOM) if room < size => room = size.min(room.saturating_mul(4)),
            Err(_) => return None,
        }
    }
}

/// Unpacks the first `n` bytes of a chunk, or all of it if it has fewer. The rest is neither
/// unpacked nor checked: a file has thousands of columns, and opening it needs only their first
/// bytes.
///
/// # Errors
/// The first bytes cannot be unpacked.
pub(super) fn unpack_front(
    file: &[u8],
    chunk: &ChunkSpan,
    n: usize,
) -> Result<Vec<u8>, ContainerError> {
    let (body, n) = (chunk.packed_body(file)?, n.min(chunk.size as usize));
    let front = match ChunkPacking::of_chunk(file, chunk) {
        ChunkPacking::Stored => body.get(..n).map(<[u8]>::to_vec),
        ChunkPacking::Lz4 => unpack_lz4_front(body, n),
        // A frame that needs a larger window is unpacked as a whole, which needs no window.
        ChunkPacking::Zstd => unpack_zstd_front(body, n, chunk.size).or_else(|| {
            let whole = unpack_chunk(file, chunk).ok()?;
            whole.get(..n).map(<[u8]>::to_vec)
        }),
    };
    front.filter(|front| front.len() == n).ok_or(ContainerError::Damaged)
}

fn unpack_lz4_front(body: &[u8], n: usize) -> Option<Vec<u8>> {
    if n > trusted_size(body) && lz4::unpacked_len(body)? < n {
        return None;
    }
    lz4::unpack_front(body, n)
}

fn unpack_zstd_front(body: &[u8], n: usize, size: u32) -> Option<Vec<u8>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body).ok()?;
    // Between 2 and 128 MB. The window size is only the frame's claim, but the window is never
    // filled.
    decoder.window_log_max(u64::from(size).next_power_of_two().ilog2().clamp(21, 27)).ok()?;
    let mut front = Vec::with_capacity(n.min(trusted_size(body)));
    decoder.take(n as u64).read_to_end(&mut front).ok()?;
    (front.len() == n).then_some(front)
}

/// Packs a chunk, including its header, with the compression of the chunk that it replaces.
///
/// # Errors
/// The content is larger than a chunk can hold.
pub(super) fn pack_chunk(
    name: [u8; 4],
    content: &[u8],
    like: ChunkPacking,
) -> Result<Vec<u8>, ContainerError> {
    let size = u32::try_from(content.len()).map_err(|_| ContainerError::TooLarge)?;
    let packed = match like {
        ChunkPacking::Stored => None,
        ChunkPacking::Lz4 => Some(lz4_flex::block::compress(content)),
        // If zstd runs out of memory, the content is stored uncompressed.
        ChunkPacking::Zstd => zstd::bulk::compress(content, zstd::DEFAULT_COMPRESSION_LEVEL).ok(),
    };
    let packed_size = packed.as_ref().map_or(Ok(0), |packed| u32::try_from(packed.len()));
    let packed_size = packed_size.map_err(|_| ContainerError::TooLarge)?;
    let body = packed.as_deref().unwrap_or(content);
    let mut chunk = Vec::with_capacity(CHUNK_HEADER + body.len());
    chunk.extend_from_slice(&chunk_header(name, packed_size, size));
    chunk.extend_from_slice(body);
    Ok(chunk)
}

/// Packs the new content of a chunk, including its header, as pieces of the file. None if the
/// content differs so much that it is packed as a whole, or if a part of the chunk cannot be kept.
pub(super) fn edit_chunk(file: &[u8], chunk: &ChunkSpan, content: &[u8]) -> Option<PieceList> {
    let size = u32::try_from(content.len()).ok().filter(|_| content.len() >= MIN_EDITED)?;
    let before = unpack_chunk(file, chunk).ok()?;
    let edits = content_edits::find_edits(&before, content)?;
    let (body, position) = (chunk.packed_body(file).ok()?, chunk.at.start + CHUNK_HEADER);
    let (edited, packed_size) = match ChunkPacking::of_chunk(file, chunk) {
        ChunkPacking::Stored => (content_edits::edit_stored(position, before.len(), &edits), 0),
        ChunkPacking::Lz4 => {
            let edited = lz4_edit::edit_block(body, position, &before, &edits)?;
            // A wrong block would damage the place, and unpacking it takes little time.
            let block: Vec<u8> = edited.byte_runs(file).collect::<Vec<_>>().concat();
            unpack_lz4(&block, content.len()).filter(|unpacked| unpacked == content)?;
            (edited, u32::try_from(block.len()).ok()?)
        }
        ChunkPacking::Zstd => return None,
    };
    let mut pieces = PieceList::from(chunk_header(chunk.name, packed_size, size).to_vec());
    pieces.append(edited);
    Some(pieces)
}

fn chunk_header(name: [u8; 4], packed_size: u32, size: u32) -> [u8; CHUNK_HEADER] {
    let mut header = [0; CHUNK_HEADER];
    let numbers = [packed_size, size].map(u32::to_le_bytes);
    let parts = [name, numbers[0], numbers[1]];
    for (bytes, part) in header.chunks_mut(4).zip(parts) {
        bytes.copy_from_slice(&part);
    }
    header
}
