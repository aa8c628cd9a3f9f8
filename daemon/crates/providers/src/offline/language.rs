//! The language of requests: the table of its forms, and their parsers.
//!
//! A request that is not understood completely is refused completely: nothing is guessed or half
//! done. This module does not know which tool calls a request becomes.

use std::fmt;

use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};

use super::create::{self, NewInstance};
use super::politeness;
use super::shapes::{self, GridShape};
use super::values;
use super::words::{self, is_one_of, split_required_word};

/// One form of the language. The parser, the help and the replies to unknown requests all use it.
pub(super) struct LanguageForm {
    /// The words that begin it.
    verbs: &'static [&'static str],
    /// Other words that suggest this form, if a sentence has no known verb.
    related_words: &'static [&'static str],
    /// Whether words like `make a` or `add a` may precede the verb.
    is_creation: bool,
    pub(super) syntax: &'static str,
    /// An example request of this form.
    pub(super) example: &'static str,
    /// A description of its effect.
    pub(super) meaning: &'static str,
    parse: fn(ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError>,
}

/// A sentence without its verb.
pub(super) struct ParsedSentence<'a> {
    /// A size before the verb, as in `a 3x3 grid`.
    pub(super) size: Option<(u32, u32)>,
    /// The text after the verb.
    pub(super) rest: &'a str,
    /// Whether a `then` ends it.
    pub(super) has_then: bool,
}

/// The request in a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannerRequest {
    Grid(GridShape),
    Farm(GridShape),
    Create(NewInstance),
    Rename(RequestSubject, String),
    Set(RequestSubject, Map<String, Json>),
    /// The comment's lines, with their dashes.
    Comment(InstancePath, String),
    Replace(RequestSubject, String, String),
    Delete(RequestSubject),
    Move(RequestSubject, InstancePath),
    Clone(InstancePath, Option<InstancePath>, Option<String>),
    /// An asset id, and the parent for the asset.
    Insert(u64, Option<InstancePath>),
}

/// The subject of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestSubject {
    Path(InstancePath),
    /// The single instance of this name, which has to be searched for.
    Named(String),
    /// The selection in Studio. The call leaves out its path.
    Selected,
    /// A selector in the language of `Instance:QueryDescendants`, as written.
    Selector(String),
}

impl fmt::Display for RequestSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::Named(name) => f.write_str(name),
            Self::Selected => f.write_str("the selection"),
            Self::Selector(selector) if selector == create::EVERYTHING => f.write_str("everything"),
            Self::Selector(selector) => f.write_str(selector),
        }
    }
}

/// An error in a part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LanguageError {
    /// The part that was not understood.
    pub(super) part: String,
    pub(super) why: String,
}

impl LanguageError {
    pub(super) fn new(part: &str, why: impl ToString) -> Self {
        Self { part: part.trim().to_owned(), why: why.to_string() }
    }
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannerRefusal {
    /// The form is unknown, or the request is empty.
    Unknown(String),
    /// A part of a sentence was not understood.
    Unclear {
        sentence: String,
        error: LanguageError,
        /// The form of the sentence, as an index into [`FORMS`]; None if it is not known.
        form: Option<usize>,
    },
}

/// The most requests in one goal, because all steps are computed again for every reply.
pub(super) const REQUESTS_MAX: usize = 20;

/// The longest comment: an edit inserts at most 2,000 characters.
const COMMENT_MAX: usize = 2_000;

/// The selector of all scripts.
const SCRIPTS: &str = "LuaSourceContainer";

/// All forms, in the order of the help.
pub(super) const FORMS: &[LanguageForm] = &[
    LanguageForm {
        verbs: &["grid"],
        related_words: &["rows", "columns", "matrix", "floor", "tiles"],
        is_creation: true,
        syntax: "grid ROWSxCOLUMNS [of COLOUR MATERIAL parts] [named NAME] [size X,Y,Z] \
                 [spacing N] [at X,Y,Z] [in PATH]",
        example: "grid 3x3 of red neon parts named Lights size 4x1x4 spacing 6 at 0,5,0 \
                  in game.Workspace",
        meaning: "Creates a Model and in it one anchored Part per cell, at most 50x50. Spacing is \
                  between the centres of cells, `at` is the centre of the grid. Over 64 cells \
                  each row is created at once.",
        parse: shapes::read_grid,
    },
    LanguageForm {
        verbs: &["farm"],
        related_words: &["crops", "garden", "field"],
        is_creation: true,
        syntax: "farm ROWSxCOLUMNS [named NAME] [at X,Y,Z] [in PATH]",
        example: "farm 10x10 at 0,0.5,0 in game.Workspace",
        meaning: "Creates a Model with soil tiles, at most 40x40, a fence, a folder for the \
                  crops, a ModuleScript Crop that grows them and a Script FarmServer that plants \
                  and harvests.",
        parse: shapes::read_farm,
    },
    LanguageForm {
        verbs: &["create", "make", "add", "insert", "build", "new", "spawn", "place", "put"],
        related_words: &["part", "script", "folder", "generate", "want", "need"],
        is_creation: true,
        syntax: "create [COLOUR] [MATERIAL] CLASS [named NAME] [size X,Y,Z] [at X,Y,Z] [in PATH] \
                 [with PROPERTY = VALUE, ...]",
        example: "create a red Part named Door in game.Workspace",
        meaning: "Creates one instance. Without a path a script, a value or a remote goes to the service \
                  where its class belongs, anything else to game.Workspace. A part is anchored at 0,0,0 \
                  unless the request specifies another position.",
        parse: create::read_create,
    },
    LanguageForm {
        verbs: &["rename"],
        related_words: &["name", "call"],
        is_creation: false,
        syntax: "rename PATH or NAME to NAME",
        example: "rename Baseplate to Floor",
        meaning: "Renames an instance. A bare NAME must be the name of exactly one instance.",
        parse: read_rename,
    },
    LanguageForm {
        verbs: &["set"],
        related_words: &["change", "update", "resize", "scale", "property"],
        is_creation: false,
        syntax: "set PROPERTY = VALUE [, PROPERTY = VALUE] on PATH or SELECTOR",
        example: "set Anchored = true, Material = Neon, Size = 4,1,4 on Part",
        meaning: "Sets properties, and attributes as `@Name`, on one instance or on all that a \
                  selector matches.",
        parse: read_set,
    },
    LanguageForm {
        verbs: &["recolour", "recolor", "colour", "color", "paint"],
        related_words: &["tint", "dye"],
        is_creation: false,
        syntax: "recolour PATH or SELECTOR to COLOUR",
        example: "recolour #Wall to bright blue",
        meaning: "Sets the property Color. A colour is a plain name, the name of a brick colour, \
                  or #rrggbb.",
        parse: read_recolour,
    },
    LanguageForm {
        verbs: &["make", "turn"],
        related_words: &["colour", "color", "red", "green", "blue", "neon", "look"],
        is_creation: false,
        syntax: "make PATH or SELECTOR COLOUR, MATERIAL, anchored or unanchored",
        example: "make all parts red neon",
        meaning: "Sets Color, Material or Anchored. `everything` means all parts of any kind, but not the \
                  terrain.",
        parse: create::read_make,
    },
    LanguageForm {
        verbs: &["anchor", "freeze"],
        related_words: &["anchored", "fix"],
        is_creation: false,
        syntax: "anchor PATH or SELECTOR",
        example: "anchor everything",
        meaning: "Sets Anchored to true.",
        parse: create::read_anchor,
    },
    LanguageForm {
        verbs: &["unanchor", "unfreeze"],
        related_words: &[],
        is_creation: false,
        syntax: "unanchor PATH or SELECTOR",
        example: "unanchor #Door",
        meaning: "Sets Anchored to false.",
        parse: create::read_unanchor,
    },
    LanguageForm {
        verbs: &["comment"],
        related_words: &[],
        is_creation: true,
        syntax: "comment PATH: TEXT",
        example: "comment game.ServerScriptService.Main: Checked in spring",
        meaning: "Inserts `-- TEXT` as the first line of a script. Put a text that contains `;` or \
                  `then` in quotes.",
        parse: read_comment,
    },
    LanguageForm {
        verbs: &["comment"],
        related_words: &[],
        is_creation: true,
        syntax: "insert comment \"TEXT\" in PATH",
        example: "insert comment \"Checked; see the notes\" in game.ServerScriptService.Main",
        meaning: "Does the same.",
        parse: read_comment,
    },
    LanguageForm {
        verbs: &["replace"],
        related_words: &["swap", "substitute"],
        is_creation: false,
        syntax: "replace \"TEXT\" with \"TEXT\" in all scripts, PATH or SELECTOR",
        example: "replace \"FindFirstChild(\" with \"WaitForChild(\" in all scripts",
        meaning: "Replaces an exact text: in one script, where it must occur once, or everywhere in \
                  all scripts that a selector matches.",
        parse: read_replace,
    },
    LanguageForm {
        verbs: &["delete", "remove", "destroy"],
        related_words: &["erase", "clear", "drop"],
        is_creation: false,
        syntax: "delete PATH or SELECTOR",
        example: "delete Part[Transparency = 1]",
        meaning: "Deletes an instance, or all that a selector matches, with their descendants.",
        parse: read_delete,
    },
    LanguageForm {
        verbs: &["move"],
        related_words: &["reparent", "bring"],
        is_creation: false,
        syntax: "move PATH or SELECTOR to PATH",
        example: "move .Tree to game.Workspace.Forest",
        meaning: "Gives instances another parent. Positions do not change.",
        parse: read_move,
    },
    LanguageForm {
        verbs: &["clone", "copy", "duplicate"],
        related_words: &["repeat"],
        is_creation: false,
        syntax: "clone PATH [to PATH] [as NAME]",
        example: "clone game.Workspace.Car to game.ServerStorage as Spare",
        meaning: "Copies an instance with its descendants, to its own parent or another one.",
        parse: read_clone,
    },
    LanguageForm {
        verbs: &["asset"],
        related_words: &["model", "toolbox", "catalog", "catalogue"],
        is_creation: true,
        syntax: "insert asset NUMBER [into PATH]",
        example: "insert asset 142785488 into game.Workspace",
        meaning: "Inserts a model from Roblox's catalogue into a place that is open in Studio. You \
                  see its scripts first.",
        parse: read_insert,
    },
];

/// Parses all requests of a goal.
pub(super) fn parse_goal(goal: &str) -> Result<Vec<PlannerRequest>, PlannerRefusal> {
    let unclear = |complaint| PlannerRefusal::Unclear {
        sentence: goal.trim().to_owned(),
        error: complaint,
        form: None,
    };
    let sentences = words::split_sentences(goal).map_err(unclear)?;
    if sentences.is_empty() {
        return Err(PlannerRefusal::Unknown(String::new()));
    }
    if sentences.len() > REQUESTS_MAX {
        return Err(unclear(LanguageError::new(
            sentences[REQUESTS_MAX].0,
            format!("at most {REQUESTS_MAX} requests are accepted at once; ask for the rest later"),
        )));
    }
    sentences.into_iter().map(|(sentence, then)| read_sentence(sentence, then)).collect()
}

fn read_sentence(sentence: &str, then: bool) -> Result<PlannerRequest, PlannerRefusal> {
    let text = politeness::strip_politeness(sentence);
    let (verb, rest) = words::first_word(text);
    let mut made = is_one_of(verb, CREATION_WORDS);
    let mut size = None;
    let mut noun = if made { words::strip_leading(rest, FILLERS) } else { text };
    // The size may precede the noun, as in `make a 3x3 grid`.
    if let Some((found, behind)) = words::take_size(noun) {
        (size, made, noun) = (Some(found), true, behind);
    }
    let (word, behind) = words::first_word(noun);
    // After a creation word, only a noun fits: `make a grid`, but not `make a spawn`.
    let fits = |form: &LanguageForm| {
        let is_noun = form.is_creation && !is_one_of("create", form.verbs);
        is_one_of(word, form.verbs) && (is_noun || !made)
    };
    let unclear = |at: usize| {
        let sentence = sentence.to_owned();
        move |complaint| PlannerRefusal::Unclear { sentence, error: complaint, form: Some(at) }
    };
    if let Some(at) = FORMS.iter().position(fits) {
        let read = (FORMS[at].parse)(ParsedSentence { size, rest: behind, has_then: then });
        return read.map_err(unclear(at));
    }
    // `make` begins several forms, which differ in what follows it.
    let mut complaints = Vec::new();
    for (at, form) in FORMS.iter().enumerate().filter(|(_, form)| is_one_of(verb, form.verbs)) {
        match (form.parse)(ParsedSentence { size, rest, has_then: then }) {
            Ok(request) => return Ok(request),
            Err(complaint) => complaints.push((at, complaint)),
        }
    }
    // `make all ...` changes existing instances, so drop the error of the first form, which creates
    // new ones.
    let is_about_all =
        is_one_of(words::first_word(rest).0, &["all", "every", "everything", "each"]);
    let complaints =
        if is_about_all { complaints.split_off(complaints.len().min(1)) } else { complaints };
    // A named class shows which form was meant. Otherwise the form is unknown.
    let named = complaints.into_iter().find(|_| rest.is_empty() || create::has_class_name(rest));
    Err(match named {
        Some((at, complaint)) => unclear(at)(complaint),
        None => PlannerRefusal::Unknown(sentence.to_owned()),
    })
}

/// Words before the noun that say something is created.
const CREATION_WORDS: &[&str] = &["make", "create", "build", "add", "insert", "a", "an", "the"];

/// Words between a verb and its subject that carry no meaning.
pub(super) const FILLERS: &[&str] =
    &["a", "an", "the", "all", "every", "each", "me", "us", "one", "new", "another", "some"];

/// Returns the form closest to a sentence: by its words, or else by a word that is similar to a
/// verb.
pub(super) fn closest_form(sentence: &str) -> Option<&'static LanguageForm> {
    const NEARLY: f64 = 0.88;
    let words: Vec<String> =
        words::split_words(sentence).into_iter().take(20).map(str::to_ascii_lowercase).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_nearly =
        |word: &String, verb: &&str| word.len() < 20 && strsim::jaro_winkler(word, verb) >= NEARLY;
    let sounds = |form: &&LanguageForm| {
        words.iter().take(3).any(|word| form.verbs.iter().any(|verb| is_nearly(word, verb)))
    };
    let verb =
        || words.iter().find_map(|word| FORMS.iter().find(|it| it.verbs.contains(&word.as_str())));
    FORMS.iter().find(|form| has(form.related_words) && has(form.verbs)).or_else(verb).or_else(
        || FORMS.iter().find(|form| has(form.related_words)).or_else(|| FORMS.iter().find(sounds)),
    )
}

/// Returns the first verb of each form, without duplicates.
pub(super) fn list_verbs() -> Vec<&'static str> {
    let mut verbs: Vec<&str> =
        FORMS.iter().filter_map(|form| form.verbs.first().copied()).collect();
    let mut seen = std::collections::HashSet::new();
    verbs.retain(|verb| seen.insert(*verb));
    verbs
}

/// Removes leading articles and words such as `all`.
pub(super) fn strip_articles(text: &str) -> &str {
    words::strip_leading(text, &["a", "an", "the", "all", "every", "each"])
}

pub(super) fn parse_subject(text: &str) -> Result<RequestSubject, LanguageError> {
    let text = strip_articles(text);
    if words::is_path(text) {
        return words::parse_path(text).map(RequestSubject::Path);
    }
    if is_one_of(text, &["selection", "selected instance"]) {
        return Ok(RequestSubject::Selected);
    }
    let plural = match text.to_ascii_lowercase().as_str() {
        "scripts" => SCRIPTS,
        "everything" => create::EVERYTHING,
        _ if !create::is_plain_word(text) => return parse_selector(text),
        _ => match create::find_class(text) {
            Some(class) => class,
            // A plain word that is not a class is a name.
            None => return Ok(RequestSubject::Selector(format!("#{text}"))),
        },
    };
    Ok(RequestSubject::Selector(plural.to_owned()))
}

/// Checks only what distinguishes a selector from a sentence. The tools know the rest of its
/// grammar.
fn parse_selector(text: &str) -> Result<RequestSubject, LanguageError> {
    if text.is_empty() {
        return Err(LanguageError::new(text, "a path or a selector is missing"));
    }
    let mut joined = true;
    for word in words::split_words(text) {
        let starts_with_combinator = word.starts_with(['>', ',']);
        if !joined && !starts_with_combinator {
            return Err(LanguageError::new(
                word,
                "a selector cannot contain adjacent words; write, for example, `Part`, `#Name`, \
                 `.Tag`, `Part[Anchored = true]` or `Model > Part`",
            ));
        }
        joined = word.ends_with(['>', ',']);
    }
    Ok(RequestSubject::Selector(text.to_owned()))
}

fn read_rename(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (what, name) = split_required_word(sentence.rest, "to")?;
    let what = strip_articles(what);
    let subject = if words::is_path(what) {
        RequestSubject::Path(words::parse_path(what)?)
    } else {
        RequestSubject::Named(words::parse_name(what)?)
    };
    Ok(PlannerRequest::Rename(subject, words::parse_name(name)?))
}

fn read_set(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (props, on) = split_required_word(sentence.rest, "on")?;
    Ok(PlannerRequest::Set(parse_subject(on)?, values::parse_assignments(props)?))
}

fn read_recolour(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (what, colour) = split_required_word(sentence.rest, "to")?;
    let mut props = Map::new();
    props.insert("Color".to_owned(), json!(values::require_color(colour)?));
    Ok(PlannerRequest::Set(parse_subject(what)?, props))
}

fn read_comment(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    if sentence.size.is_some() {
        return Err(LanguageError::new(sentence.rest, "a comment has no size"));
    }
    let (path, text) = if sentence.rest.starts_with('"') {
        let (text, rest) = words::take_quoted(sentence.rest)?;
        let (word, path) = words::first_word(rest);
        if !is_one_of(word, &["in", "into"]) {
            return Err(LanguageError::new(rest, "`in PATH` is expected after the text"));
        }
        (words::parse_path(path)?, text)
    } else {
        let (path, text) = words::split_sign(sentence.rest, ':').ok_or_else(|| {
            LanguageError::new(sentence.rest, "a colon is missing after the path")
        })?;
        let text = if text.starts_with('"') {
            words::parse_quoted(text)?
        } else if sentence.has_then {
            // The rest of a comment could be taken for a request: `do this then delete that`.
            let why = "a `then` follows, which may belong to the comment; put its text in double \
                       quotes";
            return Err(LanguageError::new(text, why));
        } else {
            text.to_owned()
        };
        (words::parse_path(path)?, text)
    };
    let lines: String = text
        .lines()
        .map(|line| format!("-- {}", line.trim_end()).trim_end().to_owned() + "\n")
        .collect();
    if text.trim().is_empty() {
        return Err(LanguageError::new(sentence.rest, "the comment is empty"));
    }
    if lines.chars().count() > COMMENT_MAX {
        let why = format!("a comment can have at most {COMMENT_MAX} characters");
        return Err(LanguageError::new(&text, why));
    }
    Ok(PlannerRequest::Comment(path, lines))
}

fn read_replace(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (search, rest) = words::take_quoted(sentence.rest)?;
    if search.is_empty() {
        return Err(LanguageError::new(sentence.rest, "the text to replace is empty"));
    }
    let (with, rest) = words::first_word(rest);
    if !is_one_of(with, &["with", "by"]) {
        return Err(LanguageError::new(with, "`with \"TEXT\"` is expected"));
    }
    let (replace, rest) = words::take_quoted(rest)?;
    let (word, place) = words::first_word(rest);
    if !word.eq_ignore_ascii_case("in") {
        return Err(LanguageError::new(rest, "`in all scripts`, or `in PATH`, is expected"));
    }
    Ok(PlannerRequest::Replace(parse_subject(place)?, search, replace))
}

fn read_delete(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    parse_subject(sentence.rest).map(PlannerRequest::Delete)
}

fn read_move(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (what, parent) = split_required_word(sentence.rest, "to")?;
    Ok(PlannerRequest::Move(parse_subject(what)?, words::parse_path(parent)?))
}

fn read_clone(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (rest, name) = match words::split_word(sentence.rest, "as")? {
        Some((rest, name)) => (rest, Some(words::parse_name(name)?)),
        None => (sentence.rest, None),
    };
    let (path, parent) = match words::split_word(rest, "to")? {
        Some((path, parent)) => (path, Some(words::parse_path(parent)?)),
        None => (rest, None),
    };
    Ok(PlannerRequest::Clone(words::parse_path(path)?, parent, name))
}

fn read_insert(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    if sentence.size.is_some() {
        return Err(LanguageError::new(sentence.rest, "an asset has no size"));
    }
    let into = match words::split_word(sentence.rest, "into")? {
        Some(found) => Some(found),
        None => words::split_word(sentence.rest, "in")?,
    };
    let (number, parent) = match into {
        Some((number, path)) => (number, Some(words::parse_path(path)?)),
        None => (sentence.rest, None),
    };
    let digits = number.trim().trim_start_matches("rbxassetid://");
    match digits.parse() {
        Ok(asset) => Ok(PlannerRequest::Insert(asset, parent)),
        Err(_) => Err(LanguageError::new(
            number,
            "an asset is given by its number, as in `insert asset \
                                            123`",
        )),
    }
}
