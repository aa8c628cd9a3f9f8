//! Tests of URLs, headers, and the features that are specific to one wire.

use scene_schemas::entry::{AttachmentSnapshot, Image, ImageFormat};
use serde_json::json;
use vector_core::prompt::{CallOutcome, PromptTool, PromptTurn, Replay, ThinkingEffort};

use super::*;
use crate::catalogue::Catalogue;
use crate::keys::{CredentialSource, SecretKey};
use crate::model_choice::ChoiceReason;

/// Builds a prompt with one tool and one call.
fn prompt(replay: Option<Json>, provider: &str, model: &str) -> ModelPrompt {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": ["string", "null"], "format": "path" } },
        "required": [],
        "additionalProperties": false,
    });
    let (tool, about) = ("look".to_owned(), "Looks.".to_owned());
    let replay = replay.map(|content| {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Replay { provider, model, content }
    });
    ModelPrompt {
        rules: "Rules.".to_owned(),
        goal: "Goal.".to_owned(),
        turns: vec![
            PromptTurn::Said("I look.".to_owned()),
            PromptTurn::Called {
                id: Some("c1".to_owned()),
                tool: tool.clone(),
                args: json!({ "path": "game" }),
                outcome: CallOutcome::Refused("No.".to_owned()),
                replay,
            },
        ],
        tools: vec![PromptTool { name: tool, about, schema }],
        effort: Some(ThinkingEffort::High),
        ..ModelPrompt::default()
    }
}

/// Encodes the prompt for a model of the catalogue.
fn said(provider: &str, id: &str, replay: Option<Json>) -> Json {
    let catalogue = Catalogue::from_user_file(None).unwrap();
    let (service, model) =
        (catalogue.find_service(provider).unwrap(), catalogue.find_model(provider, id));
    request_body(&prompt(replay, provider, id), &model, service.wire, service.dialect)
}

#[track_caller]
fn holds(body: &Json, expected: &[(&str, Json)]) {
    for (pointer, value) in expected {
        assert_eq!(body.pointer(pointer).unwrap_or(&Json::Null), value, "{pointer} in {body:#}");
    }
}

#[test]
fn anthropic_request_sets_cache_points_and_single_tool_calls() {
    let body = said("anthropic", "claude-sonnet-4-6", None);
    let kept = json!({ "type": "ephemeral" });
    holds(
        &body,
        &[
            ("/system/0/cache_control", kept.clone()),
            ("/tool_choice", json!({ "type": "auto", "disable_parallel_tool_use": true })),
            ("/thinking", json!({ "type": "adaptive" })),
            ("/output_config", json!({ "effort": "high" })),
            ("/messages/1/content/0/text", json!("I look.")),
            ("/messages/1/content/1/name", json!("look")),
            ("/messages/2/content/0/is_error", json!(true)),
            ("/messages/2/content/0/content/0/text", json!("No.")),
            ("/messages/2/content/0/cache_control", kept),
        ],
    );
    let marks = body.to_string().matches("cache_control").count();
    assert_eq!(marks, 2);
}

#[test]
fn anthropic_request_replays_thinking_and_thinks_only_if_allowed() {
    let thought = json!({ "type": "thinking", "thinking": "t", "signature": "s" });
    let call = json!({ "type": "tool_use", "id": "c1", "name": "look", "input": {} });
    let other = json!({ "type": "tool_use", "id": "c2", "name": "look", "input": {} });
    let replay = json!([thought, { "type": "text", "text": "I look." }, call, other]);
    let body = said("anthropic", "claude-haiku-4-5", Some(replay));
    let content = json!([thought, { "type": "text", "text": "I look." }, call]);
    let thinking = json!({ "type": "enabled", "budget_tokens": 16_384 });
    holds(&body, &[("/messages/1/content", content), ("/thinking", thinking)]);
    // If the answered call has no thinking block, thinking cannot begin now.
    let body = said("anthropic", "claude-haiku-4-5", None);
    holds(&body, &[("/thinking", Json::Null)]);
}

#[test]
fn chat_requests_follow_provider_dialects() {
    let body = said("openrouter", "openai/gpt-5.2", None);
    holds(
        &body,
        &[
            ("/parallel_tool_calls", json!(false)),
            ("/stream_options", json!({ "include_usage": true })),
            ("/reasoning", json!({ "effort": "high" })),
            ("/messages/0/content", json!("Rules.")),
            ("/messages/2/tool_calls/0/function/arguments", json!(r#"{"path":"game"}"#)),
            ("/messages/3/content", json!("Refused: No.")),
            ("/messages/3/tool_call_id", json!("c1")),
        ],
    );
    let body = said(
        "openrouter",
        "anthropic/claude-sonnet-4.6",
        Some(json!({
            "reasoning_details": [{ "signature": "s" }],
            "content": "not ours to repeat",
        })),
    );
    holds(
        &body,
        &[
            ("/messages/0/content/0/cache_control/type", json!("ephemeral")),
            ("/messages/3/content/0/cache_control/type", json!("ephemeral")),
            ("/messages/2/reasoning_details/0/signature", json!("s")),
            ("/messages/2/content", json!("I look.")),
        ],
    );
    let plain = said("nvidia", "m", None);
    holds(&plain, &[("/reasoning", Json::Null), ("/reasoning_effort", Json::Null)]);
}

#[test]
fn responses_request_asks_for_encrypted_reasoning_and_no_storage() {
    let reasoning =
        json!({ "type": "reasoning", "id": "r", "encrypted_content": "e", "summary": [] });
    let body = said("openai", "gpt-5.2", Some(json!([reasoning])));
    holds(
        &body,
        &[
            ("/store", json!(false)),
            ("/include", json!(["reasoning.encrypted_content"])),
            ("/reasoning", json!({ "effort": "high" })),
            ("/parallel_tool_calls", json!(false)),
            ("/tools/0/strict", json!(false)),
            ("/input/1", reasoning),
            ("/input/2/content/0/type", json!("output_text")),
            ("/input/3/call_id", json!("c1")),
            ("/input/4/type", json!("function_call_output")),
        ],
    );
    let body = said("openai", "gpt-4.1", None);
    holds(&body, &[("/include", Json::Null), ("/reasoning", Json::Null)]);
}

#[test]
fn gemini_request_replays_thought_signatures() {
    let call = json!({ "name": "look", "args": {}, "id": "g1" });
    let part = json!({ "functionCall": call, "thoughtSignature": "s" });
    let thought = json!({ "text": "hm", "thought": true });
    let body = said("gemini", "gemini-3-flash-preview", Some(json!([thought, part])));
    holds(
        &body,
        &[
            ("/contents/1/parts", json!([{ "text": "I look." }, part])),
            ("/contents/2/parts/0/functionResponse/response", json!({ "error": "No." })),
            ("/contents/2/parts/0/functionResponse/id", json!("g1")),
            ("/generationConfig/thinkingConfig", json!({ "thinkingLevel": "high" })),
            (
                "/tools/0/functionDeclarations/0/parameters/properties/path",
                json!({ "type": "string", "nullable": true }),
            ),
        ],
    );
    let body = said("gemini", "gemini-3-flash-preview", None);
    holds(
        &body,
        &[("/contents/1/parts/1/thoughtSignature", json!("skip_thought_signature_validator"))],
    );
    let body = said("gemini", "gemini-2.5-flash", None);
    holds(
        &body,
        &[
            ("/contents/1/parts/1/thoughtSignature", Json::Null),
            ("/generationConfig/thinkingConfig", json!({ "thinkingBudget": 16_384 })),
        ],
    );
}

#[test]
fn bedrock_request_sets_cache_points_where_supported() {
    let reasoning =
        json!({ "reasoningContent": { "reasoningText": { "text": "t", "signature": "s" } } });
    let id = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
    let body = said("bedrock", id, Some(json!([reasoning])));
    let point = json!({ "cachePoint": { "type": "default" } });
    holds(
        &body,
        &[
            ("/system/1", point.clone()),
            ("/messages/1/content/0", reasoning),
            ("/messages/1/content/2/toolUse/toolUseId", json!("c1")),
            ("/messages/2/content/0/toolResult/status", json!("error")),
            ("/messages/2/content/1", point),
            ("/additionalModelRequestFields/thinking/type", json!("enabled")),
        ],
    );
    let body = said("bedrock", "amazon.nova-lite-v1:0", None);
    let none = ("/additionalModelRequestFields", Json::Null);
    let schema = "/toolConfig/tools/0/toolSpec/inputSchema/json/additionalProperties";
    holds(&body, &[("/system/1", Json::Null), none, (schema, Json::Null)]);
}

#[test]
fn ollama_request_sets_context_size() {
    let body = said("ollama", "m", Some(json!({ "thinking": "t" })));
    holds(
        &body,
        &[
            ("/options/num_ctx", json!(32_768)),
            ("/messages/2/thinking", json!("t")),
            ("/messages/2/tool_calls/0/function/arguments/path", json!("game")),
            ("/messages/3/tool_name", json!("look")),
        ],
    );
}

fn request(provider: &str, id: &str, credential: Credential) -> ModelHttpRequest {
    let mut catalogue = Catalogue::from_user_file(None).unwrap();
    for service in &mut catalogue.services {
        service.base_url = service.base_url.replace("{region}", "eu-west-1");
    }
    let service = catalogue.find_service(provider).unwrap().clone();
    let model = catalogue.find_model(provider, id);
    let (found, reason) = (CredentialSource::Keychain, ChoiceReason::Requested);
    let chosen =
        ChosenModel { service, model, credential, credential_source: found, effort: None, reason };
    ModelHttpRequest::new(&prompt(None, provider, id), &chosen)
}

#[test]
fn each_wire_format_has_its_url_and_key_header() {
    let key = || Credential::Key(SecretKey::new("sk-secret"));
    for (provider, id, url, header) in [
        ("anthropic", "m", "https://api.anthropic.com/v1/messages", "x-api-key: sk-secret"),
        ("openai", "m", "https://api.openai.com/v1/responses", "authorization: Bearer sk-secret"),
        (
            "openrouter",
            "a/m",
            "https://openrouter.ai/api/v1/chat/completions",
            "authorization: Bearer sk-secret",
        ),
        (
            "gemini",
            "m",
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key: sk-secret",
        ),
        (
            "bedrock",
            "a-v1:0",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a-v1%3A0/converse-stream",
            "authorization: Bearer sk-secret",
        ),
        ("ollama", "m", "http://127.0.0.1:11434/api/chat", "authorization: Bearer sk-secret"),
    ] {
        let request = request(provider, id, key());
        assert_eq!(request.url, url);
        let headers: Vec<String> = request
            .signed_headers(0)
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        assert!(headers.iter().any(|line| line == header), "{headers:?}");
        let shown = format!("{request:?}");
        assert!(!shown.contains("secret") && !shown.contains("Goal"), "{shown}");
    }
}

#[test]
fn aws_request_is_signed_without_sending_the_secret() {
    let secret = SecretKey::new("sk-secret");
    let (id, region) = ("AKID".to_owned(), "eu-west-1".to_owned());
    let credential = Credential::Aws { id, secret, session: None, region };
    let headers = request("bedrock", "a-v1:0", credential).signed_headers(1_440_938_160);
    let text = format!("{headers:?}");
    assert!(text.contains("Credential=AKID/20150830/eu-west-1/bedrock/aws4_request"), "{text}");
    assert!(!text.contains("sk-secret"), "{text}");
}

/// Encodes the same conversation with two picture results.
fn shown(provider: &str, id: &str) -> Json {
    let catalogue = Catalogue::from_user_file(None).unwrap();
    let (service, model) =
        (catalogue.find_service(provider).unwrap(), catalogue.find_model(provider, id));
    let mut prompt = prompt(None, provider, id);
    let turn = |png: &str| PromptTurn::Called {
        id: Some(png.to_owned()),
        tool: "look".to_owned(),
        args: json!({}),
        outcome: CallOutcome::Done(json!({ "shown": "game", "png": png })),
        replay: None,
    };
    prompt.turns = vec![turn("Zmlyc3Q="), turn("bGFzdA==")];
    request_body(&prompt, &model, service.wire, service.dialect)
}

#[test]
fn last_picture_is_sent_only_to_models_with_vision() {
    let url = "data:image/png;base64,bGFzdA==";
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "bGFzdA==" });
    let inline = json!({ "mimeType": "image/png", "data": "bGFzdA==" });
    let bedrock = json!({ "format": "png", "source": { "bytes": "bGFzdA==" } });
    let cases = [
        ("anthropic", "claude-sonnet-4-6", "/messages/4/content/0/content/1/source", source),
        ("openai", "gpt-5.2", "/input/4/output/1/image_url", json!(url)),
        ("openrouter", "openai/gpt-5.2", "/messages/6/content/0/image_url/url", json!(url)),
        ("gemini", "gemini-3-flash-preview", "/contents/4/parts/1/inlineData", inline),
        (
            "bedrock",
            "amazon.nova-lite-v1:0",
            "/messages/4/content/0/toolResult/content/1/image",
            bedrock,
        ),
    ];
    for (provider, id, pointer, expected) in cases {
        let body = shown(provider, id);
        holds(&body, &[(pointer, expected)]);
        let text = body.to_string();
        assert_eq!(text.matches("bGFzdA==").count(), 1, "{text}");
        assert!(!text.contains("Zmlyc3Q=") && text.contains("not sent"), "{text}");
    }
    for (provider, id) in [("nvidia", "nvidia/llama-3.3-nemotron-super-49b-v1.5"), ("ollama", "m")]
    {
        let text = shown(provider, id).to_string();
        assert!(!text.contains("bGFzdA==") && text.contains("not sent"), "{text}");
    }
}

fn image(format: ImageFormat, data: &str) -> Image {
    Image { format, width: 4, height: 2, data: data.to_owned() }
}

/// A prompt with an attached image, and a later message with another.
fn illustrated(provider: &str, id: &str) -> ModelPrompt {
    let mut prompt = prompt(None, provider, id);
    let name = "shot.jpg".to_owned();
    prompt.attached =
        vec![AttachmentSnapshot::Image { name, image: image(ImageFormat::Jpeg, "Zmlyc3Q=") }];
    prompt.turns.push(PromptTurn::Asked("Like this.".to_owned()));
    prompt.turns.push(PromptTurn::Image(image(ImageFormat::Webp, "bGFzdA==")));
    prompt
}

#[test]
fn images_of_the_user_are_sent_to_models_with_vision() {
    let catalogue = Catalogue::from_user_file(None).unwrap();
    let jpeg = "data:image/jpeg;base64,Zmlyc3Q=";
    let webp = "data:image/webp;base64,bGFzdA==";
    let bedrock =
        |format: &str, data: &str| json!({ "format": format, "source": { "bytes": data } });
    let cases = [
        (
            "anthropic",
            "claude-sonnet-4-6",
            [
                ("/messages/0/content/0/source/media_type", json!("image/jpeg")),
                ("/messages/2/content/1/source/data", json!("bGFzdA==")),
            ],
        ),
        (
            "openai",
            "gpt-5.2",
            [
                ("/input/0/content/0/image_url", json!(jpeg)),
                ("/input/6/content/0/image_url", json!(webp)),
            ],
        ),
        (
            "openrouter",
            "openai/gpt-5.2",
            [
                ("/messages/1/content/0/image_url/url", json!(jpeg)),
                ("/messages/4/content/0/image_url/url", json!(webp)),
            ],
        ),
        (
            "gemini",
            "gemini-3-flash-preview",
            [
                ("/contents/0/parts/0/inlineData/mimeType", json!("image/jpeg")),
                ("/contents/2/parts/1/inlineData/data", json!("bGFzdA==")),
            ],
        ),
        (
            "bedrock",
            "amazon.nova-lite-v1:0",
            [
                ("/messages/0/content/0/image", bedrock("jpeg", "Zmlyc3Q=")),
                ("/messages/2/content/1/image", bedrock("webp", "bGFzdA==")),
            ],
        ),
    ];
    for (provider, id, expected) in cases {
        let (service, model) =
            (catalogue.find_service(provider).unwrap(), catalogue.find_model(provider, id));
        let prompt = illustrated(provider, id);
        let body = request_body(&prompt, &model, service.wire, service.dialect);
        holds(&body, &expected);
        let text = body.to_string();
        assert!(text.contains("shot.jpg (JPEG, 4 × 2 pixels)"), "{text}");
        let sent = SentImages { count: 2, bytes: "Zmlyc3Q=bGFzdA==".len() };
        assert_eq!(measure_images(&prompt, &model), sent);
    }
    let (service, mut model) =
        (catalogue.find_service("ollama").unwrap(), catalogue.find_model("ollama", "m"));
    let prompt = illustrated("ollama", "m");
    let body = request_body(&prompt, &model, service.wire, service.dialect);
    let text = body.to_string();
    assert!(!text.contains("Zmlyc3Q=") && text.contains("images are not sent to you"), "{text}");
    assert_eq!(measure_images(&prompt, &model), SentImages::default());
    model.has_vision = true;
    let body = request_body(&prompt, &model, service.wire, service.dialect);
    holds(
        &body,
        &[("/messages/1/images", json!(["Zmlyc3Q="])), ("/messages/4/images", json!(["bGFzdA=="]))],
    );
}

#[test]
fn only_the_newest_images_are_sent() {
    let catalogue = Catalogue::from_user_file(None).unwrap();
    let service = catalogue.find_service("anthropic").unwrap();
    let model = catalogue.find_model("anthropic", "claude-sonnet-4-6");
    let mut prompt = illustrated("anthropic", "claude-sonnet-4-6");
    let image =
        |number: usize| PromptTurn::Image(image(ImageFormat::Png, &format!("image{number}")));
    prompt.turns.extend((0..7).map(image));
    let text = request_body(&prompt, &model, service.wire, service.dialect).to_string();
    assert!(!text.contains("Zmlyc3Q=") && text.contains("bGFzdA=="), "{text}");
    assert!((0..7).all(|number| text.contains(&format!("image{number}"))), "{text}");
}
