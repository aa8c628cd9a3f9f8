//! The chunks of a binary file, as far as their sizes can be believed.
//!
//! The reader of rbx_binary makes room for what a file says of itself before it looks whether that
//! much is there, so one wrong byte can ask for more memory than any machine has, which ends the
//! process. What the chunks hold is not looked into here.

use super::codec::CodecError;

/// Magic, signature and version, then how many classes and instances there are.
const HEADER: usize = 32;
/// Name, packed size, size, and four bytes without a meaning.
const CHUNK: usize = 16;
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Checks every size that stands outside of the chunks.
///
/// # Errors
/// The file is cut off, or says of itself what cannot be.
pub(super) fn check(file: &[u8]) -> Result<(), CodecError> {
    let (header, mut rest) = file.split_at_checked(HEADER).ok_or(CodecError::CutOff)?;
    let (classes, instances) = (number(header, 16), number(header, 20));
    let (mut inst, mut inst_bytes) = (0, 0);
    while !rest.is_empty() {
        let (head, behind) = rest.split_at_checked(CHUNK).ok_or(CodecError::CutOff)?;
        let (packed, size) = (number(head, 4), number(head, 8));
        let stored = if packed == 0 { size } else { packed };
        let (body, behind) = behind.split_at_checked(stored).ok_or(CodecError::CutOff)?;
        if packed != 0 && size > most(body) {
            return Err(CodecError::Damaged);
        }
        if head.starts_with(b"INST") {
            inst += 1;
            inst_bytes += size;
        }
        if head.starts_with(b"END\0") {
            break;
        }
        rest = behind;
    }
    // Every class has a chunk, and every instance a number of four bytes in it.
    if classes > inst || instances > inst_bytes / 4 {
        return Err(CodecError::Damaged);
    }
    Ok(())
}

fn number(bytes: &[u8], at: usize) -> usize {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, |four| u32::from_le_bytes(four) as usize)
}

/// The most bytes that a packed body can stand for: a byte of LZ4 adds 255 to a length, and four
/// bytes of zstd are a block of 128 KB.
fn most(body: &[u8]) -> usize {
    let ratio = if body.starts_with(&ZSTD) { 32 * 1024 } else { 255 };
    body.len().saturating_mul(ratio).saturating_add(64)
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Scene};
    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let mut scene = Scene::empty(Format::Binary);
        for n in 0..100 {
            scene.create(scene.root(), "Part", &format!("P{n}"));
        }
        let file = scene.encode().unwrap();
        check(&file).unwrap();
        for end in [0, 20, HEADER + 3, HEADER + CHUNK + 1, file.len() - 1] {
            assert!(matches!(check(&file[..end]), Err(CodecError::CutOff)), "{end}");
        }
        // Classes, instances, and of the first chunk the size unpacked.
        for at in [16, 20, HEADER + 8] {
            let mut bent = file.clone();
            bent[at + 3] = 0x7f;
            assert!(matches!(check(&bent), Err(CodecError::Damaged)), "{at}");
        }
        let mut bent = file;
        bent[HEADER + 7] = 0x7f;
        assert!(matches!(check(&bent), Err(CodecError::CutOff)));
    }
}
