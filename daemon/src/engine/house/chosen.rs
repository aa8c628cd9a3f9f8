//! What a person has chosen, whom they can choose, and what models have taken.

use std::sync::atomic::Ordering;

use scene_schemas::api::{Failure, FailureKind, Settings, Usage};

use super::House;
use crate::engine::kept::keep_settings;
use crate::server::failed;

impl House {
    /// The settings, with whom a person can choose now: keys come and go.
    pub(super) fn shown(&self) -> Settings {
        let mut models = self.who.names();
        if !models.contains(&self.settings.model) {
            models.push(self.settings.model.clone());
        }
        Settings { models, ..self.settings.clone() }
    }

    pub(super) fn choose(&mut self, settings: Settings) -> Result<Settings, Failure> {
        if let Err(why) = self.who.answers(Some(&settings.model)) {
            let hint = format!("Choose one of: {}.", self.who.names().join(", "));
            return Err(failed(FailureKind::BadRequest, why, hint));
        }
        self.settings = settings;
        self.dry_run.store(self.settings.dry_run, Ordering::Relaxed);
        keep_settings(&self.home, &self.settings, &self.who.names()).map_err(|error| {
            let message = format!("The settings cannot be kept: {error}.");
            failed(FailureKind::Internal, message, "They hold until Vector ends.")
        })?;
        Ok(self.shown())
    }

    /// What models have taken, all in all.
    pub(super) fn usage(&mut self) -> Result<Usage, Failure> {
        self.spent
            .read(&self.ledger)
            .map_err(|error| failed(FailureKind::Internal, error.to_string(), "Try again."))?;
        let mut usage = Usage { input: 0, output: 0, cost: None };
        for message in self.spent.messages() {
            let tokens = message.tokens.unwrap_or_default();
            usage.input += tokens.prompt;
            usage.output += tokens.generated;
            if let Some(dollars) = message.dollars {
                usage.cost = Some(usage.cost.unwrap_or(0.0) + dollars);
            }
        }
        Ok(usage)
    }
}
