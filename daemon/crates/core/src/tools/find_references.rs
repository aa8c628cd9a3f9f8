//! `find_references`: finds the uses of a name, exactly for local variables, and through requires.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::index::display_name;
use vector_place::Scene;

use super::args::BoundedInt;
use super::code::AnswerBudget;
use super::{DefaultTarget, ToolAction, ToolSpec, args, code as told};
use crate::code::{self, CodeIndex, PositionTracker, ReferenceHit, Symbol};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "find_references",
    about: "Finds the uses of a name: the one at `position` in the script `path`, a member or type \
            `name` of the module `path`, or the module itself. Doubtful hits have certain: false.",
    schema: args::args_schema::<FindReferencesArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| {
        let args = args::parse_args(json)?;
        scene.with_index(|index| plan(&args, scene, index))
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FindReferencesArgs {
    path: InstancePath,
    /// Zero-based.
    position: Option<told::ScriptPosition>,
    name: Option<String>,
    #[serde(default)]
    limit: BoundedInt<1, 500, 100>,
    cursor: Option<String>,
}

fn plan(args: &FindReferencesArgs, scene: &Scene, index: &CodeIndex) -> Result<Json, Refusal> {
    let symbol = match (args.position, &args.name) {
        (Some(place), None) => {
            let (node, byte) = told::resolve_position(scene, &args.path, place)?;
            told::symbol_at(index, scene, node, byte)?
        }
        (None, Some(name)) => exported_symbol(args, scene, index, name)?,
        (None, None) => module_symbol(args, scene, index)?,
        (Some(_), Some(_)) => return refuse!("Give `position` or `name`, not both."),
    };
    let hits = code::find_references(index, scene, &symbol);
    let skip = args::parse_cursor(args.cursor.as_deref())?;
    let limit = args.limit.get() as usize;
    let certain = hits.iter().filter(|hit| hit.is_certain).count();
    let page = hits.get(skip.min(hits.len())..).unwrap_or_default();
    let page = &page[..page.len().min(limit)];
    let (mut scripts, mut shown, mut room) = (Vec::new(), 0, AnswerBudget::new());
    for of_one in page.chunk_by(|a, b| a.node == b.node) {
        let listed = script_references(scene, of_one, &mut room);
        shown += listed.len();
        let is_all = listed.len() == of_one.len();
        if !listed.is_empty() {
            scripts.push(json!({ "path": told::path_text(scene, of_one[0].node), "hits": listed }));
        }
        if !is_all {
            break;
        }
    }
    let mut answer = json!({ "scripts": scripts, "total": hits.len(), "certain": certain });
    if shown < page.len() {
        answer["note"] = format!(
            "{} more did not fit on this page; continue with `cursor`.",
            page.len() - shown
        )
        .into();
    }
    if skip + shown < hits.len() {
        answer["truncated"] = true.into();
        answer["cursor"] = (skip + shown).to_string().into();
    }
    Ok(answer)
}

fn module_symbol(
    args: &FindReferencesArgs,
    scene: &Scene,
    index: &CodeIndex,
) -> Result<Symbol, Refusal> {
    let node = scene.resolve(&args.path)?;
    match index.script_at(node) {
        Some(_) => Ok(Symbol::Module(node)),
        None => refuse!("{} is a {}, not a script.", args.path, scene.class(node)),
    }
}

/// Returns the symbol of a member or type of a module.
fn exported_symbol(
    args: &FindReferencesArgs,
    scene: &Scene,
    index: &CodeIndex,
    name: &str,
) -> Result<Symbol, Refusal> {
    let Symbol::Module(node) = module_symbol(args, scene, index)? else {
        return refuse!("{} is not a module.", args.path);
    };
    let node = index.reexported_module(node);
    let script = index.script_at(node);
    let is_member = script.is_some_and(|it| it.members.iter().any(|member| &*member.name == name));
    if is_member {
        return Ok(Symbol::Member(node, name.into()));
    }
    let types = code::find_definitions(index, scene, &Symbol::Type(node, name.into()));
    if types.is_empty() {
        let members: Vec<&str> =
            script.into_iter().flat_map(|it| &it.members).map(|it| &*it.name).take(30).collect();
        let members: Vec<String> = members.into_iter().map(display_name).collect();
        return refuse!(
            "{} does not export a member or type {:?}; it exports: {}. For a local name give its \
             `position`.",
            told::path_text(scene, node),
            display_name(name),
            if members.is_empty() { "nothing".to_owned() } else { members.join(", ") }
        );
    }
    Ok(Symbol::Type(node, name.into()))
}

/// Formats the hits of one script that fit the budget.
fn script_references(scene: &Scene, hits: &[ReferenceHit], room: &mut AnswerBudget) -> Vec<Json> {
    let node = hits[0].node;
    let text = scene.script_text(node).unwrap_or_default();
    let mut positions = PositionTracker::new(&text);
    let hit = |hit: &ReferenceHit| {
        let at = positions.position_of(hit.span.start);
        let mut reference = json!({
            "line": at.line,
            "character": at.character,
            "text": told::line_text(&positions, hit.span.start),
        });
        if !hit.is_certain {
            reference["certain"] = false.into();
        }
        if hit.is_definition {
            reference["definition"] = true.into();
        }
        reference
    };
    if !room.try_take(&told::path_text(scene, node).into()) {
        return Vec::new();
    }
    hits.iter().map(hit).take_while(|it| room.try_take(it)).collect()
}
