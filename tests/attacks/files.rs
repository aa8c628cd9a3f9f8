//! Attacks by files: malicious places, and a Vector home that another program has tampered with.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value as Json, json};

use super::Outcome::{Exit, Instead};
use super::attacks;
use super::ground::{Ground, Seen, token};
use crate::hostile::worst::{file, inst, prnt};

/// Writes the bytes as a place file, then shows and edits it.
fn opened(ground: &mut Ground, bytes: &[u8]) -> Vec<Seen> {
    let place = ground.path("evil.rbxl");
    fs::write(&place, bytes).unwrap();
    ground.note();
    let place = place.display().to_string();
    vec![
        ground.run(&["show", &place], ""),
        ground.run(&["edit", &place, "--prompt", "delete Part", "--model", "offline", "--yes"], ""),
    ]
}

fn xml(items: &str) -> String {
    format!("<roblox version=\"4\">{items}</roblox>")
}

/// Builds a file with an INST chunk that claims to unpack to 4 GB.
fn bomb(packed: &[u8]) -> Vec<u8> {
    let mut bytes = file(&[]);
    let end = bytes.len() - (16 + b"</roblox>".len());
    let mut chunk = b"INST".to_vec();
    for number in [packed.len() as u32, u32::MAX, 0] {
        chunk.extend(number.to_le_bytes());
    }
    chunk.extend(packed);
    bytes.splice(end..end, chunk);
    bytes
}

/// Runs `vector test` on a place whose only spec has this source.
fn tested(ground: &mut Ground, source: &str) -> Seen {
    let place = ground.path("specs.rbxlx");
    let item = format!(
        "<Item class=\"ModuleScript\" referent=\"R\"><Properties><string name=\"Name\">evil.spec</string>\
         <ProtectedString name=\"Source\"><![CDATA[{source}]]></ProtectedString></Properties></Item>"
    );
    fs::write(&place, xml(&item)).unwrap();
    ground.note();
    ground.run(&["test", &place.display().to_string()], "")
}

/// Runs code on a place without instances.
fn ran(ground: &mut Ground, code: &str) -> Seen {
    let place = ground.path("run.rbxlx");
    fs::write(&place, xml("")).unwrap();
    ground.note();
    ground.run(&["run", &place.display().to_string(), "-c", code, "--yes"], "")
}

/// Plays a game with one script of the server.
fn played(ground: &mut Ground, code: &str) -> Seen {
    let place = ground.path("play.rbxlx");
    let item = format!(
        "<Item class=\"Workspace\" referent=\"W\"/><Item class=\"ServerScriptService\" referent=\"S\">\
         <Item class=\"Script\" referent=\"R\"><Properties><string name=\"Name\">Evil</string>\
         <ProtectedString name=\"Source\"><![CDATA[{code}]]></ProtectedString></Properties></Item></Item>"
    );
    fs::write(&place, xml(&item)).unwrap();
    ground.note();
    ground.run(&["play", &place.display().to_string(), "--seconds", "1", "--timeout", "5"], "")
}

/// Starts a daemon on a home that was tampered with. Asserts that the token files are regular files
/// that only the user can read, and that nothing was written through a link.
#[track_caller]
fn token_is_private(ground: &mut Ground) -> Vec<Seen> {
    ground.serve();
    for name in ["token", "agent-token"] {
        let kept = ground.ledger().join(name);
        assert!(!kept.is_symlink(), "{name} is a link");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&kept).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
    let secret = fs::read_to_string(ground.path("outside/secret.luau")).unwrap();
    assert_eq!(secret, "return 'a secret'\n");
    ground.note();
    vec![Seen::Instead]
}

attacks! { served: false;
    a_ledger_that_was_forgotten: Process, "searches the ledger's files for words that the person had forgotten"
        => Instead("none of them is in any file, and the decisions are"),
        |ground| {
            let place = ground.path("place.rbxlx").display().to_string();
            let call = "{\"tool\":\"create_instance\",\"args\":{\"className\":\"ModuleScript\",\"parentPath\":\
                \"game.ServerScriptService\",\"props\":{\"Name\":\"Ocelot\",\"Source\":\"return 'Quincunx'\"}}}";
            let edit = ground.home.run(&["edit", &place, "--ops", "-", "--yes"], call);
            assert_eq!(edit.code, 0, "{}", edit.stderr);
            let has = |ground: &Ground, word: &str| {
                let files = fs::read_dir(ground.ledger()).unwrap().flatten().map(|it| it.path());
                files.filter(|it| it.is_file()).any(|it| {
                    let bytes = fs::read(it).unwrap();
                    bytes.windows(word.len()).any(|it| it == word.as_bytes())
                })
            };
            assert!(has(ground, "Ocelot") && has(ground, "Quincunx"));
            let forget = ground.home.run(&["forget", "--place", &place, "--yes"], "");
            assert_eq!(forget.code, 0, "{}", forget.stderr);
            assert!(!has(ground, "Ocelot") && !has(ground, "Quincunx"));
            assert!(ground.records().iter().any(|it| matches!(it.entry, scene_schemas::entry::Entry::Approved { .. })));
            ground.note();
            vec![Seen::Instead]
        };
    a_file_that_unpacks_to_gigabytes: Content, "a chunk of 20 bytes that says it unpacks to 4 GB"
        => Exit(1, "cannot be opened"),
        |ground| [bomb(&[0; 20]), bomb(b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00\x99\xe9\xd8\x51"),
            bomb(&[[0x1f, b'a', 1, 0].as_slice(), &[0xff; 4000]].concat())]
            .into_iter().flat_map(|bytes| opened(ground, &bytes)).collect();
    a_circle_of_parents: Content, "instances that are each other's parents, and their own"
        => Instead("they hang loose: nobody walks in circles, and nothing of them is shown"),
        |ground| {
            let circle = file(&[inst(0, "Part", &[0, 1]), prnt(&[0, 1], &[1, 0])]);
            let own = file(&[inst(0, "Part", &[0]), prnt(&[0], &[0])]);
            for bytes in [circle, own] {
                let seen = opened(ground, &bytes);
                let Seen::Run(run) = &seen[0] else { unreachable!() };
                assert_eq!((run.code, run.stdout.as_str()), (0, "game  0 instances\n"), "{}", run.stderr);
            }
            vec![Seen::Instead]
        };
    a_count_that_is_a_lie: Content, "a chunk that names 4,294,967,295 instances in 30 bytes"
        => Exit(1, "cannot be opened"),
        |ground| {
            let mut lying = inst(0, "Part", &[0]);
            lying.content[13..17].copy_from_slice(&u32::MAX.to_le_bytes());
            let mut parents = prnt(&[0], &[-1]);
            parents.content[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
            [file(&[lying]), file(&[inst(0, "Part", &[0]), parents])].into_iter().flat_map(|bytes| opened(ground, &bytes)).collect()
        };
    xml_that_grows: Content, "an XML place whose entities grow to gigabytes" => Exit(1, "cannot be opened"),
        |ground| {
            let grow = "<!DOCTYPE r [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>";
            opened(ground, format!("{grow}{}", xml("<Item class=\"Part\" referent=\"1\"><Properties><string \
                name=\"Name\">&c;</string></Properties></Item>")).as_bytes())
        };
    xml_that_reads_files: Content, "an XML place whose entity is a file of the person's"
        => Exit(1, "cannot be opened"),
        |ground| {
            let secret = ground.path("outside/secret.luau").display().to_string();
            let entity = format!("<!DOCTYPE r [<!ENTITY x SYSTEM \"file://{secret}\">]>");
            let seen = opened(ground, format!("{entity}{}", xml("<Item class=\"Part\" referent=\"1\"><Properties>\
                <string name=\"Name\">&x;</string></Properties></Item>")).as_bytes());
            for seen in &seen {
                let Seen::Run(run) = seen else { unreachable!() };
                assert!(!run.stdout.contains("a secret") && !run.stderr.contains("a secret"), "{run:?}");
            }
            seen
        };
    xml_that_is_deep: Content, "an XML place of 100,000 items in each other" => Exit(1, "cannot be opened"),
        |ground| opened(ground, format!("<roblox version=\"4\">{}", "<Item class=\"Folder\">".repeat(100_000)).as_bytes());
    a_file_that_is_none: Content, "pages, nothing, and half of a place" => Exit(1, "cannot be opened"),
        |ground| {
            let whole = fs::read(ground.path("place.rbxl")).unwrap();
            let half = &whole[..whole.len() / 2];
            [&b""[..], b"<!doctype html><p>404", b"<roblox!\x89\xff\r\n\x1a\n\0\0", half]
                .into_iter().flat_map(|bytes| opened(ground, bytes)).collect()
        };
    names_that_move_the_terminal: Content, "instances and scripts whose names and texts are escape sequences"
        => Instead("they are shown as text, and move nothing"),
        |ground| {
            let evil = "\u{9b}31m\u{202e}\u{7f}evil\u{2028}";
            let item = format!("<Item class=\"Script\" referent=\"R\"><Properties><string name=\"Name\">{evil}</string>\
                <ProtectedString name=\"Source\">-- {evil}</ProtectedString></Properties></Item>");
            let place = ground.path("evil.rbxlx");
            fs::write(&place, xml(&item)).unwrap();
            ground.note();
            let Seen::Run(run) = ground.run(&["show", &place.display().to_string()], "") else { unreachable!() };
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(!run.stdout.contains(|c: char| c.is_control() && c != '\n'), "{:?}", run.stdout);
            vec![Seen::Instead]
        };
    a_spec_that_reaches_out: Content, "specs that read files, run programs, load code, and ask the network"
        => Exit(1, "evil"),
        |ground| ["io.open('/etc/passwd')", "os.execute('id')", "loadstring('return 1')()", "require('/etc/passwd')",
            "game:GetService('HttpService'):GetAsync('http://127.0.0.1')", "debug.setmetatable({}, {})",
            "package.loadlib('x', 'y')", "dofile('/etc/passwd')"].map(|code| {
                let source = format!("return function() it('evil', function() {code} end) end");
                tested(ground, &source)
            }).into();
    code_that_reaches_out: Agent, "code of `run_luau` that reads files, runs programs, loads code, and asks the network"
        => Exit(1, "The code failed, and nothing was changed"),
        |ground| ["io.open('/etc/passwd')", "os.execute('id')", "os.getenv('HOME'):len()", "loadstring('return 1')()",
            "require('/etc/passwd')", "require('./src/lib')", "getfenv(0).io.open('/etc/passwd')",
            "getfenv(1).require('/etc/passwd')", "getfenv(print).native.wrap(0)",
            "game:GetService('HttpService'):GetAsync('http://127.0.0.1')", "debug.setmetatable({}, {})",
            "setmetatable(getmetatable(game), {})", "getmetatable(Vector3.one).x = 1", "string.rep = nil",
            "package.loadlib('x', 'y')", "dofile('/etc/passwd')", "coroutine.wrap(function() while true do end end)()",
            "local all = {} while true do all[#all + 1] = string.rep('x', 1e6) .. #all end",
            "local function deep() return deep() + 1 end deep()",
            "while true do Instance.new('Part') end", "local it = '' while true do print(it) it ..= 'x' end"]
            .map(|code| ran(ground, code)).into();
    a_game_that_reaches_out: Content, "scripts of a game that is played, which read files, ask the network, and never end"
        => Exit(1, "Played"),
        |ground| ["io.open('/etc/passwd')", "os.execute('id')", "loadstring('return 1')()", "require('/etc/passwd')",
            "getfenv(1).require('/etc/passwd')", "getfenv(print).native.wrap(0)",
            "game:GetService('HttpService'):GetAsync('http://127.0.0.1').x()", "debug.setmetatable({}, {})",
            "setmetatable(getmetatable(game), {})", "getmetatable(Vector3.one).x = 1", "string.rep = nil",
            "game.Players.PlayerAdded:Wait() game.ReplicatedFirst.Parent = nil",
            "local all = {} while true do all[#all + 1] = string.rep('x', 1e6) .. #all end",
            "local function deep() return deep() + 1 end deep()",
            "while true do Instance.new('Part', workspace) end", "local it = '' while true do print(it) it ..= 'x' end",
            "while true do pcall(function() while true do end end) end",
            "game:BindToClose(function() while true do end end)",
            "local function f() task.spawn(f) end f()",
            "game.Players.PlayerRemoving:Connect(function() error(setmetatable({}, { __tostring = function() while true do end end })) end)"]
            .map(|code| played(ground, code)).into();
    a_token_file_that_all_can_read: File, "a token file from before, which every user can read"
        => Instead("the daemon writes a new one that is the person's alone"),
        |ground| {
            fs::create_dir_all(ground.ledger()).unwrap();
            for name in ["token", "agent-token"] {
                let kept = ground.ledger().join(name);
                fs::write(&kept, "1 x\n").unwrap();
                #[cfg(unix)]
                fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
            }
            token_is_private(ground)
        };
    a_link_where_the_token_is_kept: File, "links in the place of the token files, to a file of somebody's"
        => Instead("the links are replaced, and nothing is written through them"),
        |ground| {
            fs::create_dir_all(ground.ledger()).unwrap();
            #[cfg(unix)]
            for name in ["token", "agent-token"] {
                std::os::unix::fs::symlink(ground.path("outside/secret.luau"), ground.ledger().join(name)).unwrap();
            }
            token_is_private(ground)
        };
    a_home_that_others_can_read: File, "a home that was not there, where all files are open to all"
        => Instead("it is made for the person alone"),
        |ground| {
            ground.serve();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = fs::metadata(ground.ledger()).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700);
            }
            ground.note();
            vec![Seen::Instead]
        };
    two_daemons_on_one_ledger: Process, "a second daemon on the ledger of the first" => Exit(1, "already serves this ledger"),
        |ground| {
            ground.serve();
            ground.note();
            let kept = token(&ground.ledger().join("token"));
            let seen = ground.run(&["serve", "--port", "0"], "");
            assert_eq!(token(&ground.ledger().join("token")), kept, "the first one's token stays");
            vec![seen]
        };
    a_port_that_is_taken: Process, "listens where the daemon would, to hear its tokens" => Exit(1, "is in use by"),
        |ground| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port().to_string();
            fs::create_dir_all(ground.ledger()).unwrap();
            let seen = ground.run(&["serve", "--port", &port], "");
            assert!(!ground.ledger().join("token").exists(), "there is no token to be heard");
            vec![seen]
        };
    settings_that_are_garbage: File, "settings that are cut, of another kind, or say more than there is"
        => Instead("nothing counts as chosen: every change waits for the person"),
        |ground| {
            fs::create_dir_all(ground.ledger()).unwrap();
            for text in ["", "{", "[]", "{\"mode\":\"dangerous\"", "{\"mode\":\"dangerous\",\"model\":\"\",\"sudo\":1}",
                "{\"mode\":\"anything\",\"model\":\"\"}"] {
                fs::write(ground.ledger().join("settings.json"), text).unwrap();
                ground.serve();
                assert_eq!(ground.person("GET", "/api/settings", &Json::Null).ok()["mode"], "confirm", "{text}");
            }
            ground.note();
            vec![Seen::Instead]
        };
    pairings_that_are_garbage: File, "pairings that are empty lines, texts, or cut hashes"
        => Instead("none of them lets a plugin in"),
        |ground| {
            fs::create_dir_all(ground.ledger()).unwrap();
            let cut = "a".repeat(63);
            fs::write(ground.ledger().join("paired"), format!("\n\nsecret\n{cut}\n{cut}g\n")).unwrap();
            ground.serve();
            for credential in ["", "secret", &cut, &format!("{cut}g")] {
                let hello = json!({ "protocol": 1, "plugin": "0", "credential": credential, "session": "w",
                    "place": { "name": "x", "place_id": 0 } });
                let answer = ground.daemon().call("POST", "/api/hello", None, &hello);
                assert_eq!(answer.body["kind"], "unpaired", "{credential:?}");
            }
            ground.note();
            vec![Seen::Instead]
        };
    a_ledger_that_is_garbage: File, "a ledger that is another file" => Exit(1, "ledger.sqlite"),
        |ground| {
            fs::create_dir_all(ground.ledger()).unwrap();
            fs::write(ground.ledger().join("ledger.sqlite"), "evil".repeat(1_000)).unwrap();
            let seen = vec![ground.run(&["log"], ""), ground.run(&["serve", "--port", "0"], "")];
            let kept = fs::read_to_string(ground.ledger().join("ledger.sqlite")).unwrap();
            assert_eq!(kept, "evil".repeat(1_000), "it is left as it is");
            fs::remove_dir_all(ground.ledger()).unwrap();
            seen
        };
}
