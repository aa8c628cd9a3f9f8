//! JSON numbers, and the canonical text of any JSON.
//!
//! A fingerprint made by the plugin must equal one made here. Both sides therefore use the text of
//! RFC 8785 (keys sorted, numbers as ECMAScript prints them), except that keys are sorted by their
//! bytes and that negative zero stays `-0.0`.

use serde_json::{Number, Value as Json};

/// Whole numbers below this one are exact in a double and are written without a fraction.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a single as a JSON number: the decimal with the fewest digits that reads back as the
/// same single.
///
/// A decimal is read as a double first and then rounded to a single, because that is all Luau can
/// do. The few decimals that round to another single this way get more digits. A value that is not
/// finite becomes `"inf"`, `"-inf"` or `"nan"`.
pub fn f32_number(number: f32) -> Json {
    f64_number(widen_single(number))
}

/// Returns a double as a JSON number, without a fraction if it is whole. A value that is not finite
/// becomes `"inf"`, `"-inf"` or `"nan"`.
pub fn f64_number(number: f64) -> Json {
    if number.is_nan() {
        Json::from("nan")
    } else if number.is_infinite() {
        Json::from(if number > 0.0 { "inf" } else { "-inf" })
    } else if is_whole(number) {
        Json::from(number as i64)
    } else {
        Number::from_f64(number).map_or(Json::Null, Json::Number)
    }
}

/// Whether the number can be written as an integer. Negative zero cannot, because an integer would
/// lose its sign.
fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < EXACT && (number != 0.0 || number.is_sign_positive())
}

/// Returns the double that the single's shortest decimal reads as.
fn widen_single(single: f32) -> f64 {
    if !single.is_finite() || is_whole(f64::from(single)) && single.abs() < 16_777_216.0 {
        return f64::from(single);
    }
    let shortest = format!("{single:e}");
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    (digits..=17)
        .filter_map(|digits| format!("{single:.*e}", digits - 1).parse::<f64>().ok())
        .find(|double| (*double as f32).to_bits() == single.to_bits())
        .unwrap_or(f64::from(single))
}

/// Returns the canonical text of any JSON: compact, keys sorted by their bytes, and one notation
/// for each number. It does not depend on the order in which the keys were read.
pub fn canonical_json(value: &Json) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Json, text: &mut String) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => text.push_str(&number_text(number)),
        Json::String(string) => write_string(string, text),
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(name, text);
                text.push(':');
                write_canonical(field, text);
            }
            text.push('}');
        }
    }
}

fn write_string(string: &str, text: &mut String) {
    use std::fmt::Write;
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", control as u32);
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
}

/// An integer that does not fit into a double keeps its digits. It can only occur in a model's
/// arguments.
pub(super) fn number_text(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    number.as_f64().map_or_else(|| number.to_string(), format_ecmascript)
}

/// Formats a number like `Number::toString` of ECMAScript. Luau's `tostring` differs in one way
/// only: it pads an exponent to two digits (`1e-07`).
fn format_ecmascript(number: f64) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0.0".to_owned() } else { "0".to_owned() };
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    // Number of digits before the decimal point.
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    let count = digits.len() as i32;
    if !(-5..=21).contains(&point) {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let plus = if point > 0 { "+" } else { "" };
        format!("{sign}{first}{dot}{rest}e{plus}{}", point - 1)
    } else if point <= 0 {
        let zeros = "0".repeat(point.unsigned_abs() as usize);
        format!("{sign}0.{zeros}{digits}")
    } else if point >= count {
        let zeros = "0".repeat((point - count) as usize);
        format!("{sign}{digits}{zeros}")
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: f64, text: &str) {
        assert_eq!(canonical_json(&f64_number(number)), text);
        let read: Json = serde_json::from_str(&f64_number(number).to_string()).unwrap();
        assert_eq!(read.as_f64().unwrap().to_bits(), number.to_bits());
        let read: Json = serde_json::from_str(text).unwrap();
        assert_eq!(read.as_f64().unwrap().to_bits(), number.to_bits());
    }

    #[test]
    fn doubles_print_like_ecmascript() {
        check(0.0, "0");
        check(-0.0, "-0.0");
        check(1.0, "1");
        check(-17.0, "-17");
        check(0.1, "0.1");
        check(123.456, "123.456");
        check(1e21, "1e+21");
        check(1e20, "100000000000000000000");
        check(1.5e300, "1.5e+300");
        check(0.000_001, "0.000001");
        check(0.000_000_1, "1e-7");
        check(-1.25e-7, "-1.25e-7");
        check(9_007_199_254_740_991.0, "9007199254740991");
        check(9_007_199_254_740_992.0, "9007199254740992");
        check(5e-324, "5e-324");
        check(f64::MAX, "1.7976931348623157e+308");
        check(0.1 + 0.2, "0.30000000000000004");
    }

    #[track_caller]
    fn check_single(number: f32, text: &str) {
        let json = f32_number(number);
        assert_eq!(canonical_json(&json), text);
        let read: Json = serde_json::from_str(&json.to_string()).unwrap();
        assert_eq!((read.as_f64().unwrap() as f32).to_bits(), number.to_bits());
    }

    #[test]
    fn singles_print_in_shortest_form() {
        check_single(0.1, "0.1");
        check_single(-0.0, "-0.0");
        check_single(1.0, "1");
        check_single(16_777_217.0, "16777216");
        check_single(1e10, "10000000000");
        check_single(1e30, "1e+30");
        check_single(f32::MAX, "3.4028235e+38");
        check_single(f32::MIN_POSITIVE, "1.1754944e-38");
        check_single(f32::from_bits(1), "1e-45");
        check_single(1.0 / 3.0, "0.33333334");
        // Seven digits would be enough if the decimal were not read as a double first.
        check_single(f32::from_bits(0x15ae_43fd), "7.0385307e-26");
    }

    #[test]
    fn sampled_singles_read_back_unchanged() {
        for bits in (0..0x7f80_0000_u32).step_by(9973) {
            let number = f32::from_bits(bits);
            let read = f32_number(number).as_f64().unwrap() as f32;
            assert_eq!(read.to_bits(), bits);
        }
    }

    #[test]
    fn non_finite_numbers_are_named() {
        assert_eq!(f32_number(f32::INFINITY), "inf");
        assert_eq!(f32_number(f32::NEG_INFINITY), "-inf");
        assert_eq!(f32_number(-f32::NAN), "nan");
        assert_eq!(f64_number(f64::NAN), "nan");
    }

    #[test]
    fn any_json_has_one_canonical_text() {
        let json: Json = serde_json::from_str(
            "{ \"b\": [1.0, null, true], \"B\": \"\\u0001\\n\\\"\\\\é\", \"a\": {} }",
        )
        .unwrap();
        assert_eq!(
            canonical_json(&json),
            "{\"B\":\"\\u0001\\n\\\"\\\\é\",\"a\":{},\"b\":[1,null,true]}"
        );
        assert_eq!(canonical_json(&Json::from(u64::MAX)), "18446744073709551615");
    }
}
