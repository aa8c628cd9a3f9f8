//! Readers for the forms of single values: numbers, arrays of numbers, objects with named parts,
//! and the short strings that people write.
//!
//! [`super`] decides which form a property needs. This module knows nothing about classes or
//! scenes.

use std::f32::consts::PI;

use rbx_types::{
    BrickColor, CFrame, Color3, Color3uint8, Font, FontStyle, FontWeight, Matrix3, NumberRange,
    Rect, UDim, UDim2, Vector2, Vector3,
};
use scene_schemas::value::Content;
use serde_json::Value as Json;

/// A value, or what is wrong with it.
pub(super) type ReadResult<T> = Result<T, String>;

pub(super) fn read_string(json: &Json) -> ReadResult<String> {
    match json.get("value").unwrap_or(json) {
        Json::String(text) => Ok(text.clone()),
        // XML does not distinguish numbers from strings.
        Json::Number(number) => Ok(number.to_string()),
        _ => Err("a string is needed".to_owned()),
    }
}

pub(super) fn read_bool(json: &Json) -> ReadResult<bool> {
    let value = json.get("value").unwrap_or(json);
    value.as_bool().ok_or_else(|| "true or false is needed".to_owned())
}

pub(super) fn read_double(json: &Json) -> ReadResult<f64> {
    let number = json.get("value").unwrap_or(json);
    number.as_f64().filter(|n| n.is_finite()).ok_or_else(|| "a finite number is needed".to_owned())
}

pub(super) fn read_float(json: &Json) -> ReadResult<f32> {
    let n = read_double(json)? as f32;
    if n.is_finite() { Ok(n) } else { Err("the number is too large".to_owned()) }
}

pub(super) fn read_long(json: &Json) -> ReadResult<i64> {
    let number = json.get("value").unwrap_or(json);
    let whole = number.as_i64().or_else(|| number.as_str()?.parse().ok()).or_else(|| {
        number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15).map(|n| n as i64)
    });
    whole.ok_or_else(|| "a whole number is needed".to_owned())
}

pub(super) fn read_int(json: &Json) -> ReadResult<i32> {
    i32::try_from(read_long(json)?)
        .map_err(|_| "a whole number from -2147483648 to 2147483647 is needed".to_owned())
}

pub(super) fn read_int16s<const N: usize>(json: &Json) -> ReadResult<[i16; N]> {
    let read = read_numbers::<N>(json, std::array::from_fn(|n| ["x", "y", "z"][n]), "[0, 1, 0]")?;
    let mut whole = [0; N];
    for (to, from) in whole.iter_mut().zip(read) {
        if from.fract() != 0.0 || from < f32::from(i16::MIN) || from > f32::from(i16::MAX) {
            return Err("whole numbers from -32768 to 32767 are needed".to_owned());
        }
        *to = from as i16;
    }
    Ok(whole)
}

/// Reads N numbers: an array of them, or an object with these keys.
pub(super) fn read_numbers<const N: usize>(
    json: &Json,
    names: [&str; N],
    example: &str,
) -> ReadResult<[f32; N]> {
    let fail = || format!("{N} numbers are needed, such as {example}");
    let json = json.get("value").unwrap_or(json);
    let mut read = [0.0; N];
    for (n, to) in read.iter_mut().enumerate() {
        let item = match json {
            Json::Array(items) if items.len() == N => &items[n],
            Json::Object(map) => map
                .get(names[n])
                .or_else(|| map.get(&names[n].to_uppercase()))
                .ok_or_else(|| format!("`{}` is missing; {}", names[n], fail()))?,
            _ => return Err(fail()),
        };
        if !item.is_number() {
            return Err(fail());
        }
        *to = read_float(item)?;
    }
    Ok(read)
}

pub(super) fn read_vector3(json: &Json) -> ReadResult<Vector3> {
    read_numbers(json, ["x", "y", "z"], "[0, 1, 0]").map(|[x, y, z]| Vector3::new(x, y, z))
}

pub(super) fn read_vector2(json: &Json) -> ReadResult<Vector2> {
    read_numbers(json, ["x", "y"], "[0, 1]").map(|[x, y]| Vector2::new(x, y))
}

pub(super) fn read_cframe(json: &Json) -> ReadResult<CFrame> {
    // `comps` is other tools' name for the twelve numbers.
    let listed = ["comps", "components", "value"].into_iter().find_map(|name| json.get(name));
    let json = listed.unwrap_or(json);
    let example = "[0, 5, 0] for a position, twelve numbers as CFrame:GetComponents() gives them, or \
                   {\"position\":[0,5,0],\"orientation\":[9 numbers, row by row]}";
    if let Json::Array(items) = json
        && items.len() == 12
    {
        let names = ["x", "y", "z", "", "", "", "", "", "", "", "", ""];
        let n = read_numbers::<12>(json, names, example)?;
        let row = |at: usize| Vector3::new(n[at], n[at + 1], n[at + 2]);
        return Ok(CFrame::new(row(0), Matrix3::new(row(3), row(6), row(9))));
    }
    let Json::Object(map) = json else {
        return match read_vector3(json) {
            Ok(position) => Ok(CFrame::new(position, Matrix3::identity())),
            Err(_) => Err(format!("a CFrame is needed: {example}")),
        };
    };
    let Some(position) = map.get("position") else {
        if let Ok(position) = read_vector3(json) {
            return Ok(CFrame::new(position, Matrix3::identity()));
        }
        return Err(format!("`position` is missing; a CFrame is {example}"));
    };
    let orientation = match map.get("orientation") {
        None => Matrix3::identity(),
        Some(Json::Array(items)) if items.len() == 3 && items[0].is_number() => {
            rotation_matrix(read_vector3(&map["orientation"])?)
        }
        Some(nine) => {
            let n = read_numbers::<9>(nine, [""; 9], "[1,0,0, 0,1,0, 0,0,1]")?;
            let row = |at: usize| Vector3::new(n[at], n[at + 1], n[at + 2]);
            Matrix3::new(row(0), row(3), row(6))
        }
    };
    Ok(CFrame::new(read_vector3(position)?, orientation))
}

/// Reads a colour: `"#ff8800"`, `[1, 0.5, 0]` from 0 to 1, `[255, 136, 0]` from 0 to 255, a
/// BrickColor's name, or an object with `r`, `g` and `b`.
pub(super) fn read_color(json: &Json) -> ReadResult<Color3> {
    let text = json.get("hex").or_else(|| json.get("value")).unwrap_or(json);
    if let Json::String(text) = text {
        let hex = text.trim_start_matches('#');
        let value = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 6);
        if let Some(v) = value {
            let byte = |shift: u32| (v >> shift & 0xff) as u8;
            return Ok(Color3uint8::new(byte(16), byte(8), byte(0)).into());
        }
        if let Some(named) = BrickColor::from_name(text) {
            return Ok(named.to_color3uint8().into());
        }
        return Err(
            "a colour is needed: \"#ff8800\", [1, 0.5, 0] or a BrickColor's name".to_owned()
        );
    }
    let [r, g, b] = read_numbers(json, ["r", "g", "b"], "[1, 0.5, 0]")?;
    let in_bytes = json.get("__t").and_then(Json::as_str) == Some("Color3uint8")
        || [r, g, b].iter().any(|n| *n > 1.0);
    let scale = if in_bytes { 255.0 } else { 1.0 };
    if [r, g, b].iter().any(|n| *n < 0.0 || *n / scale > 1.0) {
        return Err("a colour's numbers are from 0 to 1, or from 0 to 255".to_owned());
    }
    Ok(Color3::new(r / scale, g / scale, b / scale))
}

pub(super) fn read_brick_color(json: &Json) -> ReadResult<BrickColor> {
    let named = ["name", "number", "value"].into_iter().find_map(|name| json.get(name));
    let json = named.unwrap_or(json);
    let found = match json {
        Json::String(name) => BrickColor::from_name(name),
        json => json.as_u64().and_then(|n| u16::try_from(n).ok()).and_then(BrickColor::from_number),
    };
    found
        .ok_or_else(|| "a BrickColor's name or number is needed, such as \"Bright red\"".to_owned())
}

fn read_pixels(offset: f32) -> ReadResult<i32> {
    if offset.fract() == 0.0 && offset.abs() < 2e9 {
        Ok(offset as i32)
    } else {
        Err("an offset is a whole number of pixels".to_owned())
    }
}

pub(super) fn read_udim(json: &Json) -> ReadResult<UDim> {
    let [scale, offset] = read_numbers(json, ["scale", "offset"], "[0.5, 10]")?;
    Ok(UDim::new(scale, read_pixels(offset)?))
}

pub(super) fn read_udim2(json: &Json) -> ReadResult<UDim2> {
    let example = "[0.5, 0, 0.5, 0]";
    let json = json.get("value").unwrap_or(json);
    match json {
        Json::Array(items) if items.len() == 2 => {
            Ok(UDim2::new(read_udim(&items[0])?, read_udim(&items[1])?))
        }
        Json::Array(_) => {
            let [xs, xo, ys, yo] = read_numbers(json, ["", "", "", ""], example)?;
            Ok(UDim2::new(UDim::new(xs, read_pixels(xo)?), UDim::new(ys, read_pixels(yo)?)))
        }
        Json::Object(map) => match (map.get("x"), map.get("y")) {
            (Some(x), Some(y)) => Ok(UDim2::new(read_udim(x)?, read_udim(y)?)),
            _ if map.contains_key("xScale") || map.contains_key("yScale") => {
                let names = ["xScale", "xOffset", "yScale", "yOffset"];
                let [xs, xo, ys, yo] = read_numbers(json, names, example)?;
                Ok(UDim2::new(UDim::new(xs, read_pixels(xo)?), UDim::new(ys, read_pixels(yo)?)))
            }
            _ => Err(format!("`x` and `y` are needed, or four numbers such as {example}")),
        },
        _ => Err(format!("a UDim2 is needed, such as {example}")),
    }
}

pub(super) fn read_number_range(json: &Json) -> ReadResult<NumberRange> {
    let (min, max) = match json {
        Json::Number(_) => (read_float(json)?, read_float(json)?),
        json => {
            let [min, max] = read_numbers(json, ["min", "max"], "[1, 5]")?;
            (min, max)
        }
    };
    if min > max {
        return Err("the smaller number comes first".to_owned());
    }
    Ok(NumberRange::new(min, max))
}

pub(super) fn read_rect(json: &Json) -> ReadResult<Rect> {
    if let (Some(min), Some(max)) = (json.get("min"), json.get("max")) {
        return Ok(Rect::new(read_vector2(min)?, read_vector2(max)?));
    }
    let [a, b, c, d] = read_numbers(json, ["", "", "", ""], "[0, 0, 100, 50]")?;
    Ok(Rect::new(Vector2::new(a, b), Vector2::new(c, d)))
}

pub(super) fn read_font(json: &Json) -> ReadResult<Font> {
    let fail = "a font is needed: \"rbxasset://fonts/families/SourceSansPro.json\" or \
                {\"family\":…,\"weight\":400,\"style\":\"Normal\"}";
    let family = json.get("family").unwrap_or(json).as_str().ok_or(fail)?;
    if !family.contains("://") {
        return Err(fail.to_owned());
    }
    let weight = match json.get("weight") {
        None => FontWeight::Regular,
        Some(n) => n
            .as_u64()
            .and_then(|n| FontWeight::from_u16(u16::try_from(n).ok()?))
            .ok_or("a font's weight is 100, 200 and so on up to 900")?,
    };
    let style = match json.get("style").map(Json::as_str) {
        None | Some(Some("Normal")) => FontStyle::Normal,
        Some(Some("Italic")) => FontStyle::Italic,
        Some(_) => return Err("a font's style is \"Normal\" or \"Italic\"".to_owned()),
    };
    Ok(Font::new(family, weight, style))
}

pub(super) fn read_content(json: &Json) -> ReadResult<Content> {
    match json.get("uri").or_else(|| json.get("value")).unwrap_or(json) {
        Json::String(uri) if uri.is_empty() => Ok(Content::None),
        Json::String(uri) => Ok(Content::Uri(uri.clone())),
        _ => Err("an asset's address is needed, such as \"rbxassetid://1818\"".to_owned()),
    }
}

pub(super) fn read_tags(json: &Json) -> ReadResult<Vec<String>> {
    let fail = "a list of tags is needed, such as [\"Enemy\", \"Boss\"]";
    let items = json.get("value").unwrap_or(json).as_array().ok_or(fail)?;
    let mut tags = Vec::new();
    for item in items {
        let tag = item.as_str().filter(|tag| !tag.is_empty() && tag.len() <= 100).ok_or(fail)?;
        if tag.contains('\0') {
            return Err("a tag has no NUL character".to_owned());
        }
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    Ok(tags)
}

/// Converts `Orientation` in degrees to a matrix: rotates about Y, then X, then Z.
pub(super) fn rotation_matrix(degrees: Vector3) -> Matrix3 {
    let (sx, cx) = (degrees.x * PI / 180.0).sin_cos();
    let (sy, cy) = (degrees.y * PI / 180.0).sin_cos();
    let (sz, cz) = (degrees.z * PI / 180.0).sin_cos();
    Matrix3::new(
        Vector3::new(cy * cz + sy * sx * sz, -cy * sz + sy * sx * cz, sy * cx),
        Vector3::new(cx * sz, cx * cz, -sx),
        Vector3::new(-sy * cz + cy * sx * sz, sy * sz + cy * sx * cz, cy * cx),
    )
}
