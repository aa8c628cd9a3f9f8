//! Valid ranges of numeric properties, as far as Roblox's reference states them.
//!
//! Roblox silently clamps most values to the range. How an out-of-range value is handled is decided
//! by the caller.

use std::sync::LazyLock;

use rbx_reflection::DataType;
use rbx_types::VariantType;
use rustc_hash::FxHashMap;
use scene_schemas::Value;

use super::reflection;

/// The inclusive range of numbers that a property accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    least: f64,
    greatest: f64,
}

/// The ranges of `ranges.txt`, by class and property.
static RANGES: LazyLock<FxHashMap<(&str, &str), ValueRange>> = LazyLock::new(|| {
    let lines = include_str!("ranges.txt").lines().filter(|line| !line.starts_with('#'));
    let range = |line: &'static str| {
        let mut columns = line.split(' ');
        let key = (columns.next()?, columns.next()?);
        let (least, greatest) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
        Some((key, ValueRange { least, greatest }))
    };
    lines.filter_map(range).collect()
});

impl ValueRange {
    /// Returns the range of a property of a class or of its superclasses; None if it is not known.
    pub fn for_property(class: &str, property: &str) -> Option<Self> {
        let database = reflection::database();
        let classes = database.superclasses_iter(reflection::find_class(class)?);
        let found = classes.into_iter().find_map(|class| RANGES.get(&(class.name, property)));
        if found.is_some() {
            return found.copied();
        }
        // A transparency is a fraction, in any class.
        let is_number = matches!(
            reflection::declared_type(class, property),
            Some(DataType::Value(VariantType::Float32 | VariantType::Float64))
        );
        let is_share = is_number && property.ends_with("Transparency");
        is_share.then_some(Self { least: 0.0, greatest: 1.0 })
    }

    fn contains(self, number: f64) -> bool {
        // Compare as f32, the width of the values: as f64, 0.001 would not equal its f32 form.
        let number = number as f32;
        (self.least as f32..=self.greatest as f32).contains(&number)
    }
}

/// Describes what is wrong with a value, as the end of a sentence. None if the value is in range or
/// the range is not known.
pub fn out_of_range(class: &str, property: &str, value: &Value) -> Option<String> {
    let numbers = numbers_of(value);
    if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
        return Some(format!("{number} is not a finite number"));
    }
    let range = ValueRange::for_property(class, property)?;
    let outside = numbers.iter().find(|number| !range.contains(**number))?;
    let each = if numbers.len() > 1 { "each of its numbers" } else { "it" };
    let ValueRange { least, greatest } = range;
    let shown = *outside as f32;
    Some(format!("{each} is from {least} to {greatest} in Roblox, and {shown} is not"))
}

/// Returns the numbers of a value that must be finite and in range.
fn numbers_of(value: &Value) -> Vec<f64> {
    let all = |numbers: &[f32]| numbers.iter().map(|it| f64::from(*it)).collect();
    match value {
        Value::Float32(it) => vec![f64::from(*it)],
        Value::Float64(it) => vec![*it],
        Value::Int32(it) => vec![f64::from(*it)],
        Value::Int64(it) => vec![*it as f64],
        Value::Vector2(it) => all(&[it.x, it.y]),
        Value::Vector3(it) => all(&[it.x, it.y, it.z]),
        Value::NumberRange(it) => all(&[it.min, it.max]),
        Value::UDim(it) => all(&[it.scale]),
        Value::UDim2(it) => all(&[it.x.scale, it.y.scale]),
        Value::CFrame(it) => {
            let (at, turned) = (it.position, it.orientation);
            let rows = [at, turned.x, turned.y, turned.z];
            rows.iter().flat_map(|row| [row.x, row.y, row.z]).map(f64::from).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use rbx_types::Vector3;

    use super::*;

    #[test]
    fn values_outside_the_reference_range_are_found() {
        let size = |x: f32| Value::Vector3(Vector3::new(x, 1.0, 1.0));
        let number = Value::Float32;
        for (class, property, value, is_outside) in [
            ("Part", "Size", size(-4.0), true),
            ("Part", "Size", size(0.0), true),
            ("Part", "Size", size(0.001), false),
            ("Part", "Size", size(2048.0), false),
            ("Part", "Size", size(2049.0), true),
            ("MeshPart", "Transparency", number(17.0), true),
            ("Part", "Transparency", number(1.0), false),
            ("Part", "Reflectance", number(-0.1), true),
            ("TextLabel", "TextTransparency", number(1.5), true),
            ("Frame", "BackgroundTransparency", number(0.0), false),
            ("Sound", "Volume", number(11.0), true),
            ("Camera", "FieldOfView", number(70.0), false),
            ("Part", "CFrame", Value::Float32(f32::NAN), true),
            ("NumberValue", "Value", Value::Float64(f64::INFINITY), true),
            // Ranges that are not known.
            ("NumberValue", "Value", Value::Float64(-1e30), false),
            ("ClassOfTomorrow", "Transparency", number(17.0), false),
            ("Humanoid", "WalkSpeed", number(-1.0), false),
        ] {
            let found = out_of_range(class, property, &value);
            assert_eq!(found.is_some(), is_outside, "{class}.{property}: {found:?}");
        }
    }

    #[test]
    fn every_range_belongs_to_a_known_property() {
        let lines = include_str!("ranges.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count(), RANGES.len());
        assert!(RANGES.len() > 100);
        for ((class, property), range) in RANGES.iter() {
            assert!(reflection::declared_type(class, property).is_some(), "{class}.{property}");
            assert!(range.least < range.greatest, "{class}.{property}");
        }
    }
}
