//! The assets that a model uses by their numbers: its images, meshes, sounds, animations and fonts.
//!
//! It must not know whether they load: it only reads the addresses in properties.

use rbx_dom_weak::Ustr;
use rbx_reflection::DataType;
use rbx_types::{ContentType, Variant, VariantType};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{AssetModel, reflection};

/// Maximum number of assets that [`AssetModel::content_uses`] lists.
pub const MAX_CONTENT_USES: usize = 50;

/// Maximum length of an address, in bytes. Longer texts are not addresses of assets.
const MAX_ADDRESS: usize = 300;

/// The highest number that an asset can have: the numbers of Roblox have 64 bits with a sign.
const MAX_NUMBER: u64 = i64::MAX as u64;

/// The address of a script's text, which is not inserted.
const LINKED_SOURCE: &str = "LinkedSource";

/// An asset that a property of a model's instance names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentUse {
    /// The number of the asset, from 1 to the highest of 64 bits with a sign.
    pub asset: u64,
    /// The index of the instance in the model's contents: of the first that uses the asset and is not
    /// in a script or link, or else of the first that uses it.
    pub at: u32,
    pub property: &'static str,
}

/// The assets that a model uses, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentUses {
    /// Those of instances outside of scripts and links come first, then the others, both in the order of
    /// the instances and of the names of their properties. At most [`MAX_CONTENT_USES`].
    pub listed: Vec<ContentUse>,
    /// How many more assets the model uses.
    pub more: usize,
}

impl AssetModel {
    /// Returns the assets that the properties of the model name, as far as reflection knows the
    /// properties. Addresses of files of the engine (`rbxasset://`) and of thumbnails (`rbxthumb://`) are
    /// not among them, nor are links to packages.
    pub fn content_uses(&self) -> ContentUses {
        let contents = self.contents();
        let kept = contents.flag_inserted(&contents.list_scripts_and_links());
        let mut names = ContentNames::default();
        let mut seen = FxHashSet::default();
        let mut uses = ContentUses::default();
        for is_wanted in [true, false] {
            for (at, node) in self.nodes.iter().enumerate() {
                if kept[at] != is_wanted || contents.is_package_link(at) {
                    continue;
                }
                let class_number = self.scene.tree.class(*node);
                let mut keys = self.scene.stored_keys(*node);
                keys.retain(|key| names.may_hold(class_number, contents.class_of(at), *key));
                keys.sort_unstable_by_key(Ustr::as_str);
                for key in keys {
                    let value = self.scene.variant_of(*node, key);
                    let Some(asset) = value.as_deref().and_then(named_asset) else { continue };
                    if !seen.insert(asset) {
                        continue;
                    }
                    if uses.listed.len() < MAX_CONTENT_USES {
                        let (at, property) = (at as u32, key.as_str());
                        uses.listed.push(ContentUse { asset, at, property });
                    } else {
                        uses.more += 1;
                    }
                }
            }
        }
        uses
    }
}

/// Which properties may name an asset, by the numbers of their classes.
#[derive(Default)]
struct ContentNames(FxHashMap<(u32, Ustr), bool>);

impl ContentNames {
    /// Whether a property may name an asset, by its declared type. One that is not known does not.
    fn may_hold(&mut self, class_number: u32, class: &str, key: Ustr) -> bool {
        *self.0.entry((class_number, key)).or_insert_with(|| {
            let name = key.as_str();
            if name == LINKED_SOURCE {
                return false;
            }
            match reflection::declared_type(class, name) {
                Some(DataType::Value(
                    VariantType::Content | VariantType::ContentId | VariantType::Font,
                )) => true,
                // Other texts are shown to people.
                Some(DataType::Value(VariantType::String)) => class == "StringValue",
                Some(_) | None => false,
            }
        })
    }
}

/// Returns the number of the asset that a value is the address of.
fn named_asset(value: &Variant) -> Option<u64> {
    match value {
        Variant::ContentId(id) => read_asset_number(id.as_str()),
        Variant::Content(content) => match content.value() {
            ContentType::Uri(address) => read_asset_number(address),
            _ => None,
        },
        Variant::Font(font) => read_asset_number(&font.family),
        Variant::String(text) => read_asset_number(text),
        _ => None,
    }
}

/// Returns the number in the address of an asset: `rbxassetid://N`, or the web address of asset
/// delivery, with the number in `id`.
fn read_asset_number(address: &str) -> Option<u64> {
    let address = address.trim();
    if address.len() > MAX_ADDRESS {
        return None;
    }
    let address = address.to_ascii_lowercase();
    let digits = match address.strip_prefix("rbxassetid://") {
        Some(digits) => digits,
        None => find_id_in_web_address(&address)?,
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && (1..=MAX_NUMBER).contains(number))
}

/// Returns the value of `id` in a web address of asset delivery in lower case.
fn find_id_in_web_address(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let (host, rest) = rest.split_once('/')?;
    let is_roblox = host == "roblox.com" || host.ends_with(".roblox.com");
    let (path, query) = rest.split_once('?')?;
    if !is_roblox || !matches!(path.trim_end_matches('/'), "asset" | "v1/asset" | "v2/asset") {
        return None;
    }
    query.split('&').find_map(|parameter| parameter.strip_prefix("id="))
}

#[cfg(test)]
mod tests {
    use rbx_dom_weak::{InstanceBuilder, WeakDom};
    use rbx_types::{Content, ContentId, Font};

    use super::*;

    #[test]
    fn every_form_of_an_address_is_read_and_others_are_not() {
        for (address, number) in [
            ("rbxassetid://1818", Some(1_818)),
            ("RbxAssetId://0007 ", Some(7)),
            ("http://www.roblox.com/asset/?id=26", Some(26)),
            ("https://www.roblox.com/asset?version=3&ID=26", Some(26)),
            ("https://assetdelivery.roblox.com/v1/asset/?id=26", Some(26)),
            ("http://roblox.com/asset/?id=26&version=1", Some(26)),
            ("rbxassetid://9223372036854775807", Some(MAX_NUMBER)),
            ("rbxassetid://9223372036854775808", None),
            ("rbxassetid://18446744073709551616", None),
            ("rbxassetid://0", None),
            ("rbxassetid://", None),
            ("rbxassetid://+5", None),
            ("rbxassetid://-5", None),
            ("rbxassetid://12a", None),
            ("rbxassetid://1 2", None),
            ("http://www.roblox.com/asset/?id=", None),
            ("http://www.roblox.com/asset/?uid=5", None),
            ("http://www.roblox.com/asset/?id=0", None),
            ("http://www.roblox.com/games/?id=5", None),
            ("http://evilroblox.com/asset/?id=5", None),
            ("http://www.roblox.com.evil.com/asset/?id=5", None),
            ("ftp://www.roblox.com/asset/?id=5", None),
            ("rbxasset://textures/face.png", None),
            ("rbxthumb://type=Asset&id=5&w=150&h=150", None),
            ("5", None),
            ("", None),
        ] {
            assert_eq!(read_asset_number(address), number, "{address}");
        }
        assert_eq!(read_asset_number(&format!("rbxassetid://{}5", "0".repeat(400))), None);
    }

    /// Reads a model with these children, as XML or binary.
    fn models(children: impl IntoIterator<Item = InstanceBuilder>) -> [AssetModel; 2] {
        let model = InstanceBuilder::new("Model").with_name("Kit");
        let model = model.with_children(children);
        let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_child(model));
        let (mut binary, mut xml) = (Vec::new(), Vec::new());
        rbx_binary::to_writer(&mut binary, &dom, dom.root().children()).unwrap();
        rbx_xml::to_writer_default(&mut xml, &dom, dom.root().children()).unwrap();
        [binary, xml].map(|bytes| AssetModel::read(&bytes).unwrap())
    }

    fn id(address: &str) -> ContentId {
        ContentId::from(address)
    }

    #[test]
    fn content_of_every_type_is_listed_once_at_its_first_instance() {
        let both = [
            InstanceBuilder::new("MeshPart")
                .with_property("MeshContent", Content::from_uri("rbxassetid://11"))
                .with_property("TextureContent", Content::from_uri("rbxassetid://10")),
            InstanceBuilder::new("Decal")
                .with_property("Texture", id("http://www.roblox.com/asset/?id=10")),
            InstanceBuilder::new("Sound").with_property("SoundId", id("rbxassetid://12")),
            InstanceBuilder::new("Sound").with_property("SoundId", id("rbxasset://sounds/a.ogg")),
            InstanceBuilder::new("Sound").with_property("SoundId", id("")),
            InstanceBuilder::new("TextLabel").with_property(
                "FontFace",
                Font { family: "rbxassetid://13".to_owned(), ..Font::default() },
            ),
            InstanceBuilder::new("StringValue").with_property("Value", "rbxassetid://14"),
            InstanceBuilder::new("StringValue").with_property("Value", "15"),
            InstanceBuilder::new("StringValue").with_name("rbxassetid://16"),
            InstanceBuilder::new("Decal").with_property("Unknown", id("rbxassetid://17")),
        ];
        for model in models(both) {
            let uses = model.content_uses();
            let found: Vec<(u64, &str, &str)> = uses
                .listed
                .iter()
                .map(|it| (it.asset, model.contents().class_of(it.at as usize), it.property))
                .collect();
            assert_eq!(
                found,
                [
                    (11, "MeshPart", "MeshContent"),
                    (10, "MeshPart", "TextureContent"),
                    (12, "Sound", "AudioContent"),
                    (13, "TextLabel", "FontFace"),
                    (14, "StringValue", "Value"),
                ]
            );
            assert_eq!(uses.more, 0);
        }
    }

    #[test]
    fn use_outside_of_scripts_is_preferred_and_links_have_none() {
        let decal =
            |address: &str| InstanceBuilder::new("Decal").with_property("Texture", id(address));
        let script = InstanceBuilder::new("Script")
            .with_property("LinkedSource", id("rbxassetid://1"))
            .with_child(decal("rbxassetid://2"))
            .with_child(decal("rbxassetid://3"));
        let link =
            InstanceBuilder::new("PackageLink").with_property("PackageId", id("rbxassetid://4"));
        for model in models([script, link, decal("rbxassetid://3")]) {
            let uses = model.content_uses().listed;
            let found: Vec<(u64, u32)> = uses.iter().map(|it| (it.asset, it.at)).collect();
            assert_eq!(found, [(3, 5), (2, 2)]);
        }
    }

    #[test]
    fn assets_beyond_the_limit_are_counted_once() {
        let decals = (1..=MAX_CONTENT_USES as u64 + 7).chain([1, 57]).map(|asset| {
            let address = format!("rbxassetid://{asset}");
            InstanceBuilder::new("Decal").with_property("Texture", id(&address))
        });
        for model in models(decals) {
            let uses = model.content_uses();
            let found: Vec<u64> = uses.listed.iter().map(|it| it.asset).collect();
            assert_eq!(found, (1..=50).collect::<Vec<u64>>());
            assert_eq!(uses.more, 7);
        }
    }
}
