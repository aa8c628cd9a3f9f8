//! `vector usage`: reports the usage of models by model, day and task.
//!
//! The figures come from the ledger. Prices are those at the time of each message.

use std::collections::{BTreeMap, HashMap, hash_map};
use std::path::Path;

use clap::Args;
use scene_schemas::entry::{Entry, Seq};
use serde_json::json;
use vector_core::calendar::format_date;
use vector_engine::budget::{MessageUsage, SpendingMeter, day_number};
use vector_ledger::Ledger;
use vector_providers::config::MODELS_FILE;

use super::ExitStatus;
use super::style::{PaintKind, terminal_line};
use super::terminal::{print_stdout, stdout_style};
use crate::tasks::generate::Generations;

/// The maximum number of tasks listed.
const TASKS: usize = 20;

/// Show token usage and cost by model, day and task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector usage
  vector usage --json | jq 'map(.usd) | add'

Days are in UTC. Prices are those of models.toml at the time of the message.")]
pub(super) struct UsageArgs {
    /// Print one JSON array with an object for each model message
    #[arg(long)]
    json: bool,
}

/// The usage of a group of messages.
#[derive(Debug, Default, Clone, Copy)]
struct UsageTotal {
    messages: u64,
    read: u64,
    cached: u64,
    written: u64,
    dollars: f64,
    /// The number of messages without a known price.
    unpriced: u64,
}

impl UsageTotal {
    fn add_message(&mut self, message: &MessageUsage) {
        let tokens = message.tokens.unwrap_or_default();
        self.messages += 1;
        self.read += tokens.prompt;
        self.cached += tokens.cache_read;
        self.written += tokens.generated;
        self.dollars += message.dollars.unwrap_or(0.0);
        self.unpriced += u64::from(message.dollars.is_none());
    }

    fn format_line(&self, name: &str) -> String {
        // The sum does not include messages without a known price.
        let dollars = match self.unpriced {
            0 => format!("{:.4}", self.dollars),
            n if n == self.messages => "-".to_owned(),
            _ => format!("{:.4}+", self.dollars),
        };
        format!(
            "  {name:<NAME$} {:>8} {:>10} {:>10} {:>9} {dollars:>9}\n",
            self.messages, self.read, self.cached, self.written
        )
    }
}

/// The width of the name column. A whole line has 80 columns.
const NAME: usize = 27;

pub(super) fn run(args: &UsageArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Ledger::open(home)?;
    let mut spent = SpendingMeter::default();
    spent.read_new_replies(&ledger)?;
    let messages = spent.messages();
    if args.json {
        let all: Vec<_> = messages.iter().map(message_json).collect();
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        return Ok(ExitStatus::Done);
    }
    let generations = generation_block(&Generations::read(&ledger)?);
    if messages.is_empty() && generations.is_empty() {
        print_stdout("No model has been used yet.\n")?;
        return Ok(ExitStatus::Done);
    }
    let mut text = String::new();
    if !messages.is_empty() {
        text.push_str(&message_report(&ledger, messages, home)?);
    }
    text.push_str(&generations);
    print_stdout(&text)?;
    Ok(ExitStatus::Done)
}

/// Reports the messages of models by model, day and task.
fn message_report(
    ledger: &Ledger,
    messages: &[MessageUsage],
    home: &Path,
) -> anyhow::Result<String> {
    let style = stdout_style();
    let names = ["messages", "read", "from cache", "written", "USD"];
    let [one, two, three, four, five] = names;
    let head = format!("  {:<NAME$} {one:>8} {two:>10} {three:>10} {four:>9} {five:>9}\n", "");
    let mut text = style.paint(PaintKind::Dim, head);
    text.push_str(&usage_block("By model", messages, usize::MAX, |it| it.model.clone()));
    text.push_str(&usage_block("By day", messages, usize::MAX, |it| {
        format_date(day_number(it.at))
    }));
    let mut goals: HashMap<Seq, String> = HashMap::new();
    for message in messages {
        if let hash_map::Entry::Vacant(new) = goals.entry(message.workflow) {
            let started = ledger.record_at(message.workflow)?.map(|record| record.entry);
            new.insert(match started {
                Some(Entry::Started { goal, .. }) => goal,
                _ => String::new(),
            });
        }
    }
    text.push_str(&usage_block("By task (most recent)", messages, TASKS, |it| {
        let goal = goals.get(&it.workflow).map_or("", String::as_str);
        task_name(it.workflow, goal)
    }));
    let mut all = UsageTotal::default();
    for message in messages {
        all.add_message(message);
    }
    text.push_str(&all.format_line("all"));
    if all.unpriced > 0 {
        let file = home.join(MODELS_FILE);
        text.push_str(&format!(
            "\n- and +: the price of a model is not known. Set `price` for the model in\n{}.\n",
            file.display()
        ));
    }
    Ok(text)
}

/// Reports the credits of generated models by day. Empty if nothing was generated.
fn generation_block(generations: &Generations) -> String {
    let mut days: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for past in &generations.all {
        let (count, credits) = days.entry(day_number(past.at)).or_default();
        *count += 1;
        *credits += past.credits();
    }
    if days.is_empty() {
        return String::new();
    }
    let line = |(day, (count, credits)): (&u64, &(usize, u64))| {
        let models = if *count == 1 { "model" } else { "models" };
        format!("  {:<NAME$} {count:>8} {models}, {credits} credits\n", format_date(*day))
    };
    format!("Generated models (credits of Meshy)\n{}", days.iter().map(line).collect::<String>())
}

fn usage_block(
    title: &str,
    messages: &[MessageUsage],
    limit: usize,
    name: impl Fn(&MessageUsage) -> String,
) -> String {
    let mut sums: BTreeMap<String, UsageTotal> = BTreeMap::new();
    for message in messages {
        sums.entry(name(message)).or_default().add_message(message);
    }
    let skipped = sums.len().saturating_sub(limit);
    let lines = sums.iter().skip(skipped).map(|(name, sum)| sum.format_line(&terminal_line(name)));
    format!("{title}\n{}", lines.collect::<String>())
}

/// A task's number and the beginning of its request, cut to the column's width.
fn task_name(workflow: Seq, goal: &str) -> String {
    let number = format!("{workflow:>6}  ");
    let line = goal.lines().next().unwrap_or_default();
    let left = NAME - number.len();
    let goal: String = match line.char_indices().nth(left) {
        Some((end, _)) => {
            let end = line[..end].char_indices().next_back().map_or(0, |(at, _)| at);
            format!("{}…", &line[..end])
        }
        None => line.to_owned(),
    };
    format!("{number}{goal}")
}

fn message_json(message: &MessageUsage) -> serde_json::Value {
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
