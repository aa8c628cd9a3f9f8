//! Tests of threads, time and signals.

use std::time::Duration;

use super::{check, check_with_fails, ran};
use crate::{Options, Signals, Studio, models};

#[test]
fn virtual_time_advances_only_as_far_as_waited() {
    check(
        "local start, clock = os.clock(), tick()
        local elapsed = task.wait(600)
        assert(elapsed >= 600 and elapsed < 601 and os.clock() - start >= elapsed and os.clock() - start < elapsed + 1)
        assert(math.abs(tick() - clock - elapsed) < 1e-3 and DateTime.now().UnixTimestamp == math.floor(tick()))
        assert(time() < os.clock() and math.abs(os.time() - tick()) <= 1)
        local dt = game:GetService('RunService').Heartbeat:Wait() assert(math.abs(dt - 1 / 60) < 1e-6)
        task.wait() assert(os.clock() > start + elapsed)",
    );
}

#[test]
fn tasks_run_in_order_and_can_be_cancelled() {
    check_with_fails(
        "local log = {}
        local function say(what) table.insert(log, what) end
        task.defer(say, 'deferred')
        task.spawn(say, 'spawned')
        task.delay(1, say, 'delayed')
        local never = task.delay(0.5, say, 'never')
        task.cancel(never)
        say('here')
        task.wait(2)
        assert(table.concat(log, ' ') == 'spawned here deferred delayed', table.concat(log, ' '))
        local waiting = task.spawn(function() task.wait(1) say('not me') end)
        task.cancel(waiting) task.wait(2)
        assert(#log == 4 and coroutine.status(waiting) == 'dead')
        fails('function or thread expected', task.spawn, 5)
        local co = coroutine.wrap(function() local t = task.wait(1) say('late') end)
        co() task.wait(2) assert(log[5] == 'late')",
    );
}

#[test]
fn disconnected_and_once_handlers_stop_firing() {
    check_with_fails(
        "local e = Instance.new('BindableEvent') local count = 0
        local c = e.Event:Connect(function(n) count += n end)
        e.Event:Once(function() count += 100 end)
        e:Fire(1) task.wait() e:Fire(1) task.wait()
        assert(count == 102 and c.Connected)
        c:Disconnect() assert(not c.Connected)
        e:Fire(1) task.wait() assert(count == 102)
        task.delay(1, function() e:Fire('a', nil, 'c') end)
        local a, b, d = e.Event:Wait() assert(a == 'a' and b == nil and d == 'c')
        fails('Passed value is not a function', function() e.Event:Connect(5) end)
        local f = Instance.new('BindableFunction')
        f.OnInvoke = function(x) task.wait(1) return x * 2 end
        assert(f:Invoke(4) == 8)
        fails('callback member', function() return f.OnInvoke end)",
    );
}

#[test]
fn endless_event_recursion_is_cut_off() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let studio = ran(
            Options { signals, ..Options::default() },
            "local e = Instance.new('BindableEvent') e.Event:Connect(function() e:Fire() end) e:Fire()",
        );
        let errors = studio.errors().join("\n");
        assert!(errors.contains("re-entrancy depth exceeded"), "{errors}");
    }
}

#[test]
fn signal_mode_decides_when_handlers_run() {
    let order = |signals| {
        let luau = "local e = Instance.new('BindableEvent')
            e.Event:Connect(function() print('handler') end) e:Fire() print('after')";
        let studio = ran(Options { signals, ..Options::default() }, luau);
        studio.output().iter().map(|line| line.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(order(Signals::Immediate), ["handler", "after"]);
    assert_eq!(order(Signals::Deferred), ["after", "handler"]);
}

#[test]
fn thread_errors_are_collected_with_their_line() {
    let studio = Studio::new(Options::default()).unwrap();
    let plugin =
        models::plugin("task.delay(1, function()\n\terror('oh')\nend)\nprint('a', 1, nil)", &[]);
    studio.load_plugin(&plugin.unwrap()).unwrap();
    assert_eq!(studio.errors(), Vec::<String>::new());
    studio.run_for(1.1);
    let errors = studio.errors();
    assert!(errors[0].starts_with("user_Vector.rbxm.Vector:2: oh"), "{errors:?}");
    assert_eq!(studio.output()[0].text, "a 1 nil");
    studio.clear_errors();
    assert!(studio.errors().is_empty());
}

#[test]
fn unloaded_plugin_does_nothing_more() {
    let studio = Studio::new(Options::default()).unwrap();
    let luau = "local n = 0
        plugin.Unloading:Connect(function() print('bye') end)
        game:GetService('RunService').Heartbeat:Connect(function() print('beat') end)
        task.spawn(function() while true do task.wait(0.1) workspace.Name = 'x' print('tick') end end)";
    studio.load_plugin(&models::plugin(luau, &[]).unwrap()).unwrap();
    studio.run_for(0.2);
    studio.unload_plugin();
    let before = studio.output().len();
    assert_eq!(studio.output()[before - 1].text, "bye");
    studio.run_for(1.0);
    assert_eq!(studio.output().len(), before);
    assert_eq!(studio.unrecorded_writes(), ["x.Name"]);
}

#[test]
fn run_until_fails_when_nothing_is_left_to_run() {
    let studio = Studio::new(Options::default()).unwrap();
    let error = studio.run_until(|_| false, Duration::from_secs(5)).unwrap_err();
    assert!(error.contains("nothing is left that could happen"), "{error}");
}

#[test]
fn endless_loop_times_out_and_long_work_is_measured() {
    let options = Options { script_timeout: Duration::from_millis(200), ..Options::default() };
    let studio = ran(options, "pcall(function() while true do end end) print('never')");
    assert!(studio.errors()[0].starts_with("Script timeout: exhausted allowed execution time"));
    assert!(studio.output().iter().all(|line| line.text != "never"));
    assert!(studio.longest_resumption() >= Duration::from_millis(200));
    studio.reset_meter();
    studio.eval("local t = os.clock() while os.clock() - t < 0.05 do end").unwrap();
    assert_eq!(studio.longest_frame(), Duration::ZERO);
    studio.eval_as_plugin("local t = os.clock() while os.clock() - t < 0.05 do end").unwrap();
    assert!(studio.longest_frame() >= Duration::from_millis(40));
}

#[test]
fn work_is_counted_in_deterministic_units() {
    let work = |luau: &str| {
        let studio = ran(Options::default(), "task.wait()");
        studio.reset_meter();
        studio.eval_as_plugin(luau).unwrap();
        studio.most_work()
    };
    let loops = work("for _ = 1, 20000 do end");
    assert!((20_000..21_000).contains(&loops.units), "{}", loops.units);
    assert_eq!(loops.units, work("for _ = 1, 20000 do end").units);
    assert!(loops.traces.is_empty());
    let long = work("local function much() for _ = 1, 120000 do end end much() much()");
    assert_eq!(long.traces.len(), 4);
    assert!(long.traces[0].contains("in function 'much'"), "{:?}", long.traces);
    let text = "local text = string.rep('x', 1e6)";
    let plain = work(text).units;
    let hashed = work(&format!(
        "{text} game:GetService('EncodingService'):ComputeStringHash(text, Enum.HashAlgorithm.Sha256)"
    ));
    assert!(hashed.units - plain > 50_000, "{}", hashed.units - plain);
    let json = work(&format!("{text} game:GetService('HttpService'):JSONEncode(text)"));
    assert!(json.units - plain > 200_000, "{}", json.units - plain);
}

#[test]
fn clock_advances_in_proportion_to_work() {
    check(
        "local function took(times) local start = os.clock() for _ = 1, times do end return os.clock() - start end
        local once = took(10000)
        assert(once >= 0.001 and once < 0.002, once)
        assert(math.abs(took(20000) - 2 * once) < 1e-4)",
    );
}
