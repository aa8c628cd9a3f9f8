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

const SANDBOX_QUESTION: &str = "Run kept scripts in a sandbox? [y]es (Enter) [n]o [q] go back";

pub(super) const KEEP_HELP: &str =
    "  i  insert scripts of the asset, which are left out: read each, and choose";

/// The scripts of an asset that a person keeps.
pub(super) struct KeptScripts {
    /// Their indices in the preview, from 0.
    pub(super) scripts: Vec<u32>,
    /// Whether all kept scripts run in a sandbox.
    pub(super) sandbox: bool,
}

/// Shows each script that is left out, and asks whether to keep it; then, whether kept scripts run in
/// a sandbox. None if the user keeps none.
pub(super) fn choose_scripts(
    proposal: &Proposal,
    terminal: &Terminal,
) -> anyhow::Result<Option<KeptScripts>> {
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
            "q" | "quit" => return Ok(None),
            _ => {}
        }
    }
    if kept.is_empty() {
        print_status("No script was chosen.");
        return Ok(None);
    }
    let Some(answer) = terminal.ask_line(SANDBOX_QUESTION)? else {
        return Ok(None);
    };
    let sandbox = match answer.to_lowercase().as_str() {
        "n" | "no" => false,
        "q" | "quit" => return Ok(None),
        // A slip does not lift it.
        _ => true,
    };
    Ok(Some(KeptScripts { scripts: kept, sandbox }))
}
