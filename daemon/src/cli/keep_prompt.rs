//! The choice among the scripts of an asset, which are left out unless the user keeps them.

use scene_schemas::proposal::Proposal;

use super::card::script_head;
use super::hunks::hunk_lines;
use super::style::terminal_line;
use super::terminal::{Terminal, print_status};

/// What the prompt of a card offers for scripts that are left out; empty if there are none.
pub(super) fn keep_key(proposal: &Proposal) -> &'static str {
    let has_any = proposal.preview.scripts.iter().any(|script| script.left_out);
    if has_any { "[i]nsert scripts " } else { "" }
}

pub(super) const KEEP_HELP: &str =
    "  i  insert scripts of the asset, which are left out: read each, and choose";

/// Shows each script that is left out, and asks whether to keep it. Returns the indices in the
/// preview of those that the user keeps.
pub(super) fn choose_scripts(proposal: &Proposal, terminal: &Terminal) -> anyhow::Result<Vec<u32>> {
    let style = terminal.style();
    let mut kept = Vec::new();
    for (index, script) in (0..).zip(&proposal.preview.scripts) {
        if !script.left_out {
            continue;
        }
        let lines = hunk_lines(&script.hunks, style, true).join("\n");
        terminal.show(&format!("\n{}\n{lines}\n", script_head(script, style)));
        let question =
            format!("Insert {}? [y]es [n]o [q] go back", terminal_line(&script.path.to_string()));
        match terminal.ask_line(&question)?.unwrap_or_default().to_lowercase().as_str() {
            "y" | "yes" => kept.push(index),
            "q" | "quit" => return Ok(Vec::new()),
            _ => {}
        }
    }
    if kept.is_empty() {
        print_status("No script was chosen.");
    }
    Ok(kept)
}
