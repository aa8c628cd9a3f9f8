//! `vector setup`: the entries it writes to the files of other programs, and their complete
//! removal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};

use super::{ended, text};

/// A user with a home directory, and without Studio.
struct Person(Home);

const JSON_CLIENTS: [(&str, &str); 6] = [
    ("claude-code", "mcpServers"),
    ("claude-desktop", "mcpServers"),
    ("cursor", "mcpServers"),
    ("vscode", "servers"),
    ("gemini", "mcpServers"),
    ("windsurf", "mcpServers"),
];

impl Person {
    fn new() -> Self {
        let home = Home::new();
        // The folder in which a system keeps settings exists before any program does.
        for folder in [".config", "Library/Application Support", "AppData/Roaming", "AppData/Local"]
        {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        Self(home)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, client: &str) -> PathBuf {
        let config = if binary::is_for_windows() {
            "AppData/Roaming"
        } else if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".config"
        };
        match client {
            "claude-code" => self.at(".claude.json"),
            "claude-desktop" => self.at(config).join("Claude").join("claude_desktop_config.json"),
            "cursor" => self.at(".cursor/mcp.json"),
            "vscode" => self.at(config).join("Code").join("User").join("mcp.json"),
            "codex" => self.at(".codex/config.toml"),
            "gemini" => self.at(".gemini/settings.json"),
            "windsurf" => self.at(".codeium/windsurf/mcp_config.json"),
            other => panic!("no client {other}"),
        }
    }

    fn write(&self, client: &str, text: &str) -> PathBuf {
        let file = self.file(client);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    /// Runs `vector setup` with these variables. Without any, skips the Studio plugin.
    fn run_with(&self, variables: &[(&str, &Path)], args: &[&str]) -> Output {
        let mut command = self.0.command(&["setup"]);
        command.args(args).env("USERPROFILE", binary::path_there(self.0.path()));
        command
            .env("APPDATA", binary::path_there(&self.at("AppData/Roaming")))
            .env("LOCALAPPDATA", binary::path_there(&self.at("AppData/Local")));
        command.envs(variables.iter().copied());
        if variables.is_empty() {
            command.arg("--no-plugin");
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Output { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        let output = self.run_with(&[], args);
        ended(&output, 0);
        output
    }

    /// All files with their contents, and all folders.
    fn all(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path.clone());
                    found.insert(path, None);
                } else {
                    found.insert(path.clone(), Some(fs::read(path).unwrap()));
                }
            }
        }
        found
    }

    fn home_args(&self) -> Json {
        json!(["mcp", "--home", binary::path_there(&self.at("vector"))])
    }
}

/// Vector's entry in a JSON file without comments.
fn entry(file: &Path, servers: &str) -> Json {
    let text = fs::read_to_string(file).unwrap();
    let value: Json = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    value[servers]["vector"].clone()
}

/// Shapes of existing JSON files. `SERVERS` is the client's key.
const JSON_SHAPES: [&str; 9] = [
    "",
    "{}",
    "{}\r\n",
    "\u{feff}{\r\n    \"numStartups\": 3\r\n}",
    "{\"numStartups\":3,\"projects\":{\"/a\":{\"mcpServers\":{}}}}",
    "{\n\t\"SERVERS\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"npx\"\n\t\t}\n\t},\n\t\"x\": 1e3\n}\n",
    "// mine\n{\n\n  \"SERVERS\": {\n    // none yet\n  }, /* , */\n\n  // \"vector\": {}\n}\n",
    "{\n  \"SERVERS\": { \"other\": { \"command\": \"x\" }, },\n}",
    "{\"SERVERS\": {}}\n\n",
];

const TOML_SHAPES: [&str; 5] = [
    "",
    "model = \"x\"",
    "# mine\r\nmodel = \"x\"\r\n\r\n[mcp_servers.other]\r\ncommand = 'npx' # other\r\n",
    "\u{feff}[tui]\n\n\n",
    "[mcp_servers]\n[mcp_servers.other]\ncommand = \"npx\"\n[projects.'/a']\ntrust_level = '''x\n[x]'''\n",
];

/// Sets a client up twice and removes it. Asserts that all files are as before.
#[track_caller]
fn there_and_back(client: &str, shape: Option<&str>) {
    let person = Person::new();
    let file = person.file(client);
    if let Some(shape) = shape {
        person.write(client, shape);
    }
    let before = person.all();
    let first = person.run(&["--client", client]);
    assert!(first.stdout.contains("added to"), "{shape:?}: {}", first.stdout);
    let written = fs::read_to_string(&file).unwrap();
    let kept = |part: &str| written.contains(part);
    assert!(shape.unwrap_or_default().lines().filter(|line| line.contains("//")).all(kept));
    let put = person.all();
    let again = person.run(&["--client", client]);
    assert!(again.stdout.contains("already in"), "{shape:?}: {}", again.stdout);
    assert!(person.all() == put, "{shape:?}: the second run changed something");
    let removed = person.run(&["--client", client, "--remove"]);
    assert!(removed.stdout.contains("removed from"), "{shape:?}: {}", removed.stdout);
    assert!(person.all() == before, "{client}: {shape:?}: {:?}", person.all());
}

#[test]
fn remove_restores_every_client_file_exactly() {
    for (client, servers) in JSON_CLIENTS {
        there_and_back(client, None);
        for shape in JSON_SHAPES {
            there_and_back(client, Some(&shape.replace("SERVERS", servers)));
        }
    }
    there_and_back("codex", None);
    for shape in TOML_SHAPES {
        there_and_back("codex", Some(shape));
    }
}

#[test]
fn entry_has_the_format_its_client_reads() {
    let person = Person::new();
    for (client, _) in JSON_CLIENTS {
        person.write(client, "{\"x\": 1}");
    }
    person.write("codex", "x = 1\n");
    person.run(&[]);
    let command = binary::own_path();
    for (client, servers) in JSON_CLIENTS {
        let mut expected = json!({ "command": command, "args": person.home_args() });
        if matches!(client, "claude-code" | "vscode") {
            expected["type"] = "stdio".into();
        }
        assert_eq!(entry(&person.file(client), servers), expected, "{client}");
    }
    let codex: toml::Table = fs::read_to_string(person.file("codex")).unwrap().parse().unwrap();
    let found = serde_json::to_value(&codex["mcp_servers"]["vector"]).unwrap();
    assert_eq!(found, json!({ "command": command, "args": person.home_args() }));
    assert_eq!(codex["x"].as_integer(), Some(1));
}

#[test]
fn only_installed_clients_are_set_up() {
    let person = Person::new();
    person.write("cursor", "{}");
    fs::create_dir_all(person.at(".codex")).unwrap();
    let done = person.run(&[]);
    assert!(done.stdout.contains("Cursor: added to"), "{}", done.stdout);
    assert!(done.stdout.contains("Codex: added to"), "{}", done.stdout);
    let missing = "Not found: Claude Code, Claude Desktop, VS Code, Gemini CLI, Windsurf";
    assert!(done.stdout.contains(missing), "{}", done.stdout);
    assert!(done.stdout.contains("vector review"), "{}", done.stdout);
    for client in ["claude-code", "claude-desktop", "vscode", "gemini", "windsurf"] {
        assert!(!person.file(client).exists(), "{client}");
    }
    let unknown = person.run_with(&[], &["--client", "emacs"]);
    ended(&unknown, 2);
}

#[test]
fn environment_variables_relocate_client_files() {
    let person = Person::new();
    let moved = person.at("moved");
    fs::create_dir_all(&moved).unwrap();
    fs::write(moved.join("config.toml"), "").unwrap();
    let variables = [("CODEX_HOME", &*moved), ("CLAUDE_CONFIG_DIR", &*moved)];
    let args = ["--client", "codex", "--client", "claude-code", "--no-plugin"];
    ended(&person.run_with(&variables, &args), 0);
    assert!(
        fs::read_to_string(moved.join("config.toml")).unwrap().contains("[mcp_servers.vector]")
    );
    assert!(!entry(&moved.join(".claude.json"), "mcpServers").is_null());
    // Without the variables, `--remove` still finds what was written.
    person.run(&["--remove"]);
    assert_eq!(fs::read_to_string(moved.join("config.toml")).unwrap(), "");
    assert!(!moved.join(".claude.json").exists());
}

#[test]
fn dry_run_shows_a_diff_and_writes_nothing() {
    let person = Person::new();
    person.write("cursor", "{\n  \"mcpServers\": {\n    \"a\u{1b}\": {}\n  }\n}\n");
    person.write("codex", "x = 1");
    let before = person.all();
    let shown =
        person.run(&["--dry-run", "--client", "cursor", "--client", "codex", "--client", "gemini"]);
    assert!(person.all() == before);
    for part in [
        "Cursor: would be added to",
        "-    \"a␛\": {}\n+    \"a␛\": {},\n+    \"vector\": {\n",
        "--- /dev/null\n",
        "+[mcp_servers.vector]\n",
        "\\ No newline at end of file",
        "Nothing was written.",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    person.run(&["--client", "cursor"]);
    let before = person.all();
    let shown = person.run(&["--dry-run", "--remove"]);
    assert!(shown.stdout.contains("-    \"vector\": {\n"), "{}", shown.stdout);
    assert!(person.all() == before);
}

#[test]
fn unreadable_file_is_left_alone_and_others_are_written() {
    let broken = [
        ("cursor", "{\"mcpServers\": {", "it is not JSON"),
        ("gemini", "[]", "it is not an object"),
        ("windsurf", "{\"mcpServers\": []}", "its `mcpServers` is not an object"),
        ("codex", "a = 1\nmcp_servers = {}\n", "not written as tables"),
    ];
    let person = Person::new();
    for (client, broken, _) in broken {
        person.write(client, broken);
    }
    fs::write(person.write("vscode", ""), b"{} // \xff").unwrap();
    person.write("claude-code", "{}");
    let done = person.run_with(&[], &[]);
    ended(&done, 1);
    for (client, broken, why) in broken {
        assert_eq!(fs::read_to_string(person.file(client)).unwrap(), broken);
        assert!(done.stderr.contains(why), "{why}: {}", done.stderr);
    }
    assert!(done.stderr.contains("it is not UTF-8"), "{}", done.stderr);
    assert_eq!(fs::read(person.file("vscode")).unwrap(), b"{} // \xff");
    assert!(done.stdout.contains("Claude Code: added to"), "{}", done.stdout);
    fs::write(person.file("codex"), "mcp_servers = [").unwrap();
    let done = person.run_with(&[], &["--client", "codex"]);
    assert!(done.stderr.contains("it is not TOML: line 1"), "{}", done.stderr);
}

#[test]
fn foreign_entry_is_replaced_only_with_force() {
    let person = Person::new();
    let theirs =
        "{\"mcpServers\": {\"vector\": {\"command\": \"npx\", \"args\": [\"their-vector\"]}}}\n";
    let file = person.write("cursor", theirs);
    let before = person.all();
    let refused = person.run_with(&[], &[]);
    ended(&refused, 1);
    assert!(refused.stderr.contains("(`npx their-vector`)"), "{}", refused.stderr);
    let left = person.run(&["--remove"]);
    assert!(left.stdout.contains("that setup did not write"), "{}", left.stdout);
    assert!(person.all() == before);
    person.run(&["--force"]);
    assert_eq!(entry(&file, "mcpServers")["args"], person.home_args());
    // The same if the file was reformatted since.
    let value: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::write(&file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    person.run(&["--remove"]);
    let expected: Json = serde_json::from_str(theirs).unwrap();
    assert_eq!(
        serde_json::from_str::<Json>(&fs::read_to_string(&file).unwrap()).unwrap(),
        expected
    );
    person.run(&["--remove", "--force"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"mcpServers\": {}\n}");
}

#[test]
fn later_changes_by_the_client_are_kept() {
    let person = Person::new();
    let file = person.write("claude-code", "{\n  \"numStartups\": 1\n}");
    person.run(&[]);
    let mut value: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    value["numStartups"] = json!(2);
    value["mcpServers"]["vector"]["env"] = json!({});
    fs::write(&file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    let again = person.run(&[]);
    assert!(again.stdout.contains("already in"), "{}", again.stdout);
    person.run(&["--remove"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"numStartups\": 2\n}");
    // A server that was added beside ours keeps the object that setup created for ours.
    person.run(&[]);
    let mut value: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    value["mcpServers"]["other"] = json!({ "command": "x" });
    fs::write(&file, value.to_string()).unwrap();
    person.run(&["--remove"]);
    let left: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let expected = json!({ "numStartups": 2, "mcpServers": { "other": { "command": "x" } } });
    assert_eq!(left, expected);
    assert!(!person.at("vector").exists());
}

#[test]
fn client_place_or_project_can_be_set_and_changed() {
    let person = Person::new();
    let file = person.write("cursor", "{\"x\": 1}");
    let before = person.all();
    let place = person.at("a place.rbxl");
    let refused = person.run_with(&[], &["--place", &text(&place)]);
    ended(&refused, 1);
    assert!(refused.stderr.contains("does not exist"), "{}", refused.stderr);
    assert!(person.all() == before);
    fs::write(&place, "").unwrap();
    person.run(&["--place", &text(&place)]);
    let args = json!([
        "mcp",
        "--place",
        binary::path_there(&place),
        "--home",
        binary::path_there(&person.at("vector"))
    ]);
    assert_eq!(entry(&file, "mcpServers")["args"], args);
    let changed = person.run(&["--project", &text(person.0.path())]);
    assert!(changed.stdout.contains("updated in"), "{}", changed.stdout);
    assert_eq!(entry(&file, "mcpServers")["args"][1], json!("--project"));
    person.run(&["--remove"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"x\": 1}");
}

/// On other systems the user's data directory is not inside the test's home.
#[cfg(target_os = "linux")]
#[test]
fn entry_names_no_home_folder_by_default() {
    let person = Person::new();
    let mut command = person.0.command(&["setup", "--no-plugin", "--json", "--client", "cursor"]);
    command.env("USERPROFILE", person.0.path()).env("APPDATA", person.at("AppData/Roaming"));
    command.env("XDG_DATA_HOME", person.at("data")).env_remove("VECTOR_HOME");
    let output = command.output().unwrap();
    let line: Json = serde_json::from_slice(&output.stdout).unwrap();
    let file = person.file("cursor");
    assert_eq!(line, json!({ "client": "cursor", "file": text(&file), "outcome": "added" }));
    assert_eq!(entry(&file, "mcpServers")["args"], json!(["mcp"]));
    assert!(person.at("data/vector/setup.json").is_file());
}

#[test]
fn json_lines_report_the_outcome_of_each_client() {
    let person = Person::new();
    person.write("cursor", "{}");
    person.write("codex", "[");
    let done = person.run_with(&[], &["--json", "--dry-run"]);
    ended(&done, 1);
    let lines: Vec<Json> =
        done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |client: &str| lines.iter().find(|line| line["client"] == client).unwrap();
    assert_eq!(of("cursor")["outcome"], "added");
    assert!(of("cursor")["diff"].as_str().unwrap().contains("+    \"vector\": {"));
    assert_eq!(of("codex")["outcome"], "failed");
    assert!(of("codex")["why"].as_str().unwrap().contains("it is not TOML"));
    assert_eq!(of("gemini")["outcome"], "not_found");
}

#[test]
fn damaged_setup_record_is_refused_and_not_guessed() {
    let person = Person::new();
    person.write("cursor", "{}");
    person.run(&[]);
    let memory = person.at("vector/setup.json");
    fs::write(&memory, "{}").unwrap();
    let before = person.all();
    for args in [&["--remove"] as &[&str], &[], &["--force"]] {
        let refused = person.run_with(&[], args);
        ended(&refused, 1);
        assert!(
            refused.stderr.contains("setup.json is not a record of setup"),
            "{}",
            refused.stderr
        );
        assert!(person.all() == before);
    }
    // Without setup.json, `--remove` still recognizes Vector's entry by its content.
    fs::remove_file(&memory).unwrap();
    person.run(&["--remove"]);
    assert!(entry(&person.file("cursor"), "mcpServers").is_null());
}

#[cfg(unix)]
#[test]
fn setup_keeps_links_and_modes() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let person = Person::new();
    let real = person.at("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, person.file("claude-code")).unwrap();
    person.run(&[]);
    assert!(fs::symlink_metadata(person.file("claude-code")).unwrap().is_symlink());
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o600);
    assert_eq!(mode(&person.at("vector/setup.json")), 0o600);
    assert!(!entry(&real, "mcpServers").is_null());
    person.run(&["--remove"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
    fs::remove_file(&real).unwrap();
    let refused = person.run_with(&[], &[]);
    ended(&refused, 1);
    assert!(refused.stderr.contains("the target of the link cannot be read"), "{}", refused.stderr);
    assert!(!real.exists());
}

/// On other systems Studio's folder is that of the user who runs the tests.
#[cfg(target_os = "linux")]
#[test]
fn plugin_is_installed_and_removed_with_setup() {
    let person = Person::new();
    let none = person.at("nothing");
    let done = person.run_with(&[("WINEPREFIX", &none)], &[]);
    ended(&done, 0);
    assert!(done.stdout.contains("Studio: not found on this machine"), "{}", done.stdout);
    let prefix = person.at("prefix");
    let roblox = prefix.join("drive_c/users/me/AppData/Local/Roblox");
    fs::create_dir_all(&roblox).unwrap();
    // Setup starts a daemon for the pairing code, and the daemon keeps its ledger.
    let all = || {
        let mut all = person.all();
        all.retain(|path, _| !path.starts_with(person.at("vector")));
        all
    };
    let before = all();
    let variables = [("WINEPREFIX", &*prefix)];
    let plugin = roblox.join("Plugins/Vector.rbxm");
    let shown = person.run_with(&variables, &["--dry-run"]);
    assert!(shown.stdout.contains("the plugin would be installed at"), "{}", shown.stdout);
    assert!(all() == before);
    let done = person.run_with(&variables, &["--port", "0"]);
    ended(&done, 0);
    assert!(done.stdout.contains("\nTo pair a plugin, type "), "{}{}", done.stdout, done.stderr);
    assert!(
        done.stdout.contains(&format!("the plugin is installed at {}", plugin.display())),
        "{}",
        done.stdout
    );
    assert!(fs::read(&plugin).unwrap().starts_with(b"<roblox!"));
    ended(&person.run_with(&variables, &["--remove", "--client", "cursor"]), 0);
    assert!(plugin.exists());
    ended(&person.run_with(&variables, &["--remove"]), 0);
    assert!(all() == before);
    // A plugin file that existed before setup is kept.
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    fs::write(&plugin, "old").unwrap();
    ended(&person.run_with(&variables, &["--port", "0"]), 0);
    ended(&person.run_with(&variables, &["--remove"]), 0);
    assert!(plugin.exists());
    ended(&person.0.run(&["stop"], ""), 0);
}
