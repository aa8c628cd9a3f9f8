//! Settings of the user, the models that can be chosen, provider keys, and the usage of models.

use std::sync::Arc;

use scene_schemas::api::{
    CappedSpending, Failure, FailureKind, KeyHandover, ProviderKeys, Settings, SpendingLimits,
    Usage,
};
use scene_schemas::entry::{Entry, Seq};

use super::handle::run_on_thread;
use super::settings_store::save_settings;
use super::views::{ledger_failure, not_found};
use super::{DaemonActor, DaemonHandle};
use crate::failure::failure;
use crate::session::Answer;
use vector_engine::budget::paying_task;

impl DaemonActor {
    /// Returns the settings with the models that can be chosen now, which depend on the available
    /// keys.
    fn view_settings(&self) -> Settings {
        let mut models = self.model_selector.list_choices();
        let model = self
            .active_settings
            .model()
            .unwrap_or_else(|| models.first().cloned().unwrap_or_default());
        if !models.contains(&model) {
            models.push(model.clone());
        }
        Settings { model, models, ..self.settings.clone() }
    }

    fn change_settings(&mut self, settings: Settings) -> Result<Settings, Failure> {
        check_amounts(&settings.limits)?;
        if let Err(why) = self.model_selector.select_models(Some(&settings.model)) {
            let hint = format!("Choose one of: {}.", self.model_selector.list_choices().join(", "));
            return Err(failure(FailureKind::BadRequest, why, hint));
        }
        // The default model is stored as no choice, so that it follows changes of the default.
        let is_usual = self.model_selector.list_choices().first() == Some(&settings.model);
        let model = if is_usual { String::new() } else { settings.model.clone() };
        self.settings = Settings { model, models: Vec::new(), ..settings };
        self.active_settings.update(&self.settings);
        self.event_hub.mark_settings_changed();
        save_settings(&self.home, &self.settings).map_err(|error| {
            let message = format!("The settings cannot be saved: {error}.");
            failure(FailureKind::Internal, message, "They apply until Vector is closed.")
        })?;
        Ok(self.view_settings())
    }

    /// Accepts keys from the user's terminal. Returns which providers can be used now.
    fn accept_keys(&self, handover: KeyHandover) -> ProviderKeys {
        if self.model_selector.accept_keys(handover) {
            // The models that can be chosen and the default may have changed.
            self.event_hub.mark_settings_changed();
        }
        self.model_selector.provider_keys()
    }
}

fn check_amounts(limits: &SpendingLimits) -> Result<(), Failure> {
    let SpendingLimits { day, project, task, request } = limits;
    let wrong = |limit: &f64| !limit.is_finite() || *limit < 0.0;
    match [day, project, task, request].into_iter().flatten().find(|limit| wrong(limit)) {
        None => Ok(()),
        Some(limit) => Err(failure(
            FailureKind::BadRequest,
            format!("{limit} is not a spending limit."),
            "A limit is an amount in US dollars, 0 or more; leave it out for none.",
        )),
    }
}

impl DaemonHandle {
    pub fn settings(&self) -> Answer<Settings> {
        self.run(|daemon| Ok(daemon.view_settings()))
    }

    pub fn change_settings(&self, settings: Settings) -> Answer<Settings> {
        self.run(|daemon| daemon.change_settings(settings))
    }

    /// Returns which providers have a key.
    pub fn provider_keys(&self) -> Answer<ProviderKeys> {
        self.run(|daemon| Ok(daemon.model_selector.provider_keys()))
    }

    pub fn accept_keys(&self, handover: KeyHandover) -> Answer<ProviderKeys> {
        self.run(|daemon| Ok(daemon.accept_keys(handover)))
    }

    /// Returns what was spent of the caps that are set for a workflow.
    ///
    /// # Errors
    /// The workflow does not exist, or the ledger cannot be read.
    pub async fn spending(&self, workflow: Seq) -> Result<Vec<CappedSpending>, Failure> {
        let of = move |daemon: &mut DaemonActor| {
            let started = daemon.ledger.record_at(workflow);
            let started = started.map_err(|error| ledger_failure(&error))?;
            let Some(Entry::Started { place, role, .. }) = started.map(|record| record.entry)
            else {
                return Err(not_found(workflow));
            };
            let task = paying_task(workflow, role);
            Ok((place, task, Arc::clone(&daemon.model_selector), daemon.settings.limits))
        };
        let (place, task, selector, limits) = self.run(of).await?;
        let (ledger, meter) = (Arc::clone(&self.state.ledger), Arc::clone(&self.state.usage_meter));
        // Settings and, the first time, the whole ledger are read.
        run_on_thread(move || {
            let caps = selector.spending_caps().with_limits(&limits);
            let spending = meter.read_spending(&ledger, &caps, task, &place);
            spending.map_err(|error| ledger_failure(&error))
        })
        .await
    }

    /// Returns the total usage of models.
    pub fn usage(&self) -> Answer<Usage> {
        let (ledger, meter) = (Arc::clone(&self.state.ledger), Arc::clone(&self.state.usage_meter));
        run_on_thread(move || meter.read_usage(&ledger).map_err(|error| ledger_failure(&error)))
    }
}
