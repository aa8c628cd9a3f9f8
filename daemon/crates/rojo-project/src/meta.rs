//! Meta files: `NAME.meta.json` next to the files `NAME.*`, and `init.meta.json` in a folder.

use serde_json::{Map, Value as Json};
use vector_text_edit::json::read_json;

use super::snapshot::InstanceSnapshot;

/// Applies the text of a meta file. Faults are added to `faults`; the rest of the file still
/// applies.
pub(super) fn apply_meta(
    bytes: &[u8],
    is_folder: bool,
    snapshot: &mut InstanceSnapshot,
    faults: &mut Vec<String>,
) {
    let fields = match read_json(bytes) {
        Ok(Json::Object(fields)) => fields,
        Ok(_) => return faults.push("it is not an object".to_owned()),
        Err(why) => return faults.push(why),
    };
    let (mut properties, mut attributes, mut id) = (Map::new(), Map::new(), None);
    let mut class = None;
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("properties", Json::Object(read)) => properties = read,
            ("attributes", Json::Object(read)) => attributes = read,
            ("ignoreUnknownInstances", Json::Bool(ignores)) => snapshot.ignores_unknown = ignores,
            ("id", Json::String(read)) => id = Some(read),
            ("className", Json::String(read)) if is_folder => class = Some(read),
            ("ignoreUnknownInstances" | "id" | "className", Json::Null) => {}
            ("className", _) if !is_folder => {}
            ("properties" | "attributes" | "ignoreUnknownInstances" | "id" | "className", _) => {
                faults.push(format!("its `{field}` is of another type than Rojo wants"));
            }
            _ => {}
        }
    }
    match class {
        Some(class) if snapshot.class == "Folder" => snapshot.class = class,
        Some(class) => faults.push(format!(
            "its `className` is {class}, but the folder is a {} already; take it out",
            snapshot.class
        )),
        None => {}
    }
    snapshot.set_properties(&properties, &attributes, faults);
    if id.is_some() && snapshot.id.is_some() {
        faults.push("its `id` is the second that the instance is given".to_owned());
    }
    // If two meta files apply and the second has no id, Rojo drops the id of the first.
    snapshot.id = id;
}
