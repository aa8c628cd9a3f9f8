//! Fast readers for values of a few numbers in elements of their own, and for short texts of other
//! types, which are most of a place's data.
//!
//! Only the plain form is read. Everything else is left to rbx_xml, which is a hundred times as
//! slow. The results equal those of rbx_xml.

use rbx_types::{
    BinaryString, CFrame, Color3, Color3uint8, Matrix3, SecurityCapabilities, Variant, Vector2,
    Vector3,
};

use super::lexer::is_space;

/// Reads a value of one of these types; None if it has another type or is not in plain form.
pub(super) fn read_component(tag: &str, inside: &[u8]) -> Option<Variant> {
    match tag {
        "CoordinateFrame" => read_cframe(inside).map(Variant::CFrame),
        "Vector3" => {
            read_numbers(inside, ["X", "Y", "Z"]).map(|[x, y, z]| Vector3::new(x, y, z).into())
        }
        "Vector2" => read_numbers(inside, ["X", "Y"]).map(|[x, y]| Vector2::new(x, y).into()),
        "Color3" => {
            read_numbers(inside, ["R", "G", "B"]).map(|[r, g, b]| Color3::new(r, g, b).into())
        }
        "Color3uint8" => read_color_bytes(inside).map(Variant::Color3uint8),
        "UniqueId" => {
            let is_plain = inside.iter().all(u8::is_ascii_hexdigit);
            let text = std::str::from_utf8(inside).ok().filter(|_| is_plain)?;
            text.parse().ok().map(Variant::UniqueId)
        }
        "SecurityCapabilities" => {
            let bits = read_digits(inside)?.parse().ok()?;
            Some(SecurityCapabilities::from_bits(bits).into())
        }
        // Most instances have no attributes and no tags.
        "BinaryString" if inside.is_empty() => Some(BinaryString::new().into()),
        _ => None,
    }
}

/// Reads a colour in bytes, which is a single number: an unused byte, then red, green and blue.
fn read_color_bytes(inside: &[u8]) -> Option<Color3uint8> {
    let [_, r, g, b] = read_digits(inside)?.parse::<u32>().ok()?.to_be_bytes();
    Some(Color3uint8::new(r, g, b))
}

fn read_digits(inside: &[u8]) -> Option<&str> {
    let is_plain = !inside.is_empty() && inside.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(inside).ok().filter(|_| is_plain)
}

const CFRAME: [&str; 12] =
    ["X", "Y", "Z", "R00", "R01", "R02", "R10", "R11", "R12", "R20", "R21", "R22"];

fn read_cframe(inside: &[u8]) -> Option<CFrame> {
    let all = read_numbers(inside, CFRAME)?;
    let row = |n: usize| Vector3::new(all[n], all[n + 1], all[n + 2]);
    Some(CFrame::new(row(0), Matrix3::new(row(3), row(6), row(9))))
}

/// Reads the numbers in elements with these names, in this order, with only whitespace around them.
fn read_numbers<const N: usize>(inside: &[u8], names: [&str; N]) -> Option<[f32; N]> {
    let (mut numbers, mut rest) = ([0.0; N], inside);
    for (number, name) in numbers.iter_mut().zip(names) {
        rest = trim_start(rest).strip_prefix(b"<")?;
        rest = rest.strip_prefix(name.as_bytes())?.strip_prefix(b">")?;
        let (text, behind) = rest.split_at(memchr::memchr(b'<', rest)?);
        *number = parse_float(std::str::from_utf8(text).ok()?)?;
        rest = behind.strip_prefix(b"</")?.strip_prefix(name.as_bytes())?.strip_prefix(b">")?;
    }
    trim_start(rest).is_empty().then_some(numbers)
}

fn trim_start(text: &[u8]) -> &[u8] {
    let blank = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[blank..]
}

/// Parses a number of the format, which has its own names for non-finite numbers.
pub(super) fn parse_float<T: std::str::FromStr>(text: &str) -> Option<T> {
    match text {
        "INF" => "inf".parse().ok(),
        "-INF" => "-inf".parse().ok(),
        "NAN" => "nan".parse().ok(),
        text => text.parse().ok(),
    }
}
