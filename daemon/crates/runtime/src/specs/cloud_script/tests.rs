//! The script runs in the runtime here, as it would in Roblox's engine.

use std::rc::Rc;

use vector_core::run::RunRequest;
use vector_core::specs::SpecFinder;
use vector_place::FileFormat;

use super::*;
use crate::{RunLimits, run_script};

/// A place with modules below ReplicatedStorage, and the script that runs its specs and requires its
/// modules whose names begin with `Smoke`.
struct CloudBench {
    scene: Scene,
    script: CloudScript,
}

impl CloudBench {
    fn new(modules: &[(&str, &str)], seconds: u32) -> Self {
        let mut scene = Scene::empty(FileFormat::Binary);
        let game = scene.root();
        let storage = scene.create(game, "ReplicatedStorage", "ReplicatedStorage");
        for (name, source) in modules {
            let module = scene.create(storage, "ModuleScript", name);
            scene.set_source(module, (*source).to_owned());
        }
        let finder = SpecFinder::new(&scene);
        let all: Vec<Node> = scene.descendants(game).collect();
        let specs = all.iter().copied().filter(|it| finder.is_spec(*it)).collect();
        let smoke = |it: &Node| scene.name(*it).starts_with("Smoke");
        let modules = all.iter().copied().filter(smoke).collect();
        let script = CloudScript::new(&scene, &CloudSpecs { specs, modules, seconds });
        Self { scene, script }
    }

    /// Runs the script. Returns its value.
    fn run(&self) -> Json {
        let request = RunRequest {
            source: self.script.text().to_owned(),
            name: "TaskScript".to_owned(),
            title: None,
        };
        let limits = RunLimits { seconds: 400.0, ..RunLimits::default() };
        let outcome = run_script(&self.scene, &request, limits, Rc::new(|| false)).unwrap();
        outcome.result.unwrap()
    }

    fn results(&self) -> Vec<SpecResult> {
        let returned = self.run();
        let text = returned.to_string();
        let read = self.script.read_results(&[returned]);
        read.unwrap_or_else(|why| panic!("{why}: {text}")).results
    }
}

fn lines(results: &[SpecResult]) -> Vec<String> {
    let mut lines = Vec::new();
    for spec in results {
        lines.extend(spec.failure.iter().map(|failure| format!("spec: {failure}")));
        for case in &spec.cases {
            let outcome = format!("{:?}", case.outcome).to_lowercase();
            let why = case.failure.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            lines.push(format!("{outcome} {}{why}", case.name));
        }
    }
    lines
}

#[track_caller]
fn check(modules: &[(&str, &str)], expected: &[&str]) {
    let found = lines(&CloudBench::new(modules, 60).results());
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (line, expected) in found.iter().zip(expected) {
        let line = line.replace("game.ReplicatedStorage[\"A.spec\"]", "A");
        // The position that the runtime gives for its own `require`.
        let line = line.replace("[engine] core:42: ", "");
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
}

fn spec(body: &str) -> String {
    format!("return function()\n{body}\nend")
}

#[test]
fn cases_have_the_outcomes_and_positions_that_the_runtime_gives() {
    let body = "describe('a', function()\n\
                it('b', function() expect(1).to.equal(1) end)\n\
                it('c', function()\n expect(1 + 1).to.equal(3)\n end)\n\
                itSKIP('d', function() error('never') end)\n\
                it('e', function() local t = nil t.x = 1 end)\n\
                it('f', function() error({ message = 'thrown' }) end)\n\
                end)";
    let expected = [
        "passed a > b",
        "failed a > c: A:5: expected 3 (number), got 2 (number)",
        "skipped a > d",
        "failed a > e: A:8: attempt to index nil with 'x'",
        "failed a > f: A:9: thrown",
    ];
    check(&[("A.spec", &spec(body))], &expected);
    let bench = CloudBench::new(&[("A.spec", &spec(body))], 60);
    let (limits, stop) = (super::super::SpecLimits::default(), || false);
    let finder = SpecFinder::new(&bench.scene);
    let specs: Vec<Node> =
        bench.scene.descendants(bench.scene.root()).filter(|it| finder.is_spec(*it)).collect();
    let here = super::super::run_specs(bench.scene.fork(), &specs, limits, &stop).results;
    assert_eq!(lines(&here), lines(&bench.results()));
}

#[test]
fn hooks_focus_and_own_matchers_work() {
    let body = "local log = {}\n\
                beforeAll(function() table.insert(log, 'all') end)\n\
                beforeEach(function() table.insert(log, 'each') end)\n\
                it('a', function() expect(table.concat(log, ' ')).to.equal('all each') end)\n\
                it('b', function() expect(#log).to.equal(3) end)\n\
                it('c', function() expect.extend({ odd = function(n) return { pass = n % 2 == 1, message = 'not odd' } end }) expect(2).to.be.odd() end)";
    check(&[("A.spec", &spec(body))], &["passed a", "passed b", "failed c: A:7: expected not odd"]);
    let body = "it('a', function() end) itFOCUS('b', function() end)";
    check(&[("A.spec", &spec(body))], &["skipped a", "passed b"]);
    // A function outside of the plan has the globals too.
    let outside = "local function check(n) expect(n).to.equal(1) end\n\
                   return function() it('a', function() check(1) end) end";
    check(&[("A.spec", outside)], &["passed a"]);
}

#[test]
fn each_spec_has_a_plan_of_its_own() {
    let body = spec("it('a', function() end)");
    check(&[("A.spec", &body), ("B.spec", &body)], &["passed a", "passed a"]);
    let both = [("A.spec", body.as_str()), ("A.spec", "return function() it('b', error) end")];
    check(&both, &["passed a", "failed b"]);
}

#[test]
fn modules_are_required_and_their_failures_are_in_the_results() {
    let modules = [
        ("Add", "return function(a, b) return a + b end"),
        (
            "A.spec",
            "local add = require(script.Parent.Add) return function() it('a', function() expect(add(1, 2)).to.equal(3) end) end",
        ),
        ("B.spec", "return 7"),
        ("C.spec", "error('no')"),
        ("SmokeGood", "return 1"),
        ("SmokeBad", "error('bad')"),
    ];
    check(
        &modules,
        &[
            "passed a",
            "spec: a spec returns a function that calls describe and it",
            "spec: Requested module experienced an error while loading",
            "passed can be required",
            "failed can be required: Requested module experienced an error while loading",
        ],
    );
}

#[test]
fn case_that_never_ends_fails_and_the_others_run() {
    let body = "it('a', function() Instance.new('BindableEvent').Event:Wait() end)\n\
                it('b', function() task.wait(1) end)";
    check(
        &[("A.spec", &spec(body))],
        &["failed a: it did not end within 30 s, or within the time of all specs", "passed b"],
    );
    let bench = CloudBench::new(&[("A.spec", &spec(body)), ("B.spec", &spec(body))], 10);
    let found = lines(&bench.results());
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].starts_with("spec: the time of all specs is over"), "{found:#?}");
    assert!(found[1].starts_with("failed a"), "{found:#?}");
    assert!(found[2].starts_with("spec: it did not run: the time of all specs"), "{found:#?}");
}

#[test]
fn results_stay_below_the_size_limit() {
    let body = "for n = 1, 1500 do it(string.rep('n', 900) .. n, function() error(string.rep('é', 3000)) end) end";
    let bench = CloudBench::new(&[("A.spec", &spec(body))], 60);
    let returned = bench.run();
    assert!(returned.to_string().len() < 4_000_000, "{}", returned.to_string().len());
    let read = bench.script.read_results(&[returned]).unwrap();
    let failure = read.results[0].failure.as_ref().unwrap();
    assert!(failure.message.contains("results are too large"), "{failure}");
    assert!(read.results[0].cases.len() > 500);
}

#[test]
fn jest_of_the_place_runs_its_specs() {
    let jest = "return { runCLI = function(root, options, roots)\n\
                local result = { results = { testResults = {\n\
                { testFilePath = 'ReplicatedStorage/A.spec', testResults = {\n\
                { ancestorTitles = { 'a' }, title = 'b', status = 'passed' },\n\
                { ancestorTitles = {}, title = 'c', status = 'failed', failureMessages = { '\\27[31mno\\27[0m\\nReplicatedStorage.A.spec:7' } },\n\
                { ancestorTitles = {}, title = 'd', status = 'pending' } } },\n\
                } } }\n\
                assert(options.testPathPattern == 'ReplicatedStorage/A\\\\.spec$|ReplicatedStorage/B\\\\.spec$', options.testPathPattern)\n\
                return { awaitStatus = function() return 'Resolved', result end }\n\
                end }";
    let modules = [("jest.config", "return {}"), ("Jest", jest), ("A.spec", ""), ("B.spec", "")];
    check(
        &modules,
        &["passed a > b", "failed c: A:7: no", "skipped d", "skipped jest.config leaves it out"],
    );
    let absent = [("jest.config", "return {}"), ("A.spec", "")];
    check(&absent, &["spec: there is a jest.config, but no ModuleScript named Jest"]);
}

#[test]
fn names_of_any_bytes_reach_the_script() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let folder = scene.create(storage, "Folder", "é\"\\\n]]\u{1}7");
    let module = scene.create(folder, "ModuleScript", "A.spec");
    scene.set_source(module, "return function() it('a', function() end) end".to_owned());
    let request = CloudSpecs { specs: vec![module], modules: Vec::new(), seconds: 60 };
    let script = CloudScript::new(&scene, &request);
    let bench = CloudBench { scene, script };
    assert_eq!(lines(&bench.results()), ["passed a"]);
}

#[test]
fn results_of_another_form_are_refused() {
    let bench = CloudBench::new(&[("A.spec", "")], 60);
    let refused = |returned: &[Json], says: &str| {
        let why = bench.script.read_results(returned).unwrap_err();
        assert!(why.contains(says), "{why}");
    };
    refused(&[], "returned nothing");
    refused(&[Json::Null, Json::Null], "2 values");
    refused(&[json!({ "format": 2 })], "not the results");
    refused(&[json!({ "format": 1, "specs": [] })], "which version");
    let read = bench.script.read_results(&[json!({ "format": 1, "placeVersion": 3 })]).unwrap();
    assert_eq!(lines(&read.results), ["spec: it gave no result"]);
}
