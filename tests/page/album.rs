//! Every page state in both color schemes, wide and narrow: axe finds no serious fault, and the
//! state matches the one that was reviewed.
//!
//! The comparison covers what is shown and how, but not pixels, which depend on the fonts of a
//! machine. `UPDATE=1` writes `shown.json` and the pictures of changed states; look at them before
//! they are committed.
//!
//! To add a page or a state, add a row to `STATES`: a name, and how to reach it from the previous
//! row.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::process::Command;

use fake_cloud::{FakeCloud, StoreAsset};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{CFrame, Matrix3, Vector3};
use scene_schemas::Fingerprint;
use vector_tests::browser::{axe, key};
use vector_tests::requirement::has_git;
use vector_tests::{forked, printed, vectors};

use super::model::{calls, choose, lead_to, says};
use super::store::{cloud_variables, search};
use super::verifying::{outcome, say_yes};
use super::*;
use crate::models::server::{End, Reply, RoleScript, Server};

const FOLDER: &str = "tests/page/pictures";
/// The reviewed states: by name, a hash, and the texts in order, so that a diff shows what is new.
const SHOWN: &str = "tests/page/pictures/shown.json";

/// Counts the page's pending requests, except for its stream.
const COUNTED: &str = "
    window.asking = 0;
    window.since = performance.now();
    const before = window.fetch;
    window.fetch = async (path, ...more) => {
      if (String(path).startsWith('/page/stream')) return before(path, ...more);
      window.asking += 1;
      try { return await before(path, ...more); }
      finally { window.asking -= 1; window.since = performance.now(); }
    };";

/// Whether the page has finished loading. It also loads shortly after an event, hence the 700 ms.
const RESTS: &str = "window.asking === 0 && performance.now() - window.since > 700";

/// Scrolls to the end of the conversation and to the selected or opened item, and freezes
/// everything that varies: times, animations, the caret, toasts, and values that differ in each
/// run.
const STILL: &str = "
    const [folder, done] = arguments;
    const end = () => {
      document.querySelector('#scroll')?.scrollTo(0, 1e9);
      document.querySelector('.entry > [open]')?.scrollIntoView();
      for (const it of document.querySelectorAll('.past, #list [aria-current], .cloud-run [open]')) it.scrollIntoView({ block: 'nearest' });
    };
    const still = (text) => text
      .replaceAll(folder, '~')
      .replaceAll(/\\b(file|project|page)-[0-9a-f]+/g, '$1-1')
      .replaceAll(/\\b[0-9a-f]{10,64}\\b/g, '0123456789')
      .replaceAll(/\\b\\d{13}\\b/g, '1795000000000')
      .replaceAll(/\\b\\d{4}-\\d\\d-\\d\\d\\b/g, '2026-11-23')
      .replaceAll(/about [\\d,]+ tokens/g, 'about 5,000 tokens')
      .replaceAll(/about [\\d,]+ to [\\d,]+ tokens/g, 'about 5,000 to 50,000 tokens')
      .replaceAll(/\\b[\\d.]+ (ms|s|min)\\b/g, '1 s')
      .replaceAll(/\\bprocess \\d+/g, 'process 1');
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const stilled = still(texts.currentNode.data);
      if (stilled !== texts.currentNode.data) texts.currentNode.data = stilled;
    }
    for (const time of document.querySelectorAll('time')) time.textContent = '14:05';
    for (const it of document.getAnimations()) { it.pause(); it.currentTime = 0; }
    document.getElementById('toasts').replaceChildren();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { caret-color: transparent !important; }');
    document.adoptedStyleSheets = [sheet];
    // What comes in sight is measured then.
    end();
    requestAnimationFrame(() => { end(); requestAnimationFrame(() => requestAnimationFrame(() => done())); });";

/// A narrow layout requests some content again; this restarts the wait of `RESTS`.
const SETTLES: &str = "window.since = performance.now(); return null;";
const SEEN: &str = "[...document.querySelectorAll('figure[data-state=loading]')].every(it => {
    const { top, bottom } = it.getBoundingClientRect();
    return bottom < 0 || top > innerHeight;
})";

/// Texts that are painted too small to read: inside a scaled SVG, the scale counts too.
const SMALL: &str = "
    return [...document.querySelectorAll('body *')]
      .filter(it => it.checkVisibility({ visibilityProperty: true }) && !it.matches('title, option'))
      .filter(it => [...it.childNodes].some(own => own.nodeType === Node.TEXT_NODE && own.data.trim()))
      .filter(it => parseFloat(getComputedStyle(it).fontSize) * (it.getScreenCTM?.().a ?? 1) < 11)
      .map(it => `${it.localName}: ${it.textContent}`);";

/// Whether the whole document scrolls; it must not, so that the bar stays in place.
const SCROLLS: &str = "document.documentElement.scrollHeight > innerHeight";

/// What is wider than a column that scrolls, the innermost first.
const WIDE: &str = "
    const columns = [...document.querySelectorAll('#scroll, #one, #list, main')].filter(it => it.scrollWidth > it.clientWidth);
    const isWide = (it) => it.scrollWidth > it.clientWidth + 1 && getComputedStyle(it).overflowX === 'visible';
    return columns.map(column => {
      const wide = [...column.querySelectorAll('*')].filter(it => isWide(it) && ![...it.querySelectorAll('*')].some(isWide));
      return `${column.id}: ${wide.slice(0, 3).map(it => `${it.localName}.${it.className}: ${it.textContent.slice(0, 60)}`)}`;
    });";

const LOOKS: [(&str, Look); 4] = [
    ("light-1280", Look { dark: false, width: 1280, height: 860 }),
    ("dark-1280", Look { dark: true, width: 1280, height: 860 }),
    ("light-420", Look { dark: false, width: 420, height: 860 }),
    ("dark-420", Look { dark: true, width: 420, height: 860 }),
];

/// How to reach a state.
type Reach = fn(&mut Tour<'_>);

/// The states, in the order of the tour.
const STATES: &[(&str, Reach)] = &[
    ("door", |tour| tour.browser.go(&tour.bench.address())),
    ("door-refused", |tour| {
        tour.browser.until("document.activeElement.id === 'code'");
        tour.browser.enter("123 456");
        tour.browser.click(".door button");
        tour.browser.until_shown(".door [role=alert]", "The code is wrong.");
    }),
    ("now-nothing-open", |tour| {
        tour.bench.enter(&tour.browser);
        tour.browser.until_shown("#rail", "No place is open");
    }),
    ("now-nothing-asked", |tour| {
        tour.browser.click("#open-path");
        tour.browser.enter(&tour.bench.file.display().to_string());
        tour.browser.click("#rail button");
        tour.browser.until_shown("#rail", "place.rbxlx");
        tour.browser.click(".toast button");
    }),
    ("now-waits", |tour| {
        ask(&tour.browser, GRID);
        tour.browser.until("document.querySelector('#log [data-proposal]')");
        tour.browser.until_shown("#waiting", "1");
        tour.browser.until_shown("#waits", "Waiting for your decision");
    }),
    ("now-rules-offered", |tour| {
        tour.browser.click("#log .menu summary");
    }),
    ("now-ended", |tour| {
        tour.browser.click("#head button[data-verb=cancel]");
        tour.browser.until_shown("#log .end", "Ended");
    }),
    ("now-done", |tour| {
        ask(&tour.browser, FADE);
        tour.browser.until_shown("#head h1", FADE);
        let card =
            tour.browser.until("document.querySelector('#log [data-proposal]')?.dataset.proposal");
        tour.bench.human.approve(card.as_str().unwrap().parse().unwrap()).ok();
        tour.browser.until_shown("#log .end", "Done");
    }),
    ("usage-nothing", |tour| {
        tour.browser.click(".tabs [data-page=usage]");
        tour.browser.until_shown("main", "No model has answered");
    }),
    ("now-streams", |tour| {
        choose(&tour.bench, "lmstudio/first");
        tour.go("now");
        tour.browser.reload();
        until_here(&tour.browser);
        ask(&tour.browser, "What stands in this place, and what would you do first?");
        tour.server.wait_at_gate(1);
        tour.browser.until_shown("#log .coming", "two rocks");
    }),
    ("now-asks-back", |tour| {
        tour.server.open();
        tour.browser.until_shown("#log .end", "Done");
        ask(&tour.browser, "Paint a rock, then.");
        tour.browser.until_shown("#log .answers", "The first");
        tour.browser.until_shown("#waits", "Waiting for your decision");
    }),
    ("now-stopped", |tour| {
        tour.browser.expect("status of 4");
        tour.browser.click("#log .answers button");
        tour.browser.until_shown("#log .trouble", "Insufficient credit");
        tour.browser.until_shown("#head .state", "stopped");
    }),
    ("now-away", |tour| {
        tour.browser.expect("net::ERR_");
        tour.port = tour.bench.kill();
        tour.browser.until_shown("#link", "Disconnected");
    }),
    ("proposals-none", |tour| {
        tour.bench.file = obby(&tour.bench.home);
        tour.bench.start_on(tour.port);
        until_here(&tour.browser);
        tour.browser.click(".tabs [data-page=proposals]");
        tour.browser.until_shown("#list", "Nothing to review");
    }),
    ("proposal", |tour| {
        tour.edited = tour.bench.propose("replace_text", &edits());
        tour.turn_to(tour.edited);
    }),
    ("proposal-rules-offered", |tour| {
        tour.browser.click("#one .menu summary");
    }),
    ("proposal-split", |tour| {
        tour.browser.click("#one .menu summary");
        tour.browser.press(&[], &['u']);
        tour.browser.until("document.querySelector('#one .lines.p')");
        tour.browser.click("#one input[data-part='h0.1']");
    }),
    ("proposal-comments", |tour| {
        tour.browser.press(&[], &['u']);
        tour.browser.until("document.querySelector('#one .lines.u')");
        tour.browser.press(&[], &['n', 'c']);
        tour.browser.until("document.activeElement.matches('.draft textarea')");
        tour.browser.enter("Why half of it? Say so in the config.");
        tour.browser.press(&[], &[key::ESCAPE]);
    }),
    ("proposal-edited", |tour| {
        tour.browser.click("#one .draft [data-act=drop-comment]");
        let edit = "document.querySelector('#one [data-act=edit-script]')";
        tour.browser.run(&format!("{edit}.scrollIntoView(); {edit}.click()"), &[]);
        let editor = "document.querySelector('#one .editor')?.shadowRoot";
        tour.browser.until(&format!("{editor}?.activeElement?.matches('.cm-content')"));
        tour.browser.enter("local Half == workspace.Gravity\n");
        tour.browser.until(&format!("{editor}.querySelector('.cm-lint-marker-error')"));
        tour.browser.until_shown("#one [data-act=save-edits]", "Save 1 change");
        tour.browser.run(
            &format!("{editor}.querySelector('.cm-content').blur(); {edit}.scrollIntoView()"),
            &[],
        );
    }),
    ("proposal-geometry", |tour| {
        tour.browser.click("#one [data-act=drop-script]");
        tour.moved = tour.bench.propose("propose_changes", &room());
        tour.turn_to(tour.moved);
    }),
    ("proposal-destructive", |tour| {
        let gone = tour.bench.propose_with_errors("propose_changes", &danger());
        tour.turn_to(gone);
    }),
    ("proposal-applied", |tour| {
        for proposal in [tour.edited, tour.moved] {
            tour.bench.human.approve(proposal).ok();
            tour.bench.human.until_status(proposal, "applied");
        }
        tour.go(&format!("proposals/{}", tour.moved));
        tour.browser.until_shown("#one .stands", "applied");
    }),
    ("proposal-commented", |tour| {
        let path = "game.ServerScriptService.KillBricks";
        let edit = json!({ "path": path, "search": "KillDamage / 2", "replace": "KillDamage / 3" });
        let edited = tour.bench.propose("replace_text", &edit);
        let line = json!({ "kind": "line", "path": path, "side": "after", "line": 13 });
        let comments = json!([
            { "on": line, "text": "Why a third? Say so in the config." },
            { "on": { "kind": "proposal" }, "text": "And keep the tags." },
        ]);
        let ask = json!({ "say": "request_changes", "comments": comments });
        tour.bench.human.decide(edited, &ask).ok();
        tour.go(&format!("proposals/{edited}"));
        tour.browser.until_shown("#one .comments", "No reply yet");
    }),
    ("proposal-compared", |tour| {
        let path = "game.ServerScriptService.KillBricks";
        let edit = json!({ "path": path, "search": "KillDamage / 2", "replace": "HalfDamage" });
        tour.edited = tour.bench.propose("replace_text", &edit);
        tour.go(&format!("proposals/{}", tour.edited));
        tour.browser.click("#one .comparison summary");
        tour.browser.until_shown("#one .compared ins", "HalfDamage");
    }),
    ("proposal-steps", |tour| {
        let folder = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Benches" } });
        let anchor =
            json!({ "paths": ["game.Workspace.Baseplate"], "props": { "Reflectance": 0.1 } });
        tour.steps = vec![
            tour.bench.propose("create_instance", &folder),
            tour.bench.propose("set_properties", &anchor),
        ];
        tour.turn_to(tour.steps[1]);
        tour.browser.click(&format!("#list [data-step='{}']", tour.steps[1]));
        tour.browser.until_shown("#list [data-act=approve-steps]", "Approve 2 steps");
    }),
    ("now-rules", |tour| {
        for proposal in tour.steps.drain(..).chain([tour.edited]) {
            tour.bench.human.decide(proposal, &json!({ "say": "reject" })).ok();
        }
        let part = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Park" } });
        let part = tour.bench.propose("create_instance", &part);
        let shown = tour.bench.human.shown(part);
        let rule = &shown["rules"][0]["rule"];
        tour.bench.human.decide_on(&shown, &json!({ "say": "approve", "rule": rule })).ok();
        tour.bench.human.until_status(part, "applied");
        tour.go(&format!("now/{}", shown["workflow"]));
        tour.browser.until_shown("#head .rules", "Additions within game.Workspace.Park");
    }),
    ("history", |tour| {
        tour.browser.click(".tabs [data-page=history]");
        tour.browser.click(&format!("#entries details[data-of='{}'] summary", tour.edited));
        tour.browser.until("document.querySelector('#entries .json')");
    }),
    ("history-nothing-fits", |tour| {
        tour.browser.click(".filters [name=text]");
        tour.browser.enter("a castle");
        tour.browser.press(&[], &[key::ENTER]);
        tour.browser.until_shown("main .empty", "No results");
    }),
    ("script", |tour| {
        tour.browser.click(".filters [data-act=unfilter]");
        tour.browser.until_shown("#entries", "proposed");
        tour.browser.click(".filters [name=everything]");
        tour.browser.click(".filters button.main");
        let applied = "[...document.querySelectorAll('#entries [data-kind=applied] details')]
            .find(it => it.textContent.includes('KillBricks'))?.dataset.of";
        let applied = tour.browser.until(applied);
        tour.go(&format!("history/{}", applied.as_str().unwrap()));
        tour.browser.click("main [data-act=script]");
        tour.browser.until("document.querySelector('.past .lines')");
    }),
    ("store", |tour| {
        tour.browser.click(".tabs [data-page=store]");
        search(&tour.browser, "tree");
        let expected = "document.querySelectorAll('.asset [data-state=there]').length === 5
            && document.querySelectorAll('.asset [data-state=missing]').length === 1";
        tour.browser.expect("404 (Not Found)");
        tour.browser.until(expected);
    }),
    ("proposal-asset", |tour| {
        tour.browser.click(".asset [data-act=insert-asset]");
        let card = tour.bench.human.card();
        tour.go(&format!("proposals/{card}"));
        tour.browser.until_shown("#one h1", "Insert asset 1001");
    }),
    ("usage", |tour| {
        let card = tour.browser.is("document.querySelector('#one .proposal').dataset.of");
        let reject = json!({ "say": "reject" });
        tour.bench.human.decide(card.as_str().unwrap().parse().unwrap(), &reject).ok();
        tour.browser.click(".tabs [data-page=usage]");
        tour.browser.until_shown("main", "lmstudio/first");
    }),
    ("settings", |tour| {
        tour.browser.click(".tabs [data-page=settings]");
        tour.browser.until_shown("main", "this page");
    }),
    ("now-attached", |tour| {
        tour.go("now");
        tour.browser.until("document.querySelector('#ask-text')");
        let attach = "const data = new DataTransfer();
            data.items.add(new File(['The lamps are too dark.'], 'notes.md', { type: 'text/markdown' }));
            document.querySelector('#ask-text').dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));";
        tour.browser.run(attach, &[]);
        tour.browser.until_shown("#attached", "notes.md");
        tour.browser.click("#ask-text");
        tour.browser.enter("Read the notes, then look at @kill");
        tour.browser.until_shown("#mentions", "KillBricks");
    }),
    ("conflict", |tour| {
        tour.browser.run("document.querySelector('#ask-text').value = ''", &[]);
        tour.browser.press(&[], &[key::ESCAPE]);
        tour.browser.click("#attached [data-act=detach]");
        choose(&tour.bench, "offline");
        tour.project.write("return 1\n");
        let opened = tour.bench.human.call("POST", "/api/open", &tour.project.named()).ok();
        let task =
            tour.bench.human.ask(&opened, "comment game.ServerStorage.Rounds: How many there are");
        tour.bench.human.card();
        tour.project.write("-- Rounds in a game: a person's own words\nreturn 1\n");
        tour.go(&format!("now/{task}"));
        tour.browser.until_shown("#log .conflict", "a person's own");
        // The withdrawn card says why it was not replanned, even if the page was opened later.
        tour.browser.until_shown("#log .card", "redo the edit");
    }),
    ("commit", |tour| {
        tour.project.commit();
        let opened = tour.bench.human.call("POST", "/api/open", &tour.project.named()).ok();
        let request = "replace \"return 1\" with \"return 2\" in game.ServerStorage.Rounds";
        tour.bench.human.ask(&opened, request);
        let card = tour.bench.human.card();
        tour.bench.human.approve(card).ok();
        tour.bench.human.until_status(card, "applied");
        tour.go(&format!("commit/{}", opened["session"].as_str().unwrap()));
        tour.browser.until_shown("main", "Commit 1 file");
    }),
    ("merges", |tour| {
        forked::merge(&tour.bench.home, tour.bench.home.path());
        tour.go("merges");
        tour.browser.until_shown("main", "0 of 4 conflicts decided");
        tour.browser.click("article:nth-of-type(2) input[value=theirs]");
        tour.browser.until_shown("main", "1 of 4 conflicts decided");
        tour.browser.click(".part input[value=edited]");
    }),
    ("deploy", |tour| {
        // One version is published, and the place has changed since.
        let opened = tour.bench.human.open(&tour.bench.file).ok();
        let session = opened["session"].as_str().unwrap();
        let path = format!("/api/deploy?session={session}&universe=1234567&place=7654321");
        let plan = tour.bench.human.call("GET", &path, &Json::Null).ok();
        for kind in ["saved", "published"] {
            let upload = json!({
                "session": session, "universe": 1_234_567, "place": 7_654_321, "kind": kind,
                "contents": plan["contents"],
            });
            tour.bench.human.call("POST", "/api/deploy", &upload).ok();
        }
        tour.bench.human.ask(&opened, "create a Part named Checkpoint in game.Workspace");
        let card = tour.bench.human.card();
        tour.bench.human.approve(card).ok();
        tour.bench.human.until_status(card, "applied");
        tour.go(&format!("deploy/{session}"));
        tour.browser.until_shown("#deploy pre", "Checkpoint");
    }),
    ("proposal-verify", |tour| {
        let settings = ledger(&tour.bench.home).join("vector.toml");
        let before = fs::read_to_string(&settings).unwrap();
        let scratch = "[verify]\nscratch = \"2345678/8765432\"\n";
        fs::write(settings, format!("{before}\n{scratch}")).unwrap();
        let spec = "local Stores = game:GetService(\"DataStoreService\")\n\
                    local stages = Stores:GetDataStore(\"Stages\")\n\n\
                    return function()\n\tit(\"saves the stage\", function() stages:SetAsync(\"a\", 1) end)\nend\n";
        let opened = tour.bench.human.open(&tour.bench.file).ok();
        let module = json!({
            "className": "ModuleScript", "parentPath": "game.ServerScriptService",
            "props": { "Name": "Stages.spec", "Source": spec },
        });
        // Several places are open, so the call names one.
        let call = json!({
            "connection": "agent", "client": "agent", "id": "spec", "tool": "create_instance",
            "session": opened["session"], "args": module, "hold": 60,
        });
        let token = Daemon::agent_token(&ledger(&tour.bench.home));
        let answer = tour.bench.daemon().call("POST", "/api/agents/calls", Some(&token), &call);
        tour.edited = answer.ok()["outcome"]["proposal"].as_u64().unwrap();
        tour.go(&format!("proposals/{}", tour.edited));
        tour.browser.until("document.querySelector('#one .verify [data-act=verify]')");
        let verify = "document.querySelector('#one .verify [data-act=verify]')";
        tour.browser.run(&format!("{verify}.scrollIntoView({{ block: 'center' }})"), &[]);
        tour.browser.click("#one .verify [data-act=verify]");
        tour.browser.until_shown("#dialog", "Effects beyond the place");
    }),
    ("proposal-verified", |tour| {
        tour.cloud.add_luau_outcome(outcome(0));
        say_yes(&tour.browser);
        tour.browser.until_shown("#one .cloud-run", "1 passed, 1 failed");
        let details = "document.querySelector('#one .cloud-run details')";
        tour.browser.run(&format!("{details}.open = true; {details}.scrollIntoView()"), &[]);
    }),
    ("now-verified", |tour| {
        let task = tour.bench.human.shown(tour.edited)["workflow"].clone();
        tour.go(&format!("now/{task}"));
        tour.browser.until_shown("#log .card .cloud-run", "1 passed, 1 failed");
    }),
    ("proposal-reviewed", |tour| {
        choose(&tour.bench, "lmstudio/first");
        let edit = json!({
            "path": "game.ServerScriptService.KillBricks",
            "search": "local humanoid = character and character:FindFirstChildOfClass(\"Humanoid\")",
            "replace": "local humanoid = character.Humanoid",
        });
        tour.edited = propose_in_file(&tour.bench, "edit", "replace_text", &edit);
        tour.go(&format!("proposals/{}", tour.edited));
        tour.browser.until("document.querySelector('#one [data-act=review]')");
        tour.browser.click("#one [data-act=review]");
        tour.browser.until_shown("#one .model-review", "2 findings");
        tour.browser.until("document.querySelector('#one .hunk .beside')");
        let beside = "document.querySelector('#one .hunk .beside')";
        tour.browser.run(&format!("{beside}.scrollIntoView({{ block: 'center' }})"), &[]);
    }),
    ("now-task-asked", |tour| {
        let settings = ledger(&tour.bench.home).join("vector.toml");
        let before = fs::read_to_string(&settings).unwrap();
        let team = format!("[providers.llamacpp]\nbase_url = \"{}/v1\"\n", tour.team.url());
        fs::write(settings, format!("{before}\n{team}")).unwrap();
        choose(&tour.bench, "llamacpp/team");
        let wish = json!({ "request": SHARED, "role": "lead" });
        let call = call_in_file(&tour.bench, "task", "start_task", &wish);
        assert_eq!(call["outcome"]["state"], "needs_permission", "{call}");
        tour.go(&format!("now/{}", call["workflow"]));
        tour.browser.until_shown("#log .permission", "workers if they help");
    }),
    ("now-shared", |tour| {
        tour.browser.click("#log .permission [data-answer=once]");
        let all = "[...document.querySelectorAll('.tasks a')]
            .find(it => it.textContent.includes('What a fall costs'))?.hash";
        let task = tour.browser.until(all);
        tour.go(task.as_str().unwrap().trim_start_matches("#/"));
        tour.browser.until_shown("#head .parts", "was not done");
        tour.browser.until_shown("#log .card", "no findings");
    }),
    ("proposal-shared", |tour| {
        let card = "[...document.querySelectorAll('#log [data-proposal]')]
            .find(it => it.textContent.includes('Two parts changed'))?.dataset.proposal";
        let card = tour.browser.until(card);
        tour.go(&format!("proposals/{}", card.as_str().unwrap()));
        tour.browser.until_shown("#one .proposal", "Part 1 of the task");
    }),
    ("proposal-unreviewed", |tour| {
        choose(&tour.bench, "offline");
        let file = ledger(&tour.bench.home).join("vector.toml");
        let settings = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{settings}[review]\nrequired = true\n")).unwrap();
        let props = json!({ "Name": "Gates" });
        let folder = json!({
            "className": "Folder", "parentPath": "game.Workspace", "props": props,
        });
        let card = propose_in_file(&tour.bench, "folder", "create_instance", &folder);
        tour.go(&format!("proposals/{card}"));
        tour.browser.until_shown("#one .unreviewed", "The offline planner reviews nothing");
        tour.browser.until_shown("#list", "needs a review");
    }),
];

/// Proposes a change of the place file as an agent.
fn propose_in_file(bench: &Bench, id: &str, tool: &str, args: &Json) -> u64 {
    call_in_file(bench, id, tool, args)["outcome"]["proposal"].as_u64().unwrap()
}

/// Makes a call for the place file as an agent. Another place may be open, too.
fn call_in_file(bench: &Bench, id: &str, tool: &str, args: &Json) -> Json {
    let opened = bench.human.open(&bench.file).ok();
    let call = json!({
        "connection": "agent", "client": "agent", "id": id, "tool": tool,
        "session": opened["session"], "args": args, "hold": 60,
    });
    let token = Daemon::agent_token(&ledger(&bench.home));
    bench.daemon().call("POST", "/api/agents/calls", Some(&token), &call).ok()
}

/// The request of the shared task.
const SHARED: &str =
    "What a fall costs: half of the health for new players, and a shop that sells a shield.";

/// The models of the shared task: two workers that change the same line, one that fails, and a reviewer
/// without findings.
fn team() -> Vec<RoleScript> {
    let role = |needle, replies| RoleScript { needle, replies };
    let config = "game.ReplicatedStorage.Config";
    let read = || calls("read_script", json!({ "path": config }));
    let damage = |value: &str| {
        let edit = json!({ "path": config, "search": "KillDamage = 100", "replace": value });
        calls("replace_text", edit)
    };
    let folder = |parent: &str, name: &str| {
        let props = json!({ "Name": name });
        calls(
            "create_instance",
            json!({ "className": "Folder", "parentPath": parent, "props": props }),
        )
    };
    let part = |title: &str, writes: &str| json!({ "title": title, "instructions": title, "writes": [writes] });
    let parts = json!({ "parts": [
        part("Half of the health for a fall", config),
        part("Shields in the inventory", "game.ReplicatedStorage.Shields"),
        part("A shop with a window", "game.StarterGui"),
    ] });
    vec![
        role(
            "Do part 1",
            vec![read(), damage("KillDamage = 50"), says("A fall costs half.", End::Whole)],
        ),
        role(
            "Do part 2",
            vec![
                folder("game.ReplicatedStorage", "Shields"),
                read(),
                damage("KillDamage = 75"),
                says("There are shields, and a fall costs less with one.", End::Whole),
            ],
        ),
        role(
            "Do part 3",
            vec![Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#)],
        ),
        role(
            "Review proposal",
            vec![calls("report_review", json!({ "summary": "I read all of it.", "findings": [] }))],
        ),
        role(
            "",
            vec![
                calls("start_plan", json!({ "steps": ["Give the parts away", "Join them"] })),
                calls("assign_parts", parts),
                says(
                    "A fall costs half of the health, and there are shields. I kept 50 where the two parts \
                     disagreed. The shop is missing: its worker had no credit left.",
                    End::Whole,
                ),
            ],
        ),
    ]
}

/// Two edits of a script.
fn edits() -> Json {
    let edits = json!([
        {
            "search": "humanoid:TakeDamage(Config.KillDamage)",
            "replace": "humanoid:TakeDamage(Config.KillDamage / 2)",
        },
        { "search": "do\n\twatch(brick)\nend", "replace": "do\n\ttask.spawn(watch, brick)\nend" },
    ]);
    json!({ "path": "game.ServerScriptService.KillBricks", "edits": edits })
}

/// A proposal for pictures: one part that moves and grows, one that is painted, and a new one.
fn room() -> Json {
    let set = |path: &str, props: Json| json!({ "tool": "set_properties", "args": { "path": path, "props": props } });
    let hazards = "game.Workspace.Course.Hazards";
    let step = json!({
        "Name": "Step", "Size": [8, 1, 8], "Position": [10, 12, -60], "Color": "#33bbff", "Anchored": true,
    });
    let changes = json!([
        set(&format!("{hazards}.Spinner"), json!({ "Size": [24, 1, 2], "Position": [4, 20, -70] })),
        set(&format!("{hazards}.Lava[1]"), json!({ "Color": "#ffaa00", "Transparency": 0.25 })),
        { "tool": "create_instance", "args": { "className": "Part", "parentPath": hazards, "props": step } },
    ]);
    json!({ "title": "Raise the spinner, and give a step to reach it", "changes": changes })
}

/// A destructive and far-reaching proposal.
fn danger() -> Json {
    let loads = json!({
        "path": "game.ServerScriptService.Stages",
        "search": "-- Counts the checkpoints that a player has reached, in order.",
        "replace": "loadstring(\"print('stages')\")()",
    });
    let changes = json!([
        { "tool": "delete_instance", "args": { "path": "game.Workspace.Course.Hazards.Spinner.Spin" } },
        { "tool": "replace_text", "args": loads },
    ]);
    json!({ "title": "Stop the spinner, and load the stages", "changes": changes })
}

/// A project with one script.
struct Project(PathBuf);

impl Project {
    fn new(home: &Home) -> Self {
        let folder = home.path().canonicalize().unwrap().join("game");
        fs::create_dir_all(folder.join("src")).unwrap();
        let tree = json!({ "name": "Game", "tree": { "$className": "DataModel",
            "ServerStorage": { "$path": "src" } } });
        fs::write(folder.join("default.project.json"), tree.to_string()).unwrap();
        Self(folder)
    }

    fn named(&self) -> Json {
        json!({ "project": self.0 })
    }

    /// Saves its script, as the user would in an editor.
    fn write(&self, text: &str) {
        fs::write(self.0.join("src/Rounds.luau"), text).unwrap();
    }

    /// Makes it a Git repository, and commits all of it.
    fn commit(&self) {
        let all: [&[&str]; 5] = [
            &["init", "--quiet", "--initial-branch", "main"],
            &["config", "user.name", "A person"],
            &["config", "user.email", "person@example.com"],
            &["add", "."],
            &["commit", "--quiet", "-m", "Begin"],
        ];
        for args in all {
            let out = Command::new("git").arg("-C").arg(&self.0).args(args).output().unwrap();
            assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        }
    }
}

/// The model's replies during the tour.
fn replies() -> Vec<Reply> {
    let first = "It is a baseplate with a tower of unions, a lamp, and two rocks.\n\n\
        I would look at the scripts first: `Main` is there twice, and each of them starts when the game \
        does, so that one of the two is probably left from an earlier attempt.";
    let back = json!({ "question": "Which of the two rocks do you mean?", "options": ["The first", "The second", "Both"] });
    vec![
        says(first, End::Whole),
        calls("ask_clarification", back),
        Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#),
        calls("report_review", review()),
    ]
}

/// What the reviewer reports of the last proposal.
fn review() -> Json {
    let path = "game.ServerScriptService.KillBricks";
    let nil = "Parts of the course touch bricks too: `character` is nil then, and this line errors. Keep \
               `character and`, and FindFirstChildOfClass, which a character without a Humanoid passes.";
    let name = "`Humanoid` is found by its name now; a character whose Humanoid has another name is not hurt.";
    json!({
        "summary": "I read the script and who touches its bricks, and played it: one case errors.",
        "findings": [
            { "severity": "high", "text": nil, "path": path, "line": 11 },
            { "severity": "low", "text": name },
        ],
    })
}

/// A cloud with trees, one of which Roblox does not show.
fn stocked_cloud() -> FakeCloud {
    let tree = |n: u64, name: &str| StoreAsset::model(1_000 + n, name);
    let cloud = FakeCloud::start(vec![
        StoreAsset { scripts: 2, ..tree(1, "Oak tree, with leaves that fall") },
        StoreAsset { votes: (48_213, 1_904), triangles: 18_240, ..tree(2, "Pine tree") },
        StoreAsset { price_cents: 499, ..tree(3, "Cherry tree") },
        tree(4, "Palm tree"),
        tree(5, "A tree with a name so long that it is cut after the second line of its own card"),
        tree(6, "Bare tree"),
    ]);
    for (n, color) in
        (1..=5).zip([[63, 125, 62], [36, 86, 74], [214, 130, 160], [90, 160, 70], [120, 120, 60]])
    {
        cloud.show(1_000 + n, plain_picture(color));
    }
    cloud.add_places(1_234_567, &[7_654_321]);
    cloud.add_places(2_345_678, &[8_765_432]);
    cloud.set_thumbnail_state(1_006, "Blocked");
    let leaves =
        "while task.wait(1) do\n\tscript.Parent.Leaves.Transparency = math.random()\nend\n";
    let part = |name: &str, size: [f32; 3], y: f32| {
        let [x, height, z] = size;
        InstanceBuilder::new("Part")
            .with_name(name)
            .with_property("Size", Vector3::new(x, height, z))
            .with_property("CFrame", CFrame::new(Vector3::new(0.0, y, 0.0), Matrix3::identity()))
    };
    let script = |name: &str, text: &str| {
        InstanceBuilder::new("Script").with_name(name).with_property("Source", text)
    };
    let model = InstanceBuilder::new("Model").with_name("Oak").with_children([
        part("Trunk", [2.0, 10.0, 2.0], 5.0),
        part("Leaves", [9.0, 6.0, 9.0], 12.0),
        script("Fall", leaves),
        script("Update", "require(123456789)(getfenv())\n"),
    ]);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    cloud.deliver(1_001, places::encode(&game, Format::Rbxm));
    cloud
}

/// A picture of one color.
fn plain_picture([red, green, blue]: [u8; 3]) -> Vec<u8> {
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, 150, 150);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[red, green, blue].repeat(150 * 150)).unwrap();
    writer.finish().unwrap();
    picture
}

/// A walk through the page.
struct Tour<'s> {
    server: Server,
    team: Server,
    cloud: FakeCloud,
    bench: Bench,
    /// The port of the daemon before it was stopped.
    port: u16,
    project: Project,
    /// The proposal that edits a script, and the one that moves parts.
    steps: Vec<u64>,
    edited: u64,
    moved: u64,
    browser: Browser<'s>,
    axe: Option<String>,
    shown: BTreeMap<String, Json>,
    faults: Vec<String>,
}

/// The reviewed states.
fn known() -> BTreeMap<String, Json> {
    let known = fs::read_to_string(repository::root().join(SHOWN)).unwrap();
    serde_json::from_str(&known).unwrap()
}

impl<'s> Tour<'s> {
    fn begin(stage: &'s Stage) -> Self {
        let server = Server::start(replies());
        server.hold_back(0, true);
        let mut bench = Bench::new();
        lead_to(&server, &mut bench);
        bench.kill();
        // Without its place: the tour opens it on the page.
        let cloud = stocked_cloud();
        let mut command = Command::new(binary::vector());
        command.args(["serve", "--port", "0"]);
        bench.variables = cloud_variables(&cloud).to_vec();
        command.envs(cloud_variables(&cloud));
        bench.daemon = Some(Daemon::run(command, &ledger(&bench.home)));
        bench.human = Human::of(bench.daemon(), &ledger(&bench.home));
        let browser = stage.browser();
        browser.expect("401 (Unauthorized)");
        browser.prepare(COUNTED);
        let project = Project::new(&bench.home);
        Self {
            server,
            team: Server::by_role(team()),
            cloud,
            bench,
            port: 0,
            project,
            edited: 0,
            steps: Vec::new(),
            moved: 0,
            browser,
            axe: axe(),
            shown: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// Navigates to a page by its address.
    fn go(&self, page: &str) {
        self.browser.run("location.hash = arguments[0]", &[format!("#/{page}").into()]);
    }

    /// Shows a pending proposal.
    fn turn_to(&self, proposal: u64) {
        self.browser.click(&format!("#list a[data-seq='{proposal}']"));
        self.browser.until(&format!(
            "document.querySelector('#one .proposal')?.dataset.of === '{proposal}'"
        ));
    }

    /// Keeps the reviewed version of a state that the tour cannot reach here.
    fn keep(&mut self, state: &str) {
        let of = |name: &String| name.starts_with(&format!("{state}-"));
        self.shown.extend(known().into_iter().filter(|(name, _)| of(name)));
    }

    /// Checks a state in every look.
    fn look(&mut self, state: &str) {
        self.browser.until(RESTS);
        let known = known();
        // The place's folder differs in each run.
        let folder = self.bench.home.path().display().to_string();
        for (name, look) in LOOKS {
            let name = format!("{state}-{name}");
            self.browser.look(&look);
            // Move the mouse away, so that nothing is hovered.
            let away = json!({ "type": "mouseMoved", "x": 0, "y": 0 });
            self.browser.cdp("Input.dispatchMouseEvent", away);
            if state.starts_with("proposal") {
                self.browser.run(SETTLES, &[]);
                self.browser.until(RESTS);
                self.browser.until(SEEN);
            }
            self.browser.run_async(STILL, &[json!(folder)]);
            let shown = self.browser.run(include_str!("shown.js"), &[]);
            let hash = Fingerprint::hash_bytes(shown["all"].to_string().as_bytes()).to_string();
            let shown = json!({ "hash": hash, "texts": shown["texts"] });
            let picture = repository::root().join(FOLDER).join(format!("{name}.png"));
            // Pixels differ slightly each time, so a picture is written only if the state changed.
            let is_new = known.get(&name) != Some(&shown) || !picture.exists();
            if printed::updating() && is_new {
                fs::write(picture, small(&self.browser.picture())).unwrap();
            }
            self.shown.insert(name.clone(), shown);
            if self.browser.is(SCROLLS) == true {
                self.faults.push(format!("{name}: all of it scrolls, and not a part of it"));
            }
            let wide = self.browser.run(WIDE, &[]);
            if wide != json!([]) {
                self.faults.push(format!("{name}: scrolls sideways because of {wide}"));
            }
            let small = self.browser.run(SMALL, &[]);
            if small != json!([]) {
                self.faults.push(format!("{name}: too small to be read: {small}"));
            }
            if let Some(axe) = &self.axe {
                self.faults.extend(
                    faults(&self.browser, axe).into_iter().map(|it| format!("{name}: {it}")),
                );
            }
        }
        self.browser.look(&Look::default());
    }
}

/// Encodes a picture losslessly in fewer bytes, because it is committed.
fn small(picture: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(Cursor::new(picture)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let mut small = Vec::new();
    let mut encoder = png::Encoder::new(&mut small, info.width, info.height);
    encoder.set_color(info.color_type);
    encoder.set_depth(info.bit_depth);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels[..info.buffer_size()]).unwrap();
    writer.finish().unwrap();
    small
}

/// The serious and critical violations that axe finds in a page.
fn faults(browser: &Browser<'_>, axe: &str) -> Vec<String> {
    browser.run(&format!("if (!window.axe) {{ {axe} }}"), &[]);
    let found = browser.run_async(
        "const done = arguments[0];
         axe.run(document, { resultTypes: ['violations'] }).then(
           found => done(found.violations
             .filter(it => ['serious', 'critical'].includes(it.impact))
             .flatMap(it => it.nodes.map(node => `${it.id} (${it.impact}): ${it.help}: ${node.html}`))),
           error => done([String(error)]));",
        &[],
    );
    serde_json::from_value(found).expect("they are texts")
}

#[test]
fn every_page_state_is_accessible_and_matches_its_snapshot() {
    let Some(stage) = Stage::set() else { return };
    let mut tour = Tour::begin(&stage);
    for (name, reach) in STATES {
        if *name == "commit" && !has_git() {
            tour.keep(name);
            continue;
        }
        reach(&mut tour);
        tour.look(name);
    }
    assert!(tour.faults.is_empty(), "{:#?}", tour.faults);
    for (name, was) in known() {
        let now = tour.shown.get(&name).unwrap_or(&Json::Null);
        let texts = |of: &Json| of["texts"].as_array().cloned().unwrap_or_default();
        let (was, now) = (texts(&was), texts(now));
        if let Some(at) = (0..was.len().max(now.len())).find(|at| was.get(*at) != now.get(*at)) {
            println!("{name}: {:?} was shown, and now {:?}", was.get(at), now.get(at));
        }
    }
    printed::check(SHOWN, &vectors::pretty(&json!(tour.shown)));
}

#[test]
fn axe_reports_known_violations() {
    let (Some(stage), Some(axe)) = (Stage::set(), axe()) else { return };
    let browser = stage.browser();
    browser.go("data:text/html,<html lang=en><title>t</title><button></button><p style='color:%23ccc'>pale");
    let found = faults(&browser, &axe).join("\n");
    assert!(
        found.contains("button-name (critical)") && found.contains("color-contrast (serious)"),
        "{found}"
    );
}
