//! Files of the user that are attached to a request: images reach models that read them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use super::models::{Bench, choose, says, until};

/// The first bytes of a PNG of 4 × 2 pixels, which is all that is read here.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x02";

fn file(name: &str, bytes: &[u8]) -> Json {
    json!([{ "kind": "file", "name": name, "data": BASE64_STANDARD.encode(bytes) }])
}

/// A daemon with two models, the first of which reads images.
fn bench() -> Bench {
    let mut bench = Bench::prepared(vec![says("A wall."), says("The same.")], "");
    let seeing = "[models.lmstudio.first]\nsees = true\n";
    std::fs::write(bench.home.path().join("models.toml"), seeing).unwrap();
    bench.start();
    bench
}

#[test]
fn attached_images_are_sent_with_every_request() {
    let bench = bench();
    let mut plugin = bench.plugin();
    plugin.chat_with("What is this?", file("shot.png", PNG)).ok();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "done");
    let described = "shot.png (PNG, 4 × 2 pixels)";
    assert_eq!(seen[0]["attached"], json!([described]));
    plugin.chat("Look again.").ok();
    until(&mut plugin, &mut seen, "done");
    let url = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(PNG));
    for request in bench.server.requests() {
        let first = &request.body["messages"][1]["content"];
        assert_eq!(first[0]["image_url"]["url"], url, "{first}");
        assert!(first.to_string().contains(described), "{first}");
    }
    // Lists of conversations do not repeat the image.
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    assert!(workflows["workflows"].to_string().contains(described), "{workflows}");
    assert!(!workflows.to_string().contains(&BASE64_STANDARD.encode(PNG)));
}

#[test]
fn attached_texts_are_sent_as_text() {
    let bench = bench();
    let mut plugin = bench.plugin();
    choose(&plugin, "lmstudio/second");
    plugin.chat_with("Read this.", file("notes.md", b"# Lamps\n```\n")).ok();
    until(&mut plugin, &mut Vec::new(), "done");
    let body = &bench.server.requests()[0].body;
    let text = body["messages"][1]["content"].as_str().unwrap();
    assert!(text.ends_with("- notes.md (12 bytes)\n````\n# Lamps\n```\n````\n"), "{text}");
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let bench = bench();
    let plugin = bench.plugin();
    let refused = |attached: Json, status: u16, why: &str| {
        let answer = plugin.chat_with("What is this?", attached);
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(answer.status == status && message.contains(why), "{answer:?}");
    };
    refused(file("shot.png", &PNG[..12]), 409, "shot.png is not a whole image");
    refused(file(" ", b"hi"), 409, "The name of a file is empty");
    refused(file(&"a".repeat(256), b"hi"), 409, "longer than 255 bytes");
    refused(file("a.rbxm", b"\0\x01"), 409, "a.rbxm is neither a text nor an image");
    refused(json!([{ "kind": "file", "name": "a.txt", "data": "?" }]), 409, "a.txt did not arrive");
    for (model, why) in [
        ("lmstudio/second", "lmstudio/second is not known to read images"),
        ("offline", "The offline planner reads no images"),
    ] {
        choose(&plugin, model);
        refused(file("shot.png", PNG), 400, why);
    }
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    assert_eq!(workflows["workflows"], json!([]));
    assert_eq!(bench.server.requests(), []);
}
