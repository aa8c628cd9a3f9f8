//! The default rules for reading a file by its name; a project may override them.
//!
//! The table is Rojo's. Rojo calls each way of reading a middleware, and project files use these
//! names.

/// A way of reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileMiddleware {
    Script(ScriptKind),
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
pub(super) enum ScriptKind {
    /// The class depends on `emitLegacyScripts`.
    Server,
    /// The class depends on `emitLegacyScripts`.
    Client,
    Module,
    Plugin,
    LegacyServer,
    LegacyClient,
    RunContextServer,
    RunContextClient,
}

const LEGACY: u32 = 0;
const SERVER: u32 = 1;
const CLIENT: u32 = 2;
const PLUGIN: u32 = 3;

impl ScriptKind {
    /// Returns the class, and the `RunContext` if one is stored.
    pub(super) fn class_and_context(
        self,
        emit_legacy_scripts: bool,
    ) -> (&'static str, Option<u32>) {
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

/// The files that define the class of a folder, in the order of precedence.
pub(super) const INIT_FILES: [(&str, FileMiddleware); 9] = [
    ("init.luau", FileMiddleware::Script(ScriptKind::Module)),
    ("init.lua", FileMiddleware::Script(ScriptKind::Module)),
    ("init.server.luau", FileMiddleware::Script(ScriptKind::Server)),
    ("init.server.lua", FileMiddleware::Script(ScriptKind::Server)),
    ("init.client.luau", FileMiddleware::Script(ScriptKind::Client)),
    ("init.client.lua", FileMiddleware::Script(ScriptKind::Client)),
    ("init.plugin.lua", FileMiddleware::Script(ScriptKind::Plugin)),
    ("init.plugin.luau", FileMiddleware::Script(ScriptKind::Plugin)),
    ("init.csv", FileMiddleware::Csv),
];

/// The order in which Rojo lists the `init` files of a folder.
pub(super) const LISTED_INIT_FILES: [&str; 9] = [
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

/// The middleware for each file name suffix; the first match applies. The instance name does not
/// include the suffix.
const BY_SUFFIX: [(&str, FileMiddleware); 21] = [
    (".server.lua", FileMiddleware::Script(ScriptKind::Server)),
    (".server.luau", FileMiddleware::Script(ScriptKind::Server)),
    (".client.lua", FileMiddleware::Script(ScriptKind::Client)),
    (".client.luau", FileMiddleware::Script(ScriptKind::Client)),
    (".plugin.lua", FileMiddleware::Script(ScriptKind::Plugin)),
    (".plugin.luau", FileMiddleware::Script(ScriptKind::Plugin)),
    (".lua", FileMiddleware::Script(ScriptKind::Module)),
    (".luau", FileMiddleware::Script(ScriptKind::Module)),
    (".project.json", FileMiddleware::Project),
    (".project.jsonc", FileMiddleware::Project),
    (".model.json", FileMiddleware::JsonModel),
    (".model.jsonc", FileMiddleware::JsonModel),
    (".json", FileMiddleware::Json),
    (".jsonc", FileMiddleware::Json),
    (".toml", FileMiddleware::Toml),
    (".csv", FileMiddleware::Csv),
    (".txt", FileMiddleware::Text),
    (".rbxmx", FileMiddleware::Xml),
    (".rbxm", FileMiddleware::Binary),
    (".yml", FileMiddleware::Yaml),
    (".yaml", FileMiddleware::Yaml),
];

impl FileMiddleware {
    /// Returns the middleware with this name in project files.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "csv" => Self::Csv,
            "jsonModel" => Self::JsonModel,
            "json" => Self::Json,
            "serverScript" => Self::Script(ScriptKind::Server),
            "clientScript" => Self::Script(ScriptKind::Client),
            "moduleScript" => Self::Script(ScriptKind::Module),
            "pluginScript" => Self::Script(ScriptKind::Plugin),
            "legacyClientScript" => Self::Script(ScriptKind::LegacyClient),
            "legacyServerScript" => Self::Script(ScriptKind::LegacyServer),
            "runContextServerScript" => Self::Script(ScriptKind::RunContextServer),
            "runContextClientScript" => Self::Script(ScriptKind::RunContextClient),
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

    /// Returns the default middleware for a file name and the name of the instance. Returns None
    /// for meta files and unknown suffixes.
    pub(super) fn from_file_name(file_name: &str) -> Option<(Self, &str)> {
        let (suffix, middleware) = BY_SUFFIX.iter().find(|(end, _)| file_name.ends_with(end))?;
        let is_meta = *middleware == Self::Json && is_meta(file_name);
        // For other kinds, Rojo takes the file stem instead of removing the suffix: a file `.lua`
        // gets the name `.lua`.
        let name = match middleware {
            Self::Project | Self::JsonModel | Self::Json => strip_suffix(file_name, suffix),
            Self::Script(ScriptKind::Server | ScriptKind::Client | ScriptKind::Plugin) => {
                strip_suffix(file_name, suffix)
            }
            _ => file_stem(file_name),
        };
        (!is_meta).then_some((*middleware, name))
    }
}

/// Whether a file with this name is a meta file, which adds settings to other files.
pub(super) fn is_meta(file_name: &str) -> bool {
    file_name.ends_with(".meta.json") || file_name.ends_with(".meta.jsonc")
}

fn strip_suffix<'a>(file_name: &'a str, suffix: &str) -> &'a str {
    file_name.strip_suffix(suffix).unwrap_or(file_name)
}

/// Returns a file name without its last extension.
pub(super) fn file_stem(file_name: &str) -> &str {
    match file_name.rfind('.') {
        None | Some(0) => file_name,
        Some(dot) => &file_name[..dot],
    }
}
