//! Splits names and search queries into words: `getShopItems` has three.

/// The longest name that a text spells, in bytes. Names of services and classes are shorter.
const LONGEST_NAME: usize = 48;

/// The words of a text in lower case. A word consists of letters and digits. A capital after a
/// small letter or a digit starts a word, and so does the last of several capitals before a small
/// letter.
pub fn split_words(text: &str) -> impl Iterator<Item = String> {
    split_parts(text).map(str::to_lowercase)
}

/// The hash of a word regardless of case. It is the same everywhere, so that it can be stored.
pub fn word_hash(word: &str) -> u32 {
    // Lower-casing a whole text uses a different sigma at the end of a word.
    let folded = |c: char| if c == 'ς' { 'σ' } else { c };
    // FNV-1a, because words are short.
    word.chars()
        .flat_map(char::to_lowercase)
        .map(folded)
        .fold(0x811c_9dc5, |hash: u32, c| (hash ^ u32::from(c)).wrapping_mul(0x0100_0193))
}

pub fn word_hashes(text: &str) -> impl Iterator<Item = u32> {
    split_parts(text).map(word_hash)
}

/// The hash of a whole name, with its case. It is the same everywhere, so that it can be stored.
pub fn name_hash(name: &str) -> u32 {
    name.bytes()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The name that a text of a script spells: `"leaderstats"`. None for a sentence, a text with
/// escapes, or a long one.
pub(super) fn spelled_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix(['"', '\'', '`'])?.strip_suffix(['"', '\'', '`'])?;
    let is_name = name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

fn split_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = word_end(rest)?;
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

/// The end of the word at the start of a text.
fn word_end(text: &str) -> Option<usize> {
    let mut before = text.chars().next()?;
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let begins = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || before.is_uppercase() && next.is_some_and(char::is_lowercase));
        if begins || !c.is_alphanumeric() {
            return Some(at);
        }
        before = c;
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(split_words(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_are_split_into_words() {
        check("", &[]);
        check("getShopItems", &["get", "shop", "items"]);
        check("HTTPService.GetURL", &["http", "service", "get", "url"]);
        check("MAX_COINS part2Door", &["max", "coins", "part2", "door"]);
        check("wo kostet Öl was?", &["wo", "kostet", "öl", "was"]);
    }

    #[test]
    fn texts_that_spell_a_name_are_told_from_others() {
        assert_eq!(spelled_name("\"leaderstats\""), Some("leaderstats"));
        assert_eq!(spelled_name("'DataStoreService'"), Some("DataStoreService"));
        for other in ["\"\"", "\"two words\"", "\"a\\n\"", "[[Name]]", "\"1\"", "\""] {
            assert_eq!(spelled_name(other), None, "{other}");
        }
        assert_eq!(spelled_name(&format!("\"{}\"", "n".repeat(49))), None);
        assert_ne!(name_hash("Shop"), name_hash("shop"));
    }

    #[test]
    fn word_hashes_ignore_case() {
        assert_eq!(word_hash("Shop"), word_hash("shop"));
        assert_ne!(word_hash("Shop"), word_hash("shops"));
        assert_eq!(word_hash("ΟΔΟΣ"), word_hash("οδος"));
        let lower: Vec<u32> = split_words("getHTTP ΟΔΟΣ").map(|it| word_hash(&it)).collect();
        assert_eq!(word_hashes("getHTTP ΟΔΟΣ").collect::<Vec<_>>(), lower);
    }
}
