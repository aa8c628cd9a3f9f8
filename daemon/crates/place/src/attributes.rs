//! Parses attributes from the single byte string in which a file stores them.
//!
//! The reader of the rbx crates trusts every length in the data and allocates that much memory,
//! which can abort the process. Lengths are therefore checked against the available bytes first.

use rbx_types::Attributes;

use super::bytes::ByteReader;

/// Parses attributes; None if the bytes are not attributes.
pub(super) fn parse_attributes(bytes: &[u8]) -> Option<Attributes> {
    check_length(bytes)?;
    Attributes::from_reader(bytes).ok()
}

/// Checks the lengths of all attributes; None if one exceeds the data.
fn check_length(bytes: &[u8]) -> Option<()> {
    if bytes.is_empty() {
        return Some(());
    }
    let mut rest = ByteReader(bytes);
    for _ in 0..rest.read_u32()? {
        rest.read_text()?;
        match rest.read_byte()? {
            0x02 => rest.read_text()?,
            0x03 => rest.take_bytes(1)?,
            0x04 | 0x05 | 0x0e => rest.take_bytes(4)?,
            0x06 | 0x09 | 0x10 | 0x1b => rest.take_bytes(8)?,
            0x0a | 0x1c => rest.take_bytes(16)?,
            0x0f | 0x11 => rest.take_bytes(12)?,
            0x14 => {
                let is_whole = rest.take_bytes(13)?.last() == Some(&0);
                rest.take_bytes(if is_whole { 36 } else { 0 })?
            }
            0x15 => {
                rest.read_text()?;
                rest.take_bytes(4)?
            }
            0x17 => take_counted(&mut rest, 12)?,
            0x19 => take_counted(&mut rest, 20)?,
            0x21 => {
                rest.take_bytes(3)?;
                rest.read_text()?;
                rest.read_text()?
            }
            _ => return None,
        };
    }
    Some(())
}

fn take_counted<'a>(rest: &mut ByteReader<'a>, width: usize) -> Option<&'a [u8]> {
    let count = usize::try_from(rest.read_u32()?).ok()?;
    rest.take_bytes(count.checked_mul(width)?)
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
    fn valid_attributes_are_parsed_and_truncated_ones_are_none() {
        assert_eq!(parse_attributes(b""), Some(Attributes::new()));
        for value in values() {
            let all = Attributes::new().with("First", value).with("Second", true);
            let mut bytes = Vec::new();
            all.to_writer(&mut bytes).unwrap();
            assert_eq!(parse_attributes(&bytes), Some(all.clone()));
            for end in 1..bytes.len() {
                assert_eq!(parse_attributes(&bytes[..end]), None, "{all:?}");
            }
            for at in 0..bytes.len() - 3 {
                let mut lying = bytes.clone();
                lying[at..at + 4].copy_from_slice(&[0xff; 4]);
                let _ = parse_attributes(&lying);
            }
        }
    }
}
