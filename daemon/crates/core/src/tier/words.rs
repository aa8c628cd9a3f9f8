//! What the words of a request say about its size.
//!
//! The words are English. Another language is told by its length and its list of wishes alone.

use vector_luau::index::split_words;

use crate::code::{Subject, named_subjects};

/// What a request names, as far as its words tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what a request says of its size has no order")]
pub(super) struct RequestWords {
    pub(super) subjects: Vec<Subject>,
    /// The number of separate wishes: parts between commas, `and` and the like.
    pub(super) wishes: usize,
    /// The number of words.
    pub(super) length: usize,
    /// Whether it only asks, greets or wants to be shown something.
    pub(super) is_question: bool,
    /// Whether it sets, moves or deletes something and names no behaviour.
    pub(super) is_small_edit: bool,
    /// Whether it reports something that is broken.
    pub(super) is_repair: bool,
    /// Whether it wants code to be read.
    pub(super) is_reading: bool,
    /// Whether it wants code to be judged, as an audit does.
    pub(super) is_audit: bool,
    /// Whether it is about all of the code, such as every script.
    pub(super) is_wide: bool,
    /// Whether it changes how the code is built, such as a rewrite.
    pub(super) is_structural: bool,
    /// Whether it wants a whole game.
    pub(super) is_whole_game: bool,
    /// Words for large features, such as `system`.
    pub(super) systems: usize,
    pub(super) has_client: bool,
    pub(super) has_server: bool,
}

/// What comes before the verb of a request and says nothing.
const POLITE: [&[&str]; 9] = [
    &["i", "want", "you", "to"],
    &["i", "would", "like"],
    &["can", "you"],
    &["could", "you"],
    &["please"],
    &["hey"],
    &["i", "need"],
    &["i", "want"],
    &["now"],
];

/// Words that begin a question, a greeting, or a wish to be shown something.
const ASKING: &str = "what where which why how is are does do who list explain show tell \
    describe hi hello hey thanks thank count summarize summarise";

/// Verbs of small edits.
const EDITING: &str = "set change rename move delete remove turn lower raise anchor unanchor make \
    paint color colour recolor rotate resize disable enable hide increase decrease reduce put";

/// Words of a behaviour or a choice: an edit with one of them is more than small.
const BEHAVIOUR: &str = "that which when where every all if who while until";

/// Verbs that change how code is built.
const STRUCTURE: &str = "rewrite refactor restructure migrate convert redesign rearchitect port \
    modernize modernise reorganize reorganise";

/// Verbs that do so only as the verb of the request: they have other uses.
const STRUCTURE_LEAD: &str = "replace audit review translate move split clean";

/// Verbs of a request that reads.
const READING: &str = "find list explain compare describe summarize summarise";

/// Verbs of a request that reads and judges.
const JUDGING: &str = "audit review check analyze analyse inspect document investigate";

/// Words for all of something.
const WIDE: &str = "all every entire whole complete full across";

/// What has to follow such a word within a few words, so that it is about the code.
const CODE: &str = "script code codebase game project architecture module";
/// The same in a request that changes how the code is built.
const STRUCTURE_CODE: &str = "system ui screen remote remoteevent";
/// How many words may be in between.
const WIDE_REACH: usize = 4;

/// Words for large features.
const SYSTEMS: &str = "system shop inventory trading trade quest round lobby mode minigame panel \
    leaderboard tycoon rebirth matchmaking party voting ability multiplayer mechanic economy editor";

/// Words for something that is broken.
const BROKEN: &str = "fix bug error broken crash lag stutter wrong fail doesn don nil";

/// Words of a wish that only asks for what was said before to be done.
const FILLERS: &str = "please fix it hi thanks that this now";

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Whether a list has a word or its singular.
fn has_noun(list: &str, word: &str) -> bool {
    let singular = || match word.strip_suffix("ies") {
        Some(stem) => has(list, &format!("{stem}y")),
        None => word.strip_suffix('s').is_some_and(|one| has(list, one)),
    };
    has(list, word) || singular()
}

impl RequestWords {
    pub(super) fn read(text: &str) -> Self {
        let words: Vec<String> = split_words(text).collect();
        let lead = skip_polite(&words);
        let first = lead.first().map_or("", String::as_str);
        let subjects = named_subjects(text);
        let any = |list: &str| words.iter().any(|word| has(list, word));
        let wishes = count_wishes(text);
        let is_structural =
            any(STRUCTURE) || lead.iter().take(3).any(|word| has(STRUCTURE_LEAD, word));
        let is_code =
            |it: &str| has_noun(CODE, it) || is_structural && has_noun(STRUCTURE_CODE, it);
        let is_wide = words.iter().enumerate().any(|(at, word)| {
            has(WIDE, word) && words.iter().skip(at + 1).take(WIDE_REACH).any(|it| is_code(it))
        });
        let mut systems: Vec<&String> = words.iter().filter(|it| has_noun(SYSTEMS, it)).collect();
        systems.sort_unstable();
        systems.dedup();
        let has_client =
            words.iter().any(|it| it == "client") || subjects.iter().any(|it| is_on_client(*it));
        let has_server =
            words.iter().any(|it| it == "server") || subjects.iter().any(|it| is_on_server(*it));
        // A fight that is shown on the screen is still decided on the server.
        let is_fight = [Subject::Combat, Subject::Interface].iter().all(|it| subjects.contains(it));
        Self {
            wishes,
            length: words.len(),
            is_question: has(ASKING, first) || text.trim_end().ends_with('?'),
            is_small_edit: is_small_edit(&words, lead, wishes),
            is_repair: words.iter().any(|it| has_noun(BROKEN, it)),
            is_reading: has(READING, first) || has(JUDGING, first),
            is_audit: has(JUDGING, first),
            is_wide,
            is_structural,
            is_whole_game: is_whole_game(&words, first),
            systems: systems.len(),
            has_client,
            has_server: has_server || is_fight,
            subjects,
        }
    }
}

fn is_on_client(subject: Subject) -> bool {
    use Subject::{Animation, Interface, Movement, Sound};
    matches!(subject, Interface | Animation | Movement | Sound)
}

fn is_on_server(subject: Subject) -> bool {
    use Subject::{
        Admin, DataSaving, Inventory, Leaderstats, Npcs, Quests, Rounds, Shop, Spawning,
        Teleporting,
    };
    matches!(
        subject,
        DataSaving
            | Leaderstats
            | Admin
            | Spawning
            | Shop
            | Npcs
            | Rounds
            | Quests
            | Inventory
            | Teleporting
    )
}

fn skip_polite(words: &[String]) -> &[String] {
    let mut lead = words;
    while let Some(rest) = POLITE.iter().find_map(|polite| {
        let is_here = lead.len() > polite.len() && lead.iter().zip(*polite).all(|(a, b)| a == b);
        is_here.then(|| &lead[polite.len()..])
    }) {
        lead = rest;
    }
    lead
}

/// Counts the parts of a text that wish for something.
fn count_wishes(text: &str) -> usize {
    let is_break = |c: char| matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | '\n' | '、' | '，');
    let joins = "and then also plus with where";
    let mut wishes = 0;
    for sentence in text.split(is_break) {
        let words: Vec<String> = split_words(sentence).collect();
        let parts = words.split(|word| has(joins, word));
        let says =
            |word: &String| !has(FILLERS, word) && !word.bytes().all(|it| it.is_ascii_digit());
        wishes += parts.filter(|part| part.iter().any(says)).count();
    }
    wishes
}

fn is_small_edit(words: &[String], lead: &[String], wishes: usize) -> bool {
    let first = lead.first().map_or("", String::as_str);
    let is_short = match first {
        // A thing that is made something else takes few words: `make the sky darker`.
        "make" => words.len() <= 4,
        "add" | "create" => words.len() <= 3,
        _ => has(EDITING, first) && words.len() <= 11,
    };
    is_short && wishes <= 1 && !words.iter().any(|word| has(BEHAVIOUR, word))
}

fn is_whole_game(words: &[String], first: &str) -> bool {
    has("make build create write generate develop code", first)
        && words.iter().enumerate().any(|(at, word)| {
            has("complete full entire whole", word)
                && words.iter().skip(at + 1).take(5).any(|it| it == "game")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_counted_without_fillers() {
        for (text, wishes) in [
            ("", 0),
            ("thanks!", 0),
            ("make a door", 1),
            ("the door is stuck, please fix it", 1),
            ("ban, kick and mute", 3),
            ("a shop with a gui; then save it", 3),
            ("1. coins\n2. gems", 2),
        ] {
            assert_eq!(count_wishes(text), wishes, "{text}");
        }
    }

    #[test]
    fn polite_openings_hide_no_verb() {
        assert!(RequestWords::read("hey can you please rename Door to Gate").is_small_edit);
        assert!(!RequestWords::read("can you make a shop with a gui").is_question);
        assert!(RequestWords::read("please").length == 1);
    }

    #[test]
    fn wide_words_count_only_before_code() {
        assert!(RequestWords::read("fix all of our scripts").is_wide);
        assert!(!RequestWords::read("make all kill bricks red").is_wide);
    }
}
