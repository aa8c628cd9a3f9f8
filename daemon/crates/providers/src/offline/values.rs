//! Parses colours, materials and property values of the offline language.
//!
//! A value becomes the short JSON form that the tools read. The tools decide whether a property
//! exists, and whether it accepts the value.

use rbx_types::BrickColor;
use serde_json::{Map, Value as Json, json};

use super::language::LanguageError;
use super::words;

/// Plain colour names. The names of Roblox's brick colours are accepted too.
pub(super) const COLOURS: &[(&str, &str)] = &[
    ("red", "#ff0000"),
    ("green", "#00a040"),
    ("blue", "#0000ff"),
    ("yellow", "#ffff00"),
    ("orange", "#ff8800"),
    ("purple", "#800080"),
    ("violet", "#8f00ff"),
    ("pink", "#ff80c0"),
    ("magenta", "#ff00ff"),
    ("cyan", "#00ffff"),
    ("teal", "#008080"),
    ("turquoise", "#40e0d0"),
    ("lime", "#80ff00"),
    ("navy", "#000080"),
    ("maroon", "#800000"),
    ("olive", "#808000"),
    ("brown", "#694028"),
    ("beige", "#f5f5dc"),
    ("gold", "#ffd700"),
    ("silver", "#c0c0c0"),
    ("grey", "#808080"),
    ("gray", "#808080"),
    ("black", "#000000"),
    ("white", "#ffffff"),
];

/// The items of Enum.Material that a part can have.
pub(super) const MATERIALS: &[&str] = &[
    "Asphalt",
    "Basalt",
    "Brick",
    "Cardboard",
    "Carpet",
    "CeramicTiles",
    "ClayRoofTiles",
    "Cobblestone",
    "Concrete",
    "CorrodedMetal",
    "CrackedLava",
    "DiamondPlate",
    "Fabric",
    "Foil",
    "ForceField",
    "Glacier",
    "Glass",
    "Granite",
    "Grass",
    "Ground",
    "Ice",
    "LeafyGrass",
    "Leather",
    "Limestone",
    "Marble",
    "Metal",
    "Mud",
    "Neon",
    "Pavement",
    "Pebble",
    "Plaster",
    "Plastic",
    "Rock",
    "RoofShingles",
    "Rubber",
    "Salt",
    "Sand",
    "Sandstone",
    "Slate",
    "SmoothPlastic",
    "Snow",
    "Wood",
    "WoodPlanks",
];

/// The colour and material of a part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PartLook {
    /// The colour, written as `#rrggbb`.
    pub(super) colour: Option<String>,
    /// An item of Enum.Material.
    pub(super) material: Option<&'static str>,
}

/// The words for a grid's parts, in the singular.
const PART_NOUNS: &[&str] = &["part", "block", "brick", "cube", "tile"];

impl PartLook {
    /// Parses `red neon parts`. The last word is the noun: `brick parts` have the material Brick,
    /// and `red bricks` are parts.
    pub(super) fn parse_noun_phrase(words: &[&str]) -> Result<Self, LanguageError> {
        let Some((noun, rest)) = words.split_last() else {
            return Ok(Self::default());
        };
        let singular = noun.to_ascii_lowercase();
        if !PART_NOUNS.contains(&singular.strip_suffix('s').unwrap_or(&singular)) {
            return Err(LanguageError::new(
                noun,
                "a grid is made of parts, as in `of red neon parts`",
            ));
        }
        Self::parse_words(rest)
    }

    /// Parses words like `red neon`.
    pub(super) fn parse_words(mut rest: &[&str]) -> Result<Self, LanguageError> {
        let mut look = Self::default();
        while let Some(first) = rest.first() {
            if ["a", "an", "the"].contains(&first.to_ascii_lowercase().as_str()) {
                rest = &rest[1..];
                continue;
            }
            rest = look.take_longest(rest)?;
        }
        Ok(look)
    }

    /// Takes the longest leading colour or material.
    fn take_longest<'a, 'b>(
        &mut self,
        words: &'a [&'b str],
    ) -> Result<&'a [&'b str], LanguageError> {
        for length in (1..=words.len().min(4)).rev() {
            let text = words[..length].join(" ");
            let is_repeated = if let Some(material) = find_material(&text) {
                self.material.replace(material).is_some()
            } else if let Some(colour) = find_color(&text) {
                self.colour.replace(colour).is_some()
            } else {
                continue;
            };
            return if is_repeated {
                let why = "a part has one colour and one material; name each once";
                Err(LanguageError::new(&text, why))
            } else {
                Ok(&words[length..])
            };
        }
        let first = words.first().copied().unwrap_or_default();
        Err(LanguageError::new(
            first,
            "it is neither a colour nor a material; write, for example, `red`, `bright blue`, \
             `neon` or `wood planks`",
        ))
    }
}

fn find_material(text: &str) -> Option<&'static str> {
    let joined = text.replace(' ', "");
    MATERIALS.iter().copied().find(|item| item.eq_ignore_ascii_case(&joined))
}

/// Converts a colour name or `#rrggbb` to `#rrggbb`.
pub(super) fn find_color(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix('#') {
        let fits = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return fits.then(|| text.to_ascii_lowercase());
    }
    let plain = COLOURS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    if let Some((_, hex)) = plain {
        return Some((*hex).to_owned());
    }
    let colour = find_brick_color(text)?.to_color3uint8();
    Some(format!("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b))
}

/// Finds a brick colour by name, in any case. Nearly all names are written `Like this`.
fn find_brick_color(text: &str) -> Option<BrickColor> {
    let mut sentence = text.to_ascii_lowercase();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    BrickColor::from_name(text).or_else(|| BrickColor::from_name(&sentence))
}

/// Like [`find_color`], but an unknown colour is an error.
pub(super) fn require_color(text: &str) -> Result<String, LanguageError> {
    find_color(text).ok_or_else(|| {
        LanguageError::new(
            text,
            "it is not a colour; write #rrggbb, a plain name such as `red`, or the name of a brick \
             colour such as `bright blue`",
        )
    })
}

/// Reads `PROP = VALUE, PROP2 = VALUE2`. A comma belongs to the value, as in `Size = 1,2,3`, unless
/// another `PROP =` follows it.
pub(super) fn parse_assignments(text: &str) -> Result<Map<String, Json>, LanguageError> {
    let mut read: Vec<(&str, Vec<&str>)> = Vec::new();
    for piece in words::split_commas(text) {
        match (words::split_sign(piece, '='), read.last_mut()) {
            (Some((property, value)), _) => read.push((property, vec![value])),
            (None, Some((_, values))) => values.push(piece),
            (None, None) => {
                return Err(LanguageError::new(piece, "`PROPERTY = VALUE` is expected"));
            }
        }
    }
    let mut props = Map::new();
    for (property, values) in read {
        if !is_property_name(property) {
            let why = "it is neither a property name nor an attribute such as `@Speed`";
            return Err(LanguageError::new(property, why));
        }
        let value = parse_value(property, &values)?;
        if props.insert(property.to_owned(), value).is_some() {
            return Err(LanguageError::new(property, "it is set twice; set it once"));
        }
    }
    Ok(props)
}

fn is_property_name(text: &str) -> bool {
    let (name, extra) = text.strip_prefix('@').map_or((text, ""), |name| (name, ".-/"));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || extra.contains(c))
}

/// Parses a value, which was split at its commas.
fn parse_value(property: &str, pieces: &[&str]) -> Result<Json, LanguageError> {
    let &[text] = pieces else {
        let numbers: Option<Vec<Json>> = pieces.iter().map(|piece| parse_number(piece)).collect();
        let why = "only numbers can be separated by commas; put text in quotes";
        return numbers.map(Json::Array).ok_or_else(|| LanguageError::new(&pieces.join(", "), why));
    };
    if text.starts_with('"') {
        return words::parse_quoted(text).map(Json::String);
    }
    if text.starts_with(['[', '{']) {
        return serde_json::from_str(text)
            .map_err(|error| LanguageError::new(text, format!("it is not JSON: {error}")));
    }
    if let Some(number) = parse_number(text) {
        return Ok(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "true" => return Ok(json!(true)),
        "false" => return Ok(json!(false)),
        "nil" => {
            return Err(LanguageError::new(text, "a property cannot be cleared this way"));
        }
        _ => {}
    }
    if property == "BrickColor"
        && let Some(colour) = find_brick_color(text)
    {
        return Ok(json!(colour.to_string()));
    }
    if text.starts_with('#') || is_color_property(property) {
        return require_color(text).map(Json::String);
    }
    let item = text
        .strip_prefix("Enum.")
        .map_or(Some(text), |item| item.split_once('.').map(|(_, item)| item));
    match item {
        Some(item) if is_property_name(item) && !item.starts_with('@') => Ok(json!(item)),
        _ => Err(LanguageError::new(
            text,
            "a value is a number, true or false, numbers with commas, a colour, an enum item's \
             name, a text in double quotes, or JSON",
        )),
    }
}

/// Whether a bare word is a colour in this property. Attributes hold any type, so it is not one
/// there.
fn is_color_property(property: &str) -> bool {
    !property.starts_with('@') && (property.contains("Color") || property.ends_with("Ambient"))
}

/// Parses a number. It stays an integer if it is written as one.
fn parse_number(text: &str) -> Option<Json> {
    let number = words::parse_finite_number(text)?;
    Some(text.parse::<i64>().map_or(json!(number), |n| json!(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Json) {
        assert_eq!(Json::Object(parse_assignments(text).unwrap()), expected);
    }

    #[test]
    fn values_are_parsed_into_short_forms_of_the_tools() {
        check("Size = 1, 2.5,3", json!({"Size": [1, 2.5, 3]}));
        check(
            "Anchored=TRUE, Material = Enum.Material.Neon, Name = \"a, b = c\"",
            json!({"Anchored": true, "Material": "Neon", "Name": "a, b = c"}),
        );
        check("Color = Bright Blue", json!({"Color": "#0d69ac"}));
        check("Color = #FF8800", json!({"Color": "#ff8800"}));
        check("BrickColor = bright red", json!({"BrickColor": "Bright red"}));
        check("@Kind = red, @Max-Speed = -5", json!({"@Kind": "red", "@Max-Speed": -5}));
        check(
            r#"CFrame = {"__t":"CFrame","position":[1,2,3]}"#,
            json!({"CFrame": {"__t": "CFrame", "position": [1, 2, 3]}}),
        );
    }

    #[test]
    fn invalid_assignments_are_refused() {
        for text in [
            "",
            "Size",
            "Size =",
            "= 5",
            "a b = 5",
            "Name = My Part",
            "Color = shiny",
            "Color = #12",
            "Size = 1,,2",
            "Size = 1e999",
            "X = 1, X = 2",
            "X = {1,2}",
            "PrimaryPart = nil",
            "Color = 1, 2, red",
        ] {
            assert!(parse_assignments(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_material_is_in_the_enum() {
        let database = rbx_reflection_database::get().unwrap();
        let items = &database.enums["Material"].items;
        for material in MATERIALS {
            assert!(items.contains_key(*material), "{material}");
        }
    }
}
