//! Names that can follow at a position of a script that is being typed: members of Roblox's API where
//! the type before the position is known, otherwise the names of Luau, of Roblox and of the script.
//!
//! The text need not compile, so only its tokens are read. A type is followed through locals,
//! annotations, services, properties and the results of methods.

mod types;

use scene_schemas::api::{CompletionKind, CompletionName, Completions};
use vector_roblox_api::{ApiFacts, Member, MemberKind, TypeFacts};

use self::types::{KnownType, TypeReader, is_annotation};
use super::highlight::GLOBALS;
use super::lexer::{LexedSource, Token, TokenKind, string_content, tokenize_with_comments};
use super::lint::roblox_library;

/// The words of the language, contextual ones included.
const KEYWORDS: [&str; 24] = [
    "and", "break", "continue", "do", "else", "elseif", "end", "export", "false", "for",
    "function", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
    "type", "until", "while",
];
/// The calls whose first argument is the name of a service.
const SERVICE_CALLS: [&str; 2] = ["FindService", "GetService"];
/// The calls whose first argument is the name of a class.
const CLASS_CALLS: [&str; 6] = [
    "FindFirstAncestorOfClass",
    "FindFirstAncestorWhichIsA",
    "FindFirstChildOfClass",
    "FindFirstChildWhichIsA",
    "IsA",
    "QueryDescendants",
];

/// Returns the names that can follow at a position. Line and column count from 1, the column in
/// characters. Where the type before the position is not known, only names that begin with the first
/// typed letter are returned.
pub fn complete_names(source: &str, line: u32, column: u32) -> Completions {
    let at = byte_offset(source, line, column);
    let head = &source[..at];
    let start = head
        .rfind(|c: char| !is_name_char(c))
        .map_or(0, |before| before + head[before..].chars().next().map_or(1, char::len_utf8));
    let typed = &head[start..];
    let from = column.saturating_sub(typed.chars().count() as u32).max(1);
    // What is behind the position does not matter, and may be unfinished.
    let lexed = tokenize_with_comments(&source[..start]);
    let mut names = if is_in_comment(&lexed, start) {
        Vec::new()
    } else if let Some(call) = string_call(source, start) {
        class_names(call)
    } else {
        names_after(source, &source[..start], &lexed, typed)
    };
    names.sort_by(|a, b| a.name.cmp(&b.name));
    names.dedup_by(|a, b| a.name == b.name);
    Completions { from, names }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the byte offset of a position; the end of the line if the line is shorter.
fn byte_offset(source: &str, line: u32, column: u32) -> usize {
    let mut start = 0;
    for text in source.split_inclusive('\n').take(line.saturating_sub(1) as usize) {
        start += text.len();
    }
    let text = source[start..].split('\n').next().unwrap_or_default();
    let end = text.char_indices().nth(column.saturating_sub(1) as usize);
    start + end.map_or(text.len(), |(at, _)| at)
}

/// Whether the end of the text is in a comment.
fn is_in_comment(lexed: &LexedSource, end: usize) -> bool {
    lexed.comments.last().is_some_and(|last| last.end == end)
}

/// The call in whose first argument, a string, the position is. The string is not closed before it.
fn string_call(source: &str, at: usize) -> Option<&str> {
    let line = &source[source[..at].rfind('\n').map_or(0, |it| it + 1)..at];
    let before = line.strip_suffix(['"', '\''])?;
    let before = before.trim_end().strip_suffix('(').unwrap_or(before.trim_end()).trim_end();
    let name = before.rsplit(|c| !is_name_char(c)).next().unwrap_or_default();
    let is_instance = name == "new" && before.ends_with("Instance.new");
    (is_instance || SERVICE_CALLS.contains(&name) || CLASS_CALLS.contains(&name)).then_some(name)
}

/// Returns the classes that a call takes.
fn class_names(call: &str) -> Vec<CompletionName> {
    let is_wanted = |facts: &TypeFacts| match call {
        "new" => !facts.has_tag("NotCreatable") && !facts.has_tag("Service"),
        call if SERVICE_CALLS.contains(&call) => facts.has_tag("Service"),
        _ => true,
    };
    let classes = ApiFacts::get().classes.values().filter(|it| is_wanted(it));
    classes.map(|it| name(&it.name, CompletionKind::Class, String::new())).collect()
}

fn name(name: &str, kind: CompletionKind, detail: String) -> CompletionName {
    CompletionName { name: name.to_owned(), kind, detail }
}

/// Returns the names after the tokens before the position.
fn names_after(source: &str, head: &str, lexed: &LexedSource, typed: &str) -> Vec<CompletionName> {
    let tokens: Vec<Token> =
        lexed.tokens.iter().copied().filter(|it| it.kind != TokenKind::Eof).collect();
    let Some(last) = tokens.last() else {
        return plain_names(source, typed);
    };
    // An unfinished string is a token up to the end.
    let text = head.get(last.start as usize..last.end as usize).unwrap_or_default();
    if last.kind == TokenKind::Text && string_content(text.trim_end()).is_none() {
        return Vec::new();
    }
    let is_call = match last.kind {
        TokenKind::Symbol(b':') => true,
        TokenKind::Symbol(b'.') => false,
        // A new name.
        TokenKind::Local | TokenKind::Function => return Vec::new(),
        _ => return plain_names(source, typed),
    };
    let before = &tokens[..tokens.len() - 1];
    let reader = TypeReader { text: head };
    if is_call && is_annotation(before) {
        return type_names(typed);
    }
    match reader.type_before(before) {
        Some(known) => members_of(known, is_call),
        None => any_members(is_call, typed),
    }
}

/// Returns the members of a value.
fn members_of(known: KnownType, is_call: bool) -> Vec<CompletionName> {
    let facts = ApiFacts::get();
    match known {
        KnownType::Class(class) => {
            facts.lineage(class).flat_map(|it| value_members(it, is_call)).collect()
        }
        KnownType::Value(datatype) => {
            let found = facts.datatypes.get(datatype).into_iter();
            found.flat_map(|it| value_members(it, is_call)).collect()
        }
        KnownType::Static(datatype) if !is_call => {
            let of = facts.datatypes.get(datatype).into_iter();
            of.flat_map(|of| of.members.iter().filter_map(|it| static_member(of, it))).collect()
        }
        KnownType::Library(library) if !is_call => library_members(library),
        KnownType::Enums if !is_call => {
            let enums = facts.enums.keys();
            enums.map(|it| name(it, CompletionKind::Enum, String::new())).collect()
        }
        KnownType::Enum(of) if !is_call => {
            let items = facts.enums.get(of).into_iter().flat_map(|it| &it.items);
            let detail = || format!("Enum.{of}");
            items.map(|it| name(&it.name, CompletionKind::EnumItem, detail())).collect()
        }
        KnownType::Static(_) | KnownType::Library(_) | KnownType::Enums | KnownType::Enum(_) => {
            Vec::new()
        }
    }
}

/// The members of a value of a type: methods after `:`, all others after `.`.
fn value_members(of: &TypeFacts, is_call: bool) -> impl Iterator<Item = CompletionName> {
    of.members.iter().filter_map(move |member| value_member(of, member, is_call))
}

fn value_member(of: &TypeFacts, member: &Member, is_call: bool) -> Option<CompletionName> {
    if member.is_deprecated() || !member.is_readable() {
        return None;
    }
    let kind = match member.kind {
        MemberKind::Method if is_call => CompletionKind::Method,
        MemberKind::Property | MemberKind::Callback if !is_call => CompletionKind::Property,
        MemberKind::Event if !is_call => CompletionKind::Event,
        MemberKind::Property
        | MemberKind::Method
        | MemberKind::Event
        | MemberKind::Callback
        | MemberKind::Constructor
        | MemberKind::Constant
        | MemberKind::Function => return None,
    };
    Some(name(&member.name, kind, format!("{} · {}", member_type(member), of.name)))
}

fn static_member(of: &TypeFacts, member: &Member) -> Option<CompletionName> {
    let kind = match member.kind {
        MemberKind::Constructor | MemberKind::Function => CompletionKind::Method,
        MemberKind::Constant => CompletionKind::Property,
        MemberKind::Property | MemberKind::Method | MemberKind::Event | MemberKind::Callback => {
            return None;
        }
    };
    let is_usable = !member.is_deprecated();
    is_usable.then(|| name(&member.name, kind, format!("{} · {}", member_type(member), of.name)))
}

/// Returns the type of a property, or the parameters and results of a function.
fn member_type(member: &Member) -> String {
    if let Some(value_type) = &member.value_type {
        return value_type.clone();
    }
    let parameter = |it: &vector_roblox_api::Parameter| match &it.value_type {
        Some(value_type) => format!("{}: {value_type}", it.name),
        None => it.name.clone(),
    };
    let parameters = member.params.iter().map(parameter).collect::<Vec<_>>().join(", ");
    match member.returns.join(", ").as_str() {
        "" => format!("({parameters})"),
        returns => format!("({parameters}) → {returns}"),
    }
}

fn library_members(library: &str) -> Vec<CompletionName> {
    let Some(known) = roblox_library() else {
        return Vec::new();
    };
    let prefix = format!("{library}.");
    let members = known.globals.keys().filter_map(|it| it.strip_prefix(&prefix));
    let members = members.filter(|it| !it.contains('.'));
    members.map(|it| name(it, CompletionKind::Method, library.to_owned())).collect()
}

/// The members of any class that begin with the first typed letter.
fn any_members(is_call: bool, typed: &str) -> Vec<CompletionName> {
    if typed.is_empty() {
        return Vec::new();
    }
    let classes = ApiFacts::get().classes.values();
    let members = classes.flat_map(|it| value_members(it, is_call));
    members.filter(|it| begins_like(&it.name, typed)).collect()
}

/// Whether a name begins with the first typed letter, whatever the case.
fn begins_like(name: &str, typed: &str) -> bool {
    let first = |text: &str| text.chars().next().map(|it| it.to_ascii_lowercase());
    first(name) == first(typed)
}

/// The types that an annotation can name.
fn type_names(typed: &str) -> Vec<CompletionName> {
    let facts = ApiFacts::get();
    let basic = ["any", "boolean", "buffer", "never", "number", "string", "thread", "unknown"];
    let types = facts.classes.keys().chain(facts.datatypes.keys()).map(String::as_str).chain(basic);
    let types = types.filter(|it| typed.is_empty() || begins_like(it, typed));
    types.map(|it| name(it, CompletionKind::Class, String::new())).collect()
}

/// The names of Luau, of Roblox, and of the script, that begin with the first typed letter.
fn plain_names(source: &str, typed: &str) -> Vec<CompletionName> {
    if typed.is_empty() || typed.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let of = |kind: CompletionKind| move |it: &&str| name(it, kind, String::new());
    let known = KEYWORDS.iter().map(of(CompletionKind::Keyword));
    let known = known.chain(GLOBALS.iter().map(of(CompletionKind::Global)));
    let tokens = tokenize_with_comments(source).tokens;
    let locals = tokens.windows(2).filter_map(|pair| {
        let [before, it] = pair else { return None };
        let is_member = matches!(before.kind, TokenKind::Symbol(b'.' | b':'));
        let text = source.get(it.start as usize..it.end as usize)?;
        let is_name = it.kind == TokenKind::Name && !is_member && text != typed;
        is_name.then(|| name(text, CompletionKind::Local, String::new()))
    });
    let mut names: Vec<CompletionName> = known.filter(|it| begins_like(&it.name, typed)).collect();
    // Of names that are equal, the first is kept.
    names.extend(locals.filter(|it| begins_like(&it.name, typed)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names at `|` in a text.
    fn names(text: &str) -> Vec<String> {
        let at = text.find('|').unwrap();
        let source = text.replace('|', "");
        let line = text[..at].matches('\n').count() as u32 + 1;
        let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
        let column = text[start..at].chars().count() as u32 + 1;
        complete_names(&source, line, column).names.into_iter().map(|it| it.name).collect()
    }

    #[track_caller]
    fn has(text: &str, wanted: &[&str], unwanted: &[&str]) {
        let names = names(text);
        for name in wanted {
            assert!(names.iter().any(|it| it == name), "{name} is not in {names:?}");
        }
        for name in unwanted {
            assert!(!names.iter().any(|it| it == name), "{name} is in {names:?}");
        }
    }

    #[test]
    fn members_follow_the_type_before() {
        has("workspace.Cur|", &["CurrentCamera", "Gravity"], &["Raycast", "Transparency"]);
        has("workspace:|", &["Raycast", "FindFirstChild"], &["Gravity"]);
        has("workspace.CurrentCamera.|", &["FieldOfView"], &["Gravity"]);
        has("local p = Instance.new(\"Part\")\np.|", &["Transparency", "Touched"], &["Destroy"]);
        has("local p = Instance.new('Part')\np.Touched:|", &["Connect", "Once"], &["Destroy"]);
        has("local p: SpotLight\np.|", &["Angle"], &["Touched"]);
        has("local function f(hit: BasePart)\n\thit:|", &["GetMass"], &["GetPlayers"]);
        has("local s = game:GetService(\"Players\")\ns:|", &["GetPlayers"], &["GetMass"]);
        has("game:GetService('Players').LocalPlayer.|", &["UserId"], &["Gravity"]);
        has("game.Lighting.|", &["Ambient"], &["Gravity"]);
        has("x = 1\nVector3.|", &["new", "zero", "FromAxis"], &["Magnitude"]);
        has("(Vector3.new(1, 2, 3)).|", &["Magnitude"], &["new"]);
        has("local v = Vector3.new(1, (2), 3)\nprint(v.|", &["Magnitude", "Unit"], &["new"]);
        has("math.|", &["abs", "clamp"], &["insert"]);
        has("table.|", &["insert"], &["abs"]);
        has("Enum.|", &["Material", "KeyCode"], &["Neon"]);
        has("Enum.Material.|", &["Neon"], &["KeyCode"]);
        has("p.Material = Enum.Material.N|eon", &["Neon"], &["KeyCode"]);
    }

    #[test]
    fn names_of_classes_follow_in_strings() {
        has("Instance.new(\"P|", &["Part", "PointLight"], &["Players", "BasePart"]);
        has("game:GetService(\"|\")", &["Players", "TweenService"], &["Part"]);
        has("hit:FindFirstChildOfClass('|", &["Humanoid", "BasePart"], &[]);
        assert!(names("print(\"Pa|").is_empty());
        assert!(names("local p: Part -- workspace.|").is_empty());
        assert!(names("--[[ workspace.|").is_empty());
        // A string ends before its comment, and may have any letters.
        has("local n = \"Door\" -- the door\nwor|", &["workspace"], &[]);
        has("local s = \"Größe\"\nwor|", &["workspace"], &[]);
        assert!(names("local s = \"日本語\"|").is_empty());
    }

    #[test]
    fn plain_names_are_those_of_the_language_and_the_script() {
        has("local counter = 1\nc|", &["counter", "continue", "coroutine"], &["while", "print"]);
        has("local counter = 1\nx = t.c|", &["CFrame"], &["counter", "continue"]);
        has("local x: Ba|", &["BasePart", "BoolValue"], &["Part"]);
        assert!(names("|").is_empty());
        assert!(names("local a = 1|").is_empty());
        assert!(names("local w|").is_empty());
    }

    #[test]
    fn column_is_that_of_the_name() {
        let found = complete_names("-- 😀\nlocal é = workspace.Gr", 2, 23);
        assert_eq!(found.from, 21);
        assert!(found.names.iter().any(|it| it.name == "Gravity"));
        // Beyond the text there is nothing to complete.
        assert!(complete_names("", 7, 9).names.is_empty());
        assert!(complete_names("x", 1, 500).names.is_empty());
        assert_eq!(complete_names("workspace", 5, 1).from, 1);
    }
}
