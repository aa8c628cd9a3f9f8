//! Requests to the internet, and to whom.
//!
//! Only an address that stands in the call, or under a name that is used for nothing else, is taken
//! to be known. One that is put together as the script runs may be anybody's.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::reach::{is_made, is_name};
use super::{Found, Kind, Script};

/// Hosts that are no news in a game, themselves and all below them. A host belongs here where whoever
/// owns it, and not whoever has an account there, decides what becomes of what is sent.
const USUAL: [(&str, &str); 5] = [
    ("roblox.com", "Roblox's own Open Cloud, the only part of it that games reach"),
    ("gameanalytics.com", "the analytics of the SDK that most games use"),
    ("playfabapi.com", "the game servers that Roblox's documentation connects to"),
    ("localhost", "the developer's own machine, for plugins and tools"),
    ("127.0.0.1", "the same"),
];

/// Tokens of one call's arguments that are looked at.
const MAX_ARGUMENTS: usize = 500;

/// A call that goes to the internet.
struct Request<'a> {
    at: usize,
    /// The address as it is written, where it stands in the script.
    url: Option<&'a str>,
    /// The name that holds it, where one does.
    held: Option<&'a str>,
}

pub(super) fn find(script: &Script<'_>, found: &mut Vec<Found>) {
    let owners = owners(script);
    let is_store = |text: &str| text.contains("DataStore") || text.contains("MemoryStore");
    let is_open = !owners.is_empty() && !script.tokens.iter().any(|token| is_store(token.text));
    let requests: Vec<Request<'_>> = (0..script.tokens.len())
        .filter(|at| matches!(script.text(*at), "RequestAsync" | "PostAsync" | "GetAsync"))
        .filter(|at| is_name(script, *at) && !is_made(script, *at))
        .filter_map(|at| {
            let (url, held) = address(script, at).unzip();
            let is_url = url.is_some_and(|url| url.contains("://"));
            // Data stores have a method of the same name.
            let is_http = script.text(at) != "GetAsync" || is_url || {
                is_of_http(script, at, &owners, is_open)
            };
            is_http.then_some(Request { at, url, held: held.flatten() })
        })
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in requests.iter().filter_map(|request| request.held) {
        *uses.entry(name).or_default() += 1;
    }
    for Request { at, url, held } in &requests {
        // A name is what it is given where it is given one value and only used as an address.
        let is_certain = held.is_none_or(|name| {
            script.literals.get(name).is_some_and(|literal| literal.stands == 1 + uses[name])
        });
        let whom = match url.map(|url| (url, host(url))) {
            Some((_, Some(host))) if is_usual(&host) && is_certain => continue,
            Some((url, Some(host))) if url.to_ascii_lowercase().contains("webhook") => {
                format!("a webhook at {host}")
            }
            Some((_, Some(host))) => host,
            _ => "an address that does not stand here".to_owned(),
        };
        let name = script.text(*at);
        let verb = if name == "GetAsync" { "fetches from" } else { "sends data to" };
        let what = format!("{verb} {whom} on the internet ({name})");
        found.push(Found { line: script.tokens[*at].line, what });
    }
}

/// The names that are given HttpService or something of it.
fn owners<'a>(script: &Script<'a>) -> HashSet<&'a str> {
    let mut given = None;
    let mut owners = HashSet::new();
    for (at, token) in script.tokens.iter().enumerate() {
        if script.is_given(at) {
            given = Some(token);
        } else if token.text == "HttpService"
            && let Some(owner) = given.filter(|owner| owner.line == token.line)
        {
            owners.insert(owner.text);
        }
    }
    owners
}

/// Whether the method is called on what is HttpService, or may be it where nothing else has it.
fn is_of_http(script: &Script<'_>, at: usize, owners: &HashSet<&str>, is_open: bool) -> bool {
    // Behind `game:GetService("HttpService")` stands a bracket.
    let owner = script.before(at, if script.before(at, 2) == ")" { 3 } else { 2 });
    let lower = owner.to_ascii_lowercase();
    let is_store = ["store", "map", "data", "cache"].iter().any(|word| lower.contains(word));
    lower.contains("http") || owners.contains(owner) || is_open && !is_store
}

/// The arguments of the call at this index, without the brackets around them.
pub(super) fn arguments(script: &Script<'_>, at: usize) -> Option<Range<usize>> {
    let open = at + 1 + usize::from(script.text(at + 1) == "]");
    if !script.reads(open, &["("]) {
        return None;
    }
    let mut depth = 0;
    for (n, token) in script.tokens[open..].iter().take(MAX_ARGUMENTS).enumerate() {
        match (token.kind, token.text) {
            (Kind::Sign, "(" | "{") => depth += 1,
            (Kind::Sign, ")" | "}") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..open + n);
        }
    }
    None
}

/// The address of a call where it begins with a text, as it is written, and the name that held it.
fn address<'a>(script: &Script<'a>, at: usize) -> Option<(&'a str, Option<&'a str>)> {
    let inside = arguments(script, at)?;
    let at = if script.text(at) == "RequestAsync" {
        let mut keys = inside.filter(|at| script.text(*at) == "Url");
        let key = keys.next().filter(|_| keys.next().is_none())?;
        let close = usize::from(script.text(key + 1) == "]");
        script.reads(key + 1 + close, &["="]).then_some(key + 2 + close)?
    } else {
        inside.start
    };
    match script.tokens.get(at)?.kind {
        Kind::String => is_whole(script, at).then(|| (script.text(at), None)),
        Kind::Name if matches!(script.text(at + 1), "," | ")" | "}" | ";") => {
            let given = script.literals.get(script.text(at)).filter(|it| it.given == 1)?;
            script
                .is(given.value, Kind::String)
                .then(|| (script.text(given.value), Some(script.text(at))))
        }
        Kind::Name | Kind::Number | Kind::Sign => None,
    }
}

/// Whether what stands behind a text cannot change the host in it.
fn is_whole(script: &Script<'_>, at: usize) -> bool {
    matches!(script.text(at + 1), "," | ")" | "}" | ";") || {
        let rest = script.text(at).split_once("://").map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.contains(['/', '?', '#']))
    }
}

/// The host of an address as it is written; none where it is not plain.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_http = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
    // An escape may stand for anything.
    let is_read = !host.is_empty() && host.chars().all(is_plain) && !authority.contains('\\');
    (is_http && is_read && !url[..url.len() - rest.len()].contains('\\'))
        .then(|| host.to_ascii_lowercase())
}

fn is_usual(host: &str) -> bool {
    USUAL.iter().any(|(usual, _)| {
        host.strip_suffix(usual).is_some_and(|below| below.is_empty() || below.ends_with('.'))
    })
}
