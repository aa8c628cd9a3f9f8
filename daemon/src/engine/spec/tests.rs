//! Specs that behave, and specs that do not.

use super::vm::MAX_OUTPUT;
use super::*;
use crate::core::scene::{Format, Scene};
use crate::core::tools::is_spec;

/// A place with these modules below ReplicatedStorage, and the results of those that are specs.
fn run_all(modules: &[(&str, &str)], limits: Limits) -> Vec<Spec> {
    let mut scene = Scene::empty(Format::Binary);
    let game = scene.root();
    let storage = scene.create(game, "ReplicatedStorage", "ReplicatedStorage");
    for (name, source) in modules {
        let module = scene.create(storage, "ModuleScript", name);
        scene.set_source(module, (*source).to_owned());
    }
    let specs: Vec<_> = scene.descendants(scene.root()).filter(|it| is_spec(&scene, *it)).collect();
    let (still, numbers) = scene.still(&specs);
    run(&Arc::new(still), &numbers, limits, &|| false)
}

fn quick() -> Limits {
    let (total, case) = (Duration::from_secs(20), Duration::from_millis(300));
    Limits { total, case, memory: 32 << 20, ..Limits::default() }
}

fn told(specs: &[Spec]) -> Vec<String> {
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
    let lines = told(&run_all(&all, quick()));
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        let line = line.replace("game.ReplicatedStorage[\"A.spec\"]", "A");
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
}

#[test]
fn cases_pass_fail_and_are_skipped() {
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
fn what_is_expected_is_said() {
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
fn modules_are_required_over_the_tree() {
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
            "failed b: A:4: modules require each other in a circle: game.ReplicatedStorage.One requires \
             game.ReplicatedStorage.Two requires game.ReplicatedStorage.One",
            "failed c: A:5: game.ReplicatedStorage.Bad:2: bad module",
            "failed d: A:6: game.ReplicatedStorage.None returned 0 values",
            "failed e: A:7: ",
            "failed f: A:8: an asset cannot be required",
            "failed g: A:9: ReplicatedStorage is no ModuleScript",
            "failed h: A:10: \"./Nobody\" leads to no module",
        ],
    );
}

#[test]
fn the_tree_can_be_read_and_not_written() {
    check_with(
        &[("M", "return 1")],
        "local m = game.ReplicatedStorage:FindFirstChild('M')\n\
         it('a', function()\n\
         expect(m.Name).to.equal('M') expect(m.ClassName).to.equal('ModuleScript')\n\
         expect(m.Parent).to.equal(script.Parent) expect(typeof(m)).to.equal('Instance')\n\
         expect(m:IsA('LuaSourceContainer')).to.equal(true)\n\
         expect(m:GetFullName()).to.equal('ReplicatedStorage.M')\n\
         expect(#game:GetDescendants()).to.equal(3)\n\
         expect(m:IsDescendantOf(game)).to.equal(true)\n\
         expect(game:FindFirstChild('M', true)).to.equal(m)\n\
         expect(({ [m] = 1 })[script.Parent:WaitForChild('M')]).to.equal(1)\n\
         expect(game:GetService('RunService'):IsStudio()).to.equal(true)\n\
         expect(game:GetService('Players')).to.equal(game:GetService('Players'))\n\
         end)\n\
         it('b', function() m.Name = 'x' end)\n\
         it('c', function() print(m.Size) end)\n\
         it('d', function() game:GetService('Nope') end)\n\
         it('e', function() m:WaitForChild('x') end)\n\
         it('f', function() Instance.new('Part') end)",
        &[
            "passed a",
            "failed b: A:15: ReplicatedStorage.M.Name cannot be set",
            "failed c: A:16: Size is not a valid member of ModuleScript \"ReplicatedStorage.M\"",
            "failed d: A:17: 'Nope' is not a valid Service name",
            "failed e: A:18: ReplicatedStorage.M has no child \"x\"",
            "failed f: A:19: Instance.new is not there in headless tests",
        ],
    );
}

#[test]
fn time_passes_when_it_is_waited_for() {
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
            "  error in a task: in the back",
        ],
    );
}

#[test]
fn what_is_shared_can_be_written_and_names_stand_for_items() {
    check(
        "it('a', function() _G.a = 1 shared.b = 2 end)\n\
         it('b', function() expect(_G.a + shared.b).to.equal(3) end)\n\
         it('c', function()\n\
         expect(Enum.Material.Wood).to.equal(Enum.Material.Wood) expect(Enum.Material.Wood.Name).to.equal('Wood')\n\
         expect(tostring(Enum.Material)).to.equal('Enum.Material')\n\
         end)\n\
         it('d', function() task.wait = nil end)",
        &["passed a", "passed b", "passed c", "failed d: A:8: attempt to modify a readonly table"],
    );
}

#[test]
fn nothing_runs_for_ever() {
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
    let lines = told(&run_all(&[("A.spec", "while true do end")], quick()));
    assert!(lines[0].starts_with("spec: it did not end within"), "{lines:?}");
}

#[test]
fn nothing_takes_all_memory_or_the_stack() {
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
            "failed c: A:4: not enough memory",
            "failed d: A:5: stack overflow",
            "failed e: A:6: not enough memory",
            "failed f: A:7: ",
            "passed h",
        ],
    );
}

#[test]
fn what_is_said_is_cut() {
    let source = "return function()\n\
                  it(('n'):rep(9999), function() for i = 1, 1000 do print('ü', ('ü'):rep(9999)) end error(('y'):rep(99999)) end)\n\
                  it('b', function() print('lost') error('z') end)\n\
                  it('c', function() print('passes') end)\n\
                  it('d\\255', function() print('\\255') error('\\255') end)\n\
                  end";
    let results = run_all(&[("A.spec", source)], quick());
    let [first, second, third, fourth] = results[0].cases.as_slice() else {
        panic!("{:?}", told(&results));
    };
    assert_eq!((first.name.len(), first.output[0].len()), (1000, 999));
    assert!(first.output.iter().map(String::len).sum::<usize>() <= MAX_OUTPUT);
    assert_eq!(first.failure.as_ref().map(|it| it.message.len()), Some(2000));
    assert!(second.output.len() <= 1 && third.output.is_empty(), "{second:?} {third:?}");
    let failure = fourth.failure.as_ref().unwrap();
    assert_eq!((fourth.name.as_str(), failure.message.as_str()), ("d\u{fffd}", "\u{fffd}"));
}

#[test]
fn a_spec_has_so_many_cases_and_all_together_have() {
    let source = "return function() for i = 1, 10001 do it(tostring(i), function() end) end end";
    let results = run_all(&[("A.spec", source)], quick());
    assert_eq!(results[0].count(Outcome::Passed), 10_000);
    let why = results[0].failure.as_ref().unwrap();
    assert!(why.message.starts_with("it has over 10,000 cases"), "{why}");
    let two = "return function() it('a', function() end) it('b', function() end) end";
    let limits = Limits { cases: 3, ..quick() };
    let results = run_all(&[("A.spec", two), ("B.spec", two)], limits);
    assert!(results[0].is_good());
    let why = results[1].failure.as_ref().unwrap();
    assert!(why.message.starts_with("all specs together have too many cases"), "{why}");
    assert_eq!(results[1].cases.len(), 1);
}

#[test]
fn a_spec_that_did_not_say_that_it_is_over_has_failed() {
    let case =
        Case { name: "a".to_owned(), outcome: Outcome::Passed, failure: None, output: Vec::new() };
    let (tell, told) = mpsc::channel();
    tell.send(Told::Begun(0)).unwrap();
    tell.send(Told::Case(case.clone())).unwrap();
    tell.send(Told::Done(None)).unwrap();
    tell.send(Told::Begun(1)).unwrap();
    tell.send(Told::Case(case)).unwrap();
    drop(tell);
    let mut results = vec![Spec::default(); 3];
    let until = Instant::now() + Duration::from_secs(60);
    let clock = Clock { until, stopped: Arc::default() };
    let lost = gather(&mut results, &told, &clock, &|| false);
    assert!(results[0].is_good());
    let why = results[1].failure.as_ref().unwrap();
    assert_eq!(why.message, "it did not run to its end");
    assert!(matches!(lost, Some((2, why)) if why.contains("Vector failed")));
}

#[test]
fn nothing_reaches_outside() {
    check(
        "it('a', function()\n\
         for _, name in { 'io', 'loadstring', 'dofile', 'load', 'package', 'collectgarbage' } do\n\
         expect(getfenv(0)[name]).to.equal(nil)\n\
         end\n\
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
            "failed f: A:12: HttpGet is not a valid member",
        ],
    );
}

#[test]
fn what_is_no_spec_says_so() {
    let all = |source: &str| told(&run_all(&[("A.spec", source)], quick()));
    let long = format!("return function() end --{}", "x".repeat(3 << 20));
    assert!(all(&long)[0].contains("has over 2097152 bytes; split the module"));
    assert!(all("return 1")[0].contains("a spec returns a function"));
    assert!(all("error('x')")[0].contains(":1: x"), "{:?}", all("error('x')"));
    assert!(all("local =")[0].starts_with("spec: "));
    assert!(all("return function() error({}) end")[0].contains("says nothing of itself"));
    assert!(all("return function() it() it('b', 3) end")[0].starts_with("skipped nil"));
    let late = "return function() it('a', function() it('b', function() end) end) end";
    assert!(all(late)[0].contains("it stands within a describe"), "{:?}", all(late));
}

#[test]
fn specs_without_time_say_so() {
    let slow = "return function() it('a', function() while true do end end) end";
    let limits = Limits { total: Duration::from_millis(100), ..quick() };
    let results = run_all(&[("A.spec", slow), ("B.spec", slow)], limits);
    let why = results[1].failure.as_ref().unwrap();
    assert!(why.message.starts_with("it did not run"), "{why}");
    let first = told(&results[..1]);
    assert!(first[0].starts_with("failed a: it did not end within"), "{first:?}");
    assert!(results.iter().all(|spec| !spec.is_good()));
}

#[test]
fn the_library_ends_in_time() {
    let works = [
        "string.find(('a'):rep(2^23), ('a'):rep(2^22) .. 'b', 1, true)",
        "string.split(('a'):rep(2^23), ('a'):rep(2^22) .. 'b')",
        "string.find(('a'):rep(2^23), '[' .. ('b'):rep(2^22) .. 'a]*')",
        "string.gsub(('a'):rep(2^23), '[' .. ('b'):rep(2^22) .. ']', '')",
        "for _ in string.gmatch(('a'):rep(2^23), ('a'):rep(100) .. '-b') do end",
        "('x'):rep(1e7):gsub('x*x*x*x*y', '')",
        "local s = ('a'):rep(2^22) local t = {} for i = 1, 1000 do t[i] = i % 2 == 0 and s or s .. 'b' end table.sort(t)",
        "local t = table.create(2^20, 1) for i = 1, #t do t[i] = i % 7 end table.sort(t, rawequal)",
        "local t = table.create(2^20, 1) for i = 1, #t do t[i] = i % 7 end table.sort(t, math.max)",
        "table.move({}, 2^33, 5, 2)",
        "table.move({}, 0/0, 1, 2)",
        "table.move({}, '1', '2000000000', 2)",
        "table.move({}, -2^31, 2^31, 2)",
        "os.date(('%c'):rep(2^22))",
        "local t = table.create(2^20, 'x') while true do table.insert(t, 1, 'y') table.remove(t, 1) end",
        "local t = table.create(2^20, 'x') while true do table.concat(t) end",
        "while true do pcall(string.rep, 'x', 2^24) end",
        "while true do table.clone(table.create(2^18, 1)) end",
        "local b = buffer.create(2^23) while true do buffer.fill(b, 0, 1) buffer.copy(b, 0, b, 1, 2^22) end",
        "local s = ('\u{fc}'):rep(2^21) while true do utf8.len(s) utf8.offset(s, -1) end",
        "while true do pcall(table.unpack, {}, 1, 2^31 - 1) pcall(string.byte, ('x'):rep(2^22), 1, -1) end",
        "string.format(('%%'):rep(2^22)) string.format(('%s'):rep(2^20), 1)",
        "string.pack(('<'):rep(2^23) .. 'b', 1) tonumber(('9'):rep(2^23)) while true do end",
    ];
    for work in works {
        let source = format!("return function() it('a', function() {work} end) end");
        let began = Instant::now();
        let results = run_all(&[("A.spec", &source)], quick());
        let took = began.elapsed();
        assert!(took.as_secs() < 5, "{work} took {took:?}: {:?}", told(&results));
    }
    check(
        "it('a', function()\n\
         local t = { 3, 1, 2 } table.sort(t) expect(table.concat(t)).to.equal('123')\n\
         table.sort(t, function(a, b) return a > b end) expect(table.concat(t)).to.equal('321')\n\
         expect(table.concat(table.move({ 1, 2, 3 }, 2, 3, 1))).to.equal('233')\n\
         expect(('a,b'):split(',')[2]).to.equal('b') expect(('a.b'):find('.', 1, true)).to.equal(2)\n\
         expect(#os.date('%Y')).to.equal(4) expect(('ab'):gsub('a', 'c')).to.equal('cb')\n\
         end)\n\
         it('b', function() ('x'):find() end)\n\
         it('c', function() table.sort({ 1, 'a' }) end)\n\
         it('d', function() os.date(('x'):rep(2000)) end)",
        &[
            "passed a",
            "failed b: A:9: invalid argument #2",
            "failed c: A:10: attempt to compare",
            "failed d: A:11: the format of os.date has at most 1000 bytes",
        ],
    );
}

#[test]
fn no_error_that_a_spec_can_keep_is_of_rust() {
    check(
        "local calls = {\n\
         function() return game.Nope end, function() game.Name = 1 end, function() return game[nil] end,\n\
         function() game.GetChildren(1) end, function() game.GetChildren() end, function() game:IsA({}) end,\n\
         function() game:GetService(('x'):rep(1e6)) end, function() game:WaitForChild('\\255') end,\n\
         function() game:IsDescendantOf(1) end, function() require(game) end, function() require({}) end,\n\
         function() require('./x') end, function() require(('./'):rep(1e6)) end, function() return game + 1 end,\n\
         function() table.move({}, 1, 2^40, 1) end, function() string.find() end,\n\
         function() setfenv(print, { tostring = 1 }) setfenv(game.GetChildren, {}) game.GetChildren({}) end,\n\
         }\n\
         for index, call in calls do it(tostring(index), function()\n\
         local ok, problem = pcall(call)\n\
         expect(ok).to.equal(false) expect(type(problem)).to.equal('string') expect(#problem < 500).to.equal(true)\n\
         end) end",
        &["passed"; 17],
    );
}

#[test]
fn hostile_specs_end_and_say_why() {
    let cases = [
        (
            "local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end",
            "it did not end",
        ),
        ("local function bomb() while true do task.spawn(bomb) end end bomb()", ""),
        (
            "local function bomb() task.defer(bomb) task.defer(bomb) task.wait() end bomb() while true do task.wait() end",
            "",
        ),
        ("for i = 1, 1e9 do task.delay(-i, print) end", ""),
        (
            "error(setmetatable({}, { __tostring = function() while true do end end }))",
            "it did not end",
        ),
        (
            "error(setmetatable({}, { __tostring = function() error(1) end }))",
            "A:2: a table that cannot be shown",
        ),
        (
            "error(setmetatable({}, { __metatable = setmetatable({}, { __index = function() error('x') end }) }))",
            "",
        ),
        ("error(('x'):rep(2^22))", "A:2: xxxx"),
        ("error({ message = ('x'):rep(2^22) })", "A:2: xxxx"),
        ("error(nil)", "A:2: nil"),
        (
            "local function nest(n) if n == 0 then error('deep') end local ok, why = pcall(nest, n - 1) error(why, 0) end nest(1e5)",
            "",
        ),
        ("local s = 'x' while true do s = s .. string.rep(s, 10) end", "A:2: not enough memory"),
        (
            "setmetatable(_G, { __index = function() while true do end end }) return _G.x",
            "it did not end",
        ),
        ("setmetatable(getfenv(), { __index = function() error('gone') end }) return nobody", ""),
        ("debug.info(1e9, 'f') debug.info(function() end, 'xyz')", ""),
        (
            "local function deep(n) if n > 0 then deep(n - 1) end while true do debug.traceback() end end deep(1e4)",
            "",
        ),
        ("Instance.new('BindableEvent').Event:Connect(print)", "A:2: Instance.new is not there"),
        ("coroutine.close(coroutine.running())", ""),
        ("task.cancel(coroutine.running()) coroutine.yield()", ""),
        ("setfenv(1, {}) print('x')", ""),
        (
            "setfenv(expect, {}) setfenv(it, {}) setfenv(0, {}) expect(1).to.equal(1) error('still here')",
            "",
        ),
        (
            "xpcall(function() while true do end end, function() while true do end end)",
            "it did not end",
        ),
        (
            "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(function() coroutine.yield(i) end) coroutine.resume(t[i]) end",
            "",
        ),
        ("local t = {} t.t = t for i = 1, 1e9 do t = setmetatable({ t }, t) end", ""),
        ("string.gsub(('x'):rep(1e6), 'x', function() error(('y'):rep(1e6)) end)", "A:2: yyy"),
        ("table.sort({ 3, 2, 1, 5, 4 }, function() coroutine.yield() end)", ""),
        (
            "print(setmetatable({}, { __tostring = function() print('again') return ('x'):rep(2^22) end })) error('done')",
            "A:2: done",
        ),
        ("for i = 1, 1e9 do Enum[i] = Enum[tostring(i)] end", ""),
        (
            "local names = game:GetDescendants() while true do names = game:GetDescendants() end",
            "it did not end",
        ),
        ("it('more', function() end)", "A:2: it stands within a describe"),
    ];
    let mut wrong = Vec::new();
    for (work, expected) in cases {
        let source = format!("return function()\nit('a', function() {work} end)\nend");
        let began = Instant::now();
        let results = run_all(&[("A.spec", &source)], quick());
        let took = began.elapsed();
        let lines = told(&results);
        let line = lines[0].replace("game.ReplicatedStorage[\"A.spec\"]", "A");
        let said = line.strip_prefix("failed a: ");
        let is_said = said.is_some_and(|it| it.starts_with(expected));
        if took.as_secs() >= 4 || results[0].is_good() || !is_said {
            wrong.push(format!("{work} took {took:?}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn hostile_plans_end_and_say_why() {
    let plans = [
        ("local function nest(n) describe('x', function() nest(n - 1) end) end nest(1e4)", ""),
        (
            "local function nest(n) if n > 0 then describe('x', function() nest(n - 1) end) end it('a', error) end nest(150)",
            "",
        ),
        ("for i = 1, 1e9 do describe(i, function() end) end", ""),
        ("while true do it('a', function() end) end", "it did not end"),
        ("it(('x'):rep(2^24), error)", "x"),
        (
            "it(setmetatable({}, { __tostring = function() while true do end end }), error)",
            "it did not end",
        ),
        ("for i = 1, 1e6 do require(script.Parent.M) end error('x')", ""),
        ("for i = 1, 1e9 do beforeEach(function() end) end", ""),
        ("for i = 1, 1e4 do it(i, error) end for i = 1, 1e3 do beforeEach(function() end) end", ""),
        ("describe('a', nil)", ""),
        ("beforeAll(nil) it('a', function() end)", "beforeAll takes a function, not nil (nil)"),
        ("task.wait(math.huge)", "it waits for something"),
    ];
    let mut wrong = Vec::new();
    for (plan, expected) in plans {
        let source = format!("return function()\n{plan}\nend");
        let began = Instant::now();
        let limits = Limits { total: Duration::from_secs(1), ..quick() };
        let results = run_all(&[("A.spec", &source), ("M", "return 1")], limits);
        let took = began.elapsed();
        let lines = told(&results);
        let is_said = lines.first().is_some_and(|it| it.contains(expected));
        if took.as_secs() >= 4 || results[0].is_good() || !is_said {
            wrong.push(format!("{plan} took {took:?}: {:?}", lines.first()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn modules_that_require_each_other_for_long_end() {
    let modules: Vec<(String, String)> = (0..2_000)
        .map(|at| (format!("M{at}"), format!("return require('./M{}')", (at + 1) % 2_000)))
        .collect();
    let mut all: Vec<(&str, &str)> =
        modules.iter().map(|(name, source)| (name.as_str(), source.as_str())).collect();
    all.push(("A.spec", "return function() it('a', function() require('./M0') end) end"));
    let began = Instant::now();
    let results = run_all(&all, quick());
    assert!(began.elapsed().as_secs() < 4 && !results[0].is_good(), "{:?}", told(&results));
}
