//! `vector usage`: what models have taken, by model, day and task.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::Exit;
use super::style::{Paint, safe};
use super::terminal::{print, stdout_style};
use crate::core::calendar::date;
use crate::engine::spent::{Message, Spent, day};
use crate::ledger::Ledger;

/// How many tasks are listed.
const TASKS: usize = 20;

/// Show what models have taken: tokens and dollars, by model, day and task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector usage
  vector usage --json | jq 'map(.usd) | add'

Days are of UTC. Prices are those of models.toml at the time of the message.")]
pub(super) struct Usage {
    /// Print one JSON array with an object for each message of a model
    #[arg(long)]
    json: bool,
}

/// What some messages took.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    messages: u64,
    read: u64,
    cached: u64,
    written: u64,
    dollars: f64,
    /// Messages of which nobody knows the price.
    unpriced: u64,
}

impl Sum {
    fn add(&mut self, message: &Message) {
        let tokens = message.tokens.unwrap_or_default();
        self.messages += 1;
        self.read += tokens.prompt;
        self.cached += tokens.cache_read;
        self.written += tokens.generated;
        self.dollars += message.dollars.unwrap_or(0.0);
        self.unpriced += u64::from(message.dollars.is_none());
    }

    fn line(&self, name: &str) -> String {
        let unpriced = match self.unpriced {
            0 => String::new(),
            n if n == self.messages => "  price not known".to_owned(),
            n => format!("  {n} without a price"),
        };
        format!(
            "  {name:<36} {:>8} {:>10} {:>10} {:>10} {:>9.4}{unpriced}\n",
            self.messages, self.read, self.cached, self.written, self.dollars
        )
    }
}

pub(super) fn run(args: &Usage, home: &Path) -> anyhow::Result<Exit> {
    let ledger = Ledger::open(home)?;
    let mut spent = Spent::default();
    spent.read(&ledger)?;
    let messages = spent.messages();
    if args.json {
        let all: Vec<_> = messages.iter().map(row).collect();
        print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        return Ok(Exit::Done);
    }
    if messages.is_empty() {
        print("No model has been asked yet.\n")?;
        return Ok(Exit::Done);
    }
    let style = stdout_style();
    let names = ["messages", "read", "from cache", "written", "USD"];
    let [one, two, three, four, five] = names;
    let head = format!("  {:<36} {one:>8} {two:>10} {three:>10} {four:>10} {five:>9}\n", "");
    let mut text = style.paint(Paint::Dim, head);
    text.push_str(&block("By model", messages, usize::MAX, |it| it.model.clone()));
    text.push_str(&block("By day", messages, usize::MAX, |it| date(day(it.at))));
    text.push_str(&block("By task, the newest", messages, TASKS, |it| {
        format!("run {:>8}  {}", it.workflow.0, last_part(&it.project))
    }));
    let mut all = Sum::default();
    for message in messages {
        all.add(message);
    }
    text.push_str(&all.line("all"));
    print(&text)?;
    Ok(Exit::Done)
}

fn block(
    title: &str,
    messages: &[Message],
    most: usize,
    name: impl Fn(&Message) -> String,
) -> String {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for message in messages {
        sums.entry(name(message)).or_default().add(message);
    }
    let skipped = sums.len().saturating_sub(most);
    let lines = sums.iter().skip(skipped).map(|(name, sum)| sum.line(&safe(name)));
    format!("{title}\n{}", lines.collect::<String>())
}

fn last_part(project: &str) -> &str {
    project.rsplit(['/', '\\']).next().unwrap_or(project)
}

fn row(message: &Message) -> serde_json::Value {
    let tokens = message.tokens.unwrap_or_default();
    json!({
        "at": message.at,
        "run": message.workflow,
        "project": message.project,
        "model": message.model,
        "read": tokens.prompt,
        "cacheRead": tokens.cache_read,
        "cacheWrite": tokens.cache_write,
        "written": tokens.generated,
        "usd": message.dollars,
    })
}
