//! Chooses one of the places that the daemon has open, by the name on the command line.

use std::path::Path;

use anyhow::{Context, bail};
use scene_schemas::api::SessionView;

/// Chooses an open session: the named one, the only one in Studio that is synced with an open
/// project, or the only one.
pub(super) fn choose_session(
    sessions: Vec<SessionView>,
    named: Option<&str>,
) -> anyhow::Result<SessionView> {
    let count = sessions.len();
    if named.is_none() && sessions.iter().filter(|it| it.project.is_some()).count() == 1 {
        let joined = sessions.into_iter().find(|it| it.project.is_some());
        return joined.context("it was there");
    }
    let fitting: Vec<SessionView> = match named {
        None => sessions,
        Some(name) => match sessions.iter().find(|it| it.session.0 == name) {
            Some(exact) => vec![exact.clone()],
            None => sessions.into_iter().filter(|it| is_named(it, name)).collect(),
        },
    };
    match (<[SessionView; 1]>::try_from(fitting), named) {
        (Ok([session]), _) => Ok(session),
        (Err(_), _) if count == 0 => {
            bail!(
                "no place is open; open one in Studio, or a file with `vector serve --place FILE`"
            )
        }
        (Err(none), Some(name)) if none.is_empty() => {
            bail!("no session is called {name}; `vector sessions` lists the open sessions")
        }
        (Err(_), Some(name)) => {
            bail!("several sessions are called {name}; `vector sessions` lists them with their IDs")
        }
        (Err(_), None) => {
            bail!(
                "several places are open; choose one with --session (`vector sessions` lists them)"
            )
        }
    }
}

/// Whether a name matches a session: the beginning of its ID, or the name of its place. A file
/// matches with or without its extension, and a project by its file or its folder.
fn is_named(session: &SessionView, name: &str) -> bool {
    let place = Path::new(&session.place.name);
    let file = place.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let folder = place.parent().and_then(Path::file_name).map(|it| it.to_string_lossy());
    let is_project = matches!(place.extension().and_then(|it| it.to_str()), Some("json" | "jsonc"));
    session.session.0.starts_with(name)
        || [session.place.name.as_str(), &file, stem].contains(&name)
        || (is_project && folder.is_some_and(|it| it == name))
}
