//! Finds requests to the internet and their recipients.
//!
//! An address counts as known if all of its possible values are in the script. One that is
//! assembled at run time, or that other code may write, counts as unknown.

use super::logical_calls::LogicalCall;
use super::tree::{ExprId, TreeExpr};
use super::value::{MemberOwner, ScanValue, ValueSet, union_values};
use super::{ScanFinding, TreeView};

/// Hosts that are not reported, including their subdomains. Data sent to them may still reach
/// anyone with an account there: a request to Roblox with an API key is reported, but the key of a
/// game at gameanalytics.com cannot be told from another.
const EXPECTED_HOSTS: [(&str, &str); 4] = [
    (ROBLOX_HOST, "Roblox's own services"),
    ("gameanalytics.com", "the analytics of the SDK that most games use"),
    ("localhost", "the developer's own machine, for plugins and tools"),
    ("127.0.0.1", "the same"),
];
const ROBLOX_HOST: &str = "roblox.com";
/// The header that authenticates a request to Roblox as an account.
const API_KEY_HEADER: &str = "x-api-key";

/// The methods that send or fetch, each with its description.
const REQUEST_METHODS: [(&str, &str); 4] = [
    ("RequestAsync", "sends data to"),
    ("PostAsync", "sends data to"),
    ("GetAsync", "fetches from"),
    ("CreateWebStreamClient", "opens a connection to"),
];

pub(super) fn find_requests(view: &mut TreeView<'_>, found: &mut Vec<(ExprId, ScanFinding)>) {
    let mentions = |view: &TreeView<'_>, words: &[&str]| {
        let has = |text: &str| words.iter().any(|word| text.contains(word));
        view.tokens.tokens.iter().any(|token| has(view.tokens.token_text(token)))
    };
    // The `GetAsync` of data stores has the same name.
    let is_open =
        mentions(view, &["HttpService"]) && !mentions(view, &["DataStore", "MemoryStore"]);
    let has_key = view.tree.expr_ids().any(|id| {
        view.evaluator.eval(id).iter().any(|value| match value {
            ScanValue::Text(text) => text.eq_ignore_ascii_case(API_KEY_HEADER),
            _ => false,
        })
    });
    let calls = std::mem::take(&mut view.calls);
    for call in &calls {
        let Some((method, verb)) = request_method(call) else { continue };
        let urls = url_values(view, call, method);
        let is_url = urls.iter().any(|url| {
            matches!(url, ScanValue::Text(url) | ScanValue::Prefix(url)
            if url.contains("://"))
        });
        if method == "GetAsync" && !is_url && !is_http_call(view, call, is_open) {
            continue;
        }
        if let Some(recipient) = describe_recipient(&urls, has_key) {
            let message = format!("{verb} {recipient} on the internet ({method})");
            found.push((call.at, view.make_finding(call.at, message)));
        }
    }
    view.calls = calls;
}

fn request_method(call: &LogicalCall) -> Option<(&'static str, &'static str)> {
    call.callee_values.iter().find_map(|value| match value {
        ScanValue::Member(_, name) => {
            REQUEST_METHODS.iter().find(|(it, _)| *it == &**name).copied()
        }
        _ => None,
    })
}

/// The recipient of a request; None if all its possible hosts are expected.
fn describe_recipient(urls: &[ScanValue], has_key: bool) -> Option<String> {
    let mut first = None;
    for url in urls {
        let url = match url {
            ScanValue::Text(url) => Some((url, true)),
            ScanValue::Prefix(url) => Some((url, false)),
            _ => None,
        };
        match url.and_then(|(url, is_whole)| Some((url, parse_host(url, is_whole)?))) {
            Some((_, host)) if has_key && is_subdomain(&host, ROBLOX_HOST) => {
                first.get_or_insert(format!("{host}, with the key of an account,"));
            }
            Some((_, host)) if is_expected_host(&host) => {}
            Some((url, host)) if url.to_ascii_lowercase().contains("webhook") => {
                first.get_or_insert(format!("a webhook at {host}"));
            }
            Some((_, host)) => {
                first.get_or_insert(host);
            }
            None => return Some("an address that is not in this script".to_owned()),
        }
    }
    first
}

/// Whether the method is called on HttpService. An unknown owner counts if its name suggests so, or
/// if `is_open` and its name does not suggest a data store.
fn is_http_call(view: &TreeView<'_>, call: &LogicalCall, is_open: bool) -> bool {
    let service = call.callee_values.iter().find_map(|value| match value {
        ScanValue::Member(MemberOwner::Service(service), name) if &**name == "GetAsync" => {
            Some(service.clone())
        }
        _ => None,
    });
    if let Some(service) = service.filter(|service| !service.is_empty()) {
        return &*service == "HttpService";
    }
    let owner = match view.tree.expr(call.callee) {
        TreeExpr::Index { base, .. } => last_identifier(view, *base),
        _ => String::new(),
    };
    let lower = owner.to_ascii_lowercase();
    let is_store = ["store", "map", "data", "cache"].iter().any(|word| lower.contains(word));
    lower.contains("http") || is_open && !is_store
}

/// The last identifier in a chain of indexes and calls.
fn last_identifier(view: &TreeView<'_>, mut id: ExprId) -> String {
    loop {
        match view.tree.expr(id) {
            TreeExpr::Name(binding) => return view.tree.binding(*binding).name.to_string(),
            TreeExpr::Index { key, .. } => {
                return view.tree.literal_text(*key).map(ToString::to_string).unwrap_or_default();
            }
            TreeExpr::Call { callee, .. } => id = *callee,
            _ => return String::new(),
        }
    }
}

/// The possible addresses of a request; never empty.
fn url_values(view: &mut TreeView<'_>, call: &LogicalCall, method: &str) -> ValueSet {
    let unknown: ValueSet = [ScanValue::Unknown].into();
    let nth = usize::from(method == "CreateWebStreamClient");
    let Some(arg) = call.method_args().get(nth).copied() else { return unknown };
    if matches!(method, "PostAsync" | "GetAsync") {
        return view.evaluator.eval(arg);
    }
    union_values(view.evaluator.lookup_keys(arg, &[ScanValue::Text("Url".into())]))
}

/// The host of an address; None if it is not plain, or may continue.
fn parse_host(url: &str, is_whole: bool) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    // URL parsers disagree about backslashes.
    if url.contains('\\') || !is_whole && !rest.contains(['/', '?', '#']) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_http = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
    let is_read = !host.is_empty() && host.chars().all(is_plain);
    (is_http && is_read).then(|| host.to_ascii_lowercase())
}

fn is_expected_host(host: &str) -> bool {
    EXPECTED_HOSTS.iter().any(|(usual, _)| is_subdomain(host, usual))
}

fn is_subdomain(host: &str, above: &str) -> bool {
    host.strip_suffix(above).is_some_and(|below| below.is_empty() || below.ends_with('.'))
}
