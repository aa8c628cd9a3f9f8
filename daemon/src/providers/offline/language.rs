//! The language of requests: the table of its forms, and the parser that the table names.
//!
//! What is not understood whole is refused whole: nothing is guessed and nothing is half done. Which
//! tool calls a request becomes is not known here.

use std::fmt;

use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};

use super::shapes::{self, Shape};
use super::values;
use super::words::{self, is_one_of, need_word};

/// One form of the language. Parser, help and the answers to what is not understood all read this.
pub(super) struct Form {
    /// The words that it begins with.
    verbs: &'static [&'static str],
    /// Whether `make a`, `add a` and the like may stand before the word.
    made: bool,
    /// How it is written.
    pub(super) syntax: &'static str,
    /// A request of this form.
    pub(super) example: &'static str,
    /// What comes of it.
    pub(super) meaning: &'static str,
    read: fn(Sentence<'_>) -> Result<Request, Complaint>,
}

/// A sentence without its verb.
pub(super) struct Sentence<'a> {
    /// A size that stood before the verb, as in `a 3x3 grid`.
    pub(super) size: Option<(u32, u32)>,
    /// What stands behind the verb.
    pub(super) rest: &'a str,
    /// Whether a `then` ends it.
    pub(super) then: bool,
}

/// What a sentence asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Grid(Shape),
    Farm(Shape),
    Rename(InstancePath, String),
    Set(Subject, Map<String, Json>),
    /// The comment's lines, with their dashes.
    Comment(InstancePath, String),
    Replace(Subject, String, String),
    Delete(Subject),
    Move(Subject, InstancePath),
    Clone(InstancePath, Option<InstancePath>, Option<String>),
    /// An asset by its number, and where it goes.
    Insert(u64, Option<InstancePath>),
}

/// What a request is done to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Subject {
    Path(InstancePath),
    /// What is selected in Studio: the path is left out.
    Selected,
    /// In the language of `Instance:QueryDescendants`, as it was written.
    Selector(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::Selected => f.write_str("the selection"),
            Self::Selector(selector) => f.write_str(selector),
        }
    }
}

/// What was not understood, and how to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The part that was not understood.
    pub(super) part: String,
    /// Why not.
    pub(super) why: String,
}

impl Complaint {
    pub(super) fn new(part: &str, why: impl ToString) -> Self {
        Self { part: part.trim().to_owned(), why: why.to_string() }
    }
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such form, or nothing was asked.
    Unknown(String),
    /// A part of a sentence was not understood.
    Unclear {
        /// The sentence.
        sentence: String,
        complaint: Complaint,
        /// The form that it has, where it has one: an index into [`FORMS`].
        form: Option<usize>,
    },
}

/// More requests than this are refused: each step is worked out anew at every reply.
pub(super) const REQUESTS_MAX: usize = 20;

/// Longer comments are refused: an edit inserts at most 2,000 characters.
const COMMENT_MAX: usize = 2_000;

/// The selector of everything that holds source.
const SCRIPTS: &str = "LuaSourceContainer";

/// All forms, in the order of the help.
pub(super) const FORMS: &[Form] = &[
    Form {
        verbs: &["grid"],
        made: true,
        syntax: "grid ROWSxCOLUMNS [of COLOUR MATERIAL parts] [named NAME] [size X,Y,Z] \
                 [spacing N] [at X,Y,Z] [in PATH]",
        example: "grid 3x3 of red neon parts named Lights size 4x1x4 spacing 6 at 0,5,0 \
                  in game.Workspace",
        meaning: "Creates a Model and in it one anchored Part per cell, at most 50x50. Spacing is \
                  between the centres of cells, `at` is the centre of the grid. Over 64 cells \
                  each row is created at once.",
        read: shapes::read_grid,
    },
    Form {
        verbs: &["farm"],
        made: true,
        syntax: "farm ROWSxCOLUMNS [named NAME] [at X,Y,Z] [in PATH]",
        example: "farm 10x10 at 0,0.5,0 in game.Workspace",
        meaning: "Creates a Model with soil tiles, at most 40x40, a fence, a folder for the \
                  crops, a ModuleScript Crop that grows them and a Script FarmServer that plants \
                  and harvests.",
        read: shapes::read_farm,
    },
    Form {
        verbs: &["rename"],
        made: false,
        syntax: "rename PATH to NAME",
        example: "rename game.Workspace.Part to Wall",
        meaning: "Gives an instance another name.",
        read: read_rename,
    },
    Form {
        verbs: &["set"],
        made: false,
        syntax: "set PROPERTY = VALUE [, PROPERTY = VALUE] on PATH or SELECTOR",
        example: "set Anchored = true, Material = Neon, Size = 4,1,4 on Part",
        meaning: "Sets properties, and attributes as `@Name`, of one instance or of all that a \
                  selector finds.",
        read: read_set,
    },
    Form {
        verbs: &["recolour", "recolor", "colour", "color", "paint"],
        made: false,
        syntax: "recolour PATH or SELECTOR to COLOUR",
        example: "recolour #Wall to bright blue",
        meaning: "Sets the property Color. A colour is a plain name, the name of a brick colour, \
                  or #rrggbb.",
        read: read_recolour,
    },
    Form {
        verbs: &["comment"],
        made: true,
        syntax: "comment PATH: TEXT",
        example: "comment game.ServerScriptService.Main: Checked in spring",
        meaning: "Inserts `-- TEXT` as the first line of a script. Quotes around the text keep \
                  `;` and `then` in it.",
        read: read_comment,
    },
    Form {
        verbs: &["comment"],
        made: true,
        syntax: "insert comment \"TEXT\" in PATH",
        example: "insert comment \"Checked; see the notes\" in game.ServerScriptService.Main",
        meaning: "The same.",
        read: read_comment,
    },
    Form {
        verbs: &["replace"],
        made: false,
        syntax: "replace \"TEXT\" with \"TEXT\" in all scripts, PATH or SELECTOR",
        example: "replace \"FindFirstChild(\" with \"WaitForChild(\" in all scripts",
        meaning: "Replaces an exact text: in one script, where it must stand once, or wherever it \
                  stands in all the scripts that a selector finds.",
        read: read_replace,
    },
    Form {
        verbs: &["delete", "remove", "destroy"],
        made: false,
        syntax: "delete PATH or SELECTOR",
        example: "delete Part[Transparency = 1]",
        meaning: "Deletes an instance, or all that a selector finds, with what is inside.",
        read: read_delete,
    },
    Form {
        verbs: &["move"],
        made: false,
        syntax: "move PATH or SELECTOR to PATH",
        example: "move .Tree to game.Workspace.Forest",
        meaning: "Gives instances another parent. Nothing changes its position.",
        read: read_move,
    },
    Form {
        verbs: &["clone", "copy", "duplicate"],
        made: false,
        syntax: "clone PATH [to PATH] [as NAME]",
        example: "clone game.Workspace.Car to game.ServerStorage as Spare",
        meaning: "Copies an instance with what is inside, to its own parent or another one.",
        read: read_clone,
    },
    Form {
        verbs: &["asset"],
        made: true,
        syntax: "insert asset NUMBER [into PATH]",
        example: "insert asset 142785488 into game.Workspace",
        meaning: "Inserts a model of Roblox's catalogue, in a place that is open in Studio. The \
                  scripts that it brings are shown first.",
        read: read_insert,
    },
];

/// Reads everything that a goal asks for.
pub(super) fn read(goal: &str) -> Result<Vec<Request>, Refusal> {
    let unclear =
        |complaint| Refusal::Unclear { sentence: goal.trim().to_owned(), complaint, form: None };
    let sentences = words::sentences(goal).map_err(unclear)?;
    if sentences.is_empty() {
        return Err(Refusal::Unknown(String::new()));
    }
    if sentences.len() > REQUESTS_MAX {
        return Err(unclear(Complaint::new(
            sentences[REQUESTS_MAX].0,
            format!("at most {REQUESTS_MAX} requests are taken at once; ask for the rest later"),
        )));
    }
    sentences.into_iter().map(|(sentence, then)| read_sentence(sentence, then)).collect()
}

fn read_sentence(sentence: &str, then: bool) -> Result<Request, Refusal> {
    let mut text = sentence;
    if let (please, behind) = words::first_word(text)
        && please.eq_ignore_ascii_case("please")
    {
        text = behind;
    }
    let (verb, rest) = words::first_word(text);
    let mut made = is_one_of(verb, &["make", "create", "build", "add", "insert", "a", "an", "the"]);
    let mut size = None;
    let mut noun = if made { after_articles(rest) } else { text };
    // The size may stand before the word, as in `make a 3x3 grid`.
    if let Some((found, behind)) = words::take_size(noun) {
        (size, made, noun) = (Some(found), true, behind);
    }
    let (verb, rest) = words::first_word(noun);
    let fits = |form: &Form| is_one_of(verb, form.verbs) && (form.made || !made);
    let Some(at) = FORMS.iter().position(fits) else {
        return Err(Refusal::Unknown(sentence.to_owned()));
    };
    let read = (FORMS[at].read)(Sentence { size, rest, then });
    read.map_err(|complaint| Refusal::Unclear {
        sentence: sentence.to_owned(),
        complaint,
        form: Some(at),
    })
}

/// The text behind articles and words such as `all`.
fn after_articles(text: &str) -> &str {
    words::without_leading(text, &["a", "an", "the", "all", "every", "each"])
}

fn subject(text: &str) -> Result<Subject, Complaint> {
    let text = after_articles(text);
    let head = text.get(..4).unwrap_or_default();
    if head.eq_ignore_ascii_case("game") && !text[4..].starts_with(|c: char| c.is_alphanumeric()) {
        return words::path(text).map(Subject::Path);
    }
    if is_one_of(text, &["selection", "selected instance"]) {
        return Ok(Subject::Selected);
    }
    let plural = match text.to_ascii_lowercase().as_str() {
        "parts" => "Part",
        "models" => "Model",
        "folders" => "Folder",
        "scripts" => SCRIPTS,
        _ => return selector(text),
    };
    Ok(Subject::Selector(plural.to_owned()))
}

/// Checks only what tells a selector from a sentence; the tools know the rest of its grammar.
fn selector(text: &str) -> Result<Subject, Complaint> {
    if text.is_empty() {
        return Err(Complaint::new(text, "a path or a selector is missing"));
    }
    if text.starts_with("Workspace.") || text.starts_with("workspace.") {
        let why = format!("a path begins with `game`; write `game.W{}`", &text[1..]);
        return Err(Complaint::new(text, why));
    }
    let mut joined = true;
    for word in words::words(text) {
        let begins = word.starts_with(['>', ',']);
        if !joined && !begins {
            return Err(Complaint::new(
                word,
                "a selector has no words side by side; write for example `Part`, `#Name`, `.Tag`, \
                 `Part[Anchored = true]` or `Model > Part`",
            ));
        }
        joined = word.ends_with(['>', ',']);
    }
    Ok(Subject::Selector(text.to_owned()))
}

fn read_rename(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (path, name) = need_word(sentence.rest, "to")?;
    Ok(Request::Rename(words::path(path)?, words::name(name)?))
}

fn read_set(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (props, on) = need_word(sentence.rest, "on")?;
    Ok(Request::Set(subject(on)?, values::assignments(props)?))
}

fn read_recolour(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (what, colour) = need_word(sentence.rest, "to")?;
    let mut props = Map::new();
    props.insert("Color".to_owned(), json!(values::need_colour(colour)?));
    Ok(Request::Set(subject(what)?, props))
}

fn read_comment(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    if sentence.size.is_some() {
        return Err(Complaint::new(sentence.rest, "a comment has no size"));
    }
    let (path, text) = if sentence.rest.starts_with('"') {
        let (text, rest) = words::take_quoted(sentence.rest)?;
        let (word, path) = words::first_word(rest);
        if !is_one_of(word, &["in", "into"]) {
            return Err(Complaint::new(rest, "`in PATH` is expected behind the text"));
        }
        (words::path(path)?, text)
    } else {
        let (path, text) = words::split_sign(sentence.rest, ':')
            .ok_or_else(|| Complaint::new(sentence.rest, "a colon is missing behind the path"))?;
        let text = if text.starts_with('"') {
            words::quoted(text)?
        } else if sentence.then {
            // The rest of a remark could be taken for a request: `do this then delete that`.
            let why = "a `then` follows, which may belong to the comment; put its text in double \
                       quotes";
            return Err(Complaint::new(text, why));
        } else {
            text.to_owned()
        };
        (words::path(path)?, text)
    };
    let lines: String = text
        .lines()
        .map(|line| format!("-- {}", line.trim_end()).trim_end().to_owned() + "\n")
        .collect();
    if text.trim().is_empty() {
        return Err(Complaint::new(sentence.rest, "the comment is empty"));
    }
    if lines.chars().count() > COMMENT_MAX {
        let why = format!("a comment has at most {COMMENT_MAX} characters");
        return Err(Complaint::new(&text, why));
    }
    Ok(Request::Comment(path, lines))
}

fn read_replace(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (search, rest) = words::take_quoted(sentence.rest)?;
    if search.is_empty() {
        return Err(Complaint::new(sentence.rest, "the text to replace is empty"));
    }
    let (with, rest) = words::first_word(rest);
    if !is_one_of(with, &["with", "by"]) {
        return Err(Complaint::new(with, "`with \"TEXT\"` is expected"));
    }
    let (replace, rest) = words::take_quoted(rest)?;
    let (word, place) = words::first_word(rest);
    if !word.eq_ignore_ascii_case("in") {
        return Err(Complaint::new(rest, "`in all scripts`, or `in PATH`, is expected"));
    }
    Ok(Request::Replace(subject(place)?, search, replace))
}

fn read_delete(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    subject(sentence.rest).map(Request::Delete)
}

fn read_move(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (what, parent) = need_word(sentence.rest, "to")?;
    Ok(Request::Move(subject(what)?, words::path(parent)?))
}

fn read_clone(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let (rest, name) = match words::split_word(sentence.rest, "as")? {
        Some((rest, name)) => (rest, Some(words::name(name)?)),
        None => (sentence.rest, None),
    };
    let (path, parent) = match words::split_word(rest, "to")? {
        Some((path, parent)) => (path, Some(words::path(parent)?)),
        None => (rest, None),
    };
    Ok(Request::Clone(words::path(path)?, parent, name))
}

fn read_insert(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    if sentence.size.is_some() {
        return Err(Complaint::new(sentence.rest, "an asset has no size"));
    }
    let into = match words::split_word(sentence.rest, "into")? {
        Some(found) => Some(found),
        None => words::split_word(sentence.rest, "in")?,
    };
    let (number, parent) = match into {
        Some((number, path)) => (number, Some(words::path(path)?)),
        None => (sentence.rest, None),
    };
    let digits = number.trim().trim_start_matches("rbxassetid://");
    match digits.parse() {
        Ok(asset) => Ok(Request::Insert(asset, parent)),
        Err(_) => Err(Complaint::new(number, "an asset has a number, as in `insert asset 123`")),
    }
}
