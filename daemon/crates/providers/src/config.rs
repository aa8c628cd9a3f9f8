//! The settings of `vector.toml`. They are read from Vector's folder, then from the project's
//! folder, then from the environment; later ones override earlier ones.
//!
//! A file with an unknown setting is refused, and the error suggests the nearest name. A project's
//! file comes with the project, so it may choose a model, lower a cap and require reviews, but must not
//! decide where keys are sent.

pub mod editor_link;
pub mod scratch_place;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use self::editor_link::EditorTemplate;
use self::scratch_place::ScratchPlace;
use scene_schemas::api::SpendingLimits;
use scene_schemas::refusal::did_you_mean;
use scene_schemas::tier::TaskTier;
use toml::{Table, Value};
use vector_core::prompt::ThinkingEffort;
use vector_core::proposal::LARGE_CHANGE;

use self::settings::{REVIEW_REQUIRED, SettingWriter, from_days};
pub use self::settings::{SETTINGS, SettingSpec};
use super::catalogue::{Catalogue, error_line};
use super::wire::WireFormat;

/// The name of the settings files.
pub const FILE: &str = "vector.toml";

/// The name of the user's file that overrides the catalogue, in Vector's folder.
pub const MODELS_FILE: &str = "models.toml";

/// Reads an environment variable.
pub type EnvReader<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The origin of a value. Later ones override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueOrigin {
    /// `vector.toml` in Vector's folder.
    Home,
    /// `vector.toml` in the project's folder.
    Project,
    Environment,
}

/// The actions that a model is used for. Each can have its own model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelAction {
    Plan,
    Edit,
    Summarise,
    /// Review what was done.
    Review,
    /// Do a part of a lead's task.
    Work,
    /// Answer a question of a lead.
    Scout,
    /// Go on with a task in which another model had several calls in a row refused.
    Escalate,
    /// Do a task of this size.
    Task(TaskTier),
}

/// The settings of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderOverrides {
    pub base_url: Option<String>,
    pub wire: Option<WireFormat>,
    pub region: Option<String>,
}

/// Spending caps, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpendingCaps {
    pub day: Option<f64>,
    pub project: Option<f64>,
    pub workflow: Option<f64>,
    /// A request with a higher estimate is not sent before the user continues.
    pub request: Option<f64>,
    /// A chat request whose task is estimated to cost more is not begun before the user confirms.
    pub estimate: Option<f64>,
}

/// The estimate of a task above which the user has to confirm it, in US dollars, unless it is set.
const CONFIRM_ABOVE: f64 = 5.0;

/// The estimate of a request above which the user is asked, in US dollars, unless it is set.
const ASK_ABOVE: f64 = 1.0;

impl SpendingCaps {
    /// Returns the lower of each cap.
    fn or_lower(self, other: Self) -> Self {
        let lower = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            day: lower(self.day, other.day),
            project: lower(self.project, other.project),
            workflow: lower(self.workflow, other.workflow),
            request: lower(self.request, other.request),
            estimate: lower(self.estimate, other.estimate),
        }
    }

    /// Applies the limits that the user has chosen in the page or the widget: the lowest cap holds,
    /// and the chosen limit of a request replaces the configured one.
    #[must_use]
    pub fn with_limits(self, limits: &SpendingLimits) -> Self {
        let SpendingLimits { day, project, task: workflow, request } = *limits;
        let request = request.or(self.request);
        let chosen = Self { day, project, workflow, ..Self::default() };
        Self { request, ..self.or_lower(chosen) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// `PROVIDER/MODEL`, `PROVIDER` or `offline`, and the origin of that choice.
    pub model: Option<(String, ValueOrigin)>,
    /// The thinking effort of all models.
    pub effort: Option<ThinkingEffort>,
    /// The output limit, in tokens.
    pub max_output: Option<u32>,
    /// How long a provider may take until its answer begins.
    pub first_byte_timeout: Duration,
    /// How long a provider may pause within an answer.
    pub stall_timeout: Duration,
    /// How often a failed request is retried.
    pub retries: u32,
    /// How many messages a model may write in one workflow.
    pub turn_limit: u32,
    /// How long a model may take for a part of a lead's task.
    pub worker_timeout: Duration,
    pub caps: SpendingCaps,
    /// How many credits generated models may cost on a UTC day. None for no limit.
    pub credits_per_day: Option<u32>,
    /// Changes to more scripts or subtrees than this need an extra confirmation by the user.
    pub scope_limit: u32,
    /// Whether a build needs a script before the model may call it done.
    pub needs_script: bool,
    /// Whether whole replies are stored in files, for debugging.
    pub is_capture_on: bool,
    /// How many days captured replies are kept.
    pub capture_days: u32,
    /// How long the proposals of a disconnected agent wait for a decision; None if they wait
    /// forever.
    pub pending_limit: Option<Duration>,
    /// The share of a place, in percent, from which a proposal warns of a large change.
    pub large_change: u32,
    /// Whether a proposal can be approved only after a model has reviewed it.
    pub is_review_required: bool,
    /// After how many days of silence a task is erased; None if it never is.
    pub forget_days: Option<u32>,
    /// How files are opened in the user's editor.
    pub editor: EditorTemplate,
    /// The place on Roblox in which specs run, unless another one is named.
    pub scratch: Option<ScratchPlace>,
    pub routes: BTreeMap<ModelAction, String>,
    pub efforts: BTreeMap<ModelAction, ThinkingEffort>,
    /// The settings of single providers.
    pub providers: BTreeMap<String, ProviderOverrides>,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            model: None,
            effort: None,
            max_output: None,
            first_byte_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_mins(5),
            retries: 3,
            turn_limit: 50,
            worker_timeout: Duration::from_mins(15),
            caps: SpendingCaps {
                request: Some(ASK_ABOVE),
                estimate: Some(CONFIRM_ABOVE),
                ..SpendingCaps::default()
            },
            credits_per_day: None,
            scope_limit: 8,
            needs_script: true,
            is_capture_on: false,
            capture_days: 3,
            pending_limit: Some(from_days(7)),
            large_change: LARGE_CHANGE,
            is_review_required: false,
            forget_days: None,
            editor: EditorTemplate::default(),
            scratch: None,
            routes: BTreeMap::new(),
            efforts: BTreeMap::new(),
            providers: BTreeMap::new(),
        }
    }
}

/// The settings that each provider has: name, suffix of the variable (after `VECTOR_` and the
/// provider's name), and description.
pub const PROVIDER_SETTINGS: [(&str, &str, &str); 3] = [
    (
        "base_url",
        "BASE_URL",
        "the base URL, without the path that the wire adds (`/messages`, `/chat/completions`)",
    ),
    ("wire", "WIRE", "the wire format: one of those above"),
    ("region", "REGION", "the AWS region"),
];

/// Parses an effort name.
pub fn parse_effort(text: &str) -> Result<ThinkingEffort, String> {
    let found = ThinkingEffort::ALL.into_iter().find(|effort| effort.name() == text);
    found.ok_or_else(|| format!("`{text}` is not an effort; use low, medium, high or max"))
}

/// Loads the catalogue and the settings of Vector's folder `home`, and of a project if there is
/// one. The error is a sentence that says what is wrong, where, and what to do.
pub fn load_config(
    home: &Path,
    project: Option<&Path>,
    env: EnvReader<'_>,
) -> Result<(Catalogue, ModelConfig), String> {
    let models = home.join(MODELS_FILE);
    let text = read_optional(&models)?;
    let wrong = |error| format!("{}: {error}", models.display());
    let mut catalogue = Catalogue::from_user_file(text.as_deref()).map_err(wrong)?;
    catalogue.user_file = Some((models.clone(), text.is_some()));
    let mut config = ModelConfig::from_files(home, project)?;
    config.apply_environment(env, &catalogue)?;
    config.apply_to_catalogue(&mut catalogue)?;
    Ok((catalogue, config))
}

/// Reads whether a proposal can be approved only after a review, without the catalogue of models.
///
/// # Errors
/// A file or the variable is wrong. The text says what is wrong, where, and what to do.
pub fn read_review_required(
    home: &Path,
    project: Option<&Path>,
    env: EnvReader<'_>,
) -> Result<bool, String> {
    let mut config = ModelConfig::from_files(home, project)?;
    let setting = SETTINGS.iter().find(|it| it.key == REVIEW_REQUIRED);
    if let Some(setting) = setting
        && let Some(text) = env(setting.env).filter(|text| !text.is_empty())
    {
        config.apply_variable(setting, text)?;
    }
    Ok(config.is_review_required)
}

fn read_optional(file: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

impl ModelConfig {
    /// Reads the settings of Vector's folder, and of a project if there is one.
    fn from_files(home: &Path, project: Option<&Path>) -> Result<Self, String> {
        let mut config = Self::default();
        for (folder, origin) in [(Some(home), ValueOrigin::Home), (project, ValueOrigin::Project)] {
            let Some(file) = folder.map(|folder| folder.join(FILE)) else {
                continue;
            };
            if let Some(text) = read_optional(&file)? {
                let wrong = |error| format!("{}: {error}", file.display());
                config.overlay_file(&text, origin).map_err(wrong)?;
            }
        }
        Ok(config)
    }

    /// Applies the settings of a file over the current ones.
    fn overlay_file(&mut self, text: &str, origin: ValueOrigin) -> Result<(), String> {
        let table: Table = text.parse().map_err(|error| error_line(&error))?;
        let (before, scope) = (self.caps, self.scope_limit);
        let is_required = self.is_review_required;
        for (key, value) in flatten_table(table) {
            // The list of generated files is read together with the project's files.
            if key == GENERATED_KEY {
                continue;
            }
            self.apply_setting(&key, &value, origin)?;
        }
        if origin == ValueOrigin::Project {
            self.caps = self.caps.or_lower(before);
            // A downloaded project must not widen what a model may change without confirmation.
            self.scope_limit = self.scope_limit.min(scope);
            // Nor may it do without the reviews that the user requires.
            self.is_review_required |= is_required;
        }
        Ok(())
    }

    fn apply_setting(
        &mut self,
        key: &str,
        value: &Value,
        origin: ValueOrigin,
    ) -> Result<(), String> {
        if let Some(rest) = key.strip_prefix("providers.") {
            if origin == ValueOrigin::Project {
                return Err(format!(
                    "`{key}` cannot be set by a project, because it could have your keys sent \
                     elsewhere. Set it in {FILE} in Vector's folder; `vector models` prints its \
                     path."
                ));
            }
            return self.set_provider_value(rest, value);
        }
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
            return Err(unknown_setting(key));
        };
        if key.starts_with("forget.") && origin == ValueOrigin::Project {
            return Err(format!(
                "`{key}` cannot be set by a project, because it could have your records erased. Set \
                 it in {FILE} in Vector's folder; `vector models` prints its path."
            ));
        }
        if key == "editor" && origin == ValueOrigin::Project {
            return Err(format!(
                "`{key}` cannot be set by a project, because it could have a program started. Set it in \
                 {FILE} in Vector's folder; `vector models` prints its path."
            ));
        }
        if key.starts_with("verify.") && origin == ValueOrigin::Project {
            return Err(format!(
                "`{key}` cannot be set by a project, because it could have your place uploaded to a place \
                 of its choice. Set it in {FILE} in Vector's folder; `vector models` prints its path."
            ));
        }
        if key.starts_with("debug.") && origin == ValueOrigin::Project {
            return Err(format!(
                "`{key}` cannot be set by a project, because it could have your conversations \
                 stored. Set it in {FILE} in Vector's folder; `vector models` prints its path."
            ));
        }
        self.set_value(setting, value, origin).map_err(|error| format!("`{key}`: {error}."))
    }

    fn set_value(
        &mut self,
        setting: &SettingSpec,
        value: &Value,
        origin: ValueOrigin,
    ) -> Result<(), String> {
        match setting.writer {
            SettingWriter::Text(put) => {
                let text = value.as_str().ok_or("it must be a string in quotes")?;
                put(self, text, origin)
            }
            SettingWriter::Number(least, most, put) => {
                let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
                let number = number.filter(|number| (least..=most).contains(number));
                let wrong = || format!("it must be a whole number from {least} to {most}");
                put(self, number.ok_or_else(wrong)?);
                Ok(())
            }
            SettingWriter::Money(cap) => {
                let money = value.as_float().or_else(|| value.as_integer().map(|it| it as f64));
                let money = money.filter(|money| money.is_finite() && *money >= 0.0);
                *cap(&mut self.caps) = Some(money.ok_or("it must be an amount in US dollars")?);
                Ok(())
            }
            SettingWriter::Switch(put) => {
                put(self, value.as_bool().ok_or("it must be true or false")?);
                Ok(())
            }
        }
    }

    /// Sets `NAME.KEY` of a provider.
    fn set_provider_value(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let (name, key) = name.rsplit_once('.').unwrap_or((name, ""));
        let full = format!("providers.{name}.{key}");
        let Some(text) = value.as_str() else {
            return Err(if PROVIDER_SETTINGS.iter().any(|(own, ..)| *own == key) {
                format!("`{full}`: it must be a string in quotes.")
            } else {
                unknown_setting(&full)
            });
        };
        let provider = self.providers.entry(name.to_owned()).or_default();
        match key {
            "base_url" => {
                let has_scheme = text.starts_with("http://") || text.starts_with("https://");
                if !has_scheme {
                    return Err(format!("`{full}`: it must begin with https:// or http://."));
                }
                provider.base_url = Some(text.trim_end_matches('/').to_owned());
            }
            "wire" => {
                let near = || did_you_mean(text, WireFormat::ALL.into_iter().map(WireFormat::name));
                let wrong = |_| format!("`{full}`: there is no wire format `{text}`.{}", near());
                provider.wire = Some(text.parse().map_err(wrong)?);
            }
            "region" => provider.region = Some(text.to_owned()),
            _ => return Err(unknown_setting(&full)),
        }
        Ok(())
    }

    /// Applies the settings from the environment.
    fn apply_environment(
        &mut self,
        env: EnvReader<'_>,
        catalogue: &Catalogue,
    ) -> Result<(), String> {
        let env = |name: &str| env(name).filter(|text| !text.is_empty());
        for setting in &SETTINGS {
            let Some(text) = env(setting.env) else {
                continue;
            };
            self.apply_variable(setting, text)?;
        }
        let own = self.providers.keys().cloned();
        let names = catalogue.services.iter().map(|service| service.name.clone()).chain(own);
        for name in names.collect::<Vec<_>>() {
            for (key, suffix, _) in PROVIDER_SETTINGS {
                let variable = provider_variable(&name, suffix);
                if let Some(text) = env(&variable) {
                    let wrong = |error| format!("the variable {variable}: {error}");
                    self.set_provider_value(&format!("{name}.{key}"), &Value::from(text))
                        .map_err(wrong)?;
                }
            }
        }
        let region = env("AWS_REGION").or_else(|| env("AWS_DEFAULT_REGION"));
        let bedrock = self.providers.entry("bedrock".to_owned()).or_default();
        bedrock.region = bedrock.region.take().or(region);
        Ok(())
    }

    /// Applies a setting from its variable.
    fn apply_variable(&mut self, setting: &SettingSpec, text: String) -> Result<(), String> {
        let number = text.parse::<i64>().map(Value::from);
        let value = match setting.writer {
            SettingWriter::Text(_) => Value::from(text),
            SettingWriter::Number(..) => number.unwrap_or(Value::from(text)),
            SettingWriter::Money(_) => text.parse::<f64>().map_or(Value::from(text), Value::from),
            SettingWriter::Switch(_) => text.parse::<bool>().map_or(Value::from(text), Value::from),
        };
        let wrong = |error| format!("the variable {}: {error}.", setting.env);
        self.set_value(setting, &value, ValueOrigin::Environment).map_err(wrong)
    }

    /// Applies the settings of providers to the catalogue.
    fn apply_to_catalogue(&self, catalogue: &mut Catalogue) -> Result<(), String> {
        for (name, set) in &self.providers {
            let known: Vec<String> = catalogue.services.iter().map(|it| it.name.clone()).collect();
            let service = catalogue.services.iter_mut().find(|service| service.name == *name);
            let Some(service) = service else {
                let near = did_you_mean(name, known.iter().map(String::as_str));
                return Err(format!(
                    "`providers.{name}`: there is no provider of this name.{near} Define new \
                     providers in {MODELS_FILE}."
                ));
            };
            service.wire = set.wire.unwrap_or(service.wire);
            if let Some(base_url) = &set.base_url {
                service.base_url.clone_from(base_url);
            }
            if let Some(region) = &set.region {
                service.base_url = service.base_url.replace("{region}", region);
            }
        }
        Ok(())
    }
}

/// Returns the variable for a provider's setting.
pub fn provider_variable(provider: &str, suffix: &str) -> String {
    let name = provider.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("VECTOR_{name}_{suffix}")
}

/// The key in a project's `vector.toml` for files that another tool generates.
const GENERATED_KEY: &str = "generated";

fn unknown_setting(key: &str) -> String {
    let of = key.strip_prefix("providers.").and_then(|rest| rest.rsplit_once('.'));
    let near = match of {
        Some((_, last)) => did_you_mean(last, PROVIDER_SETTINGS.iter().map(|(own, ..)| *own)),
        None => did_you_mean(key, SETTINGS.iter().map(|setting| setting.key)),
    };
    format!("there is no setting `{key}`.{near} docs/models.md lists all settings.")
}

/// Flattens a table to values with their full names. An empty table sets nothing.
fn flatten_table(table: Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                all.extend(
                    flatten_table(inner)
                        .into_iter()
                        .map(|(rest, value)| (format!("{key}.{rest}"), value)),
                );
            }
            value => all.push((key, value)),
        }
    }
    all
}

#[cfg(test)]
mod tests;
