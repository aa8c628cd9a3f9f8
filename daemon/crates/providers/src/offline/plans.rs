//! Converts requests to the steps of a plan, in order.
//!
//! Every step is one tool call that proposes something or finds the subject of a later step. This
//! module does not know the results of calls. A step that works inside an instance from an earlier
//! step refers to that step instead of a path.

use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};

use super::create::NewInstance;
use super::farm;
use super::language::{PlannerRequest, RequestSubject};
use super::shapes::GridShape;
use super::values::PartLook;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanStep {
    /// The title in the plan.
    pub(super) title: String,
    pub(super) tool: &'static str,
    pub(super) args: Json,
    /// The argument that is the path from an earlier step; None if all arguments are known.
    pub(super) deferred: Option<DeferredArgument>,
    /// The name of the created instance under its `parentPath`.
    pub(super) created_name: Option<String>,
}

/// An argument that is known once an earlier step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeferredArgument {
    pub(super) argument: &'static str,
    /// The index of the earlier step.
    pub(super) step: usize,
}

/// The steps of all requests, with their results.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RequestPlan {
    pub(super) steps: Vec<PlanStep>,
    /// One sentence per request, without its period.
    pub(super) results: Vec<String>,
}

/// The parent of a new instance.
#[derive(Debug, Clone, Copy)]
pub(super) enum ParentRef<'a> {
    Path(&'a InstancePath),
    /// The instance that this step creates.
    Step(usize),
}

/// The tool that finds an instance. A step that calls it proposes nothing.
pub(super) const FIND_TOOL: &str = "find_instances";

/// How many instances are listed if several have the same name.
pub(super) const MAX_LISTED: usize = 5;

/// Returns the selector of a name.
fn name_selector(name: &str) -> String {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty() {
        return format!("#{name}");
    }
    format!("#\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A grid of more cells is created row by row.
const SINGLE_MAX: u32 = 64;

/// Builds the plan of some requests.
pub(super) fn plan_requests(requests: &[PlannerRequest]) -> RequestPlan {
    let mut plan = RequestPlan::default();
    for request in requests {
        let result = match request {
            PlannerRequest::Grid(shape) => plan.push_grid(shape),
            PlannerRequest::Farm(shape) => farm::add_farm(&mut plan, shape),
            PlannerRequest::Create(new) => plan.push_instance(new),
            PlannerRequest::Rename(RequestSubject::Named(old), new) => plan.push_rename(old, new),
            one => plan.push_single(one),
        };
        plan.results.push(result);
    }
    plan
}

impl RequestPlan {
    /// Returns the steps that propose something.
    pub(super) fn proposing_steps(&self) -> impl Iterator<Item = &PlanStep> {
        self.steps.iter().filter(|step| step.tool != FIND_TOOL)
    }

    /// Adds a step, and returns its index.
    pub(super) fn push_step(&mut self, title: String, tool: &'static str, args: Json) -> usize {
        self.steps.push(PlanStep { title, tool, args, deferred: None, created_name: None });
        self.steps.len() - 1
    }

    /// Adds a step that creates one instance under a parent.
    pub(super) fn push_create(
        &mut self,
        tool: &'static str,
        parent: ParentRef<'_>,
        name: &str,
        class: &str,
        mut args: Json,
    ) -> usize {
        let inside = match parent {
            ParentRef::Path(path) => {
                args["parentPath"] = json!(path);
                None
            }
            ParentRef::Step(step) => Some(DeferredArgument { argument: "parentPath", step }),
        };
        args["className"] = json!(class);
        let at = self.push_step(format!("Create the {class} {name}"), tool, args);
        self.steps[at].deferred = inside;
        self.steps[at].created_name = Some(name.to_owned());
        at
    }

    /// Adds a step that creates an instance with its children.
    pub(super) fn push_tree(
        &mut self,
        parent: ParentRef<'_>,
        instance: Json,
        children: Vec<Json>,
    ) -> usize {
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        let (name, class) = (text(&instance["props"]["Name"]), text(&instance["className"]));
        let mut args = instance;
        if !children.is_empty() {
            args["children"] = Json::Array(children);
        }
        self.push_create("create_instance", parent, &name, &class, args)
    }

    fn push_instance(&mut self, new: &NewInstance) -> String {
        let instance = json!({ "className": new.class, "props": new.props });
        self.push_tree(ParentRef::Path(&new.parent), instance, vec![]);
        if new.name == new.class {
            return format!("Created a {} in {}", new.class, new.parent);
        }
        format!("Created the {} {} in {}", new.class, new.name, new.parent)
    }

    /// Adds the steps that rename the single instance of a name: the first one finds its path.
    fn push_rename(&mut self, old: &str, new: &str) -> String {
        let found = self.push_step(
            format!("Find {old}"),
            FIND_TOOL,
            json!({ "selector": name_selector(old), "limit": MAX_LISTED }),
        );
        let at = self.push_step(
            format!("Rename {old} to {new}"),
            "rename_instance",
            json!({ "newName": new }),
        );
        self.steps[at].deferred = Some(DeferredArgument { argument: "path", step: found });
        format!("Renamed {old} to {new}")
    }

    fn push_grid(&mut self, shape: &GridShape) -> String {
        let parent = ParentRef::Path(&shape.parent);
        let model =
            ParentRef::Step(self.push_tree(parent, instance_json("Model", &shape.name), vec![]));
        let by_row = shape.rows * shape.columns > SINGLE_MAX;
        for row in 0..shape.rows {
            let cells = (0..shape.columns).map(|column| grid_cell(shape, "Cell", row, column));
            if by_row {
                let name = format!("Row_{}", row + 1);
                self.push_tree(model, instance_json("Model", &name), cells.collect());
            } else {
                for cell in cells {
                    self.push_tree(model, cell, vec![]);
                }
            }
        }
        format!(
            "Created {} as a grid of {} x {} parts in {}",
            shape.name, shape.rows, shape.columns, shape.parent
        )
    }

    /// Adds the step of a request that needs only one.
    fn push_single(&mut self, request: &PlannerRequest) -> String {
        let (title, result, tool, args) = match request {
            PlannerRequest::Grid(_) | PlannerRequest::Farm(_) | PlannerRequest::Create(_) => {
                return String::new();
            }
            PlannerRequest::Rename(subject, name) => (
                format!("Rename {subject} to {name}"),
                format!("Renamed {subject} to {name}"),
                "rename_instance",
                add_subject(subject, json!({ "newName": name })),
            ),
            PlannerRequest::Set(subject, props) => {
                let names: Vec<&str> = props.keys().map(String::as_str).collect();
                let what = format!("{} on {subject}", names.join(", "));
                (
                    format!("Set {what}"),
                    format!("Set {what}"),
                    "set_properties",
                    add_subject(subject, json!({ "props": props })),
                )
            }
            PlannerRequest::Comment(path, text) => (
                format!("Insert a comment in {path}"),
                format!("Inserted a comment in {path}"),
                "apply_edit",
                json!({ "path": path, "edits": [insertion_edit(text)] }),
            ),
            PlannerRequest::Replace(subject, search, replace) => (
                format!("Replace a text in {subject}"),
                format!("Replaced a text in {subject}"),
                "replace_text",
                replacement_args(subject, search, replace),
            ),
            PlannerRequest::Delete(subject) => (
                format!("Delete {subject}"),
                format!("Deleted {subject}"),
                "delete_instance",
                add_subject(subject, json!({})),
            ),
            PlannerRequest::Move(subject, parent) => (
                format!("Move {subject} to {parent}"),
                format!("Moved {subject} to {parent}"),
                "move_instance",
                add_subject(subject, json!({ "parentPath": parent })),
            ),
            PlannerRequest::Clone(path, parent, name) => (
                format!("Clone {path}"),
                format!("Cloned {path}"),
                "clone_instance",
                clone_args(path, parent.as_ref(), name.as_deref()),
            ),
            PlannerRequest::Insert(asset, parent) => {
                let into = parent.as_ref().map_or(String::new(), |path| format!(" into {path}"));
                (
                    format!("Insert asset {asset}{into}"),
                    format!("Inserted asset {asset}{into}"),
                    "insert_asset",
                    match parent {
                        Some(parent) => json!({ "assetId": asset, "parentPath": parent }),
                        None => json!({ "assetId": asset }),
                    },
                )
            }
        };
        self.push_step(title, tool, args);
        result
    }
}

fn add_subject(subject: &RequestSubject, mut args: Json) -> Json {
    match subject {
        RequestSubject::Path(path) => args["path"] = json!(path),
        // A call without a path applies to the selection.
        RequestSubject::Selected | RequestSubject::Named(_) => {}
        RequestSubject::Selector(selector) => args["selector"] = json!(selector),
    }
    args
}

/// Returns the arguments of a replacement. In a single script, the text must occur exactly once;
/// for a selector, all occurrences are replaced.
fn replacement_args(subject: &RequestSubject, search: &str, replace: &str) -> Json {
    let mut args = json!({ "search": search, "replace": replace });
    if matches!(subject, RequestSubject::Selector(_)) {
        args["all"] = json!(true);
    }
    add_subject(subject, args)
}

fn clone_args(path: &InstancePath, parent: Option<&InstancePath>, name: Option<&str>) -> Json {
    let mut args = json!({ "path": path });
    if let Some(parent) = parent {
        args["parentPath"] = json!(parent);
    }
    if let Some(name) = name {
        args["name"] = json!(name);
    }
    args
}

/// Returns an edit that inserts at the very beginning.
fn insertion_edit(text: &str) -> Json {
    let start = json!({ "line": 0, "character": 0 });
    json!({ "start": start, "end": start, "text": text })
}

/// Returns the JSON of an instance with a class and a name.
pub(super) fn instance_json(class: &str, name: &str) -> Json {
    json!({ "className": class, "props": { "Name": name } })
}

pub(super) fn part_json(name: &str, size: [f64; 3], position: [f64; 3], look: &PartLook) -> Json {
    let mut props = Map::new();
    props.insert("Name".to_owned(), json!(name));
    props.insert("Anchored".to_owned(), json!(true));
    props.insert("Size".to_owned(), json!(size.map(studs_json)));
    props.insert(
        "CFrame".to_owned(),
        json!({
            "__t": "CFrame",
            "position": position.map(studs_json),
            "orientation": [1, 0, 0, 0, 1, 0, 0, 0, 1],
        }),
    );
    if let Some(material) = look.material {
        props.insert("Material".to_owned(), json!(material));
    }
    if let Some(colour) = &look.colour {
        props.insert("Color".to_owned(), json!(colour));
    }
    json!({ "className": "Part", "props": props })
}

/// Returns a cell of a grid. Rows and columns count from 0, but names count from 1.
pub(super) fn grid_cell(shape: &GridShape, prefix: &str, row: u32, column: u32) -> Json {
    let offset =
        |n: u32, of: u32| (f64::from(n) - f64::from(of.saturating_sub(1)) / 2.0) * shape.spacing;
    let position = [
        shape.center[0] + offset(column, shape.columns),
        shape.center[1],
        shape.center[2] + offset(row, shape.rows),
    ];
    let name = format!("{prefix}_{}_{}", row + 1, column + 1);
    part_json(&name, shape.size, position, &shape.look)
}

/// Returns a number of studs without binary rounding noise, as an integer if it is whole.
pub(super) fn studs_json(studs: f64) -> Json {
    let rounded = (studs * 10_000.0).round() / 10_000.0;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}
