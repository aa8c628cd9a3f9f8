//! What Roblox developers talk about, as data: for each subject the words of a request, the names
//! in code that tell it, and the classes of its instances.
//!
//! Names and classes of the engine are checked against the facts about Roblox's API by a test. This
//! file must not know how they are weighed.

use super::Subject;

/// What tells a subject. Lists are separated by commas.
pub(super) struct SubjectFacts {
    pub(super) subject: Subject,
    /// The name of the subject, for people and models.
    pub(super) label: &'static str,
    /// Words that name the subject, in a request and in the names of scripts and instances:
    /// singular, lowercase. A phrase has a space.
    pub(super) words: &'static str,
    /// More words that name it in a request only: as names they say too little.
    pub(super) request_words: &'static str,
    /// Classes and members of the engine whose use in a script tells the subject.
    pub(super) api: &'static str,
    /// Names that games use by custom, such as `leaderstats`.
    pub(super) customs: &'static str,
    /// Classes of the instances that belong to the subject.
    pub(super) classes: &'static str,
    /// Classes of ancestors whose scripts belong to the subject.
    pub(super) containers: &'static str,
}

/// Returns the entries of a list.
pub(super) fn entries(list: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    list.split(", ").filter(|entry| !entry.is_empty())
}

/// All subjects, in the order of [`Subject::ALL`].
pub(super) const CATALOGUE: [SubjectFacts; Subject::ALL.len()] = [
    SubjectFacts {
        subject: Subject::Shop,
        label: "shop and purchases",
        words: "shop, store, purchase, product, gamepass, game pass, monetisation, monetization, \
            receipt, robux, vip, premium, merchant, vendor",
        request_words: "buy, sell, price, pay, donation, donate, for sale",
        api: "MarketplaceService, PromptPurchase, PromptProductPurchase, PromptGamePassPurchase, \
            PromptPremiumPurchase, ProcessReceipt, UserOwnsGamePassAsync, PlayerOwnsAsset, \
            PromptGamePassPurchaseFinished, PromptProductPurchaseFinished, GetProductInfo, \
            MembershipType",
        customs: "",
        classes: "",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Leaderstats,
        label: "leaderstats and currency",
        words: "leaderstat, leaderboard, currency, coin, cash, gem, money, score, point, gold, xp, \
            experience point, high score",
        request_words: "stat, level up, rank, kill count, earn, reward, top list",
        api: "OrderedDataStore, GetOrderedDataStore, GetSortedAsync",
        customs: "leaderstats",
        classes: "",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::DataSaving,
        label: "data saving",
        words: "datastore, data store, save, saving, player data, profile service, profile store, \
            persistence, autosave, data manager, data service, savedata",
        request_words: "data, persist, profile, rejoin, lose progress, progress",
        api: "DataStoreService, GetDataStore, GetGlobalDataStore, GetOrderedDataStore, \
            UpdateAsync, BindToClose, IncrementAsync, MemoryStoreService",
        customs: "ProfileService, ProfileStore, DataStore2, ReplicaService",
        classes: "",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Spawning,
        label: "spawning and checkpoints",
        words: "spawn, spawner, respawn, checkpoint, check point, spawnpoint, spawn location, \
            stage",
        request_words: "obby, die, start point",
        api: "RespawnLocation, LoadCharacter, CharacterAutoLoads, RespawnTime",
        customs: "Checkpoints, SpawnPoints",
        classes: "SpawnLocation",
        containers: "SpawnLocation",
    },
    SubjectFacts {
        subject: Subject::Admin,
        label: "admin and moderation",
        words: "admin, moderator, moderation, ban, kick, mute, command, anti cheat, anticheat, \
            exploit, exploiter, permission, group rank",
        request_words: "cheat, cheater, owner only, report player",
        api: "BanAsync, UnbanAsync, GetRankInGroup, GetRankInGroupAsync, Kick",
        customs: "HDAdmin, Adonis, Cmdr",
        classes: "",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Combat,
        label: "combat and tools",
        words: "combat, weapon, sword, gun, bow, melee, damage, hitbox, projectile, bullet, ammo, \
            tool, attack, kill brick, ability, spell, fireball, health, ragdoll, knockback, \
            pvp, laser",
        request_words: "fight, shoot, reload, hit, kill, cooldown, grenade, shield, heal, lava",
        api: "TakeDamage, Equipped, Unequipped, RequiresHandle, ForceField, MaxHealth",
        customs: "",
        classes: "Tool, ForceField",
        containers: "Tool",
    },
    SubjectFacts {
        subject: Subject::Interface,
        label: "user interface",
        words: "ui, gui, hud, menu, button, frame, screen gui, screen, billboard, popup, dialog, \
            health bar, tooltip, notification, label, toast, scoreboard, settings menu, \
            inventory ui",
        request_words: "interface, text box, icon, slider, panel, display, window, minimap, loading \
            screen, progress bar",
        api: "ScreenGui, BillboardGui, SurfaceGui, TextLabel, TextButton, ImageButton, \
            ImageLabel, ScrollingFrame, MouseButton1Click, PlayerGui, UIListLayout, SetCore, \
            SetCoreGuiEnabled, AbsoluteSize, UDim2",
        customs: "Roact, React, Fusion, Vide, StarterGui",
        classes: "ScreenGui, BillboardGui, SurfaceGui",
        containers: "LayerCollector, StarterGui",
    },
    SubjectFacts {
        subject: Subject::Npcs,
        label: "NPCs and pathfinding",
        words: "npc, enemy, zombie, monster, mob, pathfinding, path finding, boss, ai, slime, bot, \
            wave, quest giver, guard, villager",
        request_words: "dummy, chase, follow player, patrol, creature, animal, shopkeeper",
        api: "PathfindingService, CreatePath, ComputeAsync, GetWaypoints, MoveToFinished, \
            PathfindingModifier",
        customs: "",
        classes: "PathfindingModifier, PathfindingLink",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Vehicles,
        label: "vehicles",
        words: "vehicle, car, truck, boat, plane, kart, race, racing, bike, train, wheel, driver \
            seat, helicopter, lap",
        request_words: "drive, driving, steer, steering, tank, seat",
        api: "VehicleSeat, ThrottleFloat, SteerFloat, MaxSpeed, HingeConstraint",
        customs: "",
        classes: "VehicleSeat",
        containers: "VehicleSeat",
    },
    SubjectFacts {
        subject: Subject::Lighting,
        label: "lighting and atmosphere",
        words: "lighting, atmosphere, day night, daynight, sky, skybox, fog, bloom, weather, time \
            of day, sun, ambient, shadow, rain, snow",
        request_words: "night, sunset, dark, darker, bright, brighter, lamp, torch, mood, light",
        api: "Lighting, ClockTime, TimeOfDay, SetMinutesAfterMidnight, FogEnd, OutdoorAmbient, \
            Atmosphere, BloomEffect, ColorCorrectionEffect, PointLight, SpotLight, \
            SunRaysEffect",
        customs: "",
        classes: "Atmosphere, Sky, PostEffect, Clouds, Light",
        containers: "Lighting",
    },
    SubjectFacts {
        subject: Subject::Sound,
        label: "sound and music",
        words: "sound, music, audio, song, sfx, ambience, jukebox, footstep",
        request_words: "volume, loud, play a track, mute music, noise",
        api: "SoundService, PlaybackSpeed, TimePosition, SoundId, PlayLocalSound, SoundGroup, \
            AudioPlayer, RollOffMaxDistance",
        customs: "",
        classes: "Sound, SoundGroup, AudioPlayer",
        containers: "SoundService, Sound",
    },
    SubjectFacts {
        subject: Subject::Rounds,
        label: "teams and rounds",
        words: "round, team, match, lobby, intermission, voting, vote, game loop, minigame, mini \
            game, map vote, tournament, matchmaking, timer, countdown",
        request_words: "winner, win, versus, capture the flag, red team, blue team",
        api: "Teams, TeamColor, AutoAssignable, GetTeams",
        customs: "Intermission, RoundSystem",
        classes: "Team",
        containers: "Teams",
    },
    SubjectFacts {
        subject: Subject::Remotes,
        label: "remotes and networking",
        words: "remote, remote event, remote function, network, networking, net, comm, \
            replication, bridge net",
        request_words: "server authority, client to server, validate on the server, bandwidth, rate limit",
        api: "RemoteEvent, RemoteFunction, UnreliableRemoteEvent, FireServer, FireClient, \
            FireAllClients, OnServerEvent, OnClientEvent, InvokeServer, OnServerInvoke",
        customs: "Knit, BridgeNet2, ByteNet, Zap, Red",
        classes: "RemoteEvent, RemoteFunction, UnreliableRemoteEvent",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Chat,
        label: "chat",
        words: "chat, chat tag, chat command, chat message, bubble chat",
        request_words: "whisper, say in chat",
        api: "TextChatService, SendAsync, TextChannel, OnIncomingMessage, Chatted, \
            FilterStringAsync, DisplaySystemMessage, TextChatCommand",
        customs: "",
        classes: "TextChannel, TextChatCommand",
        containers: "TextChatService",
    },
    SubjectFacts {
        subject: Subject::Animation,
        label: "animation and effects",
        words: "animation, animate, anim, tween, particle, effect, vfx, camera shake, emote, \
            dance, explosion, trail, beam",
        request_words: "fade, spin, rotate, glow, pulse, flicker, slide",
        api: "TweenService, TweenInfo, LoadAnimation, AnimationTrack, Animator, AnimationId, \
            ParticleEmitter, Emit, KeyframeSequence",
        customs: "",
        classes: "Animation, ParticleEmitter, Trail, Beam",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Movement,
        label: "movement and camera",
        words: "movement, sprint, dash, double jump, jump, walk speed, walkspeed, camera, gravity, \
            parkour, climb, stamina, crouch, swim, wall jump, character controller",
        request_words: "run faster, walk, fly, slide, speed, first person, third person, zoom",
        api: "WalkSpeed, JumpPower, JumpHeight, UserInputService, ContextActionService, \
            CurrentCamera, CameraType, ChangeState, MoveDirection, LinearVelocity",
        customs: "",
        classes: "",
        containers: "StarterCharacterScripts",
    },
    SubjectFacts {
        subject: Subject::Inventory,
        label: "inventory, pets and trading",
        words: "inventory, backpack, pet, egg, hatch, trade, trading, loot, crate, item, \
            equipment, crafting, craft, collectible, hotbar, loot table",
        request_words: "pick up, pickup, collect, drop",
        api: "Backpack, StarterPack",
        customs: "",
        classes: "",
        containers: "StarterPack",
    },
    SubjectFacts {
        subject: Subject::Doors,
        label: "doors, prompts and platforms",
        words: "door, gate, proximity prompt, prompt, elevator, platform, conveyor, lever, switch, \
            trap, portal, teleporter, trampoline, bridge, key card",
        request_words: "open, close, press e, teleport pad, lift, interact",
        api: "ProximityPrompt, ClickDetector, PrismaticConstraint, MouseClick",
        customs: "",
        classes: "ProximityPrompt, ClickDetector",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Quests,
        label: "quests, badges and rewards",
        words: "quest, badge, achievement, daily reward, mission, task list, tutorial, login \
            streak, code redeem, redeem, promo code, battle pass",
        request_words: "objective, dialogue, reward, story",
        api: "BadgeService, AwardBadge, UserHasBadgeAsync",
        customs: "",
        classes: "Dialog",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Teleporting,
        label: "teleporting between places",
        words: "teleport, teleport service, reserved server, private server, sub place, party, \
            queue",
        request_words: "server hop, another place, cross server",
        api: "TeleportService, TeleportAsync, ReserveServer, TeleportOptions, MessagingService, \
            PublishAsync, SubscribeAsync, GetLocalPlayerTeleportData",
        customs: "",
        classes: "",
        containers: "",
    },
    SubjectFacts {
        subject: Subject::Building,
        label: "terrain and building",
        words: "terrain, build system, plot, tycoon, placement, dropper, map generation, map, \
            baseplate, procedural, grid, house, tree, island, mountain",
        request_words: "part, wall, floor, road, tower, model, material, color, colour, block, brick, \
            village, city, anchor, roof, ramp, river",
        api: "Terrain, FillBlock, FillBall, WriteVoxels, ReplaceMaterial, FillRegion",
        customs: "",
        classes: "",
        containers: "",
    },
];
