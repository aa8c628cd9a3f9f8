//! Every request of the crate, as it arrives at the fake cloud, beside the shape that the OpenAPI file of
//! its service gives it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use fake_cloud::{FakeCloud, SeenRequest, read_form};
use serde_json::{Value as Json, json};
use vector_tests::repository;

use super::samples::{
    BodyShape, MemberKind, MemberShape, RequestShape, SampleRequest, prepare, samples,
};
use super::sender::run;

/// Whether a path fits its template.
fn is_path(template: &str, path: &str) -> bool {
    let (mut expected, mut segments) = (template.split('/').peekable(), path.split('/').peekable());
    while let Some(wanted) = expected.next() {
        let Some(segment) = segments.next() else { return false };
        match wanted {
            "{+}" => {
                let after = expected.peek().copied();
                while segments.peek().is_some_and(|next| Some(*next) != after) {
                    segments.next();
                }
            }
            "{}" if !segment.is_empty() => {}
            wanted if wanted == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

fn is_kind(kind: MemberKind, value: &Json) -> bool {
    match kind {
        MemberKind::Text => value.is_string(),
        MemberKind::Int64 => {
            value.is_u64() || value.as_str().is_some_and(|it| it.parse::<u64>().is_ok())
        }
        MemberKind::Number => value.is_number(),
        MemberKind::Bool => value.is_boolean(),
        MemberKind::TextList => value.as_array().is_some_and(|it| it.iter().all(Json::is_string)),
    }
}

/// Collects the members of a body by their paths. Lists and texts are members as a whole.
fn collect_members<'a>(value: &'a Json, path: &str, members: &mut BTreeMap<String, &'a Json>) {
    match value {
        Json::Object(below) => {
            for (name, value) in below {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect_members(value, &below, members);
            }
        }
        other => {
            members.insert(path.to_owned(), other);
        }
    }
}

/// Returns what is wrong with a body of JSON.
fn find_member_fault(expected: &[MemberShape], body: &[u8]) -> Option<String> {
    let Ok(body) = serde_json::from_slice::<Json>(body) else {
        return Some("the body is not JSON".to_owned());
    };
    let mut members = BTreeMap::new();
    collect_members(&body, "", &mut members);
    for shape in expected {
        match members.remove(shape.path) {
            None if shape.is_required => return Some(format!("{} is missing", shape.path)),
            None => {}
            Some(value) if is_kind(shape.kind, value) => {}
            Some(value) => {
                return Some(format!("{} is not a {:?}: {value}", shape.path, shape.kind));
            }
        }
    }
    members.into_keys().next().map(|path| format!("{path} is not known"))
}

fn find_body_fault(shape: BodyShape, seen: &SeenRequest) -> Option<String> {
    let is_type = |expected: &str| {
        (seen.content_type != expected).then(|| format!("{} is not {expected}", seen.content_type))
    };
    match shape {
        BodyShape::Empty => {
            let is_empty = seen.body.is_empty() && seen.content_type.is_empty();
            (!is_empty).then(|| "there is a body".to_owned())
        }
        BodyShape::Json(members) => {
            is_type("application/json").or_else(|| find_member_fault(members, &seen.body))
        }
        BodyShape::Bytes(content_type) => is_type(content_type)
            .or_else(|| seen.body.is_empty().then(|| "the body is empty".to_owned())),
        BodyShape::Form(members, content_type) => {
            let form = read_form(&seen.content_type, &seen.body).unwrap_or_default();
            let [request, file] = form.as_slice() else {
                return Some("the body is not a form of two parts".to_owned());
            };
            if (request.name.as_str(), file.name.as_str()) != ("request", "fileContent") {
                return Some(format!("the parts are {} and {}", request.name, file.name));
            }
            if file.content_type != content_type || file.file_name.is_empty() {
                return Some(format!("the file is {} of {}", file.file_name, file.content_type));
            }
            find_member_fault(members, &request.bytes)
        }
    }
}

/// Returns what is wrong with a request.
fn find_fault(shape: &RequestShape, seen: &SeenRequest) -> Option<String> {
    if seen.method != shape.method {
        return Some(format!("the method is {}", seen.method));
    }
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    if !is_path(shape.path, path.strip_prefix('/')?) {
        return Some(format!("the path is {path}"));
    }
    let names: BTreeSet<&str> = query
        .split('&')
        .filter(|it| !it.is_empty())
        .map(|it| it.split_once('=').map_or(it, |(name, _)| name))
        .collect();
    if let Some(missing) = shape.required_query.iter().find(|it| !names.contains(**it)) {
        return Some(format!("the parameter {missing} is missing"));
    }
    let is_known =
        |name: &str| shape.required_query.contains(&name) || shape.optional_query.contains(&name);
    if let Some(other) = names.iter().find(|it| !is_known(it)) {
        return Some(format!("the parameter {other} is not known"));
    }
    let mut headers = BTreeSet::from(["accept", "host", "user-agent"]);
    headers.extend(shape.key_header);
    if !matches!(shape.body, BodyShape::Empty) {
        headers.extend(["content-length", "content-type"]);
    }
    let found: BTreeSet<&str> = seen.headers.iter().map(String::as_str).collect();
    if found != headers {
        return Some(format!("the headers are {found:?}"));
    }
    find_body_fault(shape.body, seen)
}

/// Sends a sample. Returns what arrived.
fn record(cloud: &FakeCloud, sample: &SampleRequest) -> SeenRequest {
    let name = sample.name;
    let answer = run(cloud, async |it| it.read(&sample.request, sample.key).await);
    let answer = answer.unwrap_or_else(|failure| panic!("{name}: {failure}"));
    (sample.read)(&answer).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    cloud.requests().pop().unwrap()
}

#[test]
fn every_request_has_the_shape_of_its_service() {
    let cloud = FakeCloud::start(Vec::new());
    prepare(&cloud);
    for sample in samples() {
        let seen = record(&cloud, &sample);
        assert_eq!(find_fault(&sample.shape, &seen), None, "{}: {seen:?}", sample.name);
    }
}

/// The types of the crate with a function that makes a request, by its sources.
fn request_functions() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in repository::files("daemon/crates/cloud/src", "rs") {
        let text = repository::read(&path);
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut type_name = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("impl ") {
                type_name = rest.split([' ', '<']).next().unwrap_or_default();
            }
            let function = line.trim_start().strip_prefix("pub fn ");
            let makes = line.contains("-> CloudRequest") || line.contains("Result<CloudRequest");
            if let Some(function) = function.filter(|_| makes && type_name != "CloudRequest") {
                let name = function.split('(').next().unwrap_or_default();
                found.insert(format!("{type_name}::{name}"));
            }
        }
    }
    found
}

#[test]
fn every_request_of_the_crate_has_a_sample() {
    let samples: BTreeSet<String> = samples().iter().map(|it| it.name.to_owned()).collect();
    let functions = request_functions();
    assert!(functions.len() > 10, "{functions:?}");
    assert_eq!(samples, functions);
}

#[test]
fn changed_requests_do_not_fit() {
    let cloud = FakeCloud::start(Vec::new());
    prepare(&cloud);
    let samples = samples();
    let find = |name: &str| {
        let sample = samples.iter().find(|it| it.name == name).unwrap();
        (sample.shape, record(&cloud, sample))
    };
    let with_body = |seen: &SeenRequest, name: &str, value: Option<Json>| {
        let mut body: Json = serde_json::from_slice(&seen.body).unwrap();
        match value {
            Some(value) => body[name] = value,
            None => drop(body.as_object_mut().unwrap().remove(name)),
        }
        SeenRequest { body: Bytes::from(body.to_string()), ..seen.clone() }
    };
    let expect = |shape: &RequestShape, seen: &SeenRequest, said: &str| {
        let fault = find_fault(shape, seen).unwrap_or_default();
        assert!(fault.contains(said), "{said} is not in {fault:?}");
    };
    let (shape, seen) = find("LuauTaskStart::request");
    expect(&shape, &with_body(&seen, "scripts", Some(json!("x"))), "scripts is not known");
    expect(&shape, &with_body(&seen, "script", None), "script is missing");
    expect(&shape, &with_body(&seen, "timeout", Some(json!(60))), "timeout is not a Text");
    expect(&shape, &with_body(&seen, "timeout", Some(json!({ "a": 1 }))), "timeout.a is not known");
    let mislabelled = SeenRequest { content_type: "text/plain".to_owned(), ..seen.clone() };
    expect(&shape, &mislabelled, "text/plain is not application/json");
    let other = SeenRequest { target: format!("{}?x=1", seen.target), ..seen.clone() };
    expect(&shape, &other, "the parameter x is not known");
    let elsewhere = SeenRequest { target: seen.target.replace("places", "place"), ..seen.clone() };
    expect(&shape, &elsewhere, "the path is");
    let headers = vec!["authorization".to_owned()];
    expect(&shape, &SeenRequest { headers, ..seen.clone() }, "the headers are");
    expect(&shape, &SeenRequest { method: "PUT".to_owned(), ..seen }, "the method is PUT");
    let (shape, seen) = find("PlaceVersionUpload::request");
    let target = seen.target.split('?').next().unwrap().to_owned();
    expect(&shape, &SeenRequest { target, ..seen }, "versionType is missing");
    let (shape, seen) = find("AssetUpload::request");
    let body = String::from_utf8_lossy(&seen.body).replace("assetType", "type").into();
    expect(&shape, &SeenRequest { body, ..seen.clone() }, "assetType is missing");
    let body = seen.body.slice(..seen.body.len() - 4);
    expect(&shape, &SeenRequest { body, ..seen }, "not a form");
    let (shape, seen) = find("MeshyBalance::request");
    expect(&shape, &SeenRequest { body: Bytes::from_static(b"{}"), ..seen }, "there is a body");
}
