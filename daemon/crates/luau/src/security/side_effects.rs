//! Finds code that has an effect beyond the place while it runs on one of Roblox's servers: data stores,
//! messages, requests, places and assets that are saved, purchases and teleports.
//!
//! Unlike the scan for reviewers, this one does not look for what hides code, and names requests to any
//! host. It proves nothing: modules that are loaded as the code runs are unknown.

use super::api_names::{PROMPT_METHODS, TELEPORT_METHODS};
use super::logical_calls::LogicalCall;
use super::tree::{ExprId, TreeExpr};
use super::value::{MemberOwner, ScanValue};
use super::{ScanFinding, TokenView, TreeView, network, statement_hash};

/// Services whose use is an effect by itself, each with what it does.
const SERVICES: [(&str, &str); 5] = [
    ("AnalyticsService", "reaches AnalyticsService, whose events are recorded"),
    ("DataStoreService", "reaches DataStoreService, whose data is real"),
    ("MemoryStoreService", "reaches MemoryStoreService, whose data is real"),
    ("MessagingService", "reaches MessagingService, whose messages reach running servers"),
    ("OpenCloudService", "reaches OpenCloudService, which calls Roblox's Open Cloud"),
];

/// Members whose use is an effect, each with what it does.
const MEMBERS: [(&str, &str); 18] = [
    ("CreateAssetAsync", "uploads an asset (CreateAssetAsync)"),
    ("CreateAssetVersionAsync", "uploads an asset (CreateAssetVersionAsync)"),
    ("CreatePlaceAsync", "creates a place (CreatePlaceAsync)"),
    ("CreatePlaceInPlayerInventoryAsync", "creates a place (CreatePlaceInPlayerInventoryAsync)"),
    ("CreateWebStreamClient", "opens a connection to the internet (CreateWebStreamClient)"),
    ("HttpGet", "sends a request to the internet (HttpGet)"),
    ("HttpGetAsync", "sends a request to the internet (HttpGetAsync)"),
    ("HttpPost", "sends a request to the internet (HttpPost)"),
    ("HttpPostAsync", "sends a request to the internet (HttpPostAsync)"),
    ("InvokeAsync", "calls Roblox's Open Cloud (InvokeAsync)"),
    ("PostAsync", "sends a request to the internet (PostAsync)"),
    ("PromptCreateAssetAsync", "uploads an asset (PromptCreateAssetAsync)"),
    ("RequestAsync", "sends a request to the internet (RequestAsync)"),
    ("RequestLimitedAsync", "sends a request to Roblox (RequestLimitedAsync)"),
    ("ReserveServer", "reserves a server (ReserveServer)"),
    ("ReserveServerAsync", "reserves a server (ReserveServerAsync)"),
    ("SavePlaceAsync", "saves or publishes the place (SavePlaceAsync)"),
    ("UpdateSourceAsync", "writes the text of scripts (UpdateSourceAsync)"),
];

/// The message for a service whose name is not known.
const UNKNOWN_SERVICE: &str = "gets a service by a name that is not in this script";

/// Finds the effects of a script that can be read.
pub(super) fn find_effects(view: &mut TreeView<'_>, found: &mut Vec<ScanFinding>) {
    for at in view.tree.expr_ids() {
        let message = match view.tree.expr(at) {
            TreeExpr::Call { .. } => reached_service(view, at),
            TreeExpr::Index { .. } => reached_service(view, at).or_else(|| used_member(view, at)),
            _ => None,
        };
        if let Some(message) = message {
            found.push(view.make_finding(at, message));
        }
    }
    let mut requests = Vec::new();
    network::find_requests(view, &mut requests);
    found.extend(requests.into_iter().map(|(_, finding)| finding));
    let has_teleports = mentions_service(view.tokens, "TeleportService");
    let calls = std::mem::take(&mut view.calls);
    for call in &calls {
        let messages =
            [fetch(call), required_asset(view, call), prompt(call), teleport(call, has_teleports)];
        for message in messages.into_iter().flatten() {
            found.push(view.make_finding(call.at, message));
        }
    }
    view.calls = calls;
}

/// Finds the words of effects in a script that cannot be read.
pub(super) fn find_effect_words(tokens: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    for (token, line) in tokens.tokens.iter().zip(&tokens.token_lines) {
        let word = tokens.token_text(token).trim_matches(['"', '\'', '`']);
        let known = SERVICES.iter().chain(&MEMBERS).find(|(name, _)| *name == word);
        if let Some((_, message)) = known {
            found.push(ScanFinding::new(*line, *message, statement_hash::hash_text(word)));
        }
    }
}

fn mentions_service(tokens: &TokenView<'_>, name: &str) -> bool {
    tokens.tokens.iter().any(|it| tokens.token_text(it).trim_matches(['"', '\'']) == name)
}

/// Whether an expression is one of the services. It is reported where the script gets it.
fn reached_service(view: &mut TreeView<'_>, at: ExprId) -> Option<String> {
    let values = view.evaluator.eval(at);
    values.iter().find_map(|value| match value {
        ScanValue::Service(name) if name.is_empty() => Some(UNKNOWN_SERVICE.to_owned()),
        ScanValue::Service(name) => {
            let known = SERVICES.iter().find(|(service, _)| *service == &**name);
            known.map(|(_, message)| (*message).to_owned())
        }
        _ => None,
    })
}

fn used_member(view: &mut TreeView<'_>, at: ExprId) -> Option<String> {
    let values = view.evaluator.eval(at);
    values.iter().find_map(|value| match value {
        ScanValue::Member(_, name) => {
            let known = MEMBERS.iter().find(|(member, _)| *member == &**name);
            known.map(|(_, message)| (*message).to_owned())
        }
        _ => None,
    })
}

/// Checks for a request by HttpService. Data stores have a `GetAsync` too.
fn fetch(call: &LogicalCall) -> Option<String> {
    let is_fetch = call.callee_values.iter().any(|value| match value {
        ScanValue::Member(MemberOwner::Service(service), name) => {
            &**service == "HttpService" && &**name == "GetAsync"
        }
        _ => false,
    });
    is_fetch.then(|| "sends a request to the internet (GetAsync)".to_owned())
}

/// Checks for code that is not in the place.
fn required_asset(view: &mut TreeView<'_>, call: &LogicalCall) -> Option<String> {
    let is = |wanted: &str| {
        call.callee_values
            .iter()
            .any(|value| matches!(value, ScanValue::Builtin(name) if &**name == wanted))
    };
    if is("loadstring") {
        return Some("runs text as code (loadstring), which cannot be looked through".to_owned());
    }
    let required = call.args.first().filter(|_| is("require"))?;
    let values = view.evaluator.eval(*required);
    let is_number = |it: &ScanValue| matches!(it, ScanValue::Number(_) | ScanValue::UnknownNumber);
    let message = "requires an asset, whose code cannot be looked through";
    values.iter().any(is_number).then(|| message.to_owned())
}

fn method<'a>(call: &LogicalCall, names: &[&'a str]) -> Option<&'a str> {
    call.callee_values.iter().find_map(|value| match value {
        ScanValue::Member(_, name) => names.iter().find(|it| **it == &**name).copied(),
        _ => None,
    })
}

fn prompt(call: &LogicalCall) -> Option<String> {
    method(call, &PROMPT_METHODS).map(|name| format!("asks players to buy something ({name})"))
}

fn teleport(call: &LogicalCall, has_teleports: bool) -> Option<String> {
    let name = method(call, &TELEPORT_METHODS).filter(|_| has_teleports)?;
    Some(format!("sends players to another place ({name})"))
}
