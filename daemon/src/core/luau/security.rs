//! Code that a person should look at twice: it reaches outside the place or hides what it does.
//!
//! It is a small scan of tokens for the plain forms, so that they do not slip by in a long change.
//! It proves nothing: whoever means to hide a call can (names put together from pieces, other
//! services, assets that bring their own scripts), and a harmless line may be named. Comments are
//! passed over, and strings count only as blobs and as names in brackets.

use super::tokens::{Kind, Token, tokens};

/// How many characters of base64 in a row make a blob.
const BLOB: usize = 200;
/// How many escapes of a character by its number make a blob.
const ESCAPES: usize = 40;

/// One sentence for each place, in order, with its line in `source` from 1.
pub fn security(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let names_http = tokens.iter().any(|token| token.text == "HttpService");
    let mut found = vec![];
    for at in 0..tokens.len() {
        if let Some(what) = reach(&tokens, at, names_http).or_else(|| blob(&tokens[at])) {
            found.push(format!("Line {} {what}.", tokens[at].line));
        }
    }
    found.dedup();
    found.extend(source.lines().enumerate().filter_map(|(at, line)| {
        let c = line.chars().find(|c| reorders(*c))?;
        let (line, code) = (at + 1, c as u32);
        Some(format!(
            "Line {line} has the character U+{code:04X}, which shows text in another order."
        ))
    }));
    found
}

/// Whether a character makes what follows look as if it stood elsewhere.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What the token at this index reaches for.
fn reach(tokens: &[Token<'_>], at: usize, names_http: bool) -> Option<String> {
    let token = tokens[at];
    let before = |n: usize| at.checked_sub(n).map_or("", |index| tokens[index].text);
    let is_name = match token.kind {
        Kind::Name => true,
        Kind::String => before(1) == "[" && tokens.get(at + 1).is_some_and(|t| t.text == "]"),
        Kind::Number | Kind::Sign => false,
    };
    if !is_name {
        return None;
    }
    match token.text {
        "loadstring" => Some("uses loadstring, which runs text as code".to_owned()),
        name @ ("getfenv" | "setfenv") => {
            Some(format!("uses {name}, which reaches into the environment of other code"))
        }
        name @ ("RequestAsync" | "PostAsync") => {
            Some(format!("uses {name}, which sends data to the internet"))
        }
        name @ ("LoadAsset" | "LoadAssetVersion" | "GetObjects") => {
            Some(format!("uses {name}, which brings an asset with its scripts from outside"))
        }
        // Data stores have a method of the same name.
        "GetAsync" if names_http || before(2).to_lowercase().contains("http") => {
            Some("uses GetAsync, which fetches data from the internet".to_owned())
        }
        "require" => {
            let mut behind = tokens[at + 1..].iter().skip_while(|token| token.text == "(");
            let id = behind.next().filter(|token| token.kind == Kind::Number)?;
            Some(format!("requires the asset {}, code from outside the place", id.text))
        }
        _ => None,
    }
}

fn blob(token: &Token<'_>) -> Option<String> {
    if token.kind != Kind::String {
        return None;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let longest = token.text.split(|c| !is_base64(c)).map(str::len).max().unwrap_or(0);
    if longest >= BLOB {
        return Some(format!("holds {longest} characters of encoded text that nobody can read"));
    }
    let escapes = token.text.split('\\').skip(1);
    let count = escapes
        .filter(|text| text.starts_with(|c: char| c.is_ascii_digit() || c == 'x' || c == 'u'))
        .count();
    (count >= ESCAPES).then(|| format!("holds a string of {count} escaped characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        assert_eq!(security(source), expected);
    }

    #[test]
    fn names_what_reaches_outside() {
        check("\nloadstring(x)()", &["Line 2 uses loadstring, which runs text as code."]);
        check("_G[\"loadstring\"](x)", &["Line 1 uses loadstring, which runs text as code."]);
        check(
            "x = `{getfenv()}`",
            &["Line 1 uses getfenv, which reaches into the environment of other code."],
        );
        check(
            "game:GetObjects(id)",
            &["Line 1 uses GetObjects, which brings an asset with its scripts from outside."],
        );
        check("require(123)", &["Line 1 requires the asset 123, code from outside the place."]);
        check(
            "http:RequestAsync({})",
            &["Line 1 uses RequestAsync, which sends data to the internet."],
        );
        let get = ["Line 1 uses GetAsync, which fetches data from the internet."];
        check("httpService:GetAsync(url)", &get);
        check("game:GetService(\"HttpService\"):GetAsync(url)", &get);
    }

    #[test]
    fn names_what_shows_text_in_another_order() {
        let said = "Line 2 has the character U+202E, which shows text in another order.";
        check("x = 1\n-- \u{202e}2 = x", &[said]);
    }

    #[test]
    fn names_blobs() {
        let base64 = "aGVsbG8+".repeat(25);
        check(
            &format!("x = '{base64}'"),
            &["Line 1 holds 200 characters of encoded text that nobody can read."],
        );
        check(
            &format!("x = \"{}\"", r"\104".repeat(40)),
            &["Line 1 holds a string of 40 escaped characters."],
        );
    }

    #[test]
    fn passes_over_the_rest() {
        check("-- loadstring(x)\nprint('getfenv', \"loadstring\")", &[]);
        check("store:GetAsync(key)", &[]);
        check("require(script.Parent.M)\nlocal x = \"a\\n\\t😀\"", &[]);
        check(&format!("-- {}", "a".repeat(300)), &[]);
        check(&"words and words ".repeat(60).replace("words and", "'words and'"), &[]);
    }
}
