//! What an asset may contain at most to be reviewed and inserted.
//!
//! The same limits hold before an asset is scanned and when its insertion is planned.

use scene_schemas::command::AssetContents;

/// Where an asset comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetSource {
    /// Studio reports its contents.
    Studio,
    /// Its file was downloaded.
    File,
}

/// The maximum size of an asset that Studio reports: what a message can hold.
const MAX_STUDIO_INSTANCES: usize = 20_000;
/// The maximum size of an asset that is inserted into a file. All of it is named in the proposal.
const MAX_FILE_INSTANCES: usize = 200_000;
/// The maximum bytes and number of an asset's scripts: what a person can read.
const MAX_TEXT: usize = 400_000;
const MAX_SCRIPTS: usize = 1_000;
/// The maximum depth of an asset. Paths of deeper instances would be too long.
const MAX_DEPTH: usize = 200;

/// Checks the size of an asset.
///
/// # Errors
/// It is too large. The sentence begins in the middle: it follows the name of the asset.
pub fn check_asset_limits(contents: &AssetContents, source: AssetSource) -> Result<(), String> {
    let text: usize = contents.scripts.iter().map(|script| script.text.len()).sum();
    let most = match source {
        AssetSource::Studio => MAX_STUDIO_INSTANCES,
        AssetSource::File => MAX_FILE_INSTANCES,
    };
    let scripts = contents.scripts.len();
    if contents.len() > most || text > MAX_TEXT || scripts > MAX_SCRIPTS {
        return Err(format!(
            "has {} instances, and {scripts} scripts of {text} bytes. At most {most}, \
             {MAX_SCRIPTS} and {MAX_TEXT} can be reviewed. Ask the user to insert it in Studio by hand.",
            contents.len()
        ));
    }
    if find_depth(contents) > MAX_DEPTH {
        return Err(format!("is nested more than {MAX_DEPTH} levels deep."));
    }
    Ok(())
}

/// Returns the number of levels of an asset.
fn find_depth(contents: &AssetContents) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(contents.len());
    for above in &contents.parents {
        let depth = (*above as usize).checked_sub(1).and_then(|above| depths.get(above));
        depths.push(depth.map_or(1, |depth| depth + 1));
    }
    depths.into_iter().max().unwrap_or(0)
}
