//! The sandbox that a person may have the kept scripts of an inserted asset run in: Roblox's script
//! capabilities. It does not know how files and Studio store them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A capability of Roblox's `Enum.SecurityCapability` that Vector grants to sandboxed scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptCapability {
    /// The name of the enum item, which Studio uses.
    pub name: &'static str,
    /// The position in the bit field that files store, from 0. It is not the value of the enum item.
    pub bit: u32,
}

const fn capability(name: &'static str, bit: u32) -> ScriptCapability {
    ScriptCapability { name, bit }
}

/// The capabilities of a sandbox, in the order of their names: those whose documented meaning ends at
/// the container, which is what an ordinary script of a model needs to run, move, show, sound and react.
///
/// - `RunClientScript` and `RunServerScript`: the person keeps a script for it to run.
/// - `Basic` ("general APIs that offer little risk": lights, particles, tweens), `Animation`, `Audio`,
///   `LegacySound` (`Sound`), `Physics` (joints, constraints), `UI` and `Input` (`ClickDetector`,
///   `ProximityPrompt`, `Tool`), and `AvatarBehavior` (`Humanoid`, `Seat`): without `AccessOutsideWrite`
///   a script has only the instances inside of its container.
/// - `CreateInstances`: effects and projectiles need it. It creates only what the others give access
///   to, and without `AccessOutsideWrite` only inside of the container.
///
/// Not granted is what leads out of the container (`AccessOutsideWrite`, `RemoteEvent`, `Players`,
/// `Chat`, `Environment`, `Material`, `ScriptGlobals`) or out of the server (`Network`, `DataStore`,
/// `ServerCommunication`, `Teleport`, `Social`, `Groups`, `Logging`, `Capture`), what loads other code or assets
/// (`LoadString`, `LoadUnownedAsset`, formerly `AssetRequire`, `LoadOwnedAsset`, the asset
/// capabilities, `DynamicGeneration`), what costs or punishes (`Monetization`,
/// `PromptExternalPurchase`, `Consequences`), what lifts the sandbox (`CapabilityControl`), and all
/// else, such as `CSG` and `Unassigned`, which few models need.
///
/// Meanings: <https://create.roblox.com/docs/scripting/capabilities>; members by capability: Roblox's
/// API dump. Roblox does not document the bits: those here were read from files of Studio, see
/// <https://github.com/rojo-rbx/rbx-dom/issues/460> and, for `AvatarBehavior`,
/// <https://github.com/Pseudoreality/Roblox-Identities>.
pub const SANDBOX_CAPABILITIES: [ScriptCapability; 11] = [
    capability("Animation", 28),
    capability("Audio", 21),
    capability("AvatarBehavior", 53),
    capability("Basic", 20),
    capability("CreateInstances", 19),
    capability("Input", 30),
    capability("LegacySound", 33),
    capability("Physics", 24),
    capability("RunClientScript", 8),
    capability("RunServerScript", 9),
    capability("UI", 25),
];

/// The sandbox of the kept scripts of an inserted asset. Its instances get `Sandboxed` and
/// `Capabilities`, which limit the scripts in them where `Workspace.SandboxedInstanceMode` is
/// `Experimental`. An instance that is sandboxed in the asset keeps only those of its capabilities
/// that are listed here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptSandbox {
    /// The instances that become sandboxed containers, by their numbers in the asset's contents from
    /// 1, ascending: of each kept script and what it is in, the outermost Model, Folder or Script.
    pub containers: Vec<u32>,
    /// The capabilities, by their names in `Enum.SecurityCapability`.
    pub capabilities: Vec<String>,
}

impl ScriptSandbox {
    /// Returns a sandbox with the capabilities that Vector grants.
    pub fn new(containers: Vec<u32>) -> Self {
        let names = SANDBOX_CAPABILITIES.iter().map(|it| it.name.to_owned());
        Self { containers, capabilities: names.collect() }
    }

    /// Returns the capabilities as the bit field that files store.
    ///
    /// # Errors
    /// Vector does not grant one of them, by its name.
    pub fn capability_bits(&self) -> Result<u64, &str> {
        self.capabilities.iter().try_fold(0, |bits, name| {
            let known = SANDBOX_CAPABILITIES.iter().find(|it| it.name == name);
            known.map(|it| bits | 1 << it.bit).ok_or(name.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_sorted_and_become_distinct_bits() {
        assert!(SANDBOX_CAPABILITIES.is_sorted_by(|a, b| a.name < b.name));
        let sandbox = ScriptSandbox::new(vec![1]);
        let bits = sandbox.capability_bits().unwrap();
        assert_eq!(bits.count_ones() as usize, SANDBOX_CAPABILITIES.len());
        // AccessOutsideWrite, LoadString, DataStore, Network and CapabilityControl.
        for refused in [11, 17, 22, 23, 35] {
            assert_eq!(bits & 1 << refused, 0, "{refused}");
        }
        let wider = ScriptSandbox { capabilities: vec!["Network".to_owned()], ..sandbox };
        assert_eq!(wider.capability_bits(), Err("Network"));
    }
}
