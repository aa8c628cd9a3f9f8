//! Hostile specs: each ends within its limit or shortly after, and does not pass.

use super::*;

/// The code of a case, and the beginning of its failure message.
const CASES: &[(&str, &str)] = &[
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
    (
        "local event = Instance.new('BindableEvent') event.Event:Connect(function() while true do end end) event:Fire()",
        "it did not end",
    ),
    (
        "local event = Instance.new('BindableEvent') event.Event:Connect(function() event:Fire() end) event:Fire() error('over')",
        "",
    ),
    ("while true do Instance.new('Part').Parent = workspace end", ""),
    (
        "game:GetService('RunService').Heartbeat:Connect(function() while true do end end) task.wait(1)",
        "it did not end",
    ),
    (
        "for i = 1, 1e9 do game:GetService('RunService').Heartbeat:Connect(print) end task.wait(1e9)",
        "",
    ),
    ("workspace:Destroy() game:ClearAllChildren() error('still here')", ""),
    ("Instance.new('Part', workspace).Touched:Wait()", "it"),
    ("task.wait(1e9)", "it waits for something"),
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

#[test]
fn library_functions_end_in_time() {
    let limits = SpecLimits { memory_bytes: 64 << 20, ..quick() };
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
        let results = run_all(&[("A.spec", &source)], limits);
        let took = began.elapsed();
        assert!(took.as_secs() < 5, "{work} took {took:?}: {:?}", report_lines(&results));
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
            "failed b: A:9: missing argument #2",
            "failed c: A:10: attempt to compare",
            "failed d: A:11: the format of os.date has at most 1000 bytes",
        ],
    );
}

#[test]
fn caught_errors_are_short_strings() {
    check(
        "local calls = {\n\
         function() return game.Nope end, function() game.Name = 1 end, function() return game[nil] end,\n\
         function() game.GetChildren(1) end, function() game.GetChildren() end, function() game:IsA({}) end,\n\
         function() game:GetService(('x'):rep(100)) end, function() game:FindFirstChild({}) end,\n\
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
    let mut wrong = Vec::new();
    for (work, expected) in CASES {
        let source = format!("return function()\nit('a', function() {work} end)\nend");
        let began = Instant::now();
        let results = run_all(&[("A.spec", &source)], quick());
        let took = began.elapsed();
        let lines = report_lines(&results);
        let line = lines[0].replace("game.ReplicatedStorage[\"A.spec\"]", "A");
        let said = line.strip_prefix("failed a: ");
        let is_said = said.is_some_and(|it| it.starts_with(expected));
        if took.as_secs() >= 4 || results[0].has_passed() || !is_said {
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
        let limits = SpecLimits { total_time: Duration::from_secs(1), ..quick() };
        let results = run_all(&[("A.spec", &source), ("M", "return 1")], limits);
        let took = began.elapsed();
        let lines = report_lines(&results);
        let is_said = lines.first().is_some_and(|it| it.contains(expected));
        if took.as_secs() >= 4 || results[0].has_passed() || !is_said {
            wrong.push(format!("{plan} took {took:?}: {:?}", lines.first()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn long_require_cycle_ends_in_time() {
    let modules: Vec<(String, String)> = (0..2_000)
        .map(|at| (format!("M{at}"), format!("return require('./M{}')", (at + 1) % 2_000)))
        .collect();
    let mut all: Vec<(&str, &str)> =
        modules.iter().map(|(name, source)| (name.as_str(), source.as_str())).collect();
    all.push(("A.spec", "return function() it('a', function() require('./M0') end) end"));
    let began = Instant::now();
    let results = run_all(&all, quick());
    assert!(
        began.elapsed().as_secs() < 4 && !results[0].has_passed(),
        "{:?}",
        report_lines(&results)
    );
}
