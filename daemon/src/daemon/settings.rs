//! What a person has chosen, whom they can choose, and what models have taken.

use scene_schemas::api::{Failure, FailureKind, KeyHandover, ProviderKeys, Settings, Usage};

use super::DaemonActor;
use super::views::ledger_failure;
use crate::daemon::settings_store::save_settings;
use crate::server::failure;

impl DaemonActor {
    /// The settings, with whom a person can choose now: keys come and go.
    pub(super) fn view_settings(&self) -> Settings {
        let mut models = self.model_selector.list_choices();
        let model =
            self.chosen_model().unwrap_or_else(|| models.first().cloned().unwrap_or_default());
        if !models.contains(&model) {
            models.push(model.clone());
        }
        Settings { model, models, ..self.settings.clone() }
    }

    /// The model that a person has chosen here.
    pub(super) fn chosen_model(&self) -> Option<String> {
        Some(self.settings.model.clone()).filter(|model| !model.is_empty())
    }

    pub(super) fn change_settings(&mut self, settings: Settings) -> Result<Settings, Failure> {
        if let Err(why) = self.model_selector.select_models(Some(&settings.model)) {
            let hint = format!("Choose one of: {}.", self.model_selector.list_choices().join(", "));
            return Err(failure(FailureKind::BadRequest, why, hint));
        }
        // Whoever answers anyhow was not chosen: that may become another.
        let is_usual = self.model_selector.list_choices().first() == Some(&settings.model);
        let model = if is_usual { String::new() } else { settings.model.clone() };
        self.settings = Settings { model, models: Vec::new(), ..settings };
        self.active_settings.update(&self.settings);
        self.event_hub.mark_settings_changed();
        save_settings(&self.home, &self.settings).map_err(|error| {
            let message = format!("The settings cannot be kept: {error}.");
            failure(FailureKind::Internal, message, "They hold until Vector ends.")
        })?;
        Ok(self.view_settings())
    }

    /// Takes keys from a person's terminal, and says which providers can be asked now.
    pub(super) fn accept_keys(&self, handed: KeyHandover) -> ProviderKeys {
        if self.model_selector.accept_keys(handed) {
            // Whom a person can choose, and who answers, may be others now.
            self.event_hub.mark_settings_changed();
        }
        self.model_selector.provider_keys()
    }

    /// What models have taken, all in all.
    pub(super) fn read_usage(&self) -> Result<Usage, Failure> {
        self.usage_meter.read_usage(&self.ledger).map_err(|error| ledger_failure(&error))
    }
}
