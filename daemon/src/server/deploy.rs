//! Deploys over HTTP: the parameters of a plan.

use scene_schemas::api::{DeployQuery, Failure, FailureKind, SessionId};
use scene_schemas::entry::Seq;

use super::extract::{FromParameters, Parameters};
use crate::failure::failure;

impl FromParameters for DeployQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let session = parameters.text("session")?.map(SessionId).ok_or_else(|| {
            let hint =
                "Choose `deploy` at a place under Chat on the page; a client sends its `session`.";
            failure(FailureKind::BadRequest, "No place is specified.", hint)
        })?;
        Ok(Self {
            session,
            universe: parameters.number("universe")?,
            place: parameters.number("place")?,
            earlier: parameters.number("earlier")?.map(Seq),
        })
    }
}
