//! New instances that change existing ones merely by being there.
//!
//! The rules form a table in the order of docs/review.md. They consider classes, names and
//! positions in the tree, but not geometry: the position of a part and the behaviour of a script
//! are unknown here.

use std::collections::{HashMap, HashSet};

use scene_schemas::InstancePath;
use scene_schemas::proposal::Class;
use vector_place::reflection::is_a;
use vector_place::{Node, Scene};

use super::ProposalDraft;

/// The condition under which an instance changes others.
#[derive(Debug, Clone, Copy)]
enum EffectReach {
    /// Anywhere except in the services that only store.
    Live,
    /// Like `Live`, and the instance plays.
    Plays,
    /// A child of an existing instance of one of these classes, or of a class derived from one of
    /// them.
    Below(&'static [&'static str]),
    /// A child of a service or container of this class.
    Within(&'static str),
    /// A child of an instance of this class, with one of these names.
    Named(&'static str, &'static [&'static str]),
    /// The instance refers to an existing one.
    Holds,
}

/// A rule: instances of these classes, or of derived classes, change others if the condition holds.
struct EffectRule {
    classes: &'static [&'static str],
    reach: EffectReach,
    /// The effect, in the words of docs/review.md.
    what: &'static str,
}

/// Services whose contents have no effect until a script takes them out.
const STORES: [&str; 2] = ["ServerStorage", "ReplicatedStorage"];

static EFFECTS: [EffectRule; 26] = [
    EffectRule {
        // Roblox replaces its default scripts by name alone, so the class does not matter.
        classes: &["Instance"],
        reach: EffectReach::Named(
            "StarterPlayerScripts",
            &[
                "PlayerModule",
                "PlayerScriptsLoader",
                "RbxCharacterSounds",
                "BubbleChat",
                "ChatScript",
            ],
        ),
        what: "replaces a player script of Roblox",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Named("StarterCharacterScripts", &["Animate", "Health", "Sound"]),
        what: "replaces a character script of Roblox",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Named("StarterPlayer", &["StarterCharacter", "StarterHumanoid"]),
        what: "replaces every player's character",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Named("ReplicatedStorage", &["DefaultChatSystemChatEvents"]),
        what: "replaces Roblox's chat",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Within("Chat"),
        what: "replaces Roblox's chat",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Within("TextChatService"),
        what: "changes the chat and its commands",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Within("LocalizationService"),
        what: "changes the texts of the interface",
    },
    EffectRule {
        classes: &["Instance"],
        reach: EffectReach::Within("MaterialService"),
        what: "changes how materials look",
    },
    EffectRule {
        classes: &["PostEffect", "Sky", "Atmosphere", "Clouds"],
        reach: EffectReach::Live,
        what: "changes how the whole place looks",
    },
    EffectRule {
        classes: &["Camera"],
        reach: EffectReach::Live,
        what: "may become the current camera",
    },
    EffectRule {
        classes: &["SpawnLocation"],
        reach: EffectReach::Live,
        what: "changes where players spawn",
    },
    EffectRule {
        classes: &["Team"],
        reach: EffectReach::Live,
        what: "changes which team players join",
    },
    EffectRule {
        classes: &["Explosion"],
        reach: EffectReach::Live,
        what: "breaks joints and kills",
    },
    EffectRule {
        classes: &["Sound", "AudioPlayer", "VideoFrame", "VideoPlayer"],
        reach: EffectReach::Plays,
        what: "is heard or seen by all players",
    },
    EffectRule {
        classes: &[
            "Constraint",
            "JointInstance",
            "WeldConstraint",
            "NoCollisionConstraint",
            "ControllerBase",
            "SensorBase",
            "Wire",
        ],
        reach: EffectReach::Holds,
        what: "joins, moves or connects existing instances",
    },
    EffectRule {
        classes: &["BodyMover", "DataModelMesh", "FaceInstance", "SurfaceAppearance"],
        reach: EffectReach::Below(&["BasePart"]),
        what: "moves the part, or changes how it looks",
    },
    EffectRule {
        classes: &[
            "Humanoid",
            "ForceField",
            "Highlight",
            "AnimationController",
            "Animator",
            "ControllerManager",
            "Controller",
            "IKControl",
            "FaceControls",
        ],
        reach: EffectReach::Below(&["PVInstance", "Humanoid", "AnimationController"]),
        what: "changes how the model behaves or looks",
    },
    EffectRule {
        // Classes that let players interact with the parent. `DragDetector` derives from
        // `ClickDetector`.
        classes: &["ClickDetector", "ProximityPrompt", "Dialog"],
        reach: EffectReach::Below(&["Instance"]),
        what: "lets players act on its parent",
    },
    EffectRule {
        // Classes that draw on or around their part, or deform it. Lights are not included.
        classes: &[
            "BaseWrap",
            "WrapTextureTransfer",
            "ParticleEmitter",
            "Fire",
            "Smoke",
            "Sparkles",
            "SurfaceGuiBase",
            "BillboardGui",
        ],
        reach: EffectReach::Below(&["PVInstance", "Attachment"]),
        what: "covers or deforms the part",
    },
    EffectRule {
        classes: &["TerrainDetail"],
        reach: EffectReach::Below(&["Instance"]),
        what: "changes how the terrain looks",
    },
    EffectRule {
        // A context with a high priority that sinks its input blocks all others.
        classes: &["InputContext", "InputAction", "InputBinding"],
        reach: EffectReach::Live,
        what: "captures keys and buttons that other scripts use",
    },
    EffectRule {
        classes: &["AdGui", "AdPortal"],
        reach: EffectReach::Live,
        what: "shows advertising, or teleports players to another place",
    },
    EffectRule {
        classes: &[
            "BodyColors",
            "CharacterAppearance",
            "Accoutrement",
            "HumanoidDescription",
            "AccessoryDescription",
            "BodyPartDescription",
            "MakeupDescription",
        ],
        reach: EffectReach::Below(&["Instance"]),
        what: "dresses the character",
    },
    EffectRule {
        classes: &["UIBase", "StyleBase", "StyleLink"],
        reach: EffectReach::Below(&["Instance"]),
        what: "lays out or styles the interface around it",
    },
    EffectRule {
        classes: &["SoundEffect", "PathfindingModifier", "PathfindingLink"],
        reach: EffectReach::Below(&["Instance"]),
        what: "changes what its parent sounds like, or where characters walk",
    },
    EffectRule {
        // Any class: an adornment displays its reference, a controller moves it, and future classes
        // are unknown.
        classes: &["Instance"],
        reach: EffectReach::Holds,
        what: "refers to existing instances",
    },
];

/// Returns the effect of an instance that is known to change others. `refers` is whether it has a
/// reference.
pub(super) fn effect_of(class: &str, path: &InstancePath, refers: bool) -> Option<&'static str> {
    let names: Vec<&str> = path.segments.iter().map(|it| it.name.as_str()).collect();
    let (name, parents) = names.split_last()?;
    let reaches = |effect: &&EffectRule| match effect.reach {
        EffectReach::Live | EffectReach::Plays => {
            parents.first().is_some_and(|it| !STORES.contains(it))
        }
        EffectReach::Within(parent) => parents.last() == Some(&parent),
        EffectReach::Named(parent, names) => {
            parents.last() == Some(&parent) && names.contains(name)
        }
        EffectReach::Below(_) => true,
        EffectReach::Holds => refers || effect.classes != ["Instance"],
    };
    effects_of_class(class).find(reaches).map(|effect| effect.what)
}

/// Returns the rules for a class.
fn effects_of_class(class: &str) -> impl Iterator<Item = &'static EffectRule> {
    EFFECTS.iter().filter(move |effect| effect.classes.iter().any(|it| is_a(class, it)))
}

/// The new instances of a proposal, in their final state.
struct NewInstances<'a> {
    scene: &'a Scene,
    own: HashSet<Node>,
    /// The number of new instances per name below an existing parent.
    named: HashMap<(Node, &'a str), usize>,
    /// The rules for each class of new instances.
    rules: HashMap<&'a str, Vec<&'static EffectRule>>,
}

impl ProposalDraft<'_> {
    /// Judges the new instances at their final position, because they may have been moved, renamed
    /// or set after their creation.
    pub(super) fn judge_effects(&mut self) {
        // An inverse restores what was there before, and the user requested it.
        if self.is_inverse || self.class != Class::Additive || self.created_ids.is_empty() {
            return;
        }
        let newcomers = NewInstances::from_roots(
            self.scene,
            self.created_ids.iter().filter_map(|id| self.scene.by_id(id)),
        );
        if newcomers.own.iter().any(|node| newcomers.changes_others(*node)) {
            self.class = Class::Modifying;
        }
    }
}

impl<'a> NewInstances<'a> {
    fn from_roots(scene: &'a Scene, roots: impl Iterator<Item = Node>) -> Self {
        let mut own = HashSet::new();
        for root in roots.filter(|root| scene.is_live(*root)) {
            if !own.contains(&root) {
                own.extend(scene.subtree(root));
            }
        }
        let mut rules = HashMap::new();
        for node in &own {
            rules
                .entry(scene.class(*node))
                .or_insert_with_key(|class| effects_of_class(class).collect());
        }
        let mut newcomers = Self { scene, own, named: HashMap::new(), rules };
        let named = newcomers
            .own
            .iter()
            .filter_map(|node| Some((newcomers.old_parent(*node)?, scene.name(*node))));
        let mut count: HashMap<_, usize> = HashMap::new();
        named.for_each(|key| *count.entry(key).or_default() += 1);
        newcomers.named = count;
        newcomers
    }

    fn changes_others(&self, node: Node) -> bool {
        let mut rules = self.rules.get(self.scene.class(node)).into_iter().flatten();
        self.is_namesake(node) || rules.any(|effect| self.is_within(node, effect.reach))
    }

    /// Whether an existing sibling has the same name, so that a lookup by name finds either.
    fn is_namesake(&self, node: Node) -> bool {
        let name = self.scene.name(node);
        self.old_parent(node).is_some_and(|parent| {
            let new = self.named.get(&(parent, name)).copied().unwrap_or_default();
            self.scene.count_named(parent, name) > new
        })
    }

    fn old_parent(&self, node: Node) -> Option<Node> {
        self.scene.parent(node).filter(|parent| !self.own.contains(parent))
    }

    fn is_within(&self, node: Node, reach: EffectReach) -> bool {
        let scene = self.scene;
        match reach {
            EffectReach::Live => self.is_live(node),
            EffectReach::Plays => {
                let plays = ["Playing", "PlayOnRemove", "AutoPlay"].iter().any(|property| {
                    scene.stored_value(node, property) == Some(scene_schemas::Value::Bool(true))
                });
                plays && self.is_live(node)
            }
            EffectReach::Below(classes) => self
                .old_parent(node)
                .is_some_and(|parent| classes.iter().any(|it| is_a(scene.class(parent), it))),
            EffectReach::Within(class) => {
                scene.parent(node).is_some_and(|parent| scene.class(parent) == class)
            }
            EffectReach::Named(class, names) => {
                let is_there = scene.parent(node).is_some_and(|it| scene.class(it) == class);
                is_there && names.contains(&scene.name(node))
            }
            EffectReach::Holds => {
                let held = scene.references_out_of(node);
                held.into_iter().any(|(_, _, to)| !self.is_all_own(to))
            }
        }
    }

    fn is_live(&self, node: Node) -> bool {
        let (mut at, root) = (node, self.scene.root());
        while let Some(parent) = self.scene.parent(at).filter(|parent| *parent != root) {
            at = parent;
        }
        !STORES.contains(&self.scene.class(at))
    }

    /// Whether the instance is new, and so is the part that it belongs to. A new attachment may
    /// belong to an existing part.
    fn is_all_own(&self, node: Node) -> bool {
        let mut at = node;
        while self.own.contains(&at) {
            if is_a(self.scene.class(at), "BasePart") {
                return true;
            }
            match self.scene.parent(at) {
                Some(parent) => at = parent,
                None => return true,
            }
        }
        let belongs = ["BasePart", "Attachment"].iter().any(|it| is_a(self.scene.class(at), it));
        self.own.contains(&node) && !belongs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_page_lists_every_effect() {
        let page = include_str!("../../../../../docs/review.md");
        for EffectRule { classes, what, reach } in &EFFECTS {
            let row = page.lines().find(|line| line.starts_with("| ") && line.contains(what));
            let row = row.unwrap_or_else(|| panic!("docs/review.md does not say {what:?}"));
            for class in classes.iter().filter(|it| **it != "Instance") {
                assert!(page.contains(&format!("`{class}`")), "{row}: {class}");
            }
            if let EffectReach::Named(parent, names) = reach {
                for name in names.iter().chain([parent]) {
                    assert!(row.contains(&format!("`{name}`")), "{row}: {name}");
                }
            }
        }
    }

    #[test]
    fn effect_table_names_only_existing_classes() {
        use vector_place::reflection::find_class;
        for EffectRule { classes, reach, .. } in &EFFECTS {
            let parents = match reach {
                EffectReach::Below(classes) => classes.to_vec(),
                EffectReach::Within(it) | EffectReach::Named(it, _) => vec![*it],
                EffectReach::Live | EffectReach::Plays | EffectReach::Holds => Vec::new(),
            };
            for name in classes.iter().copied().chain(parents) {
                assert!(
                    name == "Instance" || find_class(name).is_some(),
                    "there is no class {name}"
                );
            }
        }
    }
}
