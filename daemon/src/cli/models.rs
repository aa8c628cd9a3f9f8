//! `vector models`: lists the usable models, the reasons the others are not usable, and the default
//! model.

use std::path::Path;

use clap::Args;
use serde_json::{Value as Json, json};
use vector_providers::catalogue::{Catalogue, CatalogueModel, ProviderService};
use vector_providers::config;
use vector_providers::keys::{KeyStore, SystemKeychain};
use vector_providers::model_choice::{self, ChoiceError, ModelChoice};

use super::ExitStatus;
use super::handover::{daemon_keys, missing_keys};
use super::style::{PaintKind, TextStyle};
use super::terminal::{print_stdout, stdout_style};

/// List the usable models, and why others are not usable.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector models
  VECTOR_MODEL=ollama/qwen3:8b vector models    # which model would answer then
  vector models --json")]
pub(super) struct ModelsArgs {
    /// Print one JSON array: provider, model, tokens, prices, and why it is not usable
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ModelsArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let env = |name: &str| std::env::var(name).ok();
    let here = std::env::current_dir().ok();
    let is_home =
        |folder: &std::path::PathBuf| folder.canonicalize().ok() == home.canonicalize().ok();
    let project = here.filter(|folder| !is_home(folder));
    let (catalogue, config) =
        config::load_config(home, project.as_deref(), &env).map_err(anyhow::Error::msg)?;
    let keys = KeyStore::new(&env, &SystemKeychain);
    let choice = model_choice::choose_model(None, None, &config, &catalogue, &keys);
    if args.json {
        let all: Vec<Json> = model_rows(&catalogue, &keys, &choice);
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        return Ok(ExitStatus::Done);
    }
    let style = stdout_style();
    let mut text = String::new();
    for service in &catalogue.services {
        text.push_str(&provider_block(service, &catalogue, &keys, style));
    }
    text.push_str(&format!("\n{}\n", chosen_model_line(&choice)));
    text.push_str(&format!("Settings: {}\n", home.join(config::FILE).display()));
    text.push_str(&daemon_lines(home));
    print_stdout(&text)?;
    Ok(ExitStatus::Done)
}

/// The model and keys of the running daemon, if there is one.
fn daemon_lines(home: &Path) -> String {
    let Some((_, keys)) = daemon_keys(home) else {
        return String::new();
    };
    let mut text = format!("In the running daemon (process {}): {}\n", keys.process, keys.answers);
    let lacking = missing_keys(home, &keys);
    if !lacking.is_empty() {
        let names: Vec<&str> = lacking.iter().map(|(_, variable)| variable.as_str()).collect();
        text.push_str(&format!(
            "It lacks {}, which this terminal has: `vector open` hands that over.\n",
            names.join(", ")
        ));
    }
    text
}

/// Describes the default model.
fn chosen_model_line(choice: &Result<ModelChoice, ChoiceError>) -> String {
    match choice {
        Ok(ModelChoice::Offline(reason)) => {
            format!("The offline planner answers, {}.", reason.describe())
        }
        Ok(ModelChoice::Model(chosen)) => {
            let (provider, id) = (&chosen.service.name, &chosen.model.id);
            format!("{provider}/{id} answers, {}.", chosen.reason.describe())
        }
        Err(error) => format!("No model is available. {error}"),
    }
}

/// A provider and its models.
fn provider_block(
    service: &ProviderService,
    catalogue: &Catalogue,
    keys: &KeyStore<'_>,
    style: TextStyle,
) -> String {
    let name = style.paint(PaintKind::Bold, &service.name);
    let usable = model_choice::find_credential(service, keys);
    let state = match &usable {
        Ok((_, found)) => format!("usable: {found}"),
        Err(why) => format!("not usable: {why}"),
    };
    let mut text = format!("{name}  {state}\n");
    let models = catalogue.models.iter().filter(|model| model.provider == service.name);
    let mut count = 0;
    for model in models {
        count += 1;
        let line = format!("  {}/{}  {}", service.name, model.id, model_facts(model));
        let line = if usable.is_ok() { line } else { style.paint(PaintKind::Dim, line) };
        text.push_str(&line);
        text.push('\n');
    }
    if count == 0 {
        let (name, url) = (&service.name, &service.base_url);
        text.push_str(&format!("  {name}/MODEL, for any model that {url} serves\n"));
    }
    text
}

fn model_facts(model: &CatalogueModel) -> String {
    let window = format!("{}k tokens", model.window / 1_000);
    let Some(price) = model.price else {
        return format!("{window}, price not known");
    };
    format!("{window}, ${:.2} in, ${:.2} out per million", price.input, price.output)
}

fn model_rows(
    catalogue: &Catalogue,
    keys: &KeyStore<'_>,
    choice: &Result<ModelChoice, ChoiceError>,
) -> Vec<Json> {
    let row = |model: &CatalogueModel| {
        let service = catalogue.find_service(&model.provider)?;
        let why = model_choice::find_credential(service, keys).err();
        let is_chosen = matches!(choice, Ok(ModelChoice::Model(it)) if it.model == *model);
        Some(json!({
            "provider": model.provider,
            "model": model.id,
            "window": model.window,
            "output": model.output,
            "usdPerMillion": model.price.map(|price| json!({
                "input": price.input,
                "output": price.output,
                "cacheRead": price.cache_read,
                "cacheWrite": price.cache_write,
            })),
            "usable": why.is_none(),
            "why": why,
            "answers": is_chosen,
        }))
    };
    catalogue.models.iter().filter_map(row).collect()
}
