//! Texts, properties, attributes and tags: determines the file that each is written to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rbx_types::{Attributes, Enum, Variant};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::Value as Json;
use vector_place::{Node, reflection};
use vector_text_edit::json::{JsonInput, JsonObject, read_json};

use super::restructure::META_EXTENSIONS;
use super::{ChangePlanner, json, mount_node, text, text_file, value_json};
use crate::middleware::FileMiddleware;
use crate::tree::InstanceOrigin;

/// Properties that identify an instance for the engine; Rojo's files omit them.
const ID_PROPERTIES: [&str; 2] = ["UniqueId", "HistoryId"];

/// The properties and attributes to set; None removes one.
#[derive(Debug, Default)]
pub(super) struct PropertySettings {
    pub(super) properties: Vec<(String, Option<Json>)>,
    pub(super) attributes: Vec<(String, Option<Json>)>,
}

/// The keys of an object that describes an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct DescriptionKeys {
    pub(super) properties: [&'static str; 2],
    pub(super) attributes: &'static str,
}

/// The keys of meta files.
const META_KEYS: DescriptionKeys =
    DescriptionKeys { properties: ["properties", "properties"], attributes: "attributes" };
/// The keys of project files.
const NODE_KEYS: DescriptionKeys =
    DescriptionKeys { properties: ["$properties", "$properties"], attributes: "$attributes" };

impl ChangePlanner<'_> {
    /// Writes the changed properties of instances that stay in their files.
    pub(super) fn write_properties(&mut self) -> Result<(), Refusal> {
        let touched = self.touched;
        for (node, names) in touched {
            let Some(number) = self.known.get(node).copied() else { continue };
            if !self.scene.is_live(*node) {
                continue;
            }
            if let InstanceOrigin::Model { mounted, .. } = &self.instance_at(number).origin
                && mounted.is_none()
            {
                self.models.insert(self.model_root(number));
                continue;
            }
            let mut rest = Vec::new();
            for name in names {
                if !self.write_content(number, *node, name)? {
                    rest.push(*name);
                }
            }
            if !rest.is_empty() {
                self.write_described(number, *node, &rest)?;
            }
        }
        Ok(())
    }

    /// Writes a property that is the whole content of a file. Returns false for others.
    fn write_content(&mut self, number: u32, node: Node, name: &str) -> Result<bool, Refusal> {
        let instance = self.instance_at(number);
        let Some(file) = text_file(&instance.origin) else { return Ok(false) };
        let kind =
            file.file_name().and_then(|it| it.to_str()).and_then(FileMiddleware::from_file_name);
        let kind = kind.map(|(middleware, _)| middleware);
        let text = match (name, kind) {
            (
                "Source",
                Some(FileMiddleware::Json | FileMiddleware::Toml | FileMiddleware::Yaml),
            ) => {
                return refuse!(
                    "The text of {} comes from {}, which Rojo turns into a module. Edit \
                     that file by hand.",
                    self.path_text(node),
                    self.display_path(file)
                );
            }
            ("Contents", Some(FileMiddleware::Csv)) => {
                return refuse!(
                    "{} comes from {}. Edit that file by hand.",
                    self.path_text(node),
                    self.display_path(file)
                );
            }
            ("Source", _) if reflection::is_script(&instance.class) => {
                self.scene.script_text(node).unwrap_or_default().into_owned()
            }
            ("Value", Some(FileMiddleware::Text)) => match self.stored_property(node, "Value") {
                Some(Variant::String(text)) => text,
                _ => String::new(),
            },
            _ => return Ok(false),
        };
        self.check_same_text(number, file, name, &text)?;
        let Some(before) = self.files.read_planned(file)? else {
            return refuse!("{} is gone.", self.display_path(file));
        };
        let after =
            if name == "Source" { text::script_bytes(&before, &text) } else { text.into_bytes() };
        if after != before {
            self.files.set_content(file, true, after);
        }
        Ok(true)
    }

    /// Checks that all instances of a file that is mounted several times have the same text.
    fn check_same_text(
        &self,
        number: u32,
        file: &Path,
        name: &str,
        text: &str,
    ) -> Result<(), Refusal> {
        let all = super::own_path(&self.instance_at(number).origin)
            .and_then(|it| self.instances_by_path.get(it));
        let all = all.map_or(&[][..], Vec::as_slice);
        let is_other = |other: &u32| {
            let node = self.node_at(*other);
            let theirs = match name {
                "Source" => self.scene.script_text(node).map(std::borrow::Cow::into_owned),
                _ => match self.stored_property(node, name) {
                    Some(Variant::String(text)) => Some(text),
                    _ => None,
                },
            };
            self.scene.is_live(node) && theirs.unwrap_or_default() != text
        };
        if !all.iter().any(is_other) {
            return Ok(());
        }
        refuse!(
            "{} is mounted in several places, all of which have its text: {}. Give all of them the \
             same text.",
            self.display_path(file),
            self.list_paths(all)
        )
    }

    /// Writes properties to the meta file, or to the node of the project file.
    fn write_described(&mut self, number: u32, node: Node, names: &[&str]) -> Result<(), Refusal> {
        let in_project = self.project_properties(number, node);
        let (project, rest): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| in_project(name));
        if let Some((file, nodes)) = mount_node(&self.instance_at(number).origin)
            && !project.is_empty()
        {
            self.check_node_unshared(number)?;
            let settings = self.changed_settings(number, node, &project)?;
            let (file, nodes) = (file.to_owned(), nodes.to_vec());
            self.edit_project_node(&file, &nodes, |object| {
                apply_settings(object, NODE_KEYS, &settings)
            })?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        if let InstanceOrigin::Model { .. } = self.instance_at(number).origin {
            self.models.insert(self.model_root(number));
            return Ok(());
        }
        self.check_unshared(number)?;
        let Some((file, to)) = self.meta_paths(number, node) else {
            return refuse!("No file can hold the properties of {}.", self.path_text(node));
        };
        self.check_meta_unshared(number, node, &file)?;
        if !file.is_file() {
            let is_folder =
                matches!(self.instance_at(number).origin, InstanceOrigin::Folder { .. });
            let folder = if is_folder { Some(node) } else { self.scene.parent(node) };
            self.check_read_back(folder, &file, None)?;
        }
        let settings = self.meta_settings(number, node, &rest, &file)?;
        let shown = self.display_path(&file);
        self.edit_json_file(&file, &to, |object| apply_settings(object, META_KEYS, &settings))
            .map_err(|why| Refusal(format!("{shown} cannot be changed: {}", why.0)))
    }

    /// Returns the settings that write the given properties of an instance to a meta file.
    ///
    /// Other meta files may apply to the instance before this one. Its attributes replace all of
    /// theirs, and what it does not set has their value.
    fn meta_settings(
        &self,
        number: u32,
        node: Node,
        names: &[&str],
        file: &Path,
    ) -> Result<PropertySettings, Refusal> {
        let mut settings = self.changed_settings(number, node, names)?;
        let has_attributes = self.has_attributes(file)?;
        for other in self.other_metas(number, file) {
            let bytes = self.files.read_planned(&other)?.unwrap_or_default();
            let fields = read_json(&bytes).unwrap_or_default();
            if names.contains(&"Attributes") && !is_empty_object(fields.get("attributes")) {
                let now = self.stored_property(node, "Attributes");
                let all = changed_attributes(None, now.as_ref())?;
                if all.is_empty() {
                    return self.refuse_other_meta(node, "Attributes", &other);
                }
                if !has_attributes {
                    settings.attributes = all;
                }
            }
            let class = self.scene.class(node);
            let properties = fields.get("properties").and_then(Json::as_object);
            for name in properties.into_iter().flatten().map(|(name, _)| name) {
                let is_unset = |it: &&(String, Option<Json>)| {
                    it.1.is_none() && (it.0 == *name || is_alias(class, name, &it.0))
                };
                if let Some((unset, _)) = settings.properties.iter().find(is_unset) {
                    return self.refuse_other_meta(node, unset, &other);
                }
            }
        }
        Ok(settings)
    }

    fn has_attributes(&self, meta: &Path) -> Result<bool, Refusal> {
        if !meta.is_file() {
            return Ok(false);
        }
        let bytes = self.files.read_planned(meta)?.unwrap_or_default();
        Ok(!is_empty_object(read_json(&bytes).unwrap_or_default().get("attributes")))
    }

    fn refuse_other_meta<T>(&self, node: Node, name: &str, meta: &Path) -> Result<T, Refusal> {
        refuse!(
            "{} has {name} from {}, which Vector does not change; remove it there by hand.",
            self.path_text(node),
            self.display_path(meta)
        )
    }

    /// Returns the meta files that apply to an instance, except the one that changes are written
    /// to.
    fn other_metas(&self, number: u32, file: &Path) -> Vec<PathBuf> {
        let (folder, mut names) = match &self.instance_at(number).origin {
            InstanceOrigin::File { meta: Some(meta), .. } => {
                let name = meta.file_stem().and_then(|stem| Path::new(stem).file_stem());
                (meta.parent(), vec![name])
            }
            InstanceOrigin::Folder { folder, init, .. } => {
                let own = init.is_some().then(|| folder.file_name()).flatten();
                (Some(folder.as_path()), vec![own, Some(OsStr::new("init"))])
            }
            _ => return Vec::new(),
        };
        names.dedup();
        let names = names.into_iter().flatten();
        let metas = names.flat_map(|name| {
            META_EXTENSIONS.map(|end| Some(folder?.join(format!("{}.meta.{end}", name.to_str()?))))
        });
        metas.flatten().filter(|meta| meta != file && meta.is_file()).collect()
    }

    /// Returns a predicate for the properties of an instance that belong in the project file.
    fn project_properties(&self, number: u32, node: Node) -> impl Fn(&str) -> bool + use<> {
        let origin = &self.instance_at(number).origin;
        let is_node =
            matches!(origin, InstanceOrigin::Node { .. }) || self.has_class_of_node(number, node);
        let mut declared: Vec<String> = Vec::new();
        if let Some((project, names)) = mount_node(origin)
            && !is_node
            && let Ok(Some(bytes)) = self.files.read_planned(project)
            && let Ok(mut document) = json::open_document(&bytes)
        {
            let mut object = document.root_object().ok().and_then(|it| it.into_object("tree"));
            for name in names {
                object = object.and_then(|it| it.into_object(name));
            }
            if let Some(object) = object {
                if object.has_key("$attributes") {
                    declared.push("Attributes".to_owned());
                }
                let properties = object.into_object("$properties");
                declared.extend(properties.iter().flat_map(JsonObject::keys).map(str::to_owned));
            }
        }
        let class = self.scene.class(node).to_owned();
        move |name| is_node || declared.iter().any(|it| it == name || is_alias(&class, it, name))
    }

    /// Whether an instance is a folder that has its class from the project's node, such as a service.
    /// Its own files know only the properties of a `Folder`.
    fn has_class_of_node(&self, number: u32, node: Node) -> bool {
        let origin = &self.instance_at(number).origin;
        let InstanceOrigin::Folder { init: None, meta, .. } = origin else {
            return false;
        };
        if mount_node(origin).is_none() || self.scene.class(node) == "Folder" {
            return false;
        }
        let bytes = self.files.read_planned(meta).ok().flatten().unwrap_or_default();
        read_json(&bytes).unwrap_or_default().get("className").is_none()
    }

    /// Checks that a project node is one instance only, which fails if the project is mounted
    /// twice.
    pub(super) fn check_node_unshared(&self, number: u32) -> Result<(), Refusal> {
        let own = mount_node(&self.instance_at(number).origin);
        let others = (0..self.nodes.len() as u32)
            .filter(|other| mount_node(&self.instance_at(*other).origin) == own && own.is_some());
        let all: Vec<u32> = others.collect();
        if all.len() < 2 {
            return Ok(());
        }
        refuse!(
            "The node is mounted in several places, all of which would change: {}. Change it by hand.",
            self.list_paths(&all)
        )
    }

    /// Returns the current and planned path of an instance's meta file.
    fn meta_paths(&self, number: u32, node: Node) -> Option<(PathBuf, PathBuf)> {
        let file = match &self.instance_at(number).origin {
            InstanceOrigin::File { meta, .. } => meta.clone()?,
            InstanceOrigin::Folder { meta, .. } => meta.clone(),
            InstanceOrigin::Model { .. } | InstanceOrigin::Node { .. } => return None,
        };
        let end = file.extension().unwrap_or_default().to_owned();
        let to = match self.moved_meta_paths.get(&node) {
            Some(to) => {
                let mut to = to.clone().into_os_string();
                to.push(".");
                to.push(end);
                PathBuf::from(to)
            }
            None => self.files.planned_path(&file),
        };
        Some((file, to))
    }

    /// Checks that a script's meta file does not also apply to other instances with the same name.
    fn check_meta_unshared(&self, number: u32, node: Node, meta: &Path) -> Result<(), Refusal> {
        let shares = |other: &u32| {
            *other != number
                && self.scene.is_live(self.node_at(*other))
                && match &self.instance_at(*other).origin {
                    InstanceOrigin::File { meta: Some(its), .. } => its == meta,
                    InstanceOrigin::Folder { meta: its, .. } => {
                        its == meta || self.is_inner_meta(*other, meta)
                    }
                    _ => false,
                }
        };
        let others: Vec<u32> = (0..self.nodes.len() as u32).filter(shares).collect();
        if others.is_empty() {
            return Ok(());
        }
        refuse!(
            "{} would hold not only for {}, but for {} too; give them different names first.",
            self.display_path(meta),
            self.path_text(node),
            self.list_paths(&others)
        )
    }

    /// Whether a meta file is in a folder with an `init` file and has the folder's name. Rojo
    /// applies it to the folder too.
    pub(super) fn is_inner_meta(&self, number: u32, meta: &Path) -> bool {
        let InstanceOrigin::Folder { folder, init: Some(_), .. } = &self.instance_at(number).origin
        else {
            return false;
        };
        let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
        META_EXTENSIONS.iter().any(|end| *meta == folder.join(format!("{name}.meta.{end}")))
    }

    /// Returns the settings that write the given properties of an instance.
    pub(super) fn changed_settings(
        &self,
        number: u32,
        node: Node,
        names: &[&str],
    ) -> Result<PropertySettings, Refusal> {
        let mut settings = PropertySettings::default();
        let class = self.scene.class(node);
        for name in names {
            let now = self.stored_property(node, name);
            if *name == "Attributes" {
                let before = self.instance_at(number).properties.get(*name);
                settings.attributes = changed_attributes(before, now.as_ref())?;
                continue;
            }
            let value = now.map(|now| value_json::property_json(class, name, &now));
            let value = value.transpose().map_err(|why| self.prefix_refusal(node, why))?;
            settings.properties.push(((*name).to_owned(), value));
        }
        Ok(settings)
    }

    /// Describes a new instance as fields of a meta or model file. If `has_file`, properties that
    /// the script's file already determines are omitted. A given `run_context` is always written.
    ///
    /// # Errors
    /// Fails if JSON cannot hold a value.
    pub(super) fn describe_instance(
        &self,
        node: Node,
        has_file: bool,
        run_context: Option<u32>,
    ) -> Result<Vec<(String, JsonInput)>, Refusal> {
        let class = self.scene.class(node);
        let (mut properties, mut fields) = (Vec::new(), Vec::new());
        let mut attributes = Vec::new();
        let mut all = self.non_default_properties(node);
        all.retain(|(name, _)| !has_file || !matches!(name.as_str(), "Source" | "RunContext"));
        let run_context_value = run_context.map(|item| Variant::Enum(Enum::from_u32(item)));
        all.extend(run_context_value.map(|value| ("RunContext".to_owned(), value)));
        for (name, value) in all {
            if name == "Attributes" {
                attributes = changed_attributes(None, Some(&value))?;
                continue;
            }
            let json = value_json::property_json(class, &name, &value)
                .map_err(|why| self.prefix_refusal(node, why))?;
            properties.push((name, JsonInput::from(&json)));
        }
        if !properties.is_empty() {
            fields.push(("properties".to_owned(), JsonInput::Object(properties)));
        }
        if !attributes.is_empty() {
            let entries = attributes
                .into_iter()
                .filter_map(|(name, json)| Some((name, JsonInput::from(&json?))));
            fields.push(("attributes".to_owned(), JsonInput::Object(entries.collect())));
        }
        Ok(fields)
    }

    /// Returns the stored properties of a new instance that differ from their defaults.
    pub(super) fn non_default_properties(&self, node: Node) -> Vec<(String, Variant)> {
        let class = self.scene.class(node);
        let mut all = self.scene.stored_variants(node);
        all.retain(|(name, value)| {
            let is_empty = match value {
                Variant::Attributes(all) => all.is_empty(),
                Variant::Tags(tags) => tags.is_empty(),
                Variant::Ref(to) => to.is_none(),
                _ => false,
            };
            let is_default = reflection::default_of(class, name) == Some(value);
            // Rojo sets this on all models, because Studio would otherwise move their pivots.
            let is_rojos = name == "NeedsPivotMigration" && *value == Variant::Bool(false);
            !is_empty && !is_default && !is_rojos && !ID_PROPERTIES.contains(&name.as_str())
        });
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    fn prefix_refusal(&self, node: Node, why: Refusal) -> Refusal {
        Refusal(format!("{}: {}", self.path_text(node), why.0))
    }
}

/// Whether two names denote the same property.
fn is_alias(class: &str, one: &str, other: &str) -> bool {
    let name = |name| reflection::stored_name(class, name).map(|(name, _)| name);
    name(one).is_some_and(|one| Some(one) == name(other))
}

/// Whether a field of a meta file sets nothing.
fn is_empty_object(field: Option<&Json>) -> bool {
    field.and_then(Json::as_object).is_none_or(serde_json::Map::is_empty)
}

/// Returns the attributes that differ; None for those that were removed.
fn changed_attributes(
    before: Option<&Variant>,
    now: Option<&Variant>,
) -> Result<Vec<(String, Option<Json>)>, Refusal> {
    let none = Attributes::new();
    let of = |value: Option<&Variant>| match value {
        Some(Variant::Attributes(all)) => all.clone(),
        _ => none.clone(),
    };
    let (before, now) = (of(before), of(now));
    let mut changed = Vec::new();
    for (name, value) in &now {
        if before.get(name.as_str()) != Some(value) {
            changed.push((name.clone(), Some(value_json::attribute_json(name, value)?)));
        }
    }
    let gone = before.iter().filter(|(name, _)| now.get(name.as_str()).is_none());
    changed.extend(gone.map(|(name, _)| (name.clone(), None)));
    Ok(changed)
}

/// Sets properties and attributes in the object that describes an instance.
pub(super) fn apply_settings(
    object: &mut JsonObject<'_>,
    keys: DescriptionKeys,
    settings: &PropertySettings,
) -> Result<(), Refusal> {
    let key = json::find_key(object, keys.properties).unwrap_or(keys.properties[0]);
    for (key, all) in [(key, &settings.properties), (keys.attributes, &settings.attributes)] {
        let below = object.reborrow().into_object(key);
        let is_there = |name: &String| below.as_ref().is_some_and(|below| below.has_key(name));
        if all.iter().all(|(name, value)| value.is_none() && !is_there(name)) {
            continue;
        }
        let mut below = object.reborrow().into_object_or_create(key).map_err(Refusal)?;
        for (name, value) in all {
            match value {
                Some(value) => below.set(name, &JsonInput::from(value)),
                None => below.remove(name),
            }
        }
        if below.is_empty() {
            object.remove(key);
        }
    }
    Ok(())
}
