//! Base64 with the standard alphabet and padding, as the format uses it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode_base64(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len().div_ceil(3) * 4);
    for chunk in data.chunks(3) {
        let bits = chunk
            .iter()
            .enumerate()
            .fold(0, |bits, (n, byte)| bits | u32::from(*byte) << (16 - 8 * n));
        for n in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * n)) as usize & 63];
            text.push(if n <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// Decodes base64, ignoring whitespace. None if the text is not base64.
pub(super) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut digits, mut padding) = (0_u32, 0, 0);
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != 0x0b) {
        if *byte == b'=' {
            padding += 1;
            continue;
        }
        bits = bits << 6 | digit_value(*byte).filter(|_| padding == 0)?;
        digits += 1;
        if digits % 4 == 0 {
            data.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    match (digits % 4, padding) {
        (0, 0) => {}
        (2, 2) if bits % 16 == 0 => data.push((bits >> 4) as u8),
        (3, 1) if bits % 4 == 0 => data.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
        _ => return None,
    }
    Some(data)
}

fn digit_value(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}
