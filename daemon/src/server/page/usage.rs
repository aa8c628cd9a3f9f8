//! Usage of models and figures of models and tools, as tables and charts.

use std::collections::BTreeMap;

use maud::{Markup, html};
use scene_schemas::api::{DurationSummary, Figures, ModelFigures, ToolFigures, UsageFigures};
use vector_core::calendar::{format_date, parse_date};

use super::format;
use super::format::safe_text;

/// The size of the chart in its own units.
const WIDE: f64 = 720.0;
const HIGH: f64 = 150.0;
/// The numbers of days that the user can choose.
const SPANS: [u64; 4] = [7, 30, 90, 365];

/// The sum of the usage of several messages.
#[derive(Debug, Default, Clone, Copy)]
struct UsageSum {
    messages: u64,
    read: u64,
    cached: u64,
    written: u64,
    usd: f64,
    unpriced: u64,
}

impl UsageSum {
    fn add(&mut self, it: &UsageFigures) {
        self.messages += it.messages;
        self.read += it.read;
        self.cached += it.cached;
        self.written += it.written;
        self.usd += it.usd;
        self.unpriced += it.unpriced;
    }
}

/// Renders all figures of a number of days.
pub(super) fn usage_view(days: u64, figures: &Figures) -> Markup {
    let by_day = sums_by_day(days, figures);
    html! {
        div.page.usage {
            header.head {
                h1 { "Usage" }
                nav.buttons aria-label="Number of days" {
                    @for span in SPANS {
                        a.button href={ "#/usage/" (span) } aria-current=[(span == days).then_some("true")] { (span) " days" }
                    }
                }
            }
            @if figures.usage.is_empty() {
                div.empty { h2 { "No model has answered in this period" } p { "The offline planner is not a model and uses no tokens." } }
            } @else {
                (day_chart("US dollars per day", &by_day, |sum| sum.usd, |usd| format!("{usd:.2} USD")))
                (day_chart("Tokens per day", &by_day, |sum| (sum.read + sum.written) as f64, |n| format!("{} tokens", format::short_count(n as u64))))
                (sum_table("By model", &sum_by(&figures.usage, |it| it.model.clone())))
                (sum_table("By project", &sum_by(&figures.usage, |it| it.project.clone())))
            }
            @if !figures.models.is_empty() { (model_table(&figures.models)) }
            @if !figures.tools.is_empty() { (tool_table(&figures.tools)) }
        }
    }
}

fn sum_by(
    usage: &[UsageFigures],
    name: impl Fn(&UsageFigures) -> String,
) -> BTreeMap<String, UsageSum> {
    let mut sums: BTreeMap<String, UsageSum> = BTreeMap::new();
    for it in usage {
        sums.entry(name(it)).or_default().add(it);
    }
    sums
}

/// Sums the usage by day. Days without usage are included, unless there are more than a chart has
/// room for.
fn sums_by_day(days: u64, figures: &Figures) -> BTreeMap<String, UsageSum> {
    let mut sums = sum_by(&figures.usage, |it| it.day.clone());
    let longest = SPANS.into_iter().max().unwrap_or_default();
    if let Some(first) = parse_date(&figures.since).filter(|_| days <= longest) {
        for day in first..first + days {
            sums.entry(format_date(day)).or_default();
        }
    }
    sums
}

/// Renders a bar for each day. Its figures are also in the tables and in each bar's title.
fn day_chart(
    title: &str,
    days: &BTreeMap<String, UsageSum>,
    value: impl Fn(&UsageSum) -> f64,
    written: impl Fn(f64) -> String,
) -> Markup {
    let peak = days.values().map(&value).fold(0.0, f64::max);
    let step = WIDE / days.len().max(1) as f64;
    let bar = |at: usize, sum: &UsageSum| {
        let high = (value(sum) / peak * (HIGH - 12.0)).max(1.0);
        let wide = (step - 3.0).clamp(1.0, 44.0);
        (at as f64 * step + (step - wide) / 2.0, HIGH - high, wide, high)
    };
    if peak == 0.0 {
        return html! { p.panel.pad { b { (title) } " " span.dim { "none in this period" } } };
    }
    html! {
        figure.panel.pad {
            figcaption { b { (title) } " " span.dim { "peak: " (written(peak)) } }
            svg.chart viewBox=(format!("0 0 {WIDE} {}", HIGH + 1.0)) role="img" aria-label={ (title) ", at most " (written(peak)) } {
                @for (at, (day, sum)) in days.iter().enumerate().filter(|(_, (_, sum))| value(sum) > 0.0) {
                    @let (x, y, wide, high) = bar(at, sum);
                    rect x=(format!("{x:.1}")) y=(format!("{y:.1}")) width=(format!("{wide:.1}")) height=(format!("{high:.1}")) rx="2" {
                        title { (day) ": " (written(value(sum))) }
                    }
                }
                line x1="0" x2=(WIDE) y1=(HIGH) y2=(HIGH) {}
            }
            // The labels are outside the chart, which is scaled down if there is less room.
            @if let (Some(first), Some(last)) = (days.keys().next(), days.keys().last()) {
                p.days.dim { span { (first) } @if first != last { span { (last) } } }
            }
        }
    }
}

/// A row of a table: its name and its figures.
type FigureRow = (String, Vec<Markup>);

/// Renders a table of figures. If there is no room for columns, each figure shows its column's
/// name.
fn figure_table(title: &str, head: &[&str], rows: impl Iterator<Item = FigureRow>) -> Markup {
    html! {
        section.panel.pad {
            h2 { (title) }
            div.wide tabindex="0" role="group" aria-label=(title) {
                table.figures {
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody {
                        @for (name, figures) in rows {
                            tr {
                                th scope="row" { (name) }
                                @for (figure, name) in figures.iter().zip(&head[1..]) { td data-label=(name) { (figure) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn sum_table(title: &str, sums: &BTreeMap<String, UsageSum>) -> Markup {
    let head = ["", "Messages", "Input", "Cached", "Output", "USD"];
    let row = |(name, sum): (&String, &UsageSum)| {
        let cost = html! {
            (format!("{:.4}", sum.usd))
            @if sum.unpriced > 0 { " " span.dim { (format::count_text(sum.unpriced as usize, "message")) " without a price" } }
        };
        let tokens =
            [sum.read, sum.cached, sum.written].map(|n| html! { (format::short_count(n)) });
        let figures = [html! { (sum.messages) }].into_iter().chain(tokens).chain([cost]);
        (safe_text(name), figures.collect())
    };
    figure_table(title, &head, sums.iter().map(row))
}

/// Renders the median and the 95th percentile.
fn format_times(times: Option<DurationSummary>) -> Markup {
    html! {
        @if let Some(times) = times { (format::format_duration(times.median)) " · " (format::format_duration(times.p95)) } @else { "–" }
    }
}

fn model_table(models: &[ModelFigures]) -> Markup {
    let head = ["Model", "Asked", "Answered", "Failed", "Time: median · 95 %"];
    let row = |model: &ModelFigures| {
        let failed = html! {
            @if model.failures.is_empty() { "0" }
            @for (at, it) in model.failures.iter().enumerate() {
                @if at > 0 { ", " } (it.count) " " span.dim { (format::failure_kind(it.code)) }
            }
        };
        let counts = [model.asked, model.answered].map(|n| html! { (n) });
        let figures = counts.into_iter().chain([failed, format_times(model.answering)]);
        (safe_text(&model.model), figures.collect())
    };
    figure_table("Model answers", &head, models.iter().map(row))
}

fn tool_table(tools: &[ToolFigures]) -> Markup {
    let head = [
        "Tool",
        "Calls",
        "Answered",
        "Refused",
        "Proposed",
        "Applied",
        "Rejected",
        "Withdrawn",
        "Failed",
        "Planned",
        "Decided",
    ];
    let row = |tool: &ToolFigures| {
        let counts = [
            tool.calls,
            tool.answered,
            tool.refused,
            tool.proposed,
            tool.applied,
            tool.rejected,
            tool.withdrawn,
            tool.failed,
        ];
        let counts = counts.map(|n| html! { (n) });
        let figures =
            counts.into_iter().chain([format_times(tool.planning), format_times(tool.deciding)]);
        (safe_text(&tool.tool.replace('_', " ")), figures.collect())
    };
    html! {
        (figure_table("Outcome of calls, by tool", &head, tools.iter().map(row)))
        p.dim { "Time to plan and to decide: median and 95th percentile." }
    }
}
