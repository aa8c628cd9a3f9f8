//! The OpenAPI document of the routes.

use schemars::SchemaGenerator;
use serde_json::{Map, Value as Json, json};

use super::{Failure, JSON, PROTOCOL, ROUTES, Route, Token, type_schema};

/// Returns the API as an OpenAPI 3.1 document, which is committed as `scene-schemas/openapi.json`.
pub fn openapi_document() -> Json {
    let mut generator = SchemaGenerator::new(
        schemars::generate::SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into()),
    );
    let failure = type_schema::<Failure>(&mut generator);
    let mut paths: Map<String, Json> = Map::new();
    for route in ROUTES {
        let operation = build_operation(route, &failure, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Vector",
            "version": PROTOCOL.to_string(),
            "description": "The API of the daemon on this machine, for the plugin, the page, the terminal and agents.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": format!("http://127.0.0.1:{}", super::super::PORT) }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "plugin": { "type": "http", "scheme": "bearer",
                    "description": "The token of a session, from its response to hello." },
                "human": { "type": "http", "scheme": "bearer",
                    "description": "The user's token: of a session, or of the terminal and the page." },
                "client": { "type": "http", "scheme": "bearer",
                    "description": "The token of an agent, which cannot decide on proposals." },
            },
        },
    })
}

fn build_operation(route: &Route, failure: &Json, generator: &mut SchemaGenerator) -> Json {
    let content = |media: &str, schema: Json| json!({ media: { "schema": schema } });
    let answer = (route.answer)(generator);
    let mut parameters = Vec::new();
    if route.path.contains("{id}") {
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
        }));
    }
    let parameter = |name: &&str, schema: Json| json!({ "name": name, "in": "query", "required": false, "schema": schema });
    let (number, text) = (json!({ "type": "integer", "minimum": 0 }), json!({ "type": "string" }));
    parameters.extend(route.query.iter().map(|name| parameter(name, number.clone())));
    parameters.extend(route.texts.iter().map(|name| parameter(name, text.clone())));
    let mut operation = json!({
        "summary": route.summary,
        "responses": {
            "200": { "description": "Success.", "content": content(route.media, answer) },
            "default": { "description": "Failure.", "content": content(JSON, failure.clone()) },
        },
    });
    if !parameters.is_empty() {
        operation["parameters"] = Json::Array(parameters);
    }
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({ "required": true, "content": content(JSON, body(generator)) });
    }
    operation["security"] = match route.token {
        Token::None => json!([]),
        Token::Plugin => json!([{ "plugin": [] }]),
        Token::Human => json!([{ "human": [] }, { "plugin": [] }]),
        Token::Client => json!([{ "client": [] }, { "human": [] }, { "plugin": [] }]),
    };
    operation
}
