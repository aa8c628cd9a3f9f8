//! The plugin has no finding, and mistakes have some.

use std::fs;
use std::path::Path;

use super::*;

/// The sources of a folder of the repository.
fn folder(path: &str) -> Sources {
    fn read(root: &Path, folder: &Path, sources: &mut Sources) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(root, &path, sources);
            } else if path.extension().is_some_and(|it| it == "luau") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                sources.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let mut sources = Sources::new();
    read(&root, &root, &mut sources);
    sources
}

/// The findings in a script of these lines.
#[track_caller]
fn findings(lines: &[&str]) -> Vec<String> {
    let text = format!("--!strict\n{}\n", lines.join("\n"));
    let sources = Sources::from([("Script.luau".to_owned(), text)]);
    check_types(&sources).unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn plugin_and_probe_have_no_findings() {
    for (path, count) in [("plugin/src", 60), ("plugin/probe", 4)] {
        let sources = folder(path);
        assert!(sources.len() > count, "{path}: {}", sources.len());
        let found = check_types(&sources).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, [""; 0], "{path}");
    }
}

#[test]
fn mistakes_are_found() {
    // A script, and what the finding in its last line says.
    let cases: [(&[&str], &str); 9] = [
        (
            &[
                "local service = game:GetService(\"ScriptEditorService\")",
                "local script = Instance.new(\"ModuleScript\")",
                "service:UpdateSourceAsyncc(script, function() return \"\" end)",
            ],
            "UpdateSourceAsyncc",
        ),
        (&["print(Instance.new(\"Part\").UniqueId)"], "UniqueId"),
        (&["game:GetService(\"HttpService\"):RequestInternal({})"], "RequestInternal"),
        (&["plugin:CreateDockWidgetPluginGui(\"A\", nil :: any)"], "CreateDockWidgetPluginGui"),
        (&["game:GetService(\"Selection\"):Set(1)"], "number"),
        (&["Instance.new(\"Part\"):SetAttribute(\"Key\", 1, 2)"], "mismatch"),
        (&["Instance.new(\"Part\").Anchored = 1"], "number"),
        (&["game.PlaceId = 1"], "read-only"),
        (&["print(Enum.Material.Plastik)"], "Plastik"),
    ];
    for (lines, said) in cases {
        let found = findings(lines);
        let at = format!("Script.luau:{}: ", lines.len() + 1);
        let is_found = found.iter().any(|it| it.starts_with(&at) && it.contains(said));
        assert!(is_found, "{lines:?}: {found:?}");
    }
}

#[test]
fn results_depend_on_the_named_class() {
    let fine = [
        "local part = Instance.new(\"Part\")",
        "part.Anchored = true",
        "local humanoid = part:FindFirstChildOfClass(\"Humanoid\")",
        "if humanoid then humanoid.Health = 1 end",
        "local function read(instance: Instance): number",
        "    return if instance:IsA(\"NumberValue\") then instance.Value else 0",
        "end",
        "print(read(part), part.Parent == game, part.Parent ~= workspace)",
        "local key: Enum.KeyCode = Enum.KeyCode.A",
        "print(key.Name, UDim2.new(), Vector3.new(1, 2, 3) * 2 + Vector3.zero)",
    ];
    assert_eq!(findings(&fine), [""; 0]);
    assert_ne!(findings(&["print(Instance.new(\"Folder\").Anchored)"]), [""; 0]);
    assert_ne!(findings(&["print(workspace:FindFirstChildOfClass(\"Part\").Name)"]), [""; 0]);
}
