//! Prints the plugin's types, `plugin/src/Schema.luau`.
//!
//! The printer walks the JSON schemas of the Rust types, so that the two languages cannot drift
//! apart. Its output is already in StyLua's format. This module does not write the file or check
//! whether it is current.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use schemars::SchemaGenerator;
use serde_json::{Map, Value as Json, json};

use crate::api;
use crate::command::Props;
use crate::entry::{Entry, Record};

const HEADER: &str = "\
--!strict
-- The types that cross the wire between the daemon and the plugin. Generated from the crate
-- `scene-schemas`; do not edit. Integers are numbers here; what can be absent or null is optional.
";

/// Description of [`Props`]. A type alias has no schema of its own, so its doc comment is not
/// printed.
const PROPS: &str = "Properties by name. `Name` is a property, `Tags` holds all tags, and `@Key` is the\nattribute `Key`. \
    Null resets a property to its default and removes an attribute.";

/// Lists of variant names that the plugin needs at run time: the field of the returned table, the
/// type, and the property that tags its variants (None if they are plain strings).
const LISTS: [(&str, &str, Option<&str>); 12] = [
    ("Actions", "Action", Some("action")),
    ("Classes", "Class", None),
    ("Entries", "Entry", Some("entry")),
    ("Events", "Event", Some("event")),
    ("FailureKinds", "FailureKind", None),
    ("ProposalStatuses", "ProposalStatus", None),
    ("ThinkingPhases", "ThinkingPhase", None),
    ("Modes", "Mode", None),
    ("Ops", "Command", Some("op")),
    ("ValueTypes", "ValueType", None),
    ("Wants", "PluginQuery", Some("want")),
    ("WarningKinds", "WarningKind", None),
];

/// Unions whose variants get a type of their own, with the property that tags them: the `set` of
/// `Action` is `SetAction`. The plugin has a function for each of these variants.
const NAMED_VARIANTS: [(&str, &str); 8] = [
    ("Action", "action"),
    ("ApplyOutcome", "outcome"),
    ("Change", "change"),
    ("Event", "event"),
    ("PluginAnswer", "answer"),
    ("PluginQuery", "want"),
    ("ScenePart", "part"),
    ("Work", "work"),
];

/// Limits and constants that both sides use.
const NUMBERS: [(&str, u64); 4] = [
    ("MaxBody", api::MAX_BODY as u64),
    ("MaxHold", api::MAX_HOLD),
    ("Port", api::PORT as u64),
    ("Protocol", api::PROTOCOL as u64),
];

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// StyLua's maximum line width, and the columns it counts for a tab.
const COLUMNS: usize = 120;
const TAB: usize = 4;

/// Returns the text of `plugin/src/Schema.luau`. The output is deterministic.
pub fn print_schema() -> String {
    let mut generator = SchemaGenerator::default();
    generator.subschema_for::<Record>();
    generator.subschema_for::<Entry>();
    for route in api::ROUTES.iter().filter(|route| !route.is_hidden_from_plugin()) {
        route.register_types(&mut generator);
    }
    let mut props = generator.subschema_for::<Props>();
    props.insert("description".to_owned(), Json::from(PROPS));
    let props = props.to_value();
    let mut types: BTreeMap<String, Json> = generator.take_definitions(true).into_iter().collect();
    for (name, tag) in NAMED_VARIANTS {
        name_variants(&mut types, name, tag);
    }
    SchemaPrinter::new(types, props).print_module()
}

/// Moves each variant of a union to a type of its own.
fn name_variants(types: &mut BTreeMap<String, Json>, union: &str, tag: &str) {
    let Some(members) = types.get_mut(union).and_then(|schema| schema["oneOf"].as_array_mut())
    else {
        return;
    };
    let mut variants = Vec::new();
    for member in members {
        let Some(value) = member["properties"][tag]["const"].as_str() else { continue };
        let name = format!("{}{union}", to_pascal_case(value));
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        variants.push((name, std::mem::replace(member, reference)));
    }
    types.extend(variants);
}

fn to_pascal_case(snake_case: &str) -> String {
    let capitalize = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    snake_case.split('_').map(capitalize).collect()
}

struct SchemaPrinter {
    types: BTreeMap<String, Json>,
    /// Types that schemas inline instead of referencing by name, with their printed text.
    inlined: Vec<(&'static str, String)>,
}

/// One member of a union, with the comment above it.
struct UnionMember {
    docs: Option<String>,
    text: String,
}

impl SchemaPrinter {
    fn new(types: BTreeMap<String, Json>, props: Json) -> Self {
        let mut printer = Self { types, inlined: Vec::new() };
        let props_text = printer.print_type(&props, 0);
        let entry_text = printer
            .types
            .get("Entry")
            .map(|entry| printer.print_type(entry, 0))
            .unwrap_or_default();
        printer.types.insert("Props".to_owned(), props);
        printer.inlined = vec![("Props", props_text), ("Entry", entry_text)];
        printer
    }

    fn print_module(&self) -> String {
        let mut text = HEADER.to_owned();
        for (name, schema) in &self.types {
            text.push('\n');
            write_comment(&mut text, schema_docs(schema), 0);
            let body = self.inlined.iter().find(|(inlined, _)| inlined == name);
            let body = body.map_or_else(|| self.print_type(schema, 0), |(_, body)| body.clone());
            let space = if body.starts_with('\n') { "" } else { " " };
            let _ = writeln!(text, "export type {name} ={space}{body}");
        }
        text.push_str("\nreturn table.freeze({\n");
        for (field, name, tag) in LISTS {
            let _ = writeln!(text, "\t{field} = table.freeze({{");
            for variant in self.variant_names(name, tag) {
                let _ = writeln!(text, "\t\t{variant},");
            }
            text.push_str("\t}),\n");
        }
        for (field, number) in NUMBERS {
            let _ = writeln!(text, "\t{field} = {number},");
        }
        let _ = writeln!(text, "\tVersion = {:?},", api::VERSION);
        text.push_str("})\n");
        text
    }

    /// Returns the names of an enum's variants in declaration order, as Luau string literals.
    fn variant_names(&self, name: &str, tag: Option<&str>) -> Vec<String> {
        let Some(schema) = self.types.get(name) else {
            return Vec::new();
        };
        let one = |variant: &Json| match tag {
            Some(tag) => string_literals(&self.resolve(variant)["properties"][tag]),
            None => string_literals(variant),
        };
        let mut names = string_literals(schema);
        names.extend(union_members(schema).into_iter().flatten().flat_map(one));
        names
    }

    /// Returns the schema that a reference names, or the schema itself.
    fn resolve<'a>(&'a self, schema: &'a Json) -> &'a Json {
        reference_name(schema).and_then(|name| self.types.get(name)).unwrap_or(schema)
    }

    /// Prints a schema's type at this indentation depth. Text that begins with a line break is a
    /// union.
    fn print_type(&self, schema: &Json, depth: usize) -> String {
        if let Some(name) = reference_name(schema) {
            return name.to_owned();
        }
        let literals = string_literals(schema);
        if !literals.is_empty() {
            let member = |text| UnionMember { docs: None, text };
            return print_union(literals.into_iter().map(member).collect(), depth);
        }
        let is_object = schema["properties"].is_object();
        if let Some(all) = union_members(schema) {
            let variants = self.print_variants(all, depth);
            return if is_object {
                let variants =
                    self.find_type_name(&self.print_variants(all, 0)).unwrap_or(variants);
                format!("{} & {}", self.print_object(schema, depth), group_if_union(&variants))
            } else {
                variants
            };
        }
        if is_object {
            return self.print_object(schema, depth);
        }
        match &schema["type"] {
            Json::String(kind) => self.print_named(kind, schema, depth),
            Json::Array(kinds) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Json::as_str).collect();
                let some = kinds.iter().filter(|kind| **kind != "null");
                let some = some
                    .map(|kind| UnionMember {
                        docs: None,
                        text: self.print_named(kind, schema, depth),
                    })
                    .collect();
                mark_optional(print_union(some, depth), kinds.contains(&"null"))
            }
            _ => "any".to_owned(),
        }
    }

    fn print_variants(&self, all: &[Json], depth: usize) -> String {
        let (nulls, some): (Vec<&Json>, Vec<&Json>) =
            all.iter().partition(|member| member["type"] == "null");
        let documented = some.iter().any(|member| schema_docs(member).is_some());
        let one_line =
            !documented && some.iter().all(|one| !self.print_type(one, 0).contains('\n'));
        let inner = if one_line || some.len() == 1 { depth } else { depth + 1 };
        let some = some
            .iter()
            .map(|member| UnionMember {
                docs: schema_docs(member).map(str::to_owned),
                text: self.print_type(member, inner),
            })
            .collect();
        mark_optional(print_union(some, depth), !nulls.is_empty())
    }

    fn print_named(&self, kind: &str, schema: &Json, depth: usize) -> String {
        match kind {
            "boolean" => "boolean".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "string" => "string".to_owned(),
            "array" => format!("{{ {} }}", self.print_items(schema, depth)),
            "object" => {
                let values = match &schema["additionalProperties"] {
                    Json::Object(_) => self.print_type(&schema["additionalProperties"], depth),
                    _ => "any".to_owned(),
                };
                let map = format!("{{ [string]: {values} }}");
                self.find_type_name(&map).unwrap_or(map)
            }
            _ => "any".to_owned(),
        }
    }

    /// Luau has no tuples, so the element type is the union of the types at all positions.
    fn print_items(&self, schema: &Json, depth: usize) -> String {
        let Some(places) = schema["prefixItems"].as_array() else {
            return self.print_type(&schema["items"], depth);
        };
        let texts: BTreeSet<String> =
            places.iter().map(|place| self.print_type(place, depth)).collect();
        let texts: Vec<String> = texts.into_iter().collect();
        texts.join(" | ")
    }

    fn find_type_name(&self, text: &str) -> Option<String> {
        let (name, _) = self.inlined.iter().find(|(_, inlined)| inlined == text)?;
        Some((*name).to_owned())
    }

    fn print_object(&self, schema: &Json, depth: usize) -> String {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        // The tag comes first; the other fields follow by name.
        let mut fields: Vec<_> = properties.iter().collect();
        fields.sort_by_key(|(name, field)| (field["const"].is_null(), name.as_str()));

        let mut inner: Vec<(Option<&str>, String)> = Vec::new();
        for (name, field) in fields {
            let is_optional = !required.contains(name.as_str());
            let text = mark_optional(self.print_type(field, depth + 1), is_optional);
            let space = if text.starts_with('\n') { "" } else { " " };
            inner.push((schema_docs(field), format!("{}:{space}{text}", table_key(name))));
        }
        if schema["additionalProperties"] == Json::Bool(true) {
            inner.push((None, "[string]: any".to_owned()));
        }
        if let [(None, only)] = inner.as_slice() {
            return format!("{{ {only} }}");
        }
        let tabs = "\t".repeat(depth + 1);
        let mut text = "{\n".to_owned();
        for (docs, field) in inner {
            write_comment(&mut text, docs, depth + 1);
            let _ = writeln!(text, "{tabs}{field},");
        }
        text.push_str(&"\t".repeat(depth));
        text.push('}');
        text
    }
}

fn reference_name(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
}

fn schema_docs(schema: &Json) -> Option<&str> {
    schema["description"].as_str()
}

fn union_members(schema: &Json) -> Option<&Vec<Json>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

/// Returns the string constants that a schema allows, as Luau string literals.
fn string_literals(schema: &Json) -> Vec<String> {
    let some = schema["enum"].as_array().into_iter().flatten();
    some.chain([&schema["const"]])
        .filter_map(Json::as_str)
        .map(|text| Json::from(text).to_string())
        .collect()
}

fn write_comment(text: &mut String, docs: Option<&str>, depth: usize) {
    let tabs = "\t".repeat(depth);
    for line in docs.unwrap_or_default().lines() {
        // Intra-doc links only work in rustdoc.
        let line = line.replace("[`", "`").replace("`]", "`");
        let line = format!("{tabs}-- {line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Prints a union, on one line if it fits.
fn print_union(members: Vec<UnionMember>, depth: usize) -> String {
    let texts: Vec<&str> = members.iter().map(|member| member.text.as_str()).collect();
    if let [only] = texts.as_slice() {
        return (*only).to_owned();
    }
    let line = texts.join(" | ");
    let has_docs = members.iter().any(|member| member.docs.is_some());
    // A quarter of the line is left for the text before and after the union.
    if !has_docs && !line.contains('\n') && depth * TAB + line.len() <= COLUMNS * 3 / 4 {
        return line;
    }
    let tabs = "\t".repeat(depth + 1);
    let mut text = String::new();
    for member in members {
        text.push('\n');
        write_comment(&mut text, member.docs.as_deref(), depth + 1);
        let _ = write!(text, "{tabs}| {}", member.text);
    }
    text
}

fn group_if_union(text: &str) -> String {
    if text.contains(" | ") || text.starts_with('\n') {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

fn mark_optional(text: String, is_optional: bool) -> String {
    if !is_optional || text.ends_with('?') || text == "any" {
        text
    } else {
        format!("{}?", group_if_union(&text))
    }
}

fn table_key(name: &str) -> String {
    let mut bytes = name.bytes();
    let is_name = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_name && !KEYWORDS.contains(&name) {
        name.to_owned()
    } else {
        format!("[{}]", Json::from(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(passage: &str) {
        let text = print_schema();
        assert!(text.contains(passage), "{text}");
    }

    #[test]
    fn schema_text_is_the_same_on_every_call() {
        assert_eq!(print_schema(), print_schema());
    }

    #[test]
    fn every_kind_of_type_is_printed() {
        check("--!strict\n");
        check("export type Fingerprint = string\n");
        check("export type Seq = number\n");
        check("\tid: InstanceId?,\n");
        check("\tafter: { Seq }?,\n");
        check("\t\targs: any,\n");
        check("\t\tprops: Props,\n");
        check("\tprops: { { Value | string } },\n");
        check("export type Props = { [string]: Value? }\n");
        check("\tworkflow: Seq,\n} & Entry\n");
        check("\t-- The line is unchanged.\n\t| { context: string }\n");
        check("\t| {\n\t\top: \"create\",\n");
        check("\t-- A JSON string.\n\t| string\n");
        check("\t| \"Vector3int16\"\n");
    }

    #[test]
    fn variants_are_named_after_tag_and_union() {
        check("\nexport type ActiveScriptPluginAnswer = {\n\tanswer: \"active_script\",\n");
        check("\t| SetAction\n");
        check("\tActions = table.freeze({\n\t\t\"create\",\n\t\t\"clone\",\n\t\t\"set\",\n");
        let text = print_schema();
        for (name, _) in NAMED_VARIANTS {
            let union = text.split(&format!("\nexport type {name} =")).nth(1).unwrap();
            let union = union.split("\n\n").next().unwrap();
            assert!(!union.contains('{'), "{union}");
        }
    }

    #[test]
    fn keyword_fields_are_quoted() {
        check("\t[\"end\"]: Position,\n");
        assert_eq!(table_key("begin"), "begin");
        assert_eq!(table_key("two words"), "[\"two words\"]");
    }

    #[test]
    fn lists_keep_declaration_order() {
        check(
            "\tModes = table.freeze({\n\t\t\"confirm\",\n\t\t\"auto\",\n\t\t\"dangerous\",\n\t}),\n",
        );
        check("\tOps = table.freeze({\n\t\t\"create\",\n\t\t\"clone\",\n");
        check("\tEntries = table.freeze({\n\t\t\"started\",\n");
        check("\tValueTypes = table.freeze({\n\t\t\"Attributes\",\n");
        check("\tClasses = table.freeze({\n\t\t\"additive\",\n");
        check("\tWarningKinds = table.freeze({\n\t\t\"parent_created\",\n");
    }

    #[test]
    fn every_named_type_is_exported() {
        let text = print_schema();
        for name in ["Target", "TextEdit", "Position", "Value", "Command", "Proposal", "Record"] {
            assert!(text.contains(&format!("\nexport type {name} =")), "{name}");
        }
    }

    #[test]
    fn lines_fit_the_column_limit() {
        for line in print_schema().lines() {
            let width = line.replace('\t', "    ").chars().count();
            assert!(width <= COLUMNS, "{line}");
        }
    }
}
