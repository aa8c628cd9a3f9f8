//! `find_definition`: finds the definition of a name, also in other modules.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::index::display_name;
use vector_place::Scene;

use super::code::AnswerBudget;
use super::{DefaultTarget, ToolAction, ToolSpec, args, code as told};
use crate::code::{self, CodeIndex, Symbol};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "find_definition",
    about: "Finds the definition of a name, also through requires: the one at `position` in the \
            script `path`, or `name`.",
    schema: args::args_schema::<FindDefinitionArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| {
        let args = args::parse_args(json)?;
        scene.with_index(|index| plan(&args, scene, index))
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FindDefinitionArgs {
    path: Option<InstancePath>,
    /// Zero-based.
    position: Option<told::ScriptPosition>,
    /// e.g. open, Shop.open, Shop:buy
    name: Option<String>,
}

/// Maximum number of definitions reported.
const MOST: usize = 50;

fn plan(args: &FindDefinitionArgs, scene: &Scene, index: &CodeIndex) -> Result<Json, Refusal> {
    let mut answer = json!({});
    let found = match (&args.path, args.position, &args.name) {
        (Some(path), Some(place), None) => {
            let (node, byte) = told::resolve_position(scene, path, place)?;
            let symbol = told::symbol_at(index, scene, node, byte)?;
            let found = code::find_definitions(index, scene, &symbol);
            if found.is_empty() {
                return refuse!("{}", explain_undefined(scene, index, &symbol));
            }
            found
        }
        (path, None, Some(name)) => {
            let mut found = code::definitions_named(index, scene, name);
            if let Some(path) = path {
                let node = scene.resolve(path)?;
                found.retain(|it| it.node == node);
            }
            if found.is_empty() {
                let all = index.definitions().map(|(_, it)| it.last_name());
                let near = did_you_mean(name, all);
                return refuse!(
                    "There is no definition of {:?}{}.{near} search_files finds text.",
                    display_name(name),
                    path.as_ref().map_or(String::new(), |path| format!(" in {path}"))
                );
            }
            found
        }
        _ => return refuse!("Give `path` and `position`, or `name`."),
    };
    let mut room = AnswerBudget::new();
    let definitions: Vec<Json> = found
        .iter()
        .take(MOST)
        .map(|it| told::definition_json(scene, it))
        .take_while(|it| room.try_take(it))
        .collect();
    if found.len() > definitions.len() {
        answer["truncated"] = true.into();
        answer["total"] = found.len().into();
    }
    answer["definitions"] = definitions.into();
    Ok(answer)
}

/// Explains why a symbol has no definition.
fn explain_undefined(scene: &Scene, index: &CodeIndex, symbol: &Symbol) -> String {
    match symbol {
        Symbol::Member(module, name) => {
            let members = index.script_at(*module).map(|it| &it.members);
            let near = did_you_mean(name, members.into_iter().flatten().map(|it| &*it.name));
            format!(
                "As far as its text shows, {} does not export a member {:?}.{near}",
                told::path_text(scene, *module),
                display_name(name)
            )
        }
        Symbol::Type(module, name) => format!(
            "{} does not define a type {:?}: it is built into Luau, or Roblox's.",
            told::path_text(scene, *module),
            display_name(name)
        ),
        Symbol::Own(symbol) => explain_undefined(scene, index, symbol),
        Symbol::Global(name) => format!(
            "No script defines the global {:?}: it belongs to Luau or Roblox, or is created while the game runs.",
            display_name(name)
        ),
        Symbol::Local(_, _) | Symbol::Field(..) | Symbol::Module(_) => {
            "It is not defined anywhere in the script.".to_owned()
        }
        Symbol::Loose(name) => format!(
            "The owner of member {:?} is only known at run time, and no script defines a function \
             of that name: it may be Roblox's.",
            display_name(name)
        ),
    }
}
