//! The value of a property: a short form, a swatch if it is a color, and the collapsed full value.

use maud::{Markup, html};
use scene_schemas::Value;
use scene_schemas::value::Content;
use vector_core::safe_line::safe_line;

/// The maximum length of a shown value, in characters.
const MOST: usize = 20_000;
/// The end of the short form of a rotated frame, which omits the axes.
const ROTATED: &str = "rotated";

/// Renders a value with its short form.
pub(super) fn value_view(value: Option<&Value>, short: &str) -> Markup {
    let whole = value.and_then(|value| full_value(value, short));
    html! {
        @if let Some(value) = value { (color_swatch(value)) }
        @if let Some(whole) = whole {
            details.whole { summary { (safe_line(short)) } pre { (line_count(&whole)) } }
        } @else { (safe_line(short)) }
    }
}

/// Returns the full value if its short form omits something.
fn full_value(value: &Value, short: &str) -> Option<String> {
    let text = match value {
        Value::String(text) => (format!("\"{text}\"") != short).then(|| text.clone()),
        Value::ContentId(uri) | Value::Content(Content::Uri(uri)) => {
            (!uri.is_empty() && uri != short).then(|| uri.clone())
        }
        Value::CFrame(_) | Value::OptionalCFrame(_) => {
            short.ends_with(ROTATED).then(|| serde_json::to_string_pretty(value).ok())?
        }
        Value::Attributes(_)
        | Value::ColorSequence(_)
        | Value::MaterialColors(_)
        | Value::NumberSequence(_)
        | Value::PhysicalProperties(_)
        | Value::Tags(_) => serde_json::to_string_pretty(value).ok(),
        _ => None,
    }?;
    Some(match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}\n… and more", &text[..end]),
        None => text,
    })
}

fn line_count(text: &str) -> String {
    text.split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
}

/// Renders a swatch of a color, or of the colors of a sequence at their positions.
fn color_swatch(value: &Value) -> Markup {
    let colours: Vec<(f32, [f32; 3])> = match value {
        Value::Color3(it) => vec![(0.0, [it.r, it.g, it.b])],
        Value::Color3uint8(it) => {
            vec![(0.0, [it.r, it.g, it.b].map(|part| f32::from(part) / 255.0))]
        }
        Value::BrickColor(it) => {
            let it = it.to_color3uint8();
            vec![(0.0, [it.r, it.g, it.b].map(|part| f32::from(part) / 255.0))]
        }
        Value::ColorSequence(it) => {
            let points = it.keypoints.iter();
            points.map(|it| (it.time, [it.color.r, it.color.g, it.color.b])).collect()
        }
        _ => return html! {},
    };
    html! {
        svg.swatch width="14" height="14" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true" {
            @for (at, parts) in colours {
                rect x=(at.clamp(0.0, 1.0)) width="1" height="1" fill=(hex_color(parts)) {}
            }
        }
        " "
    }
}

/// Returns the CSS color. The color of a light may exceed the range, and is clamped.
fn hex_color(parts: [f32; 3]) -> String {
    let [r, g, b] = parts.map(|part| (part.clamp(0.0, 1.0) * 255.0).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use scene_schemas::value::Content;

    use super::*;

    fn made(of: &Value) -> String {
        value_view(Some(of), &of.to_brief()).into_string()
    }

    #[test]
    fn colour_is_shown_with_a_swatch() {
        let orange = Value::Color3(rbx_types::Color3::new(1.0, 0.5, 0.0));
        assert!(made(&orange).contains("fill=\"#ff8000\""), "{}", made(&orange));
        assert!(made(&orange).ends_with(" #ff8000"), "{}", made(&orange));
        let bright = Value::Color3(rbx_types::Color3::new(2.0, f32::NAN, -1.0));
        assert!(made(&bright).contains("fill=\"#ff0000\""), "{}", made(&bright));
    }

    #[test]
    fn only_cut_values_are_expandable() {
        assert_eq!(made(&Value::String("<a>".to_owned())), "&quot;&lt;a&gt;&quot;");
        let long = made(&Value::String(format!("{}\nb\u{202e}", "a".repeat(70))));
        assert!(long.starts_with("<details class=\"whole\"><summary>&quot;aaa"), "{long}");
        assert!(long.ends_with("a\nb\\u{202e}</pre></details>"), "{long}");
        let uri = |uri: &str| made(&Value::Content(Content::Uri(uri.to_owned())));
        assert_eq!((uri(""), uri("rbxassetid://1")), ("nothing".into(), "rbxassetid://1".into()));
        let endless = made(&Value::String("x".repeat(MOST * 2)));
        assert!(endless.len() < MOST + 300, "{}", endless.len());
    }
}
