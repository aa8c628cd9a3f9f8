//! The catalogue of providers and models: wire formats, limits and prices. It is data
//! (`models.toml`), which a user's own file can extend and override.
//!
//! A model that is not listed can be named all the same. Its window is then assumed to be small,
//! and its price is unknown.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};
use vector_core::prompt::ThinkingEffort;

use super::answer::TokenUsage;
use super::wire::WireFormat;

/// The catalogue that is built into Vector.
const BUILTIN_MODELS: &str = include_str!("models.toml");

/// The assumed window of an unlisted model, in tokens.
pub const UNKNOWN_WINDOW: u32 = 32_768;

/// The assumed output limit of an unlisted model, in tokens.
pub const UNKNOWN_OUTPUT: u32 = 4_096;

/// Variants of OpenAI's Chat Completions, for providers that differ in some fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatDialect {
    OpenAi,
    OpenRouter,
    #[default]
    Plain,
}

/// The way a model's thinking is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingStyle {
    #[default]
    None,
    Effort,
    /// By a token budget.
    Budget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderService {
    pub name: String,
    pub wire: WireFormat,
    pub dialect: ChatDialect,
    /// Without a trailing slash.
    pub base_url: String,
    /// The environment variables that may hold its key. Empty if it needs no key.
    pub key_variables: Vec<String>,
    /// The model that is used if only the provider is named.
    pub default_model: Option<String>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    pub input: f64,
    /// The price of generated tokens, including reasoning.
    pub output: f64,
    /// The price of tokens read from the cache; `input` if absent.
    pub cache_read: Option<f64>,
    /// The price of tokens written to the cache; `input` if absent.
    pub cache_write: Option<f64>,
}

impl ModelPrice {
    /// Returns the cost of an answer in US dollars.
    pub fn cost_of(&self, usage: &TokenUsage) -> f64 {
        let cached = usage.cache_read + usage.cache_write;
        let plain = usage.prompt.saturating_sub(cached);
        let dollars = plain as f64 * self.input
            + usage.cache_read as f64 * self.cache_read.unwrap_or(self.input)
            + usage.cache_write as f64 * self.cache_write.unwrap_or(self.input)
            + usage.generated as f64 * self.output;
        dollars / 1e6
    }
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the options of a model have no order")]
pub struct CatalogueModel {
    pub provider: String,
    pub id: String,
    /// The token limit of a request and its answer together.
    pub window: u32,
    /// The token limit of the answer.
    pub output: u32,
    /// None if the price is unknown.
    pub price: Option<ModelPrice>,
    pub thinking: ThinkingStyle,
    /// The names of its effort levels, from the lowest to the highest.
    pub efforts: Vec<String>,
    /// Whether requests have to mark what is to be cached.
    pub should_mark_cache: bool,
    /// Whether it supports tool calls. A model without them writes its calls as XML.
    pub has_tools: bool,
    /// Whether it accepts pictures. Others are sent none.
    pub has_vision: bool,
    /// Whether it is in the catalogue.
    pub is_listed: bool,
}

impl CatalogueModel {
    /// Creates an unlisted model, with cautious limits.
    pub fn new_unlisted(provider: &str, id: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            window: UNKNOWN_WINDOW,
            output: UNKNOWN_OUTPUT,
            price: None,
            thinking: ThinkingStyle::None,
            efforts: Vec::new(),
            should_mark_cache: false,
            has_tools: true,
            has_vision: false,
            is_listed: false,
        }
    }

    /// Returns the model's name for an effort. The last name is used for `max` and for every effort
    /// that the model does not have.
    pub fn effort_name(&self, effort: ThinkingEffort) -> Option<&str> {
        let own = self.efforts.iter().find(|level| level.as_str() == effort.name());
        own.or(self.efforts.last()).map(String::as_str)
    }

    /// Returns the thinking budget of an effort, in tokens.
    pub fn thinking_budget(&self, effort: ThinkingEffort) -> u32 {
        let budget = match effort {
            ThinkingEffort::Low => 1_024,
            ThinkingEffort::Medium => 4_096,
            ThinkingEffort::High => 16_384,
            ThinkingEffort::Max => 24_576,
        };
        budget.min(self.output / 2)
    }
}

/// All known providers and models.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// The providers. If the user chose none, the first one with a key is used.
    pub services: Vec<ProviderService>,
    /// The models, sorted by provider.
    pub models: Vec<CatalogueModel>,
    /// The user's own file, and whether it exists.
    pub user_file: Option<(PathBuf, bool)>,
}

/// The order in which providers with a key are chosen.
const PROVIDER_ORDER: [&str; 6] =
    ["anthropic", "openai", "gemini", "openrouter", "nvidia", "bedrock"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    #[serde(default)]
    providers: BTreeMap<String, FileService>,
    #[serde(default)]
    models: BTreeMap<String, BTreeMap<String, FileModel>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileService {
    wire: WireFormat,
    #[serde(default)]
    accent: ChatDialect,
    base_url: String,
    #[serde(default)]
    keys: Vec<String>,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileModel {
    #[serde(default = "unknown_window")]
    window: u32,
    #[serde(default = "unknown_output")]
    output: u32,
    price: Option<ModelPrice>,
    #[serde(default)]
    thinking: ThinkingStyle,
    #[serde(default)]
    efforts: Vec<String>,
    #[serde(default)]
    cache: bool,
    #[serde(default = "has_tools")]
    tools: bool,
    #[serde(default)]
    sees: bool,
}

fn has_tools() -> bool {
    true
}

fn unknown_window() -> u32 {
    UNKNOWN_WINDOW
}

fn unknown_output() -> u32 {
    UNKNOWN_OUTPUT
}

impl Catalogue {
    /// Loads the built-in catalogue, overridden by the user's file. The error is a sentence about
    /// the user's file.
    pub fn from_user_file(user: Option<&str>) -> Result<Self, String> {
        let mut table: Table =
            BUILTIN_MODELS.parse().map_err(|error| format!("models.toml: {error}"))?;
        if let Some(user) = user {
            overlay_table(&mut table, user.parse::<Table>().map_err(|error| error_line(&error))?);
        }
        let file: CatalogueFile =
            Value::Table(table).try_into().map_err(|error| error_line(&error))?;
        let mut services: Vec<ProviderService> =
            file.providers.into_iter().map(|(name, file)| build_service(name, file)).collect();
        let place = |name: &str| {
            PROVIDER_ORDER.iter().position(|own| *own == name).unwrap_or(PROVIDER_ORDER.len())
        };
        services.sort_by_key(|service| place(&service.name));
        let named = |provider: &str| services.iter().any(|service| service.name == provider);
        if let Some(lost) = file.models.keys().find(|provider| !named(provider)) {
            return Err(format!(
                "`models.{lost}` lists models of an unknown provider: add `[providers.{lost}]` with \
                 `wire` and `base_url`."
            ));
        }
        let models = file.models.into_iter().flat_map(|(provider, models)| {
            models.into_iter().map(move |(id, model)| build_model(&provider, id, model))
        });
        Ok(Self { models: models.collect(), services, user_file: None })
    }

    pub fn find_service(&self, name: &str) -> Option<&ProviderService> {
        self.services.iter().find(|service| service.name == name)
    }

    /// Returns a model of a provider. If it is not listed, its limits are assumed to be small.
    pub fn find_model(&self, provider: &str, id: &str) -> CatalogueModel {
        let is = |model: &&CatalogueModel| model.provider == provider && model.id == id;
        self.models
            .iter()
            .find(is)
            .cloned()
            .unwrap_or_else(|| CatalogueModel::new_unlisted(provider, id))
    }
}

fn build_service(name: String, file: FileService) -> ProviderService {
    let FileService { wire, accent, base_url, keys, default } = file;
    let base_url = base_url.trim_end_matches('/').to_owned();
    ProviderService {
        name,
        wire,
        dialect: accent,
        base_url,
        key_variables: keys,
        default_model: default,
    }
}

fn build_model(provider: &str, id: String, file: FileModel) -> CatalogueModel {
    let FileModel { window, output, price, thinking, efforts, cache, tools, sees } = file;
    let provider = provider.to_owned();
    let is_listed = true;
    CatalogueModel {
        provider,
        id,
        window,
        output,
        price,
        thinking,
        efforts,
        should_mark_cache: cache,
        has_tools: tools,
        has_vision: sees,
        is_listed,
    }
}

/// Merges `over` into `under`, field by field.
fn overlay_table(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => overlay_table(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Formats a TOML error on one line.
pub(super) fn error_line(error: &toml::de::Error) -> String {
    error.message().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_catalogue_is_consistent() {
        let catalogue = Catalogue::from_user_file(None).unwrap();
        assert_eq!(catalogue.services[0].name, "anthropic");
        for service in &catalogue.services {
            let Some(default) = &service.default_model else { continue };
            let model = catalogue.find_model(&service.name, default);
            assert!(model.is_listed, "{default}");
        }
        for model in &catalogue.models {
            assert!(model.output <= model.window, "{model:?}");
            assert_eq!(
                model.thinking == ThinkingStyle::Effort,
                !model.efforts.is_empty(),
                "{model:?}"
            );
        }
    }

    #[test]
    fn user_file_overrides_single_fields() {
        let user = r#"
            [models.anthropic."claude-sonnet-4-6"]
            price = { output = 99.0 }
            [providers.house]
            wire = "openai_chat"
            base_url = "http://10.0.0.1:8000/v1/"
            [models.house.m]
            window = 8192
        "#;
        let catalogue = Catalogue::from_user_file(Some(user)).unwrap();
        let sonnet = catalogue.find_model("anthropic", "claude-sonnet-4-6");
        let price = sonnet.price.unwrap();
        assert_eq!((price.input, price.output, sonnet.window), (3.0, 99.0, 200_000));
        let house = catalogue.find_service("house").unwrap();
        assert_eq!(house.base_url, "http://10.0.0.1:8000/v1");
        assert_eq!(catalogue.find_model("house", "m").window, 8192);
        assert!(!catalogue.find_model("house", "other").is_listed);
    }

    #[test]
    fn broken_user_file_is_reported() {
        let check = |user: &str, expected: &str| {
            let error = Catalogue::from_user_file(Some(user)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("x", "expected");
        check("[models.house.m]\nwindow = 1", "[providers.house]");
        check("[models.openai.m]\nwindwo = 1", "windwo");
        check("[providers.house]\nwire = \"telegraph\"", "telegraph");
    }

    #[test]
    fn max_effort_maps_to_highest_level_of_model() {
        let catalogue = Catalogue::from_user_file(None).unwrap();
        let word = |provider: &str, id: &str, effort| {
            catalogue.find_model(provider, id).effort_name(effort).map(str::to_owned)
        };
        assert_eq!(word("openai", "gpt-5.2", ThinkingEffort::Max).as_deref(), Some("xhigh"));
        assert_eq!(word("openai", "gpt-5.2", ThinkingEffort::Low).as_deref(), Some("low"));
        assert_eq!(word("openai", "gpt-4.1", ThinkingEffort::Max), None);
    }
}
