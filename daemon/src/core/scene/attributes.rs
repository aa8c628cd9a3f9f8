//! Attributes as a file stores them, in one text of bytes.
//!
//! The reader of the rbx crates believes every length that stands there and asks for that much
//! memory, which ends the process. So lengths are held against the bytes first.

use rbx_types::Attributes;

/// Reads attributes; none where the bytes are none.
pub(super) fn read(bytes: &[u8]) -> Option<Attributes> {
    fits(bytes)?;
    Attributes::from_reader(bytes).ok()
}

/// Goes over all attributes; none where one of them says more than there is.
fn fits(mut rest: &[u8]) -> Option<()> {
    if rest.is_empty() {
        return Some(());
    }
    for _ in 0..count(&mut rest)? {
        text(&mut rest)?;
        let ty = *take(&mut rest, 1)?.first()?;
        match ty {
            0x02 => text(&mut rest)?,
            0x03 => take(&mut rest, 1)?,
            0x04 | 0x05 | 0x0e => take(&mut rest, 4)?,
            0x06 | 0x09 | 0x10 | 0x1b => take(&mut rest, 8)?,
            0x0a | 0x1c => take(&mut rest, 16)?,
            0x0f | 0x11 => take(&mut rest, 12)?,
            0x14 => {
                let is_whole = take(&mut rest, 13)?.last() == Some(&0);
                take(&mut rest, if is_whole { 36 } else { 0 })?
            }
            0x15 => {
                text(&mut rest)?;
                take(&mut rest, 4)?
            }
            0x17 => counted(&mut rest, 12)?,
            0x19 => counted(&mut rest, 20)?,
            0x21 => {
                take(&mut rest, 3)?;
                text(&mut rest)?;
                text(&mut rest)?
            }
            _ => return None,
        };
    }
    Some(())
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(taken)
}

fn count(rest: &mut &[u8]) -> Option<usize> {
    let (four, behind) = rest.split_first_chunk()?;
    *rest = behind;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    counted(rest, 1)
}

fn counted<'a>(rest: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let len = count(rest)?.checked_mul(width)?;
    take(rest, len)
}

#[cfg(test)]
mod tests {
    use rbx_types::{
        BinaryString, BrickColor, CFrame, Color3, ColorSequence, ColorSequenceKeypoint, EnumItem,
        Font, Matrix3, NumberRange, NumberSequence, NumberSequenceKeypoint, Rect, UDim, UDim2,
        Variant, Vector2, Vector3,
    };

    use super::*;

    fn values() -> Vec<Variant> {
        let (one, two) = (Vector3::new(1.0, 2.0, 3.0), Vector2::new(1.0, 2.0));
        let turned = Matrix3::new(one, one, one);
        let (udim, black) = (UDim::new(0.5, 2), Color3::new(0.0, 0.5, 1.0));
        let number = NumberSequenceKeypoint::new(0.0, 1.0, 0.0);
        let colour = ColorSequenceKeypoint::new(0.0, black);
        vec![
            BinaryString::from(b"text".to_vec()).into(),
            true.into(),
            7_i32.into(),
            0.5_f32.into(),
            0.5_f64.into(),
            udim.into(),
            UDim2::new(udim, udim).into(),
            BrickColor::MediumStoneGrey.into(),
            black.into(),
            two.into(),
            one.into(),
            CFrame::new(one, Matrix3::identity()).into(),
            CFrame::new(one, turned).into(),
            EnumItem { ty: "Material".to_owned(), value: 256 }.into(),
            NumberSequence { keypoints: vec![number; 3] }.into(),
            ColorSequence { keypoints: vec![colour; 3] }.into(),
            NumberRange::new(0.0, 1.0).into(),
            Rect::new(two, two).into(),
            Font::default().into(),
        ]
    }

    #[test]
    fn what_fits_is_read_and_what_does_not_is_none() {
        assert_eq!(read(b""), Some(Attributes::new()));
        for value in values() {
            let all = Attributes::new().with("First", value).with("Second", true);
            let mut bytes = Vec::new();
            all.to_writer(&mut bytes).unwrap();
            assert_eq!(read(&bytes), Some(all.clone()));
            for end in 1..bytes.len() {
                assert_eq!(read(&bytes[..end]), None, "{all:?}");
            }
            for at in 0..bytes.len() - 3 {
                let mut lying = bytes.clone();
                lying[at..at + 4].copy_from_slice(&[0xff; 4]);
                let _ = read(&lying);
            }
        }
    }
}
