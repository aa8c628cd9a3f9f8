//! `get_api`: looks up classes, data types, enums and their members in Roblox's API.

use scene_schemas::refusal::{Refusal, did_you_mean, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_roblox_api::{ApiFacts, EnumFacts, Member, MemberKind, MemberSecurity, TypeFacts};

use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_api",
    about: "Looks up Roblox's API: the members of a class, data type or enum, or one member. Use it when \
            unsure of a name, type or parameter.",
    schema: args::args_schema::<GetApiArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, _| plan(&args::parse_args(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetApiArgs {
    /// e.g. Humanoid, Humanoid.MoveTo, CFrame, Enum.Material
    name: String,
    /// Part of a member's name
    filter: Option<String>,
    inherited: Option<bool>,
}

/// Maximum number of members in an answer.
const MAX_MEMBERS: usize = 250;

fn plan(args: &GetApiArgs) -> Result<Json, Refusal> {
    let facts = ApiFacts::get();
    let name = args.name.trim();
    if let Some(name) = name.strip_prefix("Enum.") {
        return find_enum(facts, name, args);
    }
    if let Some(found) = find_type(facts, name) {
        return Ok(describe_type(facts, found, args));
    }
    if facts.enums.contains_key(name) {
        return find_enum(facts, name, args);
    }
    if let Some((owner, member)) = name.rsplit_once(['.', ':']) {
        return describe_member(facts, owner, member);
    }
    let known = facts.classes.keys().chain(facts.datatypes.keys()).chain(facts.enums.keys());
    refuse!(
        "Roblox has no class, data type or enum `{name}`.{}",
        did_you_mean(name, known.map(String::as_str))
    )
}

fn find_type<'f>(facts: &'f ApiFacts, name: &str) -> Option<&'f TypeFacts> {
    // `Instance` is a class, and a data type with its constructors.
    facts.classes.get(name).or_else(|| facts.datatypes.get(name))
}

fn find_enum(facts: &ApiFacts, name: &str, args: &GetApiArgs) -> Result<Json, Refusal> {
    let (name, item) = name.split_once('.').map_or((name, None), |(name, item)| (name, Some(item)));
    let Some(EnumFacts { name, items }) = facts.enums.get(name) else {
        let near = did_you_mean(name, facts.enums.keys().map(String::as_str));
        return refuse!("Roblox has no enum `{name}`.{near}");
    };
    if let Some(item) = item
        && !items.iter().any(|it| it.name == item)
    {
        let near = did_you_mean(item, items.iter().map(|it| it.name.as_str()));
        return refuse!("Enum.{name} has no item `{item}`.{near}");
    }
    let is_wanted = |it: &&str| item.is_none_or(|item| *it == item) && passes(it, args);
    let items: Vec<&str> = items.iter().map(|it| it.name.as_str()).filter(is_wanted).collect();
    Ok(json!({ "enum": name, "items": items }))
}

fn passes(name: &str, args: &GetApiArgs) -> bool {
    let contains = |part: &String| name.to_lowercase().contains(&part.to_lowercase());
    args.filter.as_ref().is_none_or(contains)
}

/// Returns the classes that a class inherits from, nearest first.
fn ancestors<'f>(facts: &'f ApiFacts, of: &'f TypeFacts) -> impl Iterator<Item = &'f TypeFacts> {
    facts.lineage(&of.name).skip(1)
}

fn describe_type(facts: &ApiFacts, found: &TypeFacts, args: &GetApiArgs) -> Json {
    let is_class = facts.classes.contains_key(&found.name);
    let mut members = list_members(facts, found, args);
    if args.inherited == Some(true) {
        for above in ancestors(facts, found) {
            members.extend(list_members(facts, above, args));
        }
    }
    if is_class && let Some(statics) = facts.datatypes.get(&found.name) {
        members.extend(list_members(facts, statics, args));
    }
    let total = members.len();
    members.truncate(MAX_MEMBERS);
    let kind = if is_class { "class" } else { "datatype" };
    let mut answer = json!({ kind: found.name, "members": members });
    let inherits: Vec<&str> = ancestors(facts, found).map(|it| it.name.as_str()).collect();
    if !inherits.is_empty() {
        answer["inherits"] = json!(inherits);
    }
    if !found.tags.is_empty() {
        answer["tags"] = json!(found.tags);
    }
    let operators = found
        .operations
        .iter()
        .map(|it| format!("{} {} {}: {}", it.type_a, it.operation, it.type_b, it.return_type));
    let operators: Vec<String> = operators.collect();
    if !operators.is_empty() {
        answer["operators"] = json!(operators);
    }
    if total > MAX_MEMBERS {
        answer["more"] = format!("{} more; use `filter`", total - MAX_MEMBERS).into();
    }
    answer
}

fn list_members(facts: &ApiFacts, of: &TypeFacts, args: &GetApiArgs) -> Vec<String> {
    let members = of.members.iter().filter(|it| it.is_readable() && passes(&it.name, args));
    members.map(|it| signature(facts, of, it)).collect()
}

fn describe_member(facts: &ApiFacts, owner: &str, name: &str) -> Result<Json, Refusal> {
    let owner = owner.strip_prefix("Enum.").unwrap_or(owner);
    let Some(found) = find_type(facts, owner) else {
        let known = facts.classes.keys().chain(facts.datatypes.keys());
        let near = did_you_mean(owner, known.map(String::as_str));
        return refuse!("Roblox has no class or data type `{owner}`.{near}");
    };
    let statics = facts.datatypes.get(owner);
    let all = || std::iter::once(found).chain(ancestors(facts, found)).chain(statics);
    for holder in all() {
        let overloads: Vec<String> = holder
            .members
            .iter()
            .filter(|it| it.name == name)
            .map(|it| signature(facts, holder, it))
            .collect();
        if !overloads.is_empty() {
            return Ok(json!({ "of": holder.name, "members": overloads }));
        }
    }
    let names = all().flat_map(|it| &it.members).filter(|it| it.is_readable());
    let near = did_you_mean(name, names.map(|it| it.name.as_str()));
    refuse!("{owner} has no member `{name}`.{near}")
}

/// Returns the type as scripts write it.
fn type_text(facts: &ApiFacts, name: &str) -> String {
    let bare = name.trim_end_matches('?');
    if matches!(bare, "double" | "float" | "int" | "int64") {
        return name.replacen(bare, "number", 1);
    }
    let is_enum = facts.enums.contains_key(bare) && find_type(facts, bare).is_none();
    if is_enum { format!("Enum.{name}") } else { name.to_owned() }
}

/// Describes a member in a line, such as `MoveTo(location: Vector3, part: Instance?)`.
fn signature(facts: &ApiFacts, of: &TypeFacts, member: &Member) -> String {
    let params = member.params.iter().map(|it| {
        let kind = it.value_type.as_deref().map(|kind| type_text(facts, kind));
        let mut text = it.name.clone();
        if let Some(kind) = kind {
            text.push_str(": ");
            text.push_str(&kind);
        }
        match &it.default {
            Some(Json::String(default)) if default != "nil" => {
                text.push_str(" = ");
                text.push_str(default);
            }
            Some(default) if !default.is_null() && !default.is_string() => {
                text.push_str(&format!(" = {default}"));
            }
            _ if of.is_optional(member, it) && !text.ends_with('?') => text.push('?'),
            _ => {}
        }
        text
    });
    let params = params.collect::<Vec<_>>().join(", ");
    let returns: Vec<String> = member.returns.iter().map(|it| type_text(facts, it)).collect();
    let returns = match returns.as_slice() {
        [] => String::new(),
        [one] if one == "()" || one == "void" => String::new(),
        all => format!(": {}", all.join(", ")),
    };
    let name = &member.name;
    let mut text = match member.kind {
        MemberKind::Property | MemberKind::Constant => {
            let kind = member
                .value_type
                .as_deref()
                .map_or_else(String::new, |kind| format!(": {}", type_text(facts, kind)));
            match member.kind {
                MemberKind::Constant => format!("{}.{name}{kind}", of.name),
                _ => format!("{name}{kind}"),
            }
        }
        MemberKind::Method => format!(":{name}({params}){returns}"),
        MemberKind::Event => format!("{name}: event ({params})"),
        MemberKind::Callback => format!("{name}: callback ({params}){returns}"),
        MemberKind::Constructor | MemberKind::Function => {
            format!("{}.{name}({params}){returns}", of.name)
        }
    };
    for note in notes(member) {
        text.push_str(" [");
        text.push_str(note);
        text.push(']');
    }
    text
}

fn notes(member: &Member) -> impl Iterator<Item = &'static str> {
    let is_data = matches!(member.kind, MemberKind::Property);
    let needs_plugin = match &member.security {
        None => false,
        Some(MemberSecurity::Same(security)) => security != "None",
        Some(MemberSecurity::Each { read, .. }) => read != "None",
    };
    let is_written_by_plugins = match &member.security {
        Some(MemberSecurity::Each { write, .. }) => write != "None" && !needs_plugin,
        _ => false,
    };
    [
        (is_data && !member.is_writable(), "read only"),
        (needs_plugin, "plugins only"),
        (is_data && is_written_by_plugins && member.is_writable(), "set by plugins only"),
        (member.has_tag("Yields"), "yields"),
        (member.is_deprecated(), "deprecated"),
    ]
    .into_iter()
    .filter_map(|(holds, note)| holds.then_some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(name: &str, filter: Option<&str>, inherited: bool) -> Result<Json, Refusal> {
        let filter = filter.map(str::to_owned);
        plan(&GetApiArgs { name: name.to_owned(), filter, inherited: Some(inherited) })
    }

    #[track_caller]
    fn refused(name: &str, why: &str) {
        let refusal = get(name, None, false).unwrap_err().0;
        assert!(refusal.contains(why), "{refusal}");
    }

    #[test]
    fn member_is_described_with_its_class() {
        let move_to = get("Humanoid.MoveTo", None, false).unwrap();
        assert_eq!(move_to["of"], "Humanoid");
        assert_eq!(move_to["members"][0], ":MoveTo(location: Vector3, part: Instance?)");
        let inherited = get("Part.Touched", None, false).unwrap();
        assert_eq!(inherited["of"], "BasePart");
        assert_eq!(inherited["members"][0], "Touched: event (otherPart: BasePart)");
        let yields = get("Instance:WaitForChild", None, false).unwrap();
        let text = yields["members"][0].as_str().unwrap();
        assert!(text.starts_with(":WaitForChild(childName: string, timeOut: number?"), "{text}");
        let made = get("CFrame.lookAt", None, false).unwrap();
        assert!(made["members"][0].as_str().unwrap().starts_with("CFrame.lookAt(at: Vector3"));
        let instance = get("Instance.new", None, false).unwrap();
        assert!(instance["members"][0].as_str().unwrap().starts_with("Instance.new(className"));
    }

    #[test]
    fn types_list_their_members_and_enums_their_items() {
        let part = get("Part", None, false).unwrap();
        assert_eq!(part["inherits"][0], "FormFactorPart");
        assert_eq!(part["members"], json!(["Shape: Enum.PartType"]));
        let all = get("Part", Some("anchor"), true).unwrap();
        assert_eq!(all["members"], json!(["Anchored: boolean"]));
        let sums = get("CFrame", Some("inverse"), false).unwrap();
        assert_eq!(sums["members"], json!([":Inverse(): CFrame"]));
        assert!(sums["operators"].as_array().unwrap().contains(&json!("CFrame * CFrame: CFrame")));
        let material = get("Enum.Material", Some("neon"), false).unwrap();
        assert_eq!(material, json!({ "enum": "Material", "items": ["Neon"] }));
        assert_eq!(get("Material", Some("neon"), false).unwrap(), material);
        assert_eq!(get("Enum.Material.Neon", None, false).unwrap(), material);
    }

    #[test]
    fn near_names_are_suggested() {
        refused("Humaniod", "Did you mean `Humanoid`");
        refused("Humanoid.MovTo", "Did you mean `MoveTo`");
        refused("Enum.Materail", "Did you mean `Material`");
        refused("Enum.Material.Neonn", "Did you mean `Neon`");
        refused("Partt.Touched", "Roblox has no class or data type `Partt`. Did you mean `Part`");
    }

    #[test]
    fn answers_about_every_type_are_short() {
        let facts = ApiFacts::get();
        for name in facts.classes.keys().chain(facts.datatypes.keys()) {
            let size = get(name, None, true).unwrap().to_string().len();
            assert!(size < 30_000, "{name}: {size}");
        }
    }
}
