//! Which providers and models there are: how they are spoken to, how much they hold and what they
//! cost. It is data (`models.toml`), over which a user's own file is laid.
//!
//! A model that is not listed can be named all the same: its window is then taken to be small, and its
//! price is not known.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};
use vector_core::prompt::ThinkingEffort;

use super::answer::{TokenUsage, WireFormat};

/// What Vector brings along.
const BUILTIN_MODELS: &str = include_str!("models.toml");

/// The window of a model that nobody has described, in tokens.
pub const UNKNOWN_WINDOW: u32 = 32_768;

/// The longest answer of a model that nobody has described, in tokens.
pub const UNKNOWN_OUTPUT: u32 = 4_096;

/// What is said otherwise by some who speak OpenAI's Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatDialect {
    OpenAi,
    OpenRouter,
    #[default]
    Plain,
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingStyle {
    #[default]
    None,
    Effort,
    /// By a number of tokens.
    Budget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderService {
    pub name: String,
    /// How it is spoken to.
    pub wire: WireFormat,
    /// And with which accent.
    pub dialect: ChatDialect,
    /// Where it is, without a slash at the end.
    pub base_url: String,
    /// The variables that may hold its key. It needs none where there are none.
    pub key_variables: Vec<String>,
    /// The model that is taken where none is named.
    pub default_model: Option<String>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    pub input: f64,
    /// What is written, thoughts included.
    pub output: f64,
    /// What is read from the cache; as `input` where absent.
    pub cache_read: Option<f64>,
    /// What is written to the cache; as `input` where absent.
    pub cache_write: Option<f64>,
}

impl ModelPrice {
    /// What an answer cost.
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
#[expect(clippy::struct_excessive_bools, reason = "what a model can has no order")]
pub struct CatalogueModel {
    /// The name of its provider.
    pub provider: String,
    pub id: String,
    /// How many tokens a request and its answer may have.
    pub window: u32,
    /// How many of them the answer may have.
    pub output: u32,
    /// What it costs, where that is known.
    pub price: Option<ModelPrice>,
    /// How it is told to think.
    pub thinking: ThinkingStyle,
    /// The words for how hard, from the least to the most.
    pub efforts: Vec<String>,
    /// Whether a request has to say what is kept.
    pub should_mark_cache: bool,
    /// Whether it can call tools; one that cannot writes its calls as XML.
    pub has_tools: bool,
    /// Whether it can see pictures; one that cannot is sent none.
    pub has_vision: bool,
    /// Whether it is listed at all.
    pub is_listed: bool,
}

impl CatalogueModel {
    /// A model that nobody has described.
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

    /// The model's word for an effort. `max` is the last of its words; one that it has not is the
    /// hardest that it has.
    pub fn effort_name(&self, effort: ThinkingEffort) -> Option<&str> {
        let own = self.efforts.iter().find(|word| word.as_str() == effort.name());
        own.or(self.efforts.last()).map(String::as_str)
    }

    /// The tokens that an effort may think for.
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

/// All that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// The providers; of those with a key, the first is taken where nobody has chosen.
    pub services: Vec<ProviderService>,
    /// The models, by their provider.
    pub models: Vec<CatalogueModel>,
    /// The user's own file, and whether it was there.
    pub user_file: Option<(PathBuf, bool)>,
}

/// The order in which keys that exist choose a provider.
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
    /// What Vector brings along, with a user's file over it. `Err` is a sentence about the user's file.
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
                "`models.{lost}` has models of a provider that is not described: add \
                 `[providers.{lost}]` with `wire` and `base_url`."
            ));
        }
        let models = file.models.into_iter().flat_map(|(provider, models)| {
            models.into_iter().map(move |(id, model)| build_model(&provider, id, model))
        });
        Ok(Self { models: models.collect(), services, user_file: None })
    }

    /// The provider of this name.
    pub fn find_service(&self, name: &str) -> Option<&ProviderService> {
        self.services.iter().find(|service| service.name == name)
    }

    /// The model of a provider; one that is not listed is taken to be small.
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

/// Lays one table over another, field by field.
fn overlay_table(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => overlay_table(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// An error of the TOML reader, on one line.
pub(super) fn error_line(error: &toml::de::Error) -> String {
    error.message().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vector_brings_along_is_whole() {
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
    fn a_user_has_the_last_word_field_by_field() {
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
    fn a_broken_file_is_said() {
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
    fn max_is_the_last_word_that_a_model_has() {
        let catalogue = Catalogue::from_user_file(None).unwrap();
        let word = |provider: &str, id: &str, effort| {
            catalogue.find_model(provider, id).effort_name(effort).map(str::to_owned)
        };
        assert_eq!(word("openai", "gpt-5.2", ThinkingEffort::Max).as_deref(), Some("xhigh"));
        assert_eq!(word("openai", "gpt-5.2", ThinkingEffort::Low).as_deref(), Some("low"));
        assert_eq!(word("openai", "gpt-4.1", ThinkingEffort::Max), None);
    }
}
