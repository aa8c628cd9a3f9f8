//! Names in the Roblox API that load code or assets, reach outside of the place, or request
//! payments.

/// Names that are suspicious by themselves, each with its description.
const FLAGGED_NAMES: [(&str, &str); 27] = [
    ("loadstring", "uses loadstring, which runs text as code"),
    ("getfenv", "uses getfenv, which reaches into the environment of other code"),
    ("setfenv", "uses setfenv, which reaches into the environment of other code"),
    ("LoadAsset", "uses LoadAsset, which brings an asset with its scripts from outside"),
    ("loadAsset", "uses loadAsset, which brings an asset with its scripts from outside"),
    ("LoadAssetAsync", "uses LoadAssetAsync, which brings an asset with its scripts from outside"),
    (
        "LoadAssetVersion",
        "uses LoadAssetVersion, which brings an asset with its scripts from outside",
    ),
    // Not in the API reference; only Roblox's own scripts may call these.
    (
        "LoadAssetWithFormat",
        "uses LoadAssetWithFormat, which brings an asset with its scripts from outside",
    ),
    ("LoadLocalAsset", "uses LoadLocalAsset, which brings an asset with its scripts from outside"),
    ("OpenBrowserWindow", "uses OpenBrowserWindow, which opens a page of the internet"),
    ("GetObjects", "uses GetObjects, which brings an asset with its scripts from outside"),
    (
        "GetObjectsAsync",
        "uses GetObjectsAsync, which brings an asset with its scripts from outside",
    ),
    ("GetObjectsList", "uses GetObjectsList, which brings assets with their scripts from outside"),
    ("HttpGet", "uses HttpGet, which fetches from the internet"),
    ("HttpGetAsync", "uses HttpGet, which fetches from the internet"),
    ("HttpPost", "uses HttpPost, which sends to the internet"),
    ("HttpPostAsync", "uses HttpPost, which sends to the internet"),
    ("RequestLimitedAsync", "uses RequestLimitedAsync, which sends requests to Roblox's servers"),
    ("InvokeAsync", "uses InvokeAsync, which calls Roblox's Open Cloud"),
    ("GetSecret", "uses GetSecret, which reads a secret of the game"),
    ("CreateAssetAsync", "uses CreateAssetAsync, which publishes an asset"),
    ("CreateAssetVersionAsync", "uses CreateAssetVersionAsync, which publishes an asset"),
    ("PromptCreateAssetAsync", "uses PromptCreateAssetAsync, which publishes an asset"),
    ("CreatePlaceAsync", "uses CreatePlaceAsync, which publishes a place"),
    (
        "CreatePlaceInPlayerInventoryAsync",
        "uses CreatePlaceInPlayerInventoryAsync, which publishes a place",
    ),
    ("SavePlaceAsync", "uses SavePlaceAsync, which publishes the place as it is while it runs"),
    ("UpdateSourceAsync", "uses UpdateSourceAsync, which writes the text of scripts"),
];

/// Properties that open the game or a script to the outside when they are set.
const FLAGGED_PROPERTIES: [(&str, &str); 3] = [
    ("LinkedSource", "uses LinkedSource, which takes a script's text from outside"),
    ("HttpEnabled", "uses HttpEnabled, which opens the game to the internet"),
    ("LoadStringEnabled", "uses LoadStringEnabled, which lets text run as code"),
];

/// Methods that ask a player to spend Robux or to sign something.
pub(super) const PROMPT_METHODS: [&str; 15] = [
    "PromptBulkPurchase",
    "PromptBundlePurchase",
    "PromptCollectiblesPurchase",
    "PromptCommerceProductPurchase",
    "PromptGamePassPurchase",
    "PromptNativePurchase",
    "PromptPremiumPurchase",
    "PromptProductPurchase",
    "PromptPurchase",
    "PromptRealWorldCommerceBrowser",
    "PromptRobloxPurchase",
    "PromptRobloxSubscriptionPurchase",
    "PromptRobuxTransferAsync",
    "PromptSubscriptionPurchase",
    "PromptThirdPartyPurchase",
];

/// Methods of TeleportService whose first argument is a place.
pub(super) const TELEPORT_METHODS: [&str; 7] = [
    "Teleport",
    "TeleportAsync",
    "TeleportPartyAsync",
    "TeleportToPlaceInstance",
    "TeleportToPrivateServer",
    "TeleportToSpawnByName",
    "PromptExperienceDetailsAsync",
];

/// The description of a flagged name. Language functions are globals; the other names are members.
pub(super) fn describe_name(name: &str, is_member: bool) -> Option<&'static str> {
    let is_function = matches!(name, "loadstring" | "getfenv" | "setfenv");
    let (_, description) = FLAGGED_NAMES.iter().find(|(known, _)| *known == name)?;
    (is_member || is_function).then_some(*description)
}

/// The description of a flagged property that is set.
pub(super) fn describe_property(name: &str) -> Option<&'static str> {
    FLAGGED_PROPERTIES.iter().find(|(known, _)| *known == name).map(|(_, description)| *description)
}
