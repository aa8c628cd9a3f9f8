//! The supported MCP clients: where each stores its servers, and in which format.
//!
//! Sources, as of November 2026:
//! - Claude Code: <https://code.claude.com/docs/en/mcp> (user scope). If `CLAUDE_CONFIG_DIR` is
//!   set, the file is in that folder.
//! - Claude Desktop: <https://modelcontextprotocol.io/docs/develop/connect-local-servers>. Its
//!   package for Windows reads a separate folder:
//!   <https://github.com/anthropics/claude-code/issues/26073>. For Linux there are unofficial
//!   builds.
//! - Cursor: <https://cursor.com/docs/mcp>.
//! - VS Code: <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>.
//! - Codex: <https://developers.openai.com/codex/mcp>, `CODEX_HOME`.
//! - Gemini CLI: <https://geminicli.com/docs/tools/mcp-server>, `GEMINI_CLI_HOME`.
//! - Windsurf: <https://docs.windsurf.com/windsurf/cascade/mcp>.
//!
//! This module does not read the files.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum McpClient {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Windsurf
    Windsurf,
}

/// The format in which a client stores its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// An object in a JSON file, under this key.
    Json {
        servers: &'static str,
        /// Whether an entry states that it uses stdio.
        says_stdio: bool,
    },
    /// Tables in a TOML file, below this one.
    Toml { servers: &'static str },
}

/// The kind of operating system, which determines where programs keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemKind {
    /// Linux and the BSDs.
    Unix,
    Mac,
    Windows,
}

/// The user's folders on this machine.
pub(super) struct UserMachine<'a> {
    pub(super) system: SystemKind,
    pub(super) home: PathBuf,
    /// The folder of programs' settings.
    pub(super) config: PathBuf,
    /// The folder of programs' data that stays on this machine.
    pub(super) local: PathBuf,
    pub(super) env: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> UserMachine<'a> {
    /// Detects the folders of this machine. On Windows, environment variables take precedence, as
    /// they do in the clients.
    pub(super) fn detect(env: &'a dyn Fn(&str) -> Option<OsString>) -> anyhow::Result<Self> {
        let base = directories::BaseDirs::new().context("there is no home directory; set HOME")?;
        let system = if cfg!(windows) {
            SystemKind::Windows
        } else if cfg!(target_os = "macos") {
            SystemKind::Mac
        } else {
            SystemKind::Unix
        };
        let windows_folder = |name: &str, otherwise: PathBuf| match env(name) {
            Some(folder) if system == SystemKind::Windows => PathBuf::from(folder),
            _ => otherwise,
        };
        let home = windows_folder("USERPROFILE", base.home_dir().to_owned());
        let config = windows_folder("APPDATA", base.config_dir().to_owned());
        let local = windows_folder("LOCALAPPDATA", base.data_local_dir().to_owned());
        Ok(Self { system, home, config, local, env })
    }

    /// A folder that an environment variable can override.
    fn folder_from_env(&self, variable: &str, usual: PathBuf) -> PathBuf {
        let configured = (self.env)(variable).filter(|folder| !folder.is_empty());
        configured.map_or(usual, PathBuf::from)
    }

    /// Claude Desktop's folder. The Windows package has a separate one.
    fn claude_folder(&self) -> PathBuf {
        let usual = self.config.join("Claude");
        if self.system != SystemKind::Windows {
            return usual;
        }
        let packages = fs::read_dir(self.local.join("Packages")).into_iter().flatten().flatten();
        packages
            .filter(|package| package.file_name().to_string_lossy().starts_with("Claude_"))
            .map(|package| package.path().join("LocalCache").join("Roaming").join("Claude"))
            .find(|folder| folder.is_dir())
            .unwrap_or(usual)
    }
}

impl McpClient {
    pub(super) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// The client's name as a command-line argument.
    pub(super) fn argument_name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The client's display name.
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Windsurf => "Windsurf",
        }
    }

    /// The format of the client's file.
    pub(super) fn file_format(self) -> FileFormat {
        let servers = "mcpServers";
        match self {
            Self::ClaudeCode => FileFormat::Json { servers, says_stdio: true },
            Self::Vscode => FileFormat::Json { servers: "servers", says_stdio: true },
            Self::Codex => FileFormat::Toml { servers: "mcp_servers" },
            Self::ClaudeDesktop | Self::Cursor | Self::Gemini | Self::Windsurf => {
                FileFormat::Json { servers, says_stdio: false }
            }
        }
    }

    /// The path of the file that contains the client's servers.
    pub(super) fn config_file(self, machine: &UserMachine<'_>) -> PathBuf {
        let UserMachine { home, config, .. } = machine;
        match self {
            Self::ClaudeCode => {
                machine.folder_from_env("CLAUDE_CONFIG_DIR", home.clone()).join(".claude.json")
            }
            Self::ClaudeDesktop => machine.claude_folder().join("claude_desktop_config.json"),
            Self::Cursor => home.join(".cursor").join("mcp.json"),
            Self::Vscode => config.join("Code").join("User").join("mcp.json"),
            Self::Codex => {
                machine.folder_from_env("CODEX_HOME", home.join(".codex")).join("config.toml")
            }
            Self::Gemini => {
                let home = machine.folder_from_env("GEMINI_CLI_HOME", home.clone());
                home.join(".gemini").join("settings.json")
            }
            Self::Windsurf => home.join(".codeium").join("windsurf").join("mcp_config.json"),
        }
    }

    /// Whether the client has left a trace: its file, or a folder of the client.
    pub(super) fn is_installed(self, machine: &UserMachine<'_>) -> bool {
        let file = self.config_file(machine);
        let folder = match self {
            Self::ClaudeCode => Some(machine.home.join(".claude")),
            Self::Vscode => Some(machine.config.join("Code")),
            _ => file.parent().map(PathBuf::from),
        };
        fs::symlink_metadata(&file).is_ok() || folder.is_some_and(|folder| folder.is_dir())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(system: SystemKind, env: &dyn Fn(&str) -> Option<OsString>, expected: [&str; 7]) {
        let root = tempfile::tempdir().unwrap();
        let at = |folder: &str| root.path().join(folder);
        let machine =
            UserMachine { system, home: at("home"), config: at("config"), local: at("local"), env };
        let found: Vec<PathBuf> =
            McpClient::all().iter().map(|it| it.config_file(&machine)).collect();
        assert_eq!(found, expected.map(at));
        assert!(McpClient::all().iter().all(|client| !client.is_installed(&machine)));
        for (client, file) in McpClient::all().iter().zip(&found) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
            assert!(client.is_installed(&machine), "{client:?}");
        }
    }

    const USUAL: [&str; 7] = [
        "home/.claude.json",
        "config/Claude/claude_desktop_config.json",
        "home/.cursor/mcp.json",
        "config/Code/User/mcp.json",
        "home/.codex/config.toml",
        "home/.gemini/settings.json",
        "home/.codeium/windsurf/mcp_config.json",
    ];

    #[test]
    fn each_client_has_its_config_file() {
        for system in [SystemKind::Unix, SystemKind::Mac, SystemKind::Windows] {
            check(system, &|_| None, USUAL);
        }
    }

    #[test]
    fn variables_relocate_config_files() {
        let root = tempfile::tempdir().unwrap();
        let env = |_: &str| Some(root.path().as_os_str().to_owned());
        let folder = || root.path().join("other");
        let (home, config, local) = (folder(), folder(), folder());
        let machine = UserMachine { system: SystemKind::Unix, home, config, local, env: &env };
        let moved = |client: McpClient| client.config_file(&machine);
        assert_eq!(moved(McpClient::ClaudeCode), root.path().join(".claude.json"));
        assert_eq!(moved(McpClient::Codex), root.path().join("config.toml"));
        assert_eq!(moved(McpClient::Gemini), root.path().join(".gemini").join("settings.json"));
        assert_eq!(moved(McpClient::Cursor), folder().join(".cursor").join("mcp.json"));
    }

    #[test]
    fn packaged_windows_app_uses_its_own_folder() {
        let root = tempfile::tempdir().unwrap();
        let of_package = root.path().join("Packages/Claude_x/LocalCache/Roaming/Claude");
        fs::create_dir_all(&of_package).unwrap();
        let folder = || root.path().to_owned();
        let (home, config, local) = (folder(), folder(), folder());
        let mut machine =
            UserMachine { system: SystemKind::Windows, home, config, local, env: &|_| None };
        let file = "claude_desktop_config.json";
        assert_eq!(McpClient::ClaudeDesktop.config_file(&machine), of_package.join(file));
        machine.system = SystemKind::Unix;
        assert_eq!(
            McpClient::ClaudeDesktop.config_file(&machine),
            root.path().join("Claude").join(file)
        );
    }
}
