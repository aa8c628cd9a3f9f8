//! What reaches code, assets, players' money and other places, by the names of the calls.

use std::collections::HashSet;

use super::network;
use super::{Found, Kind, Script};

/// What a name is for, where the name alone says it.
const NAMES: [(&str, &str); 12] = [
    ("loadstring", "uses loadstring, which runs text as code"),
    ("getfenv", "uses getfenv, which reaches into the environment of other code"),
    ("setfenv", "uses setfenv, which reaches into the environment of other code"),
    ("LoadAsset", "uses LoadAsset, which brings an asset with its scripts from outside"),
    (
        "LoadAssetVersion",
        "uses LoadAssetVersion, which brings an asset with its scripts from outside",
    ),
    ("GetObjects", "uses GetObjects, which brings an asset with its scripts from outside"),
    (
        "GetObjectsAsync",
        "uses GetObjectsAsync, which brings an asset with its scripts from outside",
    ),
    ("LinkedSource", "uses LinkedSource, which takes a script's text from outside"),
    ("HttpEnabled", "uses HttpEnabled, which opens the game to the internet"),
    ("LoadStringEnabled", "uses LoadStringEnabled, which lets text run as code"),
    ("HttpGet", "uses HttpGet, which fetches from the internet"),
    ("HttpPost", "uses HttpPost, which sends to the internet"),
];

/// The methods of MarketplaceService that ask a player for Robux or to sign something.
const PROMPTS: [&str; 11] = [
    "PromptBulkPurchase",
    "PromptBundlePurchase",
    "PromptCollectiblesPurchase",
    "PromptGamePassPurchase",
    "PromptNativePurchase",
    "PromptPremiumPurchase",
    "PromptProductPurchase",
    "PromptPurchase",
    "PromptRobloxPurchase",
    "PromptSubscriptionPurchase",
    "PromptThirdPartyPurchase",
];

/// The methods of TeleportService whose first argument is a place.
const TELEPORTS: [&str; 6] = [
    "Teleport",
    "TeleportAsync",
    "TeleportPartyAsync",
    "TeleportToPlaceInstance",
    "TeleportToPrivateServer",
    "TeleportToSpawnByName",
];

/// What puts a text together in brackets behind `_G`.
const DECODERS: [&str; 5] = ["byte", "char", "concat", "gsub", "reverse"];

/// Tokens in brackets that are looked at.
const MAX_KEY: usize = 60;

pub(super) fn find(script: &Script<'_>, found: &mut Vec<Found>) {
    // `local r = require` and then `r(123)`.
    let is_call = |at: usize| script.is(at, Kind::String) || matches!(script.text(at), "(" | "{");
    let requires: HashSet<&str> = (0..script.tokens.len())
        .filter(|at| script.reads(at + 2, &["require"]) && script.is_given(*at))
        .filter(|at| !is_call(at + 3))
        .map(|at| script.text(at))
        .chain(["require"])
        .collect();
    let teleports = script.tokens.iter().any(|token| token.text == "TeleportService");
    for at in 0..script.tokens.len() {
        let what = by_name(script, at)
            .or_else(|| required(script, at, &requires))
            .or_else(|| prompt(script, at))
            .or_else(|| teleport(script, at).filter(|_| teleports))
            .or_else(|| built_key(script, at));
        if let Some(what) = what {
            found.push(Found { line: script.tokens[at].line, what });
        }
    }
}

/// Whether the token is a name, or a text in brackets that stands for one.
pub(super) fn is_name(script: &Script<'_>, at: usize) -> bool {
    match script.tokens[at].kind {
        Kind::Name => true,
        Kind::String => script.before(at, 1) == "[" && script.text(at + 1) == "]",
        Kind::Number | Kind::Sign => false,
    }
}

/// Whether a name is only made here: a function, a field of a table, or of a type.
pub(super) fn is_made(script: &Script<'_>, at: usize) -> bool {
    if script.is_given(at) || script.text(at + 1) == ":" {
        return true;
    }
    let mut first = at;
    while matches!(script.before(first, 1), "." | ":") && first > 1 {
        first -= 2;
    }
    script.before(first, 1) == "function"
}

fn by_name(script: &Script<'_>, at: usize) -> Option<String> {
    if !is_name(script, at) {
        return None;
    }
    let text = script.text(at);
    let text = text.strip_suffix("Async").filter(|it| it.starts_with("Http")).unwrap_or(text);
    let (name, what) = NAMES.iter().find(|(name, _)| *name == text)?;
    // Others call methods so; the functions are global.
    let is_method = !matches!(*name, "loadstring" | "getfenv" | "setfenv");
    let is_set = matches!(*name, "HttpEnabled" | "LoadStringEnabled" | "LinkedSource");
    (!is_method || is_set || !is_made(script, at)).then(|| (*what).to_owned())
}

/// A module by its number: `require(1)`, `require(id)`, `pcall(require, 1)`, `require(tonumber("1"))`.
fn required(script: &Script<'_>, at: usize, requires: &HashSet<&str>) -> Option<String> {
    if !is_name(script, at) || !requires.contains(script.text(at)) {
        return None;
    }
    let mut next = at + 1;
    if script.text(next) == "]" {
        next += 1;
    }
    let is_passed = script.text(next) == "," && matches!(script.before(at, 1), "(" | ",");
    next += usize::from(is_passed);
    while script.text(next) == "(" {
        next += 1;
    }
    if script.reads(next, &["tonumber", "("]) && script.is(next + 2, Kind::String) {
        let id = script.text(next + 2);
        let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        return is_number.then(|| requires_asset(id));
    }
    // A name has to be all that is required: `id`, not `id.Module`.
    let is_whole = !matches!(script.text(next + 1), "." | ":" | "[");
    let is_call = next > at + 1;
    script.number(next).filter(|_| is_whole && is_call).map(requires_asset)
}

fn requires_asset(id: &str) -> String {
    format!("requires the asset {id}, code from outside the place")
}

fn prompt(script: &Script<'_>, at: usize) -> Option<String> {
    if !is_name(script, at) || !PROMPTS.contains(&script.text(at)) || is_made(script, at) {
        return None;
    }
    let inside = network::arguments(script, at).unwrap_or_default();
    let id = inside.into_iter().find_map(|at| script.number(at).filter(|id| id.len() > 3));
    let what = id.map_or_else(|| "something".to_owned(), |id| format!("the item {id}"));
    Some(format!("asks players to buy {what} ({}); see who is paid for it", script.text(at)))
}

fn teleport(script: &Script<'_>, at: usize) -> Option<String> {
    if !is_name(script, at) || !TELEPORTS.contains(&script.text(at)) || is_made(script, at) {
        return None;
    }
    let first = network::arguments(script, at)?.start;
    let id = script.number(first).filter(|_| script.text(first + 1) != ".")?;
    Some(format!("sends players to the place {id} ({})", script.text(at)))
}

/// `_G[...]` with a name that is put together.
fn built_key(script: &Script<'_>, at: usize) -> Option<String> {
    if !matches!(script.text(at), "_G" | "shared") || !script.reads(at + 1, &["["]) {
        return None;
    }
    let mut depth = 0;
    for token in script.tokens[at + 1..].iter().take(MAX_KEY) {
        match (token.kind, token.text) {
            (Kind::Sign, "[") => depth += 1,
            (Kind::Sign, "]") => depth -= 1,
            (Kind::Name, name) if DECODERS.contains(&name) => {
                let whole = script.text(at);
                return Some(format!("looks into {whole} for a name that is put together"));
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    None
}
