//! Preview rows beyond those of the preview: of commands over many instances, from their tables in
//! the ledger.

use std::ops::Range;

use scene_schemas::proposal::{Proposal, Row};
use scene_schemas::refusal::{Refusal, refuse};
use vector_core::proposal::member_rows;
use vector_ledger::Ledger;
use vector_place::InstanceTable;

use crate::EngineError;

/// Reads the preview rows of some instances of a command over many, by their positions in its
/// table.
///
/// # Errors
/// The command is another one, its table was erased, or the ledger cannot be read.
pub fn read_member_rows(
    ledger: &Ledger,
    proposal: &Proposal,
    index: u32,
    members: Range<u32>,
) -> Result<Vec<Row>, EngineError> {
    let command = proposal.commands.get(index as usize);
    let Some((command, table)) = command.and_then(|it| Some((it, it.table()?))) else {
        return Ok(refuse!("Command {index} does not change many instances.")?);
    };
    let bytes = ledger.read_blob(table)?;
    let Some(table) = bytes.as_deref().and_then(InstanceTable::decode) else {
        return Ok(Err(Refusal::new(
            "The list of the changed instances is no longer in the ledger.",
        ))?);
    };
    Ok(member_rows(index, command, &table, members))
}
