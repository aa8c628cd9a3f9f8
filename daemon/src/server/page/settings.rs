//! Settings, provider keys and granted access.

use maud::{Markup, html};
use scene_schemas::api::{About, Access, Grant, ProviderKeys, Settings};
use scene_schemas::proposal::Mode;

use super::format;

/// The modes, with descriptions of what each applies without review.
const MODES: [(Mode, &str, &str); 3] = [
    (Mode::Confirm, "Confirm", "Every change waits for your review."),
    (
        Mode::Auto,
        "Auto",
        "Changes that only add, and have no warning, are applied immediately. The rest waits.",
    ),
    (
        Mode::Dangerous,
        "Dangerous",
        "Everything is applied immediately, except what is stale, fuzzy or has a security warning.",
    ),
];

pub(super) fn settings_view(
    settings: &Settings,
    keys: &ProviderKeys,
    access: &Access,
    about: &About,
) -> Markup {
    html! {
        div.page.settings {
            h1 { "Settings" }
            (chosen_settings(settings))
            section.panel.pad {
                h2 { "This browser" }
                label.check {
                    input #notify type="checkbox";
                    span { "Notify me when a proposal waits and this page is hidden" }
                }
            }
            (provider_keys(keys))
            (grant_list("Paired plugins", "You decide in their widgets.", &access.plugins, html! {
                div.buttons { button type="button" data-act="pairing" { "Pair a plugin" } output #pairing {} }
            }))
            (grant_list("Pages", "Browsers that have opened this page.", &access.pages, html! {}))
            (grant_list(
                "Clients",
                "Agents that use MCP over HTTP with their own token. They cannot decide.",
                &access.clients,
                html! {},
            ))
            section.panel.pad {
                h2 { "This daemon" }
                p.dim {
                    "Vector " (about.daemon) ", protocol " (about.protocol) ", process " (about.process)
                    @if let Some(idle) = about.idle {
                        ". It stops after " (format::count_text(idle as usize, "minute")) " without requests"
                    }
                }
                div.buttons { button type="button" data-act="stop" { "Stop Vector" } }
            }
        }
    }
}

fn chosen_settings(settings: &Settings) -> Markup {
    html! {
        form.panel.pad data-act="choose" {
            fieldset {
                legend { "Approval" }
                @for (mode, name, what) in MODES {
                    label.option {
                        input type="radio" name="mode" value=(format::mode_name(mode)) checked[settings.mode == mode];
                        span { b { (name) } " " span.dim { (what) } }
                    }
                }
            }
            label.check {
                input type="checkbox" name="dry_run" checked[settings.dry_run];
                span { "Dry run: changes are shown, and never applied" }
            }
            label.check {
                input type="checkbox" name="play_check" checked[settings.play_check];
                span { "Play the game with each change, to find new errors of scripts before you see it" }
            }
            label.field {
                span { "Model" }
                input name="model" list="models" value=(settings.model) autocomplete="off" spellcheck="false" required;
                datalist #models { @for model in &settings.models { option value=(model) {} } }
            }
            fieldset {
                legend { "Spending limits, in US dollars" }
                p.dim { "Of a cap here and one in vector.toml, the lower one applies; the last limit replaces that of vector.toml. Days are in UTC." }
                div.limits {
                    (limit_field("limit_day", "Per day", settings.limits.day))
                    (limit_field("limit_project", "Per project", settings.limits.project))
                    (limit_field("limit_task", "Per task", settings.limits.task))
                    (limit_field("limit_request", "Ask before a request that may cost more than", settings.limits.request))
                }
            }
            div.buttons { button.main type="submit" { "Save" } }
        }
    }
}

fn limit_field(name: &str, label: &str, limit: Option<f64>) -> Markup {
    let value = limit.map(|limit| limit.to_string()).unwrap_or_default();
    let none = if name == "limit_request" { "1, or as in vector.toml" } else { "none" };
    html! {
        label.field {
            span { (label) }
            input name=(name) type="number" min="0" step="any" inputmode="decimal" value=(value) placeholder=(none);
        }
    }
}

/// Renders the providers for which this daemon has a key. A terminal may have other keys.
fn provider_keys(keys: &ProviderKeys) -> Markup {
    let without: Vec<&str> =
        keys.providers.iter().filter(|it| !it.is_usable).map(|it| it.provider.as_str()).collect();
    html! {
        section.panel.pad {
            h2 { "Model keys" }
            p.dim { "Providers that this daemon has a key for. Default model: " (format::safe_text(&keys.answers)) "." }
            ul.grants {
                @for provider in keys.providers.iter().filter(|it| it.is_usable) {
                    li { code { (format::safe_text(&provider.provider)) } " " span.dim { (format::safe_text(&provider.says)) } }
                }
            }
            @if !without.is_empty() {
                p.dim {
                    "No key: " (format::safe_text(&without.join(", "))) ". "
                    code { "vector open" } " in a terminal that has the key gives it to this daemon."
                }
            }
        }
    }
}

fn grant_list(title: &str, what: &str, grants: &[Grant], more: Markup) -> Markup {
    html! {
        section.panel.pad {
            h2 { (title) }
            p.dim { (what) }
            @if grants.is_empty() { p { "None" } }
            ul.grants {
                @for grant in grants {
                    li data-grant=(grant.name) {
                        code { (format::safe_text(&grant.name)) }
                        @if let Some(made) = grant.made { " " span.dim { "since " (format::time_element(made)) } }
                        button type="button" data-act="revoke" data-name=(grant.name) aria-label={ "Revoke the access of " (grant.name) } { "Revoke" }
                    }
                }
            }
            (more)
        }
    }
}
