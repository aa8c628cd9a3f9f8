//! `find_references`: where a name is used, exactly for local variables, and through requires.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::index::called;
use vector_place::Scene;

use super::args::Usual;
use super::code::Room;
use super::{Own, Run, Tool, args, code as told};
use crate::code::{self, Hit, Index, Positions, Symbol};

pub(super) const TOOL: Tool = Tool {
    name: "find_references",
    about: "Finds where a name is used: the one at `position` of the script `path`, a member or \
            type `name` of the module `path`, or the module itself. Doubtful hits have certain: \
            false.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Read(|json, scene| {
        let args = args::read(json)?;
        code::with(scene, |index| plan(&args, scene, index))
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    path: InstancePath,
    /// From 0.
    position: Option<told::Place>,
    name: Option<String>,
    #[serde(default)]
    limit: Usual<1, 500, 100>,
    cursor: Option<String>,
}

fn plan(args: &Args, scene: &Scene, index: &Index) -> Result<Json, Refusal> {
    let symbol = match (args.position, &args.name) {
        (Some(place), None) => {
            told::symbol(index, scene, told::pointed(scene, &args.path, place)?)?
        }
        (None, Some(name)) => exported(args, scene, index, name)?,
        (None, None) => module(args, scene, index)?,
        (Some(_), Some(_)) => return refuse!("Either `position` or `name` is needed, not both."),
    };
    let hits = code::references(index, scene, &symbol);
    let skip = args::offset(args.cursor.as_deref())?;
    let limit = args.limit.get() as usize;
    let certain = hits.iter().filter(|hit| hit.is_certain).count();
    let page = hits.get(skip.min(hits.len())..).unwrap_or_default();
    let page = &page[..page.len().min(limit)];
    let (mut scripts, mut shown, mut room) = (Vec::new(), 0, Room::new());
    for of_one in page.chunk_by(|a, b| a.node == b.node) {
        let told = of_script(scene, of_one, &mut room);
        shown += told.len();
        let is_all = told.len() == of_one.len();
        if !told.is_empty() {
            scripts.push(json!({ "path": told::path(scene, of_one[0].node), "hits": told }));
        }
        if !is_all {
            break;
        }
    }
    let mut answer = json!({ "scripts": scripts, "total": hits.len(), "certain": certain });
    if shown < page.len() {
        answer["note"] = format!(
            "There is no room for {} more of this page; `cursor` goes on with them.",
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

fn module(args: &Args, scene: &Scene, index: &Index) -> Result<Symbol, Refusal> {
    let node = scene.resolve(&args.path)?;
    match index.script(node) {
        Some(_) => Ok(Symbol::Module(node)),
        None => refuse!("{} is a {}, and no script.", args.path, scene.class(node)),
    }
}

/// A member of a module, or a type of it.
fn exported(args: &Args, scene: &Scene, index: &Index, name: &str) -> Result<Symbol, Refusal> {
    let Symbol::Module(node) = module(args, scene, index)? else {
        return refuse!("{} is no module.", args.path);
    };
    let node = index.behind(node);
    let script = index.script(node);
    let is_member = script.is_some_and(|it| it.members.iter().any(|member| &*member.name == name));
    if is_member {
        return Ok(Symbol::Member(node, name.into()));
    }
    let types = code::definitions(index, scene, &Symbol::Type(node, name.into()));
    if types.is_empty() {
        let members: Vec<&str> =
            script.into_iter().flat_map(|it| &it.members).map(|it| &*it.name).take(30).collect();
        let members: Vec<String> = members.into_iter().map(called).collect();
        return refuse!(
            "{} gives no member or type {:?} to others; it gives: {}. For a local name give its \
             `position`.",
            told::path(scene, node),
            called(name),
            if members.is_empty() { "nothing by name".to_owned() } else { members.join(", ") }
        );
    }
    Ok(Symbol::Type(node, name.into()))
}

/// The hits of one script, as far as there is room for them.
fn of_script(scene: &Scene, hits: &[Hit], room: &mut Room) -> Vec<Json> {
    let node = hits[0].node;
    let text = scene.source(node).unwrap_or_default();
    let mut positions = Positions::new(&text);
    let hit = |hit: &Hit| {
        let at = positions.of(hit.span.start);
        let mut told = json!({
            "line": at.line,
            "character": at.character,
            "text": told::line(&positions, hit.span.start),
        });
        if !hit.is_certain {
            told["certain"] = false.into();
        }
        if hit.is_definition {
            told["definition"] = true.into();
        }
        told
    };
    if !room.take(&told::path(scene, node).into()) {
        return Vec::new();
    }
    hits.iter().map(hit).take_while(|it| room.take(it)).collect()
}
