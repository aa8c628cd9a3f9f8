//! Scripted model replies for the page, streamed in pieces.

use vector_providers::wire::WireFormat;

use super::*;
use crate::models::server::{End, Reply, Server};
use crate::models::spell::{Call, Message, Style, Usage, content_type, events, framed};

const WIRE: WireFormat = WireFormat::OpenaiChat;

/// A streamed reply, one piece per event; if it hangs, without its end events.
fn reply(message: &Message, end: End) -> Reply {
    let mut events = events(WIRE, message);
    events.retain(|it| end == End::Whole || !it.is_end);
    let pieces = framed(WIRE, &events, Style::default());
    let headers = vec![("content-type".to_owned(), content_type(WIRE).to_owned())];
    Reply { headers, pieces, end, ..Reply::plain(200, "") }
}

/// A reply with this message.
pub(super) fn whole(message: &Message) -> Reply {
    reply(message, End::Whole)
}

/// A reply with a text.
pub(super) fn says(text: &str, end: End) -> Reply {
    let usage = Some(Usage { input: 12_400, output: 310 });
    reply(&Message { text: Some(text.to_owned()), usage, ..Message::default() }, end)
}

/// A reply with a tool call.
pub(super) fn calls(name: &str, args: Json) -> Reply {
    let call = Call { id: Some(format!("call_{name}")), name: name.to_owned(), args };
    let usage = Some(Usage { input: 9_800, output: 120 });
    reply(&Message { calls: vec![call], usage, ..Message::default() }, End::Whole)
}

/// Configures the test server as a provider, without choosing its model. This restarts the daemon.
pub(super) fn lead_to(server: &Server, bench: &mut Bench) {
    let settings =
        format!("retries = 0\n[providers.lmstudio]\nbase_url = \"{}/v1\"\n", server.url());
    fs::write(ledger(&bench.home).join("vector.toml"), settings).unwrap();
    let port = bench.kill();
    bench.start_on(port);
}

pub(super) fn choose(bench: &Bench, model: &str) {
    let settings = json!({ "mode": "confirm", "dry_run": false, "model": model });
    bench.human.call("PUT", "/api/settings", &settings).ok();
}
