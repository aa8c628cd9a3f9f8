//! Runs of specs in Roblox's engine over HTTP: the parameters of a plan.

use scene_schemas::api::{Failure, FailureKind, VerifyQuery};
use scene_schemas::entry::Seq;

use super::extract::{FromParameters, Parameters};
use crate::failure::failure;

impl FromParameters for VerifyQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let proposal = parameters.number("proposal")?.map(Seq).ok_or_else(|| {
            let hint = "Choose `Verify` at a proposal on the page; a client sends its `proposal`.";
            failure(FailureKind::BadRequest, "No proposal is specified.", hint)
        })?;
        let (universe, place) = (parameters.number("universe")?, parameters.number("place")?);
        Ok(Self { proposal, universe, place })
    }
}
