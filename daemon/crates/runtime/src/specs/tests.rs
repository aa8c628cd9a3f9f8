//! Tests with well-behaved and misbehaving specs.

mod hostile;

use vector_core::specs::{CaseOutcome, SpecFinder};
use vector_place::FileFormat;

use super::vm::MAX_OUTPUT;
use super::*;

/// Runs the specs among these modules, in a place that has them below ReplicatedStorage.
fn run_all(modules: &[(&str, &str)], limits: SpecLimits) -> Vec<SpecResult> {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    let storage = scene.create(game, "ReplicatedStorage", "ReplicatedStorage");
    for (name, source) in modules {
        let module = scene.create(storage, "ModuleScript", name);
        scene.set_source(module, (*source).to_owned());
    }
    let finder = SpecFinder::new(&scene);
    let specs: Vec<_> = scene.descendants(scene.root()).filter(|it| finder.is_spec(*it)).collect();
    run_specs(scene, &specs, limits, &|| false).results
}

fn quick() -> SpecLimits {
    let (total, case) = (Duration::from_secs(20), Duration::from_millis(300));
    SpecLimits {
        total_time: total,
        case_time: case,
        memory_bytes: 32 << 20,
        ..SpecLimits::default()
    }
}

fn report_lines(specs: &[SpecResult]) -> Vec<String> {
    let mut lines = Vec::new();
    for spec in specs {
        lines.extend(spec.failure.iter().map(|failure| format!("spec: {failure}")));
        for case in &spec.cases {
            let outcome = format!("{:?}", case.outcome).to_lowercase();
            let why = case.failure.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            lines.push(format!("{outcome} {}{why}", case.name));
            lines.extend(case.output.iter().map(|line| format!("  {line}")));
        }
    }
    lines
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    check_with(&[], body, expected);
}

#[track_caller]
fn check_with(modules: &[(&str, &str)], body: &str, expected: &[&str]) {
    let source = format!("return function()\n{body}\nend");
    let mut all = modules.to_vec();
    all.push(("A.spec", &source));
    let lines = report_lines(&run_all(&all, quick()));
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        let line = line.replace("game.ReplicatedStorage[\"A.spec\"]", "A");
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
}

#[test]
fn cases_pass_fail_or_are_skipped() {
    check(
        "describe('a', function()\n\
         it('b', function() expect(1).to.equal(1) end)\n\
         it('c', function()\n expect(1 + 1).to.equal(3)\n end)\n\
         itSKIP('d', function() error('never') end)\n\
         describeSKIP('e', function() it('f', function() end) end)\n\
         end)",
        &[
            "passed a > b",
            "failed a > c: A:5: expected 3 (number), got 2 (number)",
            "skipped a > d",
            "skipped a > e > f",
        ],
    );
    check("it('a', function() end) itFOCUS('b', function() end)", &["skipped a", "passed b"]);
}

#[test]
fn failed_expectations_describe_the_mismatch() {
    check(
        "it('a', function() expect('x').to.be.a('number') end)\n\
         it('b', function() expect(nil).to.be.ok() end)\n\
         it('c', function() expect(1).never.to.equal(1) end)\n\
         it('d', function() expect(1).to.be.near(1.1, 0.2) expect(1).to.be.near(2) end)\n\
         it('e', function() expect(function() error('abc') end).to.throw('b') end)\n\
         it('f', function() expect(function() end).to.throw() end)\n\
         it('g', function() expect(1).to.foo(1) end)\n\
         it('h', function() expect.extend({ odd = function(n) return { pass = n % 2 == 1, message = 'not odd' } end }) expect(2).to.be.odd() end)",
        &[
            "failed a: A:2: expected a value of type number, got one of type string",
            "failed b: A:3: expected a value that is not nil, got nil",
            "failed c: A:4: expected anything but 1 (number)",
            "failed d: A:5: expected 2 within 1e-07, got 1",
            "passed e",
            "failed f: A:7: expected an error, got none",
            "failed g: A:8: expect knows no \"foo\"",
            "failed h: A:9: expected not odd",
        ],
    );
}

#[test]
fn hooks_run_around_cases() {
    check(
        "beforeAll(function() print('all') end) afterAll(function() print('over') end)\n\
         beforeEach(function() print('each') end) afterEach(function() print('done') end)\n\
         it('a', function() print('a') error('b') end)\n\
         describe('d', function()\n\
         beforeEach(function() print('inner') end) afterEach(function() print('outer') end)\n\
         it('b', function() error({ message = 'thrown' }) end)\n\
         end)",
        &[
            "failed a: A:4: b",
            "  all",
            "  each",
            "  a",
            "  done",
            "failed d > b: A:7: thrown",
            "  each",
            "  inner",
            "  outer",
            "  done",
            "  over",
        ],
    );
    check(
        "beforeAll(function() error('no') end)\nit('a', function() end)\nit('b', function() end)",
        &["failed a: A:2: no", "failed b: A:2: no"],
    );
}

#[test]
fn modules_are_required_through_the_tree() {
    let modules = [
        ("Add", "return function(a, b) return a + b end"),
        (
            "Uses",
            "local add = require('./Add') return { three = add(1, 2), same = require(script.Parent.Add) }",
        ),
        ("One", "return require(script.Parent.Two)"),
        ("Two", "return require(script.Parent.One)"),
        ("Bad", "local x = 1\nerror('bad module')"),
        ("None", "local x = 1"),
        ("Broken", "local = 1"),
    ];
    check_with(
        &modules,
        "local storage = game:GetService('ReplicatedStorage')\n\
         it('a', function() local uses = require(storage.Uses) expect(uses.three).to.equal(3) expect(uses.same).to.equal(require(script.Parent.Add)) end)\n\
         it('b', function() require(storage.One) end)\n\
         it('c', function() require(storage.Bad) end)\n\
         it('d', function() require(storage.None) end)\n\
         it('e', function() require(storage.Broken) end)\n\
         it('f', function() require(1234) end)\n\
         it('g', function() require(storage) end)\n\
         it('h', function() require('./Nobody') end)",
        &[
            "passed a",
            "failed b: A:4: Requested module experienced an error while loading: ReplicatedStorage.Two:1: \
             Requested module was required recursively",
            "  error: ReplicatedStorage.Two:1: Requested module was required recursively",
            "  error: ReplicatedStorage.One:1: Requested module experienced an error while loading",
            "failed c: A:5: Requested module experienced an error while loading: ReplicatedStorage.Bad:2: bad \
             module",
            "  error: ReplicatedStorage.Bad:2: bad module",
            "failed d: A:6: Module code did not return exactly one value",
            "failed e: A:7: Requested module experienced an error while loading: ReplicatedStorage.Broken:1: ",
            "  error: ReplicatedStorage.Broken:1: ",
            "unknown f: A:8: not known: it uses require of an asset, which Roblox has and Vector's",
            "failed g: A:9: Attempted to call require with invalid argument(s)",
            "failed h: A:10: Failed to resolve the required path \"./Nobody\"",
        ],
    );
}

#[test]
fn specs_have_the_place() {
    check_with(
        &[("M", "return 1")],
        "local m = game.ReplicatedStorage:FindFirstChild('M')\n\
         it('a', function()\n\
         expect(m.Name).to.equal('M') expect(m.ClassName).to.equal('ModuleScript')\n\
         expect(m.Parent).to.equal(script.Parent) expect(typeof(m)).to.equal('Instance')\n\
         expect(m:IsA('LuaSourceContainer')).to.equal(true)\n\
         expect(m:GetFullName()).to.equal('ReplicatedStorage.M')\n\
         expect(m:IsDescendantOf(game)).to.equal(true)\n\
         expect(game:FindFirstChild('M', true)).to.equal(m)\n\
         expect(({ [m] = 1 })[script.Parent:WaitForChild('M')]).to.equal(1)\n\
         expect(game:GetService('RunService'):IsStudio()).to.equal(true)\n\
         expect(game:GetService('Players')).to.equal(game:GetService('Players'))\n\
         end)\n\
         it('b', function() print(m.Size) end)\n\
         it('c', function() game:GetService('Nope') end)\n\
         it('d', function() m:WaitForChild('x') end)",
        &[
            "passed a",
            "failed b: A:14: Size is not a valid member of ModuleScript \"ReplicatedStorage.M\"",
            "failed c: A:15: 'Nope' is not a valid Service name",
            "failed d: it waits for something that will never come",
            "  Infinite yield possible on 'ReplicatedStorage.M:WaitForChild(\"x\")'",
        ],
    );
}

#[test]
fn specs_have_what_a_server_has() {
    check(
        "it('instances', function()\n\
         local part = Instance.new('Part') part.Size = Vector3.new(2, 4, 6) part.Anchored = true part.Parent = workspace\n\
         expect(part.CFrame * Vector3.new(1, 2, 3)).to.equal(Vector3.new(1, 2, 3))\n\
         expect(workspace.Part.Size.Y).to.equal(4) expect(part.Color).to.equal(BrickColor.new('Medium stone grey').Color)\n\
         end)\n\
         it('the next case sees it', function() expect(workspace:FindFirstChild('Part')).to.be.ok() end)\n\
         it('attributes and tags', function()\n\
         local part = workspace.Part local seen = {}\n\
         part.AttributeChanged:Connect(function(name) table.insert(seen, name) end)\n\
         part:SetAttribute('Health', 3) part:AddTag('Enemy') task.wait()\n\
         expect(seen[1]).to.equal('Health') expect(game:GetService('CollectionService'):GetTagged('Enemy')[1]).to.equal(part)\n\
         end)\n\
         it('events', function()\n\
         local event, got = Instance.new('BindableEvent'), nil\n\
         event.Event:Connect(function(...) got = select('#', ...) end) event:Fire(1, nil) task.wait()\n\
         expect(got).to.equal(2)\n\
         end)\n\
         it('stores', function()\n\
         local store = game:GetService('DataStoreService'):GetDataStore('Coins')\n\
         store:SetAsync('a', { 1, 2 }) expect(store:GetAsync('a')[2]).to.equal(2)\n\
         end)\n\
         it('rays', function()\n\
         workspace.Part.Position = Vector3.new(0, 50, 0)\n\
         local hit = workspace:Raycast(Vector3.new(0, 100, 0), Vector3.new(0, -100, 0))\n\
         expect(hit.Instance).to.equal(workspace.Part) expect(hit.Position.Y).to.be.near(52, 1e-3)\n\
         end)\n\
         it('the world', function()\n\
         local ball = Instance.new('Part') ball.Position = Vector3.new(0, 1000, 0) ball.Parent = workspace\n\
         task.wait(1) expect(ball.Position.Y < 990).to.equal(true)\n\
         end)\n\
         it('the server', function()\n\
         local run = game:GetService('RunService')\n\
         expect(run:IsServer()).to.equal(true) expect(run:IsClient()).to.equal(false) expect(run:IsRunning()).to.equal(true)\n\
         expect(#game:GetService('Players'):GetPlayers()).to.equal(0)\n\
         end)",
        &["passed"; 8],
    );
}

#[test]
fn hooks_and_cases_share_a_context() {
    check(
        "beforeAll(function(context) context.all = 1 end)\n\
         it('a', function(context) expect(context.all).to.equal(1) end)\n\
         describe('inner', function()\n\
         beforeEach(function(context) context.each = (context.each or 0) + 1 end)\n\
         it('b', function(context) expect(context.all + context.each).to.equal(2) end)\n\
         it('c', function(context) expect(context.each).to.equal(2) end)\n\
         end)\n\
         it('d', function(context) expect(context.each).to.equal(nil) end)",
        &["passed a", "passed inner > b", "passed inner > c", "passed d"],
    );
}

#[test]
fn each_spec_has_the_place_as_it_is() {
    let first = "return function() it('a', function() script.Parent.Name = 'Moved' workspace:Destroy() _G.seen = true end) end";
    let second = "return function() it('b', function() expect(script.Parent.Name).to.equal('ReplicatedStorage') \
                  expect(_G.seen).to.equal(nil) end) end";
    let lines = report_lines(&run_all(&[("A.spec", first), ("B.spec", second)], quick()));
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[1], "passed b");
}

#[test]
fn what_is_not_in_the_runtime_is_not_known() {
    let call = "settings()";
    check(
        &format!(
            "it('a', function() {call} end)\n\
             it('b', function() pcall(function() {call} end) end)\n\
             it('c', function() error('known') end)"
        ),
        &[
            "unknown a: A:2: not known: it uses settings()",
            "unknown b: not known: it uses settings()",
            "failed c: A:4: known",
        ],
    );
}

#[test]
fn next_case_runs_after_one_that_was_stopped() {
    check(
        "local seen = 0\n\
         it('a', function() task.spawn(function() task.wait(1) seen += 1 end) task.wait(0.5) end)\n\
         it('b', function() task.wait(0.6) expect(seen).to.equal(1) end)\n\
         it('c', function() task.defer(function() while true do end end) task.wait() end)\n\
         it('d', function() local event = Instance.new('BindableEvent') event.Event:Once(function() seen += 1 end) event:Fire() task.wait() expect(seen).to.equal(2) end)\n\
         it('e', function() while true do task.wait() end end)\n\
         it('f', function() task.delay(1, function() seen += 1 end) task.wait(2) expect(seen).to.equal(3) end)",
        &[
            "passed a",
            "passed b",
            "failed c: it did not end within 0.3 s, or within the time of all specs; it was stopped at ReplicatedStorage.A.spec:5",
            "passed d",
            "failed e: it did not end",
            "passed f",
        ],
    );
}

#[test]
fn case_that_was_stopped_has_failed_whatever_it_needs() {
    check(
        "it('a', function() pcall(settings) while true do end end)\n\
         it('b', function() pcall(settings) task.wait(math.huge) end)\n\
         it('c', function() pcall(settings) end)",
        &["failed a: it did not end", "failed b: it waits for something", "unknown c: not known"],
    );
}

#[test]
fn cases_do_not_run_after_a_hook_that_was_stopped() {
    check(
        "beforeAll(function() while true do end end)\nit('a', function() end)\nit('b', function() end)",
        &["failed a: it did not end", "failed b: a beforeAll around it did not end"],
    );
}

#[test]
fn code_that_was_stopped_leaves_nothing_to_the_next_case() {
    check(
        "local again = Instance.new('BindableEvent')\n\
         local depth = 0\n\
         again.Event:Connect(function() depth += 1 if depth < 60 then again:Fire() end while true do end end)\n\
         it('a', function() again:Fire() end)\n\
         it('b', function() depth = 0 again:Fire() end)\n\
         it('c', function() local t = {} while true do table.insert(t, task.spawn(coroutine.yield)) end end)\n\
         it('d', function()\n\
         local seen = {} local event = Instance.new('BindableEvent')\n\
         event.Event:Connect(function() table.insert(seen, 'fired') end)\n\
         task.defer(function() table.insert(seen, 'deferred') end) event:Fire() task.wait(0/0) task.wait(1)\n\
         table.sort(seen) expect(table.concat(seen, ' ')).to.equal('deferred fired')\n\
         end)",
        &["failed a: it did not end", "failed b: ", "failed c: ", "passed d"],
    );
}

#[test]
fn plan_fails_for_its_own_reason() {
    let broken = ("Broken", "error('theirs')");
    let spec = "return function() pcall(require, script.Parent.Broken) error('own', 0) end";
    let lines = report_lines(&run_all(&[broken, ("A.spec", spec)], quick()));
    assert!(lines[0].ends_with(": own"), "{lines:?}");
    let spec = "return function() require(script.Parent.Broken) end";
    let lines = report_lines(&run_all(&[broken, ("A.spec", spec)], quick()));
    assert_eq!(lines[0], "spec: game.ReplicatedStorage.Broken:1: theirs");
    let far = "error('ReplicatedStorage.A.spec:99999999999: x', 0)";
    assert!(report_lines(&run_all(&[("A.spec", far)], quick()))[0].ends_with(": x"));
}

#[test]
fn libraries_take_the_arguments_of_luau() {
    check(
        "it('a', function()\n\
         local t = { 1, 2, 3 } table.insert(t, 2, 9) expect(table.concat(t, ',')).to.equal('1,9,2,3')\n\
         expect(table.remove(t, 2)).to.equal(9) expect(table.remove(t)).to.equal(3) expect(table.remove({})).to.equal(nil)\n\
         expect(select('#', table.unpack({ 1, nil, 3 }, 1, 3))).to.equal(3) expect(table.find({ 5, 6, 5 }, 5, 2)).to.equal(3)\n\
         expect(#table.create(3, 'x')).to.equal(3)\n\
         end)\n\
         it('b', function()\n\
         expect(('abc'):sub(2, 3)).to.equal('bc') expect(string.rep('ab', '2')).to.equal('abab') expect(string.len(12)).to.equal(2)\n\
         expect(('xay'):find('a', 1, true)).to.equal(2) expect(('%d'):format(3)).to.equal('3')\n\
         expect(select(2, ('aXbX'):gsub('X', '-'))).to.equal(2) expect(#('a,b'):split(',')).to.equal(2) expect(('\\u{fc}'):byte()).to.equal(195)\n\
         local b = buffer.create(8) buffer.writestring(b, 0, 'abcd', 2) buffer.copy(b, 4, b, 0, 2) expect(buffer.readstring(b, 4, 2)).to.equal('ab')\n\
         end)\n\
         it('c', function() expect(('x'):rep(1e6):find(('y'):rep(600), 1, true)).to.equal(nil) end)\n\
         it('d', function() local t = table.create(90000, 1) while #t > 0 do table.remove(t, #t) end end)\n\
         it('e', function() table.sort({ 3, 1 }, 5) end)",
        &["passed a", "passed b", "passed c", "passed d", "failed e: A:16: "],
    );
}

#[test]
fn waiting_advances_simulated_time() {
    check(
        "it('a', function()\n\
         local order = {}\n\
         task.delay(100, function() table.insert(order, 'delayed') end)\n\
         task.defer(function() table.insert(order, 'deferred') end)\n\
         task.spawn(function() table.insert(order, 'spawned') task.wait(50) table.insert(order, 'waited') end)\n\
         local gone = task.delay(10, function() error('cancelled') end)\n\
         task.cancel(gone)\n\
         expect(task.wait(1000)).to.be.near(1000)\n\
         expect(table.concat(order, ' ')).to.equal('spawned deferred waited delayed')\n\
         end)\n\
         it('b', function() coroutine.yield() end)\n\
         it('c', function() task.wait(math.huge) end)\n\
         it('d', function() task.spawn(error, 'in the back') error('in front') end)",
        &[
            "passed a",
            "failed b: it waits for something that will never come",
            "failed c: it waits for something that will never come",
            "failed d: A:14: in front",
            "  error: in the back",
        ],
    );
}

#[test]
fn shared_tables_are_writable_and_enum_items_resolve() {
    check(
        "it('a', function() _G.a = 1 shared.b = 2 end)\n\
         it('b', function() expect(_G.a + shared.b).to.equal(3) end)\n\
         it('c', function()\n\
         expect(Enum.Material.Wood).to.equal(Enum.Material.Wood) expect(Enum.Material.Wood.Name).to.equal('Wood')\n\
         expect(tostring(Enum.Material.Wood)).to.equal('Enum.Material.Wood')\n\
         end)\n\
         it('d', function() task.wait = nil end)",
        &["passed a", "passed b", "passed c", "failed d: A:8: attempt to modify a readonly table"],
    );
}

#[test]
fn endless_specs_time_out() {
    check(
        "it('a', function() while true do end end)\n\
         it('b', function() while true do pcall(function() while true do end end) end end)\n\
         it('c', function() while true do task.wait() end end)\n\
         it('d', function() string.find(('a'):rep(10000), ('a*'):rep(50) .. 'b') end)\n\
         it('e', function() table.move({}, 1, 2^31 - 3, 2) end)\n\
         it('f', function() local function f() return xpcall(f, f) end f() while true do end end)\n\
         it('g', function() task.spawn(function() while true do end end) end)\n\
         it('h', function() end)",
        &[
            "failed a: it did not end within 0.3 s",
            "failed b: it did not end within 0.3 s",
            "failed c: it did not end within 0.3 s",
            "failed d: it did not end within 0.3 s",
            "failed e: A:6: table.move moves at most",
            "failed f: it did not end within 0.3 s",
            "failed g: it did not end within 0.3 s",
            "passed h",
        ],
    );
    let lines = report_lines(&run_all(&[("A.spec", "while true do end")], quick()));
    assert!(lines[0].starts_with("spec: it did not end within"), "{lines:?}");
}

#[test]
fn memory_and_stack_of_specs_are_limited() {
    check(
        "it('a', function() local s = 'x' while true do s = s .. s end end)\n\
         it('b', function() string.rep('x', 2^30) end)\n\
         it('c', function() local t = {} while true do table.insert(t, table.create(1000, 1)) end end)\n\
         it('d', function() local function f() return 1 + f() end f() end)\n\
         it('e', function() buffer.create(2^30 - 1) end)\n\
         it('f', function() local function f() coroutine.wrap(f)() end f() end)\n\
         it('h', function() end)",
        &[
            "failed a: A:2: not enough memory",
            "failed b: A:3: not enough memory",
            // There may be no memory left to say where.
            "failed c: ",
            "failed d: A:5: stack overflow",
            "failed e: A:6: not enough memory",
            "failed f: A:7: ",
            "passed h",
        ],
    );
}

#[test]
fn names_output_and_failures_are_cut() {
    let source = "return function()\n\
                  it(('n'):rep(9999), function() for i = 1, 1000 do print('ü', ('ü'):rep(9999)) end error(('y'):rep(99999)) end)\n\
                  it('b', function() print('lost') error('z') end)\n\
                  it('c', function() print('passes') end)\n\
                  it('d\\255', function() print('\\255') error('\\255') end)\n\
                  end";
    let results = run_all(&[("A.spec", source)], quick());
    let [first, second, third, fourth] = results[0].cases.as_slice() else {
        panic!("{:?}", report_lines(&results));
    };
    assert_eq!((first.name.len(), first.output[0].len()), (1000, 999));
    assert!(first.output.iter().map(String::len).sum::<usize>() <= MAX_OUTPUT);
    assert_eq!(first.failure.as_ref().map(|it| it.message.len()), Some(2000));
    assert!(second.output.len() <= 1 && third.output.is_empty(), "{second:?} {third:?}");
    let failure = fourth.failure.as_ref().unwrap();
    assert_eq!((fourth.name.as_str(), failure.message.as_str()), ("d\u{fffd}", "\u{fffd}"));
}

#[test]
fn case_count_is_limited_per_spec_and_in_total() {
    let source = "return function() for i = 1, 10001 do it(tostring(i), function() end) end end";
    let results = run_all(&[("A.spec", source)], quick());
    assert_eq!(results[0].count_outcome(CaseOutcome::Passed), 10_000);
    let why = results[0].failure.as_ref().unwrap();
    assert!(why.message.starts_with("it has over 10,000 cases"), "{why}");
    let two = "return function() it('a', function() end) it('b', function() end) end";
    let limits = SpecLimits { max_cases: 3, ..quick() };
    let results = run_all(&[("A.spec", two), ("B.spec", two)], limits);
    assert!(results[0].has_passed());
    let why = results[1].failure.as_ref().unwrap();
    assert!(why.message.starts_with("all specs together have too many cases"), "{why}");
    assert_eq!(results[1].cases.len(), 1);
}

#[test]
fn spec_without_a_done_report_has_failed() {
    let case = SpecCase::without_output("a".to_owned(), CaseOutcome::Passed, None);
    let (tell, told) = mpsc::channel();
    tell.send(SpecProgress::Started(0..1)).unwrap();
    tell.send(SpecProgress::Case(0, case.clone())).unwrap();
    tell.send(SpecProgress::Done(0, None)).unwrap();
    tell.send(SpecProgress::Started(1..2)).unwrap();
    tell.send(SpecProgress::Case(1, case)).unwrap();
    drop(tell);
    let mut run = SpecsRun { results: vec![SpecResult::default(); 3], ..SpecsRun::default() };
    let until = Instant::now() + Duration::from_mins(1);
    let clock = SpecClock { until, is_stopped: Arc::default() };
    let lost = gather_results(&mut run, &told, &clock, &|| false);
    assert!(run.results[0].has_passed());
    let why = run.results[1].failure.as_ref().unwrap();
    assert_eq!(why.message, "it did not run to its end");
    assert!(matches!(lost, Some((2, why)) if why.contains("Vector failed")));
}

#[test]
fn specs_cannot_leave_the_sandbox() {
    check(
        "it('a', function()\n\
         for _, name in { 'io', 'dofile', 'load', 'package' } do\n\
         expect(getfenv(0)[name]).to.equal(nil)\n\
         end\n\
         expect(getfenv(0)).to.equal(getfenv(1)) expect(getfenv(game.GetChildren).print).to.equal(print)\n\
         expect(function() loadstring('return 1') end).to.throw('not available')\n\
         expect(os.execute).to.equal(nil) expect(os.getenv).to.equal(nil) expect(debug.getregistry).to.equal(nil)\n\
         end)\n\
         it('b', function() string.rep = nil end)\n\
         it('c', function() getmetatable('').__index = nil end)\n\
         it('d', function() getmetatable(game).__index = nil end)\n\
         it('e', function() require('/etc/passwd') end)\n\
         it('f', function() game:HttpGet('http://localhost') end)",
        &[
            "passed a",
            "failed b: ",
            "failed c: ",
            "failed d: ",
            "failed e: ",
            "failed f: A:14: HttpGet is not a valid member",
        ],
    );
}

#[test]
fn invalid_specs_say_why() {
    let all = |source: &str| report_lines(&run_all(&[("A.spec", source)], quick()));
    let long = format!("return function() end --{}", "x".repeat(3 << 20));
    assert!(all(&long)[0].contains("has over 2097152 bytes; split it"));
    assert!(all("return 1")[0].contains("a spec returns a function"));
    assert!(all("error('x')")[0].contains(":1: x"), "{:?}", all("error('x')"));
    assert!(all("local =")[0].starts_with("spec: "));
    assert!(all("return function() error({}) end")[0].contains("says nothing of itself"));
    assert!(all("return function() it() it('b', 3) end")[0].starts_with("skipped nil"));
    let late = "return function() it('a', function() it('b', function() end) end) end";
    assert!(all(late)[0].contains("it stands within a describe"), "{:?}", all(late));
}

#[test]
fn specs_out_of_time_are_reported_as_not_run() {
    let slow = "return function() it('a', function() while true do end end) end";
    let limits = SpecLimits { total_time: Duration::from_millis(100), ..quick() };
    let results = run_all(&[("A.spec", slow), ("B.spec", slow)], limits);
    let why = results[1].failure.as_ref().unwrap();
    assert!(why.message.starts_with("it did not run"), "{why}");
    let first = report_lines(&results[..1]);
    assert!(first[0].starts_with("failed a: it did not end within"), "{first:?}");
    assert!(results.iter().all(|spec| !spec.has_passed()));
}
