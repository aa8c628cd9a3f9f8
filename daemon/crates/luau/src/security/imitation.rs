//! Finds names that imitate the name of a service, so that the instance is overlooked among
//! services.
//!
//! The exact name of a service does not count: folders called `Players` are common.

use std::sync::LazyLock;

/// The imitated names: services and folders of every place whose names are long enough. Shorter
/// names are too close to ordinary words.
const IMITATED_NAMES: [&str; 40] = [
    "AnalyticsService",
    "AvatarEditorService",
    "BadgeService",
    "CollectionService",
    "ContentProvider",
    "ContextActionService",
    "DataStoreService",
    "GamepadService",
    "GuiService",
    "HttpService",
    "HumanoidRootPart",
    "InsertService",
    "Lighting",
    "LocalizationService",
    "MarketplaceService",
    "MaterialService",
    "MemoryStoreService",
    "MessagingService",
    "PathfindingService",
    "PhysicsService",
    "PolicyService",
    "ProximityPromptService",
    "ReplicatedFirst",
    "ReplicatedStorage",
    "RunService",
    "ScriptContext",
    "ServerScriptService",
    "ServerStorage",
    "SoundService",
    "StarterCharacterScripts",
    "StarterGui",
    "StarterPack",
    "StarterPlayer",
    "StarterPlayerScripts",
    "TeleportService",
    "TextChatService",
    "TweenService",
    "UserInputService",
    "VoiceChatService",
    "Workspace",
];

/// The imitated names with their skeletons.
static SKELETONS: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    IMITATED_NAMES.into_iter().map(|known| (known, confusable_skeleton(known))).collect()
});

/// Minimum length of a name in which changing one character does not make another word.
const MIN_LONG_NAME: usize = 13;
/// Maximum length of a name to compare; a longer one cannot be taken for a service.
const MAX_NAME_LEN: usize = 60;

/// The service that a name imitates. None if it imitates none or is the exact name.
pub fn find_imitated_service(name: &str) -> Option<&'static str> {
    if name.len() < 4 || name.len() > MAX_NAME_LEN || IMITATED_NAMES.contains(&name) {
        return None;
    }
    let seen: String = name.chars().filter_map(confusable_letter).collect();
    let is_drawn = seen != name;
    let skeleton = confusable_skeleton(&seen);
    let imitates = |(known, known_skeleton): &&(&str, String)| {
        let differs_in_case = seen.len() == known.len() && seen.eq_ignore_ascii_case(known);
        let looks_alike = skeleton == *known_skeleton;
        if is_drawn && (differs_in_case || looks_alike) {
            return true;
        }
        !differs_in_case && (looks_alike || is_misspelt(&seen, known))
    };
    SKELETONS.iter().find(imitates).map(|(known, _)| *known)
}

/// The letter that a character looks like; None if it takes little or no space.
fn confusable_letter(c: char) -> Option<char> {
    let letter = match c {
        ' '
        | '_'
        | '-'
        | '.'
        | '\u{a0}'
        | '\u{ad}'
        | '\u{feff}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{e0000}'..='\u{e007f}' => return None,
        // Fullwidth letters.
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            return char::from_u32(c as u32 - 0xfee0);
        }
        // Cyrillic, Greek and other letters that look like Latin ones.
        'а' | 'α' | 'ɑ' => 'a',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'с' | 'ϲ' => 'c',
        'С' | 'Ϲ' => 'C',
        'ԁ' => 'd',
        'е' | 'ҽ' => 'e',
        'Е' | 'Ε' => 'E',
        'ɡ' | 'ց' => 'g',
        'Н' | 'Η' => 'H',
        'һ' => 'h',
        'і' | 'ı' | 'ι' => 'i',
        'І' | 'Ι' | 'Ӏ' => 'I',
        'ј' => 'j',
        'К' | 'Κ' => 'K',
        'ӏ' | 'ⅼ' => 'l',
        'М' | 'Μ' => 'M',
        'ո' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'О' | 'Ο' => 'O',
        'р' | 'ρ' => 'p',
        'Р' | 'Ρ' => 'P',
        'ѕ' => 's',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        c => c,
    };
    Some(letter)
}

/// Writes letters and digits that look alike as the same one. Names with one skeleton look alike.
fn confusable_skeleton(name: &str) -> String {
    let name = name.replace("rn", "m").replace("vv", "w").replace("cl", "d");
    name.chars()
        .map(|c| match c {
            'I' | 'l' | '1' | 'i' | '|' | 'j' => 'l',
            'O' | '0' | 'o' => 'o',
            '5' | '$' | 'S' => 's',
            '3' => 'e',
            '4' | '@' => 'a',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Whether a name is a misspelling of another: two letters swapped, or one too many, missing or
/// wrong. In a short name the difference must be in the common ending or a doubled letter:
/// `RoundService` is not a misspelt `SoundService`.
fn is_misspelt(name: &str, known: &str) -> bool {
    let (name, known) = (name.as_bytes(), known.as_bytes());
    let same = name.iter().zip(known).take_while(|(a, b)| a == b).count();
    let (left, right) = (&name[same..], &known[same..]);
    let at_end = right.is_empty() || left.is_empty();
    let is_exchanged = match (left, right) {
        ([a, b, left @ ..], [c, d, right @ ..]) => a == d && b == c && left == right,
        _ => false,
    };
    if is_exchanged {
        return true;
    }
    let is_wrong = !at_end && left[1..] == right[1..];
    let is_more = !left.is_empty() && left[1..] == *right;
    let is_less = !right.is_empty() && *left == right[1..];
    if !(is_wrong || is_more || is_less) {
        return false;
    }
    // `Lighting2` and `CollectionsService` are legitimate names.
    let extra = left.first().copied().unwrap_or_default();
    if is_more && (right.is_empty() || extra == b's' || extra.is_ascii_digit()) {
        return is_more && same > 0 && extra == name[same - 1];
    }
    if is_wrong && extra.is_ascii_digit() {
        return false;
    }
    let ending = known.len().saturating_sub(if known.ends_with(b"Service") { 7 } else { 0 });
    let is_in_ending = ending < known.len() && same > ending;
    let is_twice = is_more && same > 0 && extra == name[same - 1];
    known.len() >= MIN_LONG_NAME || is_in_ending || is_twice
}
