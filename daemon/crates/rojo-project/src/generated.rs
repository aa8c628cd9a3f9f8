//! Detection of project files that another tool generates: a change to such a file is lost when the
//! tool runs again.
//!
//! Only clear signs count: the settings of tools next to the project file, the header that
//! roblox-ts writes into its output, and entries in `vector.toml`. A folder that merely looks
//! generated does not count.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;
use vector_text_edit::json::read_json;

/// The maximum number of bytes that is read from a settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// A file that another tool generates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// The path of the file, relative to the project folder and with `/`.
    pub file: String,
    pub tool: String,
    /// What to change instead.
    pub source: String,
}

impl GeneratedFile {
    /// Formats the warning that a card shows.
    pub fn to_warning(&self) -> String {
        let Self { file, tool, source } = self;
        format!(
            "{file} is written by {tool}, which will overwrite this change. Change {source} instead."
        )
    }
}

/// The output of a tool, and its source.
#[derive(Debug, PartialEq, Eq)]
struct OutputRule {
    /// A folder or a file.
    output: String,
    tool: String,
    source: SourceRule,
}

#[derive(Debug, PartialEq, Eq)]
enum SourceRule {
    /// TypeScript below this folder, in the same tree structure.
    TypeScript(String),
    /// The same tree structure below this folder.
    SameTree(String),
    /// Something else, described in words.
    Description(&'static str),
}

/// Returns those of the given files that another tool generates.
pub(super) fn generated_files(folder: &Path, files: &[String]) -> Vec<GeneratedFile> {
    if files.is_empty() {
        return Vec::new();
    }
    let rules = output_rules(folder);
    let mut found = BTreeMap::new();
    for file in files {
        let known = rules.iter().find(|rule| strip_folder(file, &rule.output).is_some());
        let generated = known
            .map(|rule| rule.describe_file(folder, file))
            .or_else(|| roblox_ts_output(folder, file));
        if let Some(generated) = generated {
            found.insert(file.clone(), generated);
        }
    }
    found.into_values().collect()
}

impl OutputRule {
    fn describe_file(&self, folder: &Path, file: &str) -> GeneratedFile {
        let below = strip_folder(file, &self.output).unwrap_or_default();
        let source = match &self.source {
            SourceRule::TypeScript(root) => find_typescript_source(folder, root, below),
            SourceRule::SameTree(root) if below.is_empty() => root.clone(),
            SourceRule::SameTree(root) => {
                let same = format!("{root}/{below}");
                if folder.join(&same).is_file() { same } else { format!("its source in {root}") }
            }
            SourceRule::Description(text) => (*text).to_owned(),
        };
        GeneratedFile { file: file.to_owned(), tool: self.tool.clone(), source }
    }
}

/// Returns the rest of a path below a folder; empty if the path is the folder itself, None if it is
/// outside.
fn strip_folder<'a>(file: &'a str, output: &str) -> Option<&'a str> {
    match file.strip_prefix(output)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// Returns the TypeScript file that was compiled to a Luau file.
fn find_typescript_source(folder: &Path, root: &str, below: &str) -> String {
    let stem = below.strip_suffix(".luau").or_else(|| below.strip_suffix(".lua")).unwrap_or(below);
    let (parent, name) = stem.rsplit_once('/').map_or(("", stem), |(parent, name)| (parent, name));
    let name = match name.strip_prefix("init") {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("index{rest}"),
        _ => name.to_owned(),
    };
    let parent = if parent.is_empty() { root.to_owned() } else { format!("{root}/{parent}") };
    let candidates = ["ts", "tsx"].map(|end| format!("{parent}/{name}.{end}"));
    let known = candidates.into_iter().find(|file| folder.join(file).is_file());
    known.unwrap_or_else(|| format!("its TypeScript in {root}"))
}

fn output_rules(folder: &Path) -> Vec<OutputRule> {
    let mut rules = configured_rules(folder);
    rules.extend(roblox_ts_rules(folder));
    rules.extend(darklua_rules(folder));
    if folder.join("wally.toml").is_file() {
        let of = |output: &str| OutputRule {
            output: output.to_owned(),
            tool: "Wally (`wally install`)".to_owned(),
            source: SourceRule::Description("the package itself, or the version in wally.toml"),
        };
        rules.extend(["Packages", "ServerPackages", "DevPackages"].map(of));
    }
    rules
}

/// Reads the rules in `vector.toml`: `[[generated]]` with `files`, `source` and `by`.
fn configured_rules(folder: &Path) -> Vec<OutputRule> {
    #[derive(Deserialize)]
    struct GeneratedSettings {
        #[serde(default)]
        generated: Vec<GeneratedRule>,
    }
    #[derive(Deserialize)]
    struct GeneratedRule {
        files: String,
        source: Option<String>,
        by: Option<String>,
    }
    let text = read_bounded(&folder.join("vector.toml")).unwrap_or_default();
    // Faults of the file are reported by the code that reads all of its settings.
    let stated: GeneratedSettings =
        toml::from_str(&text).unwrap_or(GeneratedSettings { generated: Vec::new() });
    let rule = |rule: GeneratedRule| {
        Some(OutputRule {
            output: normalize_inner_path(&rule.files)?,
            tool: rule.by.unwrap_or_else(|| "another tool (vector.toml says so)".to_owned()),
            source: match rule.source.as_deref().and_then(normalize_inner_path) {
                Some(source) => SourceRule::SameTree(source),
                None => SourceRule::Description("its source"),
            },
        })
    };
    stated.generated.into_iter().filter_map(rule).collect()
}

/// Returns the outputs of roblox-ts, if `tsconfig.json` belongs to a project that uses its
/// packages.
fn roblox_ts_rules(folder: &Path) -> Vec<OutputRule> {
    let Some(text) = read_bounded(&folder.join("tsconfig.json")) else {
        return Vec::new();
    };
    let package = read_bounded(&folder.join("package.json")).unwrap_or_default();
    let is_roblox_ts = text.contains("@rbxts")
        || package.contains("\"@rbxts/")
        || package.contains("\"roblox-ts\"");
    let settings = read_json(text.as_bytes()).unwrap_or_default();
    let options = settings.get("compilerOptions").and_then(Json::as_object);
    let path = |name: &str| normalize_inner_path(options?.get(name)?.as_str()?);
    let (true, Some(output)) = (is_roblox_ts, path("outDir")) else {
        return Vec::new();
    };
    let tool = "roblox-ts (`rbxtsc`)";
    let source = SourceRule::TypeScript(path("rootDir").unwrap_or_else(|| "src".to_owned()));
    let mut rules = vec![OutputRule { output, tool: tool.to_owned(), source }];
    if ["lua", "luau"].iter().any(|end| folder.join(format!("include/RuntimeLib.{end}")).is_file())
    {
        rules.push(OutputRule {
            output: "include".to_owned(),
            tool: tool.to_owned(),
            source: SourceRule::Description(
                "the TypeScript that uses it; the runtime is part of roblox-ts",
            ),
        });
    }
    rules.push(OutputRule {
        output: "node_modules".to_owned(),
        tool: "npm".to_owned(),
        source: SourceRule::Description("the package itself, or its version in package.json"),
    });
    rules
}

/// Recognizes a file by the header that roblox-ts writes.
fn roblox_ts_output(folder: &Path, file: &str) -> Option<GeneratedFile> {
    let mut start = [0; 64];
    let length = File::open(folder.join(file)).ok()?.read(&mut start).ok()?;
    start[..length].starts_with(b"-- Compiled with roblox-ts").then(|| GeneratedFile {
        file: file.to_owned(),
        tool: "roblox-ts (`rbxtsc`)".to_owned(),
        source: "its TypeScript".to_owned(),
    })
}

/// Returns the outputs of darklua, from commands of the form `darklua process SOURCE OUTPUT`.
fn darklua_rules(folder: &Path) -> Vec<OutputRule> {
    let scripts = |text: &str| -> Vec<String> {
        let package = read_json(text.as_bytes()).unwrap_or_default();
        let all = package.get("scripts").and_then(Json::as_object);
        all.into_iter().flatten().filter_map(|(_, it)| it.as_str().map(str::to_owned)).collect()
    };
    let mut commands =
        read_bounded(&folder.join("package.json")).map_or_else(Vec::new, |it| scripts(&it));
    for name in ["Makefile", "makefile", "justfile", "Justfile"] {
        commands.extend(read_bounded(&folder.join(name)));
    }
    for place in ["", "scripts", "bin"] {
        let entries = fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
        let shell =
            entries.map(|it| it.path()).filter(|it| it.extension().is_some_and(|end| end == "sh"));
        commands.extend(shell.filter_map(|it| read_bounded(&it)));
    }
    let lines = commands.iter().flat_map(|text| text.split(['\n', ';', '&', '|']));
    lines.filter_map(parse_darklua).collect()
}

/// Parses one command as a darklua command.
fn parse_darklua(line: &str) -> Option<OutputRule> {
    let mut words = line.split_whitespace().skip_while(|word| !word.ends_with("darklua")).skip(1);
    if words.next()? != "process" {
        return None;
    }
    let mut paths = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-c" | "--config" | "--format" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            path => paths.push(normalize_inner_path(path.trim_matches(['"', '\'']))?),
        }
    }
    match paths.as_slice() {
        [source, output] if source != output => Some(OutputRule {
            output: output.clone(),
            tool: "darklua (`darklua process`)".to_owned(),
            source: SourceRule::SameTree(source.clone()),
        }),
        _ => None,
    }
}

/// Normalizes a path inside the project folder to `/` separators without a leading `./`. Returns
/// None for any other path.
fn normalize_inner_path(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains([':', '$', '*', '{', '}']);
    is_plain.then(|| path.to_owned())
}

fn read_bounded(file: &Path) -> Option<String> {
    let mut text = String::new();
    fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    File::open(file).ok()?.take(MAX_SETTINGS_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a project with the given files.
    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], file: &str, expected: Option<(&str, &str)>) {
        let folder = project(files);
        let found = generated_files(folder.path(), &[file.to_owned()]);
        let found = found.first().map(|it| (it.tool.as_str(), it.source.as_str()));
        assert_eq!(found, expected, "{file}");
    }

    const TS: &str = "{ // a comment\n \"compilerOptions\": { \"outDir\": \"./out\", \"rootDir\": \"src\", \
                      \"typeRoots\": [\"node_modules/@rbxts\"], }, }";
    const RBXTSC: &str = "roblox-ts (`rbxtsc`)";
    const WALLY: &str = "Wally (`wally install`)";
    const DARKLUA: &str = "darklua (`darklua process`)";

    #[test]
    fn generated_files_are_recognized_from_tool_settings() {
        let ts =
            [("tsconfig.json", TS), ("src/server/main.server.ts", ""), ("src/ui/index.tsx", "")];
        check(&ts, "out/server/main.server.luau", Some((RBXTSC, "src/server/main.server.ts")));
        check(&ts, "out/ui/init.luau", Some((RBXTSC, "src/ui/index.tsx")));
        check(&ts, "out/none.lua", Some((RBXTSC, "its TypeScript in src")));
        let npm = "the package itself, or its version in package.json";
        check(&ts, "node_modules/@rbxts/services/init.lua", Some(("npm", npm)));
        let package = "the package itself, or the version in wally.toml";
        let wally = [("wally.toml", "[package]\n")];
        for folder in ["Packages", "ServerPackages", "DevPackages"] {
            check(&wally, &format!("{folder}/React.lua"), Some((WALLY, package)));
        }
        let build = "{\"scripts\":{\"build\":\"rm -rf dist && darklua process -c .darklua.json src dist\"}}";
        let darklua = [("package.json", build), ("src/a.luau", "")];
        check(&darklua, "dist/a.luau", Some((DARKLUA, "src/a.luau")));
        check(&darklua, "dist/b.luau", Some((DARKLUA, "its source in src")));
        let shell = [("scripts/build.sh", "set -e\ndarklua process \"src\" build/\n")];
        check(&shell, "build/a.luau", Some((DARKLUA, "its source in src")));
        let stated = "[[generated]]\nfiles = \"gen\"\nsource = \"spec\"\nby = \"our codegen\"\n";
        check(
            &[("vector.toml", stated), ("spec/a.luau", "")],
            "gen/a.luau",
            Some(("our codegen", "spec/a.luau")),
        );
        let top = [("any/x.luau", "-- Compiled with roblox-ts v2.3.0\nlocal TS = 1\n")];
        check(&top, "any/x.luau", Some((RBXTSC, "its TypeScript")));
    }

    #[test]
    fn files_that_only_look_generated_are_not_reported() {
        check(&[], "Packages/React.lua", None);
        check(&[], "out/main.luau", None);
        check(&[("wally.toml", "")], "src/Packages/React.lua", None);
        check(&[("wally.toml", "")], "PackagesOfMine/React.lua", None);
        let ts = [("tsconfig.json", TS)];
        check(&ts, "src/main.luau", None);
        check(&ts, "output/main.luau", None);
        check(
            &[("tsconfig.json", "{\"compilerOptions\":{\"outDir\":\"out\"}}")],
            "out/main.luau",
            None,
        );
        let outside = "{\"compilerOptions\":{\"outDir\":\"../out\",\"types\":[\"@rbxts/types\"]}}";
        check(&[("tsconfig.json", outside)], "out/main.luau", None);
        check(
            &[("package.json", "{\"scripts\":{\"a\":\"darklua process src src\"}}")],
            "src/a.luau",
            None,
        );
        check(
            &[("package.json", "{\"scripts\":{\"a\":\"darklua minify src dist\"}}")],
            "dist/a.luau",
            None,
        );
        check(&[(".darklua.json", "{}")], "dist/a.luau", None);
        check(&[("x.luau", "-- Not Compiled with roblox-ts\n")], "x.luau", None);
    }
}
