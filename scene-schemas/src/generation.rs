//! Models that are generated from a text, by a service that takes credits for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a person or a model wants to have generated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerationRequest {
    /// What it is a model of, in 1 to 600 characters.
    pub prompt: String,
    /// Whether it has few, large faces. Meshy then chooses their number.
    #[serde(default)]
    pub is_low_poly: bool,
    /// The number of polygons, from 100 to 300,000. None leaves it to Meshy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polygons: Option<u32>,
    /// Whether the model gets colors, which is a second task.
    pub has_colors: bool,
}

/// A generation with its price, before anything is spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerationOffer {
    /// What is to be generated.
    pub request: GenerationRequest,
    /// The price of all its tasks, in credits.
    pub credits: u32,
    /// The credits of earlier tries of the same that gave no model, or may have cost something.
    #[serde(default)]
    pub lost_credits: u64,
}

impl GenerationOffer {
    /// Describes the generation in a few words.
    pub fn describe(&self) -> String {
        let GenerationRequest { prompt, is_low_poly, polygons, has_colors } = &self.request;
        let mut kind = String::new();
        if *is_low_poly {
            kind.push_str("low-poly ");
        }
        let count = polygons.map(|it| format!(" of {it} polygons")).unwrap_or_default();
        let colors = if *has_colors { "" } else { " without colors" };
        format!("Generate a {kind}model{count}{colors} with Meshy: “{prompt}”")
    }
}

/// The two tasks that a model is generated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GenerationStage {
    /// The shape of the model, without colors.
    Preview,
    /// The colors of the model.
    Refine,
}
