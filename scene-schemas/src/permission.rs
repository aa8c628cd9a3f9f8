//! What a call may do only with the permission of a person: play the game in Studio, spend credits,
//! upload files, have proposals reviewed, and have a model do a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::Seq;
use crate::generation::GenerationOffer;
use crate::review::ReviewOffer;
use crate::upload::AssetFile;
use crate::workers::TaskOffer;

/// What a call may need the permission of a person for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// To play the game in Studio.
    Playtest,
    /// To have a model generated, which costs credits.
    Generate(Box<GenerationOffer>),
    /// To upload a file as an asset, which cannot be undone.
    Upload(Box<AssetFile>),
    /// To have a model review a proposal, which costs tokens.
    Review(Box<ReviewOffer>),
    /// To have Vector's own model do a task, which costs tokens.
    Task(Box<TaskOffer>),
}

impl Permission {
    /// Returns the question to the person.
    pub fn question(&self) -> String {
        match self {
            Self::Playtest => {
                "Play the game in Studio? Its scripts run for real: they can change the place's data \
                 stores and send requests."
                    .to_owned()
            }
            Self::Generate(offer) => {
                let lost = match offer.lost_credits {
                    0 => String::new(),
                    lost => format!(
                        " Earlier tries of the same gave no model, and cost up to {lost} credits: look \
                         at https://www.meshy.ai/workspace first."
                    ),
                };
                format!(
                    "{}? It costs {} credits of your account at Meshy, which are not paid back.{lost}",
                    offer.describe(),
                    offer.credits
                )
            }
            Self::Upload(file) => format!(
                "{} ({})? Roblox reviews it, and an upload cannot be undone.",
                file.describe(),
                file.details()
            ),
            Self::Review(offer) => {
                let ReviewOffer { proposal, title, model, cost } = &**offer;
                format!(
                    "Have {model} review proposal {proposal} ({title})? Its first request has {cost}; \
                     it costs more if it reads scripts."
                )
            }
            Self::Task(offer) => offer.question(),
        }
    }

    /// Returns the answers that are offered. What costs credits, costs an unknown number of tokens or
    /// cannot be undone is permitted once at a time.
    pub fn answers(&self) -> &'static [PermissionAnswer] {
        match self {
            Self::Playtest | Self::Review(_) => {
                &[PermissionAnswer::Once, PermissionAnswer::Task, PermissionAnswer::No]
            }
            Self::Generate(_) | Self::Upload(_) | Self::Task(_) => {
                &[PermissionAnswer::Once, PermissionAnswer::No]
            }
        }
    }

    /// Returns the generated model that the person should see before the answer.
    pub fn shown_model(&self) -> Option<Seq> {
        match self {
            Self::Upload(file) => file.generated,
            Self::Playtest | Self::Generate(_) | Self::Review(_) | Self::Task(_) => None,
        }
    }
}

/// A person's answer to a question for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// Yes, but for this call only.
    Once,
    /// Yes, for this call and the later ones of the same task.
    Task,
    /// No, neither for this call nor for others.
    No,
}

impl PermissionAnswer {
    /// Returns the answer as it is offered.
    pub fn label(self) -> &'static str {
        match self {
            Self::Once => "Yes, this time",
            Self::Task => "Yes, for this task",
            Self::No => "No",
        }
    }
}
