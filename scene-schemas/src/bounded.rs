//! Whole numbers with limits. Deserialization enforces the same limits that the JSON schema prints.
//!
//! This module does not know what the numbers count.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BoundedNumber<const MIN: u64, const MAX: u64>(u64);

/// The error for a value outside the limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {min} to {max}, got {got}")]
pub struct OutOfBounds {
    /// The lowest allowed number.
    pub min: u64,
    /// The highest allowed number.
    pub max: u64,
    /// The rejected value, as text.
    pub got: String,
}

impl<const MIN: u64, const MAX: u64> BoundedNumber<MIN, MAX> {
    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0
    }

    fn refuse_value(got: impl fmt::Display) -> OutOfBounds {
        OutOfBounds { min: MIN, max: MAX, got: got.to_string() }
    }
}

impl<const MIN: u64, const MAX: u64> TryFrom<u64> for BoundedNumber<MIN, MAX> {
    type Error = OutOfBounds;

    fn try_from(number: u64) -> Result<Self, OutOfBounds> {
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(Self::refuse_value(number))
        }
    }
}

impl<const MIN: u64, const MAX: u64> fmt::Display for BoundedNumber<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for BoundedNumber<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Deserialize through JSON, so that a string or a fraction gets the same message as a
        // number out of range.
        let json = serde_json::Value::deserialize(deserializer)?;
        json.as_u64()
            .ok_or_else(|| Self::refuse_value(&json))
            .and_then(Self::try_from)
            .map_err(serde::de::Error::custom)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for BoundedNumber<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Bounded_{MIN}_{MAX}"))
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Percent = BoundedNumber<1, 100>;

    #[test]
    fn limits_are_inclusive() {
        for number in [1, 100] {
            let json = number.to_string();
            let read: Percent = serde_json::from_str(&json).unwrap();
            assert_eq!(read.get(), number);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
    }

    #[track_caller]
    fn refuse(json: &str) {
        let error = serde_json::from_str::<Percent>(json).unwrap_err();
        assert_eq!(error.to_string(), format!("must be a whole number from 1 to 100, got {json}"));
    }

    #[test]
    fn values_outside_the_limits_are_refused() {
        refuse("0");
        refuse("101");
        refuse("-1");
        refuse("1.5");
        refuse("\"7\"");
        refuse("null");
        refuse("18446744073709551615");
    }

    #[test]
    fn schema_states_the_same_limits() {
        let schema = schemars::schema_for!(Percent);
        let json = schema.as_value();
        assert_eq!(json["minimum"], 1);
        assert_eq!(json["maximum"], 100);
        assert_eq!(json["type"], "integer");
    }
}
