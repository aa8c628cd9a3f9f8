//! Requests for single instances and their look: `create a red Part`, `make all parts red`, `anchor
//! everything`.
//!
//! Class names may be in any case and in the plural, as people write them. The tools decide whether
//! a class can be created and whether it has a property.

use scene_schemas::InstancePath;
use serde_json::{Map, Value as Json, json};
use vector_place::reflection;

use super::language::{FILLERS, LanguageError, ParsedSentence, PlannerRequest, parse_subject};
use super::plans::studs_json;
use super::shapes::ShapeOptions;
use super::values::{self, PartLook};
use super::words::{self, is_one_of};

/// An instance to create.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewInstance {
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) parent: InstancePath,
    pub(super) props: Map<String, Json>,
}

/// The selector of all parts. Terrain is a `BasePart` too, but does not look or behave like one.
pub(super) const EVERYTHING: &str = "BasePart:not(Terrain)";

/// Other words for a part.
const PART_SYNONYMS: &[&str] = &["block", "brick", "cube"];

/// The height of a part without a given size, in studs.
const DEFAULT_HEIGHT: f64 = 1.2;

/// The most words that form a class name.
const MAX_CLASS_WORDS: usize = 4;

/// The keywords of options after the class.
const OPTION_KEYWORDS: &[&str] =
    &["named", "called", "in", "into", "inside", "under", "at", "size"];

/// The default parents of classes. All others belong in the Workspace.
const DEFAULT_PARENTS: &[(&str, &[&str])] = &[
    ("LocalScript", &["StarterPlayer", "StarterPlayerScripts"]),
    ("ModuleScript", &["ReplicatedStorage"]),
    ("BaseScript", &["ServerScriptService"]),
    ("BaseRemoteEvent", &["ReplicatedStorage"]),
    ("RemoteFunction", &["ReplicatedStorage"]),
    ("BindableEvent", &["ReplicatedStorage"]),
    ("BindableFunction", &["ReplicatedStorage"]),
    ("ValueBase", &["ReplicatedStorage"]),
    ("LayerCollector", &["StarterGui"]),
    ("Tool", &["StarterPack"]),
    ("Team", &["Teams"]),
    ("Sky", &["Lighting"]),
    ("Atmosphere", &["Lighting"]),
    ("PostEffect", &["Lighting"]),
    ("SoundGroup", &["SoundService"]),
];

/// Whether a text is one word of letters, digits and underscores.
pub(super) fn is_plain_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Finds the class that a text names. The name may be in any case, split into words, or in the
/// plural.
pub(super) fn find_class(text: &str) -> Option<&'static str> {
    // No class has a longer name, and each one is compared.
    if text.len() > 60 || text.is_empty() {
        return None;
    }
    let joined = text.replace(' ', "");
    let find = |name: &str| -> Option<&'static str> {
        if PART_SYNONYMS.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            return Some("Part");
        }
        let classes = &reflection::database().classes;
        let exact = classes.get_key_value(name).map(|(name, _)| *name);
        // If two classes differ only in case, take the first in alphabetical order.
        exact.or_else(|| {
            classes.keys().copied().filter(|known| known.eq_ignore_ascii_case(name)).min()
        })
    };
    find(&joined).or_else(|| find(joined.strip_suffix(['s', 'S'])?))
}

/// How many words of a sentence are searched for a class, and how many at its end for a look.
const MAX_SCANNED_WORDS: usize = 12;

/// Whether a sentence names a class anywhere before its options.
pub(super) fn has_class_name(rest: &str) -> bool {
    words::split_words(rest)
        .into_iter()
        .take(MAX_SCANNED_WORDS)
        .any(|word| find_class(word).is_some())
}

/// Reads `[COLOUR] [MATERIAL] CLASS [named NAME] [size X,Y,Z] [at X,Y,Z] [in PATH] [with P = V]`.
pub(super) fn read_create(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let (head, with) = match words::split_word(sentence.rest, "with")? {
        Some((head, props)) => (head, values::parse_assignments(props)?),
        None => (sentence.rest, Map::new()),
    };
    let words = words::split_words(words::strip_leading(head, FILLERS));
    let at = words.iter().position(|word| is_one_of(word, OPTION_KEYWORDS)).unwrap_or(words.len());
    let (named, options) = words.split_at(at);
    if sentence.size.is_some() {
        let why = "only a grid and a farm have rows and columns";
        return Err(LanguageError::new(sentence.rest, why));
    }
    let (class, look) = parse_class_and_look(named)?;
    let options = ShapeOptions::parse_options(options, OPTION_KEYWORDS)?;
    let is_part = reflection::is_a(class, "BasePart");
    if !is_part
        && (look != PartLook::default() || options.size.is_some() || options.position.is_some())
    {
        let why = format!(
            "only a part has a colour, a material, a size and a position; a {class} has none"
        );
        return Err(LanguageError::new(head, why));
    }
    let name = options.name.unwrap_or_else(|| class.to_owned());
    let mut props = Map::new();
    props.insert("Name".to_owned(), json!(name));
    if is_part {
        props.insert("Anchored".to_owned(), json!(true));
        props.extend(options.size.map(|size| ("Size".to_owned(), json!(size.map(studs_json)))));
        let explicit_height = with.get("Size").and_then(|size| size[1].as_f64());
        let height = explicit_height.or(options.size.map(|size| size[1])).unwrap_or(DEFAULT_HEIGHT);
        let position = options.position.unwrap_or([0.0, height / 2.0, 0.0]);
        if !with.contains_key("Position") && !with.contains_key("CFrame") {
            let orientation = [1, 0, 0, 0, 1, 0, 0, 0, 1];
            let cframe = json!({ "__t": "CFrame", "position": position.map(studs_json), "orientation": orientation });
            props.insert("CFrame".to_owned(), cframe);
        }
        props.extend(look_props(look));
    }
    props.extend(with);
    let name = props.get("Name").and_then(Json::as_str).unwrap_or(&name).to_owned();
    let parent = options.parent.unwrap_or_else(|| default_parent(class));
    Ok(PlannerRequest::Create(NewInstance { class, name, parent, props }))
}

/// Parses the class, which comes last, and the look before it.
fn parse_class_and_look(words: &[&str]) -> Result<(&'static str, PartLook), LanguageError> {
    if words.is_empty() {
        return Err(LanguageError::new("", "the class is missing, as in `create a Part`"));
    }
    for length in (1..=words.len().min(MAX_CLASS_WORDS)).rev() {
        let (before, name) = words.split_at(words.len() - length);
        if let Some(class) = find_class(&name.join(" ")) {
            return Ok((class, PartLook::parse_words(before)?));
        }
    }
    let text = words.join(" ");
    Err(LanguageError::new(&text, "it names no class, such as Part, Folder, Script or PointLight"))
}

/// Returns the default parent of a class.
fn default_parent(class: &str) -> InstancePath {
    let found = DEFAULT_PARENTS.iter().find(|(of, _)| reflection::is_a(class, of));
    let steps = found.map_or(&["Workspace"][..], |(_, steps)| steps);
    steps.iter().fold(InstancePath::root(), |path, step| path.child(step, None))
}

fn look_props(look: PartLook) -> impl Iterator<Item = (String, Json)> {
    let colour = look.colour.map(|colour| ("Color".to_owned(), json!(colour)));
    let material = look.material.map(|material| ("Material".to_owned(), json!(material)));
    colour.into_iter().chain(material)
}

/// Reads `PATH or SELECTOR COLOUR`. A material or `anchored` may replace or accompany the colour.
pub(super) fn read_make(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let words = words::split_words(sentence.rest);
    // The look is the longest end that can be parsed as one. Everything before it is the subject.
    let first = words.len().saturating_sub(MAX_SCANNED_WORDS).max(1);
    let found = (first..words.len()).find_map(|at| Some((at, parse_look_props(&words[at..])?)));
    let Some((at, props)) = found else {
        let last = words.last().copied().unwrap_or_default();
        let why = "a colour, a material, `anchored` or `unanchored` is expected after the PATH or \
             SELECTOR";
        return Err(LanguageError::new(last, why));
    };
    let subject = parse_subject(&words[..at].join(" "))?;
    Ok(PlannerRequest::Set(subject, props))
}

/// Parses words as a look of a part. None if they are anything else.
fn parse_look_props(words: &[&str]) -> Option<Map<String, Json>> {
    if let [word] = words {
        let is_anchored = match word.to_ascii_lowercase().as_str() {
            "anchored" => Some(true),
            "unanchored" => Some(false),
            _ => None,
        };
        if let Some(is_anchored) = is_anchored {
            return Some(Map::from_iter([("Anchored".to_owned(), json!(is_anchored))]));
        }
    }
    let words: Vec<&str> =
        words.iter().copied().filter(|word| !is_one_of(word, &["and"])).collect();
    let look = PartLook::parse_words(&words).ok().filter(|look| *look != PartLook::default())?;
    Some(look_props(look).collect())
}

/// Reads the `PATH or SELECTOR` to anchor.
pub(super) fn read_anchor(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    parse_anchored(sentence.rest, true)
}

/// Reads the `PATH or SELECTOR` to unanchor.
pub(super) fn read_unanchor(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    parse_anchored(sentence.rest, false)
}

fn parse_anchored(text: &str, is_anchored: bool) -> Result<PlannerRequest, LanguageError> {
    let props = Map::from_iter([("Anchored".to_owned(), json!(is_anchored))]);
    Ok(PlannerRequest::Set(parse_subject(text)?, props))
}
