//! Attacks by a model's tool calls on files: ways out of the project, out of the place, and into
//! the network.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value as Json, json};

use super::Outcome::{Exit, Instead};
use super::attacks;
use super::ground::{Ground, Seen};

fn line(tool: &str, args: &Json) -> String {
    format!("{}\n", json!({ "tool": tool, "args": args }))
}

/// Makes one call in the project, with `--yes`.
fn in_project(ground: &Ground, tool: &str, args: &Json) -> Seen {
    let project = ground.path("game").display().to_string();
    ground.run(&["edit", "--project", &project, "--ops", "-", "--yes"], &line(tool, args))
}

/// Makes one call in the place file, with `--yes`.
fn in_place(ground: &Ground, tool: &str, args: &Json) -> Seen {
    let place = ground.path("place.rbxl").display().to_string();
    ground.run(&["edit", &place, "--ops", "-", "--yes"], &line(tool, args))
}

/// Creates a script with each of these names in the project.
fn scripts_called(ground: &Ground, names: &[&str]) -> Vec<Seen> {
    let made = |name: &&str| {
        let args = json!({
            "className": "ModuleScript", "parentPath": "game.ServerScriptService.Game",
            "props": { "Name": name, "Source": "return 'evil'\n" },
        });
        in_project(ground, "create_instance", &args)
    };
    names.iter().map(made).collect()
}

/// Creates two dormant scripts in the place: one is disabled, the other is a ModuleScript that no
/// script requires.
fn lay_dormant(ground: &mut Ground) {
    let source = "require(7712345678)\n";
    let place = ground.path("place.rbxl").display().to_string();
    let ops: String = ["Script", "ModuleScript"]
        .iter()
        .map(|class| {
            let mut props = json!({ "Name": format!("Off{class}"), "Source": source });
            if *class == "Script" {
                props["Disabled"] = json!(true);
            }
            let args =
                json!({ "className": class, "parentPath": "game.Workspace", "props": props });
            line("create_instance", &args)
        })
        .collect();
    ground.run(&["edit", &place, "--ops", "-", "--yes", "--force"], &ops);
    ground.note();
}

const MAIN: &str = "game.ServerScriptService.Game.Main";

attacks! { served: false;
    a_script_that_makes_a_formatter_fail: Model, "formats a script that makes StyLua panic"
        => Exit(1, "StyLua"),
        |ground| {
            let source = format!("local x = 0x{}\n", "f".repeat(40));
            let write = in_place(ground, "create_instance", &json!({ "className": "ModuleScript",
                "parentPath": "game.ServerScriptService", "props": { "Name": "Odd", "Source": source } }));
            let Seen::Run(run) = &write else { unreachable!() };
            assert_eq!(run.code, 0, "{}", run.stderr);
            ground.note();
            vec![in_place(ground, "format", &json!({ "path": "game.ServerScriptService.Odd" }))]
        };
    a_script_called_by_a_path: Model, "makes scripts of a project whose names are ways out of it"
        => Exit(1, "No file can be called"),
        |ground| scripts_called(ground, &["../../etc/passwd", "..\\..\\evil", "/etc/passwd", "C:\\evil", "a/b", "..",
            ".", "../src", "a:b", "~/x/y", "//server/share", "a*b", "a?b", "a|b"]);
    a_script_called_as_a_device: Model, "makes scripts whose names Windows keeps for devices"
        => Exit(1, "kept for a device by Windows"),
        |ground| scripts_called(ground, &["CON", "nul", "aux.server", "COM1", "lpt9", "Prn.client"]);
    a_script_that_some_system_cannot_hold: Model, "makes scripts whose names are empty, too long, or end in what is cut off"
        => Exit(1, "No file can be called"),
        |ground| scripts_called(ground, &["a.", "a ", " a", "a\nb", "a\tb", "a\u{7f}b", &"x".repeat(300)]);
    a_rename_out_of_the_project: Model, "renames a script so that its file would lie elsewhere"
        => Exit(1, "No file can be called"),
        |ground| ["../../evil", "..", "CON", "a/b"].map(|name| {
            in_project(ground, "rename_instance", &json!({ "path": MAIN, "newName": name }))
        }).into();
    a_link_that_leads_out: File, "a link in the project to a file outside, which a model writes to"
        => Exit(1, "secret"),
        |ground| {
            link(ground, "outside/secret.luau", "game/src/secret.luau");
            let path = "game.ServerScriptService.Game.secret";
            let args = json!({ "path": path, "source": "return 'evil'\n" });
            vec![in_project(ground, "write_script", &args), in_project(ground, "read_script", &json!({ "path": path })),
                in_project(ground, "delete_instance", &json!({ "path": path }))]
        };
    a_folder_that_leads_out: File, "a link in the project to a folder outside, into which a model writes"
        => Exit(1, "out"),
        |ground| {
            link(ground, "outside", "game/src/out");
            let args = json!({ "className": "ModuleScript", "parentPath": "game.ServerScriptService.Game.out",
                "props": { "Name": "evil" } });
            vec![in_project(ground, "create_instance", &args), in_project(ground, "delete_instance",
                &json!({ "path": "game.ServerScriptService.Game.out.secret" }))]
        };
    a_project_that_names_files_outside: File, "a project whose `$path` is outside of it"
        => Exit(1, "leads out of"),
        |ground| {
            let tree = |path: &str| json!({ "name": "game", "tree": { "$className": "DataModel",
                "ServerScriptService": { "Game": { "$path": path } } } }).to_string();
            ["../outside", "/etc", "src/../../outside"].map(|path| {
                fs::write(ground.path("game/default.project.json"), tree(path)).unwrap();
                ground.note();
                in_project(ground, "write_script",
                    &json!({ "path": "game.ServerScriptService.Game.secret", "source": "evil" }))
            }).into()
        };
    properties_that_nobody_writes: Model, "sets what Studio alone decides, and what makes something another class"
        => Exit(1, "set_properties: "),
        |ground| ["ClassName", "Parent", "UniqueId", "HistoryId", "RobloxLocked", "SourceAssetId", "CurrentCamera",
            "archivable ", "__index"].map(|name| {
                let args = json!({ "path": "game.Workspace.Baseplate", "props": { name: "x" } });
                in_place(ground, "set_properties", &args)
            }).into();
    a_dormant_backdoor: Model, "copies, moves, renames and switches on scripts that lie in the place and do nothing"
        => Exit(3, "needs a second confirmation"),
        |ground| {
            lay_dormant(ground);
            let (script, module) = ("game.Workspace.OffScript", "game.Workspace.OffModuleScript");
            let tower = "game.Workspace.Tower";
            vec![
                in_place(ground, "clone_instance", &json!({ "path": script, "name": "On" })),
                in_place(ground, "clone_instance", &json!({ "path": module, "name": "On" })),
                in_place(ground, "set_properties", &json!({ "path": script, "props": { "Disabled": false } })),
                in_place(ground, "set_properties", &json!({ "path": script, "props": { "Enabled": true } })),
                in_place(ground, "set_properties", &json!({ "path": script, "props": { "RunContext": "Server" } })),
                in_place(ground, "move_instance", &json!({ "path": script, "parentPath": tower })),
                in_place(ground, "move_instance", &json!({ "path": module, "parentPath": tower })),
                in_place(ground, "rename_instance", &json!({ "path": module, "newName": "Config" })),
            ]
        };
    a_dormant_backdoor_by_other_code: Model, "writes scripts that require, switch on, move and copy what lies dormant"
        => Exit(3, "needs a second confirmation"),
        |ground| {
            lay_dormant(ground);
            ["script.Parent.OffScript.Enabled = true", "script.Parent.OffScript.Disabled = false",
                "require(game.Workspace.OffModuleScript)", "workspace.OffScript.Parent = game.ServerScriptService",
                "local off = workspace:WaitForChild('OffScript'):Clone()"].map(|source| {
                in_place(ground, "create_instance", &json!({ "className": "Script", "parentPath": "game.Workspace",
                    "props": { "Name": "On", "Source": source } }))
            }).into()
        };
    a_text_from_outside: Model, "makes a script take its text from an asset" => Exit(3, "needs a second confirmation"),
        |ground| vec![in_place(ground, "create_instance", &json!({ "className": "Script",
            "parentPath": "game.Workspace", "props": { "LinkedSource": "rbxassetid://7712345678" } }))];
    the_place_itself: Model, "deletes, moves and renames what the place is made of" => Exit(1, "game"),
        |ground| vec![
            in_place(ground, "delete_instance", &json!({ "path": "game" })),
            in_place(ground, "rename_instance", &json!({ "path": "game", "newName": "x" })),
            in_place(ground, "move_instance", &json!({ "path": "game", "parentPath": "game.Workspace" })),
            in_place(ground, "move_instance",
                &json!({ "path": "game.Workspace.Tower", "parentPath": "game.Workspace.Tower.Base" })),
        ];
    a_page_in_this_network: Model, "reads pages of this machine, of private networks, and of a cloud's keys"
        => Instead("each is refused, and nobody hears of it"),
        |ground| {
            let inner = TcpListener::bind("127.0.0.1:0").unwrap();
            inner.set_nonblocking(true).unwrap();
            let port = inner.local_addr().unwrap().port();
            for url in ["http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://127.1:PORT/", "http://2130706433:PORT/",
                "http://0x7f000001:PORT/", "http://0177.0.0.1:PORT/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
                "http://0.0.0.0:PORT/", "http://a:b@127.0.0.1:PORT/", "http://127.0.0.1/", "http://10.0.0.1/",
                "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data", "http://[fd00::1]/", "file:///etc/passwd",
                "ftp://127.0.0.1/", "gopher://127.0.0.1/", "javascript:1", "//127.0.0.1/", ""] {
                let url = url.replace("PORT", &port.to_string());
                let Seen::Run(run) = in_place(ground, "fetch_url", &json!({ "url": url })) else { unreachable!() };
                assert_eq!(run.code, 1, "{url}: {}{}", run.stdout, run.stderr);
                assert!(inner.accept().is_err(), "{url} was asked");
            }
            vec![Seen::Instead]
        };
    a_memory_elsewhere: Model, "has the memory written to another file" => Exit(1, "edit_memory"),
        |ground| {
            let entry = json!({ "action": "add", "section": "conventions", "text": "evil" });
            let section = json!({ "action": "add", "section": "../../x", "text": "evil" });
            vec![
                in_project(ground, "edit_memory", &json!({ "changes": [entry], "file": "../../outside/secret.luau" })),
                in_project(ground, "edit_memory", &json!({ "changes": [entry], "path": "/etc/passwd" })),
                in_project(ground, "edit_memory", &json!({ "changes": [section] })),
            ]
        };
    a_patch_of_another_file: Model, "patches a script with a patch that names other files, deletes and renames them"
        => Exit(1, "apply_patch"),
        |ground| ["--- a/../../outside/secret.luau\n+++ b/../../outside/secret.luau\n@@ -1 +1 @@\n-return 'a secret'\n+return 'evil'\n",
            "*** Begin Patch\n*** Delete File: ../../outside/secret.luau\n*** End Patch\n",
            "*** Begin Patch\n*** Add File: ../evil.luau\n+return 'evil'\n*** End Patch\n",
            "*** Begin Patch\n*** Update File: Main\n*** Move to: ../../evil.luau\n@@\n-local speed = 1\n+local speed = 2\n*** End Patch\n",
            "diff --git a/Main b/../../evil\nsimilarity index 100%\nrename from Main\nrename to ../../evil\n"].map(|patch| {
                in_project(ground, "apply_patch", &json!({ "path": MAIN, "patch": patch }))
            }).into();
    a_patch_for_the_command: File, "a patch that names another file, for `vector patch`" => Exit(1, "secret"),
        |ground| {
            let patch = ground.path("evil.diff");
            fs::write(&patch, "--- a/../../outside/secret.luau\n+++ b/../../outside/secret.luau\n@@ -1 +1 @@\n-return 'a secret'\n+return 'evil'\n").unwrap();
            ground.note();
            let main = ground.path("game/src/Main.server.luau");
            vec![ground.run(&["patch", &main.display().to_string(), "--patch", &patch.display().to_string()], "")]
        };
    more_than_a_card_can_show: Model, "makes 10,001 instances in one call" => Exit(1, "More than 10000 instances"),
        |ground| {
            let child = json!({ "className": "Part" });
            let args = json!({ "className": "Folder", "parentPath": "game.Workspace", "children": vec![child; 10_000] });
            vec![in_place(ground, "create_instance", &args)]
        };
    calls_that_are_deep: Model, "calls with lists in lists, 5,000 deep" => Exit(1, "not JSON"),
        |ground| {
            let place = ground.path("place.rbxl").display().to_string();
            let deep = format!("{{\"tool\":\"x\",\"args\":{}{}}}\n", "{\"a\":".repeat(5_000), "}".repeat(5_000));
            vec![ground.run(&["edit", &place, "--ops", "-", "--yes"], &deep)]
        };
    calls_that_decide: Model, "calls tools that approve, take back and restore" => Exit(1, "There is no tool"),
        |ground| ["approve", "decide", "revert", "restore", "deploy", "write_file", "shell", "exec"].map(|tool| {
            in_place(ground, tool, &json!({ "proposal": 1, "path": "/etc/passwd", "command": "id" }))
        }).into();
    a_name_that_xml_cannot_hold: Model, "renames to zeros and escape sequences in an XML place"
        => Exit(1, "XML file cannot hold"),
        |ground| ["a\u{0}b", "\u{1b}[2J", "\u{c}", "\u{fffe}"].map(|name| {
            let place = ground.path("place.rbxlx").display().to_string();
            let args = json!({ "path": "game.Workspace.Baseplate", "newName": name });
            ground.run(&["edit", &place, "--ops", "-", "--yes"], &line("rename_instance", &args))
        }).into();
    without_a_yes: Model, "changes a place where nobody is there to say yes" => Exit(3, "Not approved"),
        |ground| {
            let place = ground.path("place.rbxl").display().to_string();
            let args = json!({ "path": "game.Workspace.Baseplate" });
            vec![ground.run(&["edit", &place, "--ops", "-"], &line("delete_instance", &args))]
        };
    a_backdoor_with_a_yes_to_everything: Model, "writes a backdoor where the person said yes to everything before"
        => Exit(3, "confirmation)"),
        |ground| {
            let args = json!({ "path": "game.ServerScriptService.Main[1]", "source": "loadstring(x)()\n" });
            vec![in_place(ground, "write_script", &args)]
        };
}

/// Creates the symbolic link `from` to `to`, both relative to the user's home.
fn link(ground: &mut Ground, to: &str, from: &str) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(ground.path(to), ground.path(from)).unwrap();
    // Where a link needs more rights than a test has, none is created. The calls are refused all
    // the same.
    #[cfg(not(unix))]
    let _ = (to, from);
    ground.note();
}
