//! What a file is read as, by its name: the rules that hold where a project has no own.
//!
//! The table is Rojo's; it calls each way of reading a middleware, and projects name them so.

/// A way of reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Middleware {
    Script(Script),
    Project,
    JsonModel,
    Binary,
    Xml,
    Json,
    Toml,
    Yaml,
    Csv,
    Text,
    Ignore,
}

/// The kinds of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Of the class that `emitLegacyScripts` says.
    Server,
    /// Of the class that `emitLegacyScripts` says.
    Client,
    Module,
    Plugin,
    LegacyServer,
    LegacyClient,
    RunContextServer,
    RunContextClient,
}

/// `Enum.RunContext`
const LEGACY: u32 = 0;
const SERVER: u32 = 1;
const CLIENT: u32 = 2;
const PLUGIN: u32 = 3;

impl Script {
    /// Its class, and its `RunContext` where one is stored.
    pub(super) fn class(self, emit_legacy_scripts: bool) -> (&'static str, Option<u32>) {
        match self {
            Self::Server if emit_legacy_scripts => ("Script", Some(LEGACY)),
            Self::Client if emit_legacy_scripts => ("LocalScript", None),
            Self::Server | Self::RunContextServer => ("Script", Some(SERVER)),
            Self::Client | Self::RunContextClient => ("Script", Some(CLIENT)),
            Self::Module => ("ModuleScript", None),
            Self::Plugin => ("Script", Some(PLUGIN)),
            Self::LegacyServer => ("Script", Some(LEGACY)),
            Self::LegacyClient => ("LocalScript", None),
        }
    }
}

/// The files that say what a folder is, in the order in which they are looked for.
pub(super) const INITS: [(&str, Middleware); 9] = [
    ("init.luau", Middleware::Script(Script::Module)),
    ("init.lua", Middleware::Script(Script::Module)),
    ("init.server.luau", Middleware::Script(Script::Server)),
    ("init.server.lua", Middleware::Script(Script::Server)),
    ("init.client.luau", Middleware::Script(Script::Client)),
    ("init.client.lua", Middleware::Script(Script::Client)),
    ("init.plugin.lua", Middleware::Script(Script::Plugin)),
    ("init.plugin.luau", Middleware::Script(Script::Plugin)),
    ("init.csv", Middleware::Csv),
];

/// The order in which Rojo lists the `init` files of a folder.
pub(super) const LISTED_INITS: [&str; 9] = [
    "init.lua",
    "init.luau",
    "init.server.lua",
    "init.server.luau",
    "init.client.lua",
    "init.client.luau",
    "init.plugin.lua",
    "init.plugin.luau",
    "init.csv",
];

/// By the end of the name; the first that fits. The end is cut off for the instance's name.
const BY_SUFFIX: [(&str, Middleware); 21] = [
    (".server.lua", Middleware::Script(Script::Server)),
    (".server.luau", Middleware::Script(Script::Server)),
    (".client.lua", Middleware::Script(Script::Client)),
    (".client.luau", Middleware::Script(Script::Client)),
    (".plugin.lua", Middleware::Script(Script::Plugin)),
    (".plugin.luau", Middleware::Script(Script::Plugin)),
    (".lua", Middleware::Script(Script::Module)),
    (".luau", Middleware::Script(Script::Module)),
    (".project.json", Middleware::Project),
    (".project.jsonc", Middleware::Project),
    (".model.json", Middleware::JsonModel),
    (".model.jsonc", Middleware::JsonModel),
    (".json", Middleware::Json),
    (".jsonc", Middleware::Json),
    (".toml", Middleware::Toml),
    (".csv", Middleware::Csv),
    (".txt", Middleware::Text),
    (".rbxmx", Middleware::Xml),
    (".rbxm", Middleware::Binary),
    (".yml", Middleware::Yaml),
    (".yaml", Middleware::Yaml),
];

impl Middleware {
    /// The way of reading that a project calls so.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "csv" => Self::Csv,
            "jsonModel" => Self::JsonModel,
            "json" => Self::Json,
            "serverScript" => Self::Script(Script::Server),
            "clientScript" => Self::Script(Script::Client),
            "moduleScript" => Self::Script(Script::Module),
            "pluginScript" => Self::Script(Script::Plugin),
            "legacyClientScript" => Self::Script(Script::LegacyClient),
            "legacyServerScript" => Self::Script(Script::LegacyServer),
            "runContextServerScript" => Self::Script(Script::RunContextServer),
            "runContextClientScript" => Self::Script(Script::RunContextClient),
            "project" => Self::Project,
            "rbxm" => Self::Binary,
            "rbxmx" => Self::Xml,
            "toml" => Self::Toml,
            "text" => Self::Text,
            "yaml" => Self::Yaml,
            "ignore" => Self::Ignore,
            _ => return None,
        })
    }

    /// What a file of this name is read as where no rule of a project is for it, and the name of the
    /// instance.
    pub(super) fn of(file_name: &str) -> Option<(Self, &str)> {
        let (suffix, middleware) = BY_SUFFIX.iter().find(|(end, _)| file_name.ends_with(end))?;
        let is_meta = *middleware == Self::Json && is_meta(file_name);
        // Rojo takes the stem where it does not name the end: a file `.lua` is called so.
        let name = match middleware {
            Self::Project | Self::JsonModel | Self::Json => cut(file_name, suffix),
            Self::Script(Script::Server | Script::Client | Script::Plugin) => {
                cut(file_name, suffix)
            }
            _ => stem(file_name),
        };
        (!is_meta).then_some((*middleware, name))
    }
}

/// Whether a file of this name says something about others.
pub(super) fn is_meta(file_name: &str) -> bool {
    file_name.ends_with(".meta.json") || file_name.ends_with(".meta.jsonc")
}

fn cut<'a>(file_name: &'a str, suffix: &str) -> &'a str {
    file_name.strip_suffix(suffix).unwrap_or(file_name)
}

/// A file's name without what stands behind its last dot.
pub(super) fn stem(file_name: &str) -> &str {
    match file_name.rfind('.') {
        None | Some(0) => file_name,
        Some(dot) => &file_name[..dot],
    }
}
