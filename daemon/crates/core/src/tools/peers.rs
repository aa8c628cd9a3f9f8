//! Names of tools in other Roblox servers, and their counterparts here. A model that knows those
//! names is pointed to the tool with the same meaning instead of the most similar name.
//!
//! The names are from Roblox's built-in MCP server and the most used other servers.

/// The counterpart of another server's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerCounterpart {
    /// These tools do the same.
    Tools(&'static [&'static str]),
    /// No tool does the same; advice on what to do instead.
    Instead(&'static str),
}

use PeerCounterpart::{Instead, Tools};

const EDIT: PeerCounterpart = Tools(&["replace_text", "apply_edit", "apply_patch"]);
const SEARCH: PeerCounterpart = Tools(&["search_files", "find_references"]);
const TREE: PeerCounterpart = Tools(&["list_children", "find_instances"]);
const PROPERTIES: PeerCounterpart = Tools(&["get_properties"]);
const SHOT: PeerCounterpart = Tools(&["render_scene"]);
const ASSET: PeerCounterpart = Tools(&["insert_asset"]);
const PLACES: PeerCounterpart = Tools(&["list_sessions"]);
const CODE: PeerCounterpart = Tools(&["run_luau"]);
const PLAY: PeerCounterpart = Tools(&["playtest"]);
const CONSOLE: PeerCounterpart = Tools(&["get_console_output"]);
const STORE: PeerCounterpart = Tools(&["search_assets"]);
const UNDO: PeerCounterpart = Instead(
    "Only the user can revert applied changes, with `vector revert`. Propose the opposite change.",
);

/// Tools of other servers by name.
const COUNTERPARTS: &[(&str, PeerCounterpart)] = &[
    ("script_read", Tools(&["read_script"])),
    ("get_script_source", Tools(&["read_script"])),
    ("read_file", Tools(&["read_script"])),
    ("script_search", SEARCH),
    ("script_grep", SEARCH),
    ("grep_scripts", SEARCH),
    ("search_scripts", SEARCH),
    ("multi_edit", EDIT),
    ("edit_script", EDIT),
    ("edit_script_lines", EDIT),
    ("insert_script_lines", EDIT),
    ("delete_script_lines", EDIT),
    ("edit_file", EDIT),
    ("find_and_replace_in_scripts", Tools(&["search_files", "replace_text"])),
    ("set_script_source", Tools(&["write_script"])),
    ("write_file", Tools(&["write_script"])),
    ("create_script", Tools(&["open_or_create_script"])),
    ("search_game_tree", TREE),
    ("search_objects", TREE),
    ("get_instance_children", TREE),
    ("get_file_tree", TREE),
    ("get_project_structure", TREE),
    ("get_place_info", Tools(&["list_sessions", "list_children"])),
    ("inspect_instance", PROPERTIES),
    ("get_instance_properties", PROPERTIES),
    ("get_attributes", PROPERTIES),
    ("set_property", Tools(&["set_properties"])),
    ("mass_set_property", Tools(&["set_properties"])),
    ("set_attribute", Tools(&["set_properties"])),
    ("create_object", Tools(&["create_instance"])),
    ("mass_create_objects", Tools(&["create_instance", "propose_changes"])),
    ("delete_object", Tools(&["delete_instance"])),
    ("smart_duplicate", Tools(&["clone_instance"])),
    (
        "manage_instance",
        Tools(&[
            "create_instance",
            "clone_instance",
            "rename_instance",
            "move_instance",
            "delete_instance",
        ]),
    ),
    ("selection", Tools(&["list_selection", "reveal"])),
    ("get_selection", Tools(&["list_selection"])),
    ("screen_capture", SHOT),
    ("capture_screenshot", SHOT),
    ("insert_model", ASSET),
    ("preview_asset", ASSET),
    ("search_asset", STORE),
    ("search_creator_store", STORE),
    ("toolbox_search", STORE),
    ("list_roblox_studios", PLACES),
    ("get_connected_instances", PLACES),
    ("get_studio_state", PLACES),
    ("get_request_status", Tools(&["proposal_status"])),
    ("execute_luau", CODE),
    ("run_code", CODE),
    ("run_script", CODE),
    ("eval_server_runtime", CODE),
    ("eval_client_runtime", CODE),
    ("start_stop_play", PLAY),
    ("start_playtest", PLAY),
    ("stop_playtest", PLAY),
    ("solo_playtest", PLAY),
    ("run_script_in_play_mode", PLAY),
    ("get_runtime_logs", CONSOLE),
    ("studio_get_console", CONSOLE),
    ("undo", UNDO),
    ("redo", UNDO),
];

/// Returns a sentence that names the counterpart of another server's tool and can follow a refusal.
/// It names only tools that the caller has.
pub(super) fn find_counterpart(name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let (_, found) = COUNTERPARTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let all = match found {
        Instead(sentence) => return Some((*sentence).to_owned()),
        Tools(all) => all,
    };
    let names: Vec<String> =
        all.iter().filter(|name| has(name)).map(|name| format!("`{name}`")).collect();
    Some(match names.split_last()? {
        (one, []) => format!("Use {one}."),
        (last, front) => format!("Use {} or {last}.", front.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{OF_THE_SERVER, TOOLS};
    use super::*;

    #[test]
    fn counterparts_map_unique_foreign_names_to_own_tools() {
        let is_ours = |name: &str| {
            OF_THE_SERVER.contains(&name) || TOOLS.iter().any(|tool| tool.name == name)
        };
        for (at, (name, found)) in COUNTERPARTS.iter().enumerate() {
            assert!(!is_ours(name), "{name} is a tool of ours");
            assert!(!COUNTERPARTS[..at].iter().any(|(other, _)| other == name), "{name} twice");
            if let Tools(names) = found {
                assert!(names.iter().all(|name| is_ours(name)), "{name}: {names:?}");
            }
        }
    }

    #[test]
    fn foreign_tool_name_is_answered_with_its_counterpart() {
        let edit = find_counterpart("edit_script", |_| true).unwrap();
        assert_eq!(edit, "Use `replace_text`, `apply_edit` or `apply_patch`.");
        assert_eq!(find_counterpart("insert_model", |_| true).unwrap(), "Use `insert_asset`.");
        assert_eq!(find_counterpart("execute_luau", |_| true).unwrap(), "Use `run_luau`.");
        // Vector's own model has no tool for sessions.
        let own = |name: &str| TOOLS.iter().any(|tool| tool.name == name);
        assert_eq!(find_counterpart("get_place_info", own).unwrap(), "Use `list_children`.");
        assert_eq!(find_counterpart("get_request_status", own), None);
        assert_eq!(find_counterpart("paint_the_town", |_| true), None);
    }
}
