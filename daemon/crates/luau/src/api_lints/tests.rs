//! Scripts with their findings, and scripts that look wrong and have none.

use super::super::{
    LineSpan, LintSettings, SourceFinding, SourceLinter, StackSize, lint_for_card, new_findings,
};
use super::{ApiLint, find_faults};

fn is_ours(found: &SourceFinding) -> bool {
    ApiLint::from_name(&found.code).is_some() || found.code == "invalid_lint_filter"
}

/// The findings of these lints in a script: the line, the text that the finding marks, its message
/// and its lint.
fn describe_findings(source: &str, findings: &[SourceFinding]) -> Vec<String> {
    let describe = |it: &SourceFinding| {
        let LineSpan { line, column, end_line, end_column } = it.at;
        assert_eq!(line, end_line, "{it}");
        let text = source.split('\n').nth(line as usize - 1).unwrap();
        let (start, len) = (column as usize - 1, (end_column - column) as usize);
        let marked: String = text.chars().skip(start).take(len).collect();
        format!("{line} {marked}: {} ({})", it.message, it.code)
    };
    findings.iter().filter(|it| is_ours(it)).map(describe).collect()
}

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    assert!(crate::compile_errors(source).is_empty(), "{source}");
    assert_eq!(describe_findings(source, &lint_for_card(source)), expected, "{source}");
}

#[track_caller]
fn silent(sources: &[&str]) {
    for source in sources {
        check(source, &[]);
    }
}

/// Each script has a finding: the silent scripts beside it would have one too but for what they show.
#[track_caller]
fn reported(sources: &[&str]) {
    for source in sources {
        assert_eq!(describe_findings(source, &lint_for_card(source)).len(), 1, "{source}");
    }
}

#[test]
fn unknown_members_are_reported() {
    check(
        "workspace:FindFristChild('A')",
        &[
            "1 FindFristChild: Workspace has no member `FindFristChild`. Did you mean `FindFirstChild`, \
             `FindFirstChildOfClass` or `FindFirstChildWhichIsA`? (roblox_unknown_member)",
        ],
    );
    check(
        "local part = Instance.new('Part')\npart.Colour = Color3.new()\npart.xyz += 1",
        &[
            "2 Colour: Part has no member `Colour`. Did you mean `Color`? (roblox_unknown_member)",
            "3 xyz: Part has no member `xyz` (roblox_unknown_member)",
        ],
    );
    check(
        "local a = 'ä' game:GetService('Players').LocalPlayer:kik()",
        &["1 kik: Player has no member `kik`. Did you mean `Kick`? (roblox_unknown_member)"],
    );
    check(
        "local Run: RunService = game:GetService(\"RunService\")\nfunction Run.Foo() end",
        &["2 Foo: RunService has no member `Foo` (roblox_unknown_member)"],
    );
    check(
        "workspace['Grav'] = 1",
        &[
            "1 Grav: Workspace has no member `Grav`. Did you mean `Gravity`? (roblox_unknown_member)",
        ],
    );
}

#[test]
fn wrong_uses_of_members_are_reported() {
    let part = |line: &str| format!("local part = Instance.new('Part')\n{line}");
    for (line, expected) in [
        (
            "part:Touched(print)",
            "2 Touched: `Touched` is an event of Part: connect with `.Touched:Connect(...)`",
        ),
        (
            "part.Touched = print",
            "2 Touched: `Touched` is an event of Part: connect with `.Touched:Connect(...)`",
        ),
        ("part:Name()", "2 Name: `Name` is a property of Part, not a method"),
        ("part.Destroy = nil", "2 Destroy: `Destroy` is a method of Part and cannot be assigned"),
        ("part.ClassName = 'A'", "2 ClassName: the property `ClassName` of Part is read-only"),
        (
            "workspace.SignalBehavior = 1",
            "2 SignalBehavior: the property `SignalBehavior` of Workspace cannot be set by scripts",
        ),
        (
            "Instance.new('RemoteFunction'):OnServerInvoke()",
            "2 OnServerInvoke: `OnServerInvoke` is a callback of RemoteFunction: it is assigned, not \
             called",
        ),
    ] {
        check(&part(line), &[&format!("{expected} (roblox_incorrect_member_use)")]);
    }
}

#[test]
fn unknown_classes_and_services_are_reported() {
    for (source, expected) in [
        ("return Instance.new('Prat')", "1 Prat: Roblox has no class `Prat`. Did you mean `Part`?"),
        ("return Instance.new 'BasePart'", "1 BasePart: `Instance.new` cannot create a BasePart"),
        (
            "return Instance.new([[Players]])",
            "1 Players: `Instance.new` cannot create a Players: use `game:GetService`",
        ),
        (
            "return game:GetService('PlayerService')",
            "1 PlayerService: Roblox has no service `PlayerService`. Did you mean `Players`, \
             `PlacesService` or `PlayerViewService`?",
        ),
        ("return game:GetService('Part')", "1 Part: `Part` is a class, but not a service"),
    ] {
        check(source, &[&format!("{expected} (roblox_incorrect_class)")]);
    }
}

#[test]
fn members_that_exist_are_silent() {
    silent(&[
        // Inherited members, callbacks, and what only plugins may do.
        "local f = Instance.new('RemoteFunction') function f.OnServerInvoke() end f:GetFullName()",
        "workspace.StreamingEnabled = true workspace:BreakJoints() game.OnClose = print",
        "game:GetService('HttpService').HttpEnabled = true",
        // Old names.
        "local p = Instance.new('Part') p:clone():remove() p.brickColor = nil p.archivable = true",
        "game:service('Players'):getPlayers() game:getService('Debris'):addItem() workspace:children()",
        // What the reference leaves out.
        "game:GetService('LogService'):GetLogger() Instance.new('UIGradient').Type = nil",
        "workspace:GetMaxCollisionGroups() game:GetService('VirtualUser'):CaptureController()",
        "game:GetService('QueueService'):Anything() return Instance.new('AnimatedImage')",
    ]);
}

#[test]
fn reads_are_silent() {
    silent(&[
        "print(workspace.House, game.Anything, workspace.House.Door:Open())",
        "workspace.House:Foo() workspace.House.Door = 1",
        "workspace.Foo:Connect(print)",
        "local players = game.Players players:Foo()",
        "local p = game:GetService('Players').LocalPlayer p.PlayerGui.Main.Open = true",
        "print(workspace[name], workspace['Foo']) workspace[name] = 1",
        "workspace.Foo()",
    ]);
}

#[test]
fn instances_of_a_derived_class_may_have_more_members() {
    silent(&[
        "local player = game:GetService('Players').LocalPlayer player.Character.Gravity = 1",
        "game:GetService('Players').LocalPlayer.Character.PrimaryPart.Shape = nil",
        "local v = Instance.new('ObjectValue') v.Value:Foo() v.Value.Foo = 1 v.Parent:Foo()",
    ]);
    reported(&[
        "local player = game:GetService('Players').LocalPlayer player.Character.Foo = 1",
        "workspace.CurrentCamera:Foo()",
        "local model = Instance.new('Model') model.Gravity = 1",
    ]);
}

#[test]
fn uncertain_names_are_silent() {
    const PART: &str = "local part = Instance.new('Part')\n";
    let with = |rest: &str| format!("{PART}{rest}");
    for rest in [
        "part = nil part:Foo()",
        "part:Foo() part = nil",
        "part:Foo() local function f() part, f = f, part end",
        "part += 1 part:Foo()",
        "function part() end part:Foo()",
        "local function part() end part:Foo()",
        "local function f(part) part:Foo() end",
        "local t = {} function t.f(a, part) part:Foo() end",
        "print(function(part) part:Foo() end)",
        "for part in pairs({}) do part:Foo() end",
        "for _, part in {} do part:Foo() end",
        "for part = 1, 2 do part:Foo() end",
        "do local part = {} part:Foo() end",
        "do local part part:Foo() end",
        "do local a, part = 1 part:Foo() end",
        "if part then local part = part.Parent part:Foo() end",
        "do local part = Instance.new('Model') part:Foo() end",
    ] {
        check(&with(rest), &[]);
    }
    for rest in [
        "part:Foo()",
        "local function f() return function() part:Foo() end end",
        "for _ in {} do if part then part:Foo() end end",
        "local a, b = 1, part b:Foo()",
        "do local part = Instance.new('Part') part:Foo() end",
        ";(part):Foo()",
        "return { a = part:Foo() }",
        "return `{part:Foo()}`",
        "return if part then part:Foo() else 1",
    ] {
        reported(&[&with(rest)]);
    }
    silent(&[
        "local game = {} game:Foo()",
        "game = {} game:Foo() game:GetService('Foo')",
        "local workspace = workspace workspace:Foo()",
        "local Instance = {} Instance.new('Foo') local a = Instance.new('Part') a:Foo()",
        "local function f(Instance) Instance.new('Foo') end",
        "setfenv(1, {}) game:Foo()",
        "local part = part part:Foo()",
        "script:Foo() script.Parent:Foo() plugin:Foo()",
        "local t = { game = 1 } function t:f() self:Foo() end local self = Instance.new('Part')",
        "local t = {} function t:f() self:Foo() end do local self = game print(self) end",
    ]);
}

#[test]
fn unknown_values_are_silent() {
    silent(&[
        "local a, b = print(), Instance.new('Part') a:Foo()",
        "local a = Instance.new('Part') or 1 a:Foo()",
        "local a = if b then game else 1 a:Foo()",
        "local a = Instance.new('Part'):Clone() a:Foo()",
        "Instance.new(name):Foo() Instance.new('P\\97rt'):Foo() Instance.new('Nope\\n')",
        "Instance.new(`Part`):Foo() Instance.new([[\nPart]]):Foo() Instance.new('Pa' .. 'rt'):Foo()",
        "Instance.old('Part'):Foo() Instance.new(('Nope'))",
        "Knit:GetService('Shop'):Foo() game:GetService(name):Foo()",
        "UserSettings():GetService('Foo')",
        "game.GetService('Foo') game:GetService('Run Service')",
    ]);
}

#[test]
fn types_that_say_otherwise_make_a_class_uncertain() {
    silent(&[
        "local part: any = Instance.new('Part') part:Foo()",
        "local part: Part? = Instance.new('Part') part:Foo()",
        "local part = Instance.new('Part') :: MeshPart part:Foo()",
        "(workspace :: any):Foo() (workspace :: any).Foo = 1",
        "(workspace :: { Foo: any }):Foo()",
    ]);
    reported(&[
        "local part: BasePart = Instance.new('Part') part:Foo()",
        "local part = Instance.new('Part') :: Part part:Foo()",
        "(workspace :: Instance):Foo()",
    ]);
}

#[test]
fn comments_allow_and_deny_findings() {
    silent(&[
        "-- selene: allow(roblox_unknown_member)\nworkspace:Foo()",
        "--[[ selene: allow(unused_variable, roblox_unknown_member) ]]\nworkspace:Foo()",
        "--# selene: allow(roblox_unknown_member)\nlocal a = 1\nif a then workspace:Foo() end",
        "-- selene: allow(roblox_unknown_member)\nif a then\n\tworkspace:Foo()\nend",
        "print({\n\t-- selene: allow(roblox_unknown_member)\n\ta = workspace:Foo(),\n})",
        "print(\n\t-- selene: allow(roblox_unknown_member)\n\tworkspace:Foo()\n)",
        "-- selene: allow(roblox_incorrect_class)\nreturn Instance.new('Foo')",
    ]);
    let unknown = "Workspace has no member `Foo` (roblox_unknown_member)";
    check(
        "-- selene: allow(roblox_unknown_member)\nlocal a = 1\nworkspace:Foo()",
        &[&format!("3 Foo: {unknown}")],
    );
    check(
        "-- selene: allow(roblox_incorrect_class)\nworkspace:Foo()",
        &[&format!("2 Foo: {unknown}")],
    );
    check(
        "-- selene: allow(roblox_unknown_member)\ndo\n\
         -- selene: warn(roblox_unknown_member)\nworkspace:Foo()\nworkspace:Bar()\nend",
        &[&format!("4 Foo: {unknown}")],
    );
    check(
        "-- selene: allow(roblox_nothing)\nworkspace:Destroy()",
        &["1 -- selene: allow(roblox_nothing): no lint named `roblox_nothing` exists \
           (invalid_lint_filter)"],
    );
}

#[test]
fn settings_select_the_lints() {
    let source = "workspace:Foo() workspace:Changed() print(Instance.new('Foo'))";
    let codes = |text: &str| {
        let settings = LintSettings { text: text.to_owned(), ..LintSettings::default() };
        let (linter, faults) = SourceLinter::from_settings(&settings);
        assert_eq!(faults, [], "{text}");
        let found = linter.lint_source(source, StackSize::Usual);
        let ours = found.iter().filter(|it| is_ours(it));
        ours.map(|it| format!("{}: {}", it.severity, it.code)).collect::<Vec<_>>()
    };
    let all = [
        "warning: roblox_unknown_member",
        "warning: roblox_incorrect_member_use",
        "warning: roblox_incorrect_class",
    ];
    assert_eq!(codes(""), all);
    assert_eq!(codes("std = \"roblox\""), all);
    assert_eq!(codes("std = \"luau\""), [""; 0]);
    assert_eq!(
        codes(
            "[lints]\nroblox_unknown_member = \"deny\"\nroblox_incorrect_class = \"allow\"\n\
             roblox_incorrect_member_use = \"warn\""
        ),
        ["error: roblox_unknown_member", "warning: roblox_incorrect_member_use"]
    );
    let settings = LintSettings {
        text: "std = \"mine\"".to_owned(),
        libraries: [("mine".to_owned(), "base: roblox\nglobals: {}\n".to_owned())].into(),
    };
    let found = SourceLinter::from_settings(&settings).0.lint_source(source, StackSize::Usual);
    assert_eq!(describe_findings(source, &found).len(), 3);
}

#[test]
fn cards_have_new_findings_alone() {
    let before = lint_for_card("workspace:Foo()\n");
    let after = lint_for_card("print(1)\nworkspace:Foo()\nworkspace:Bar()\n");
    let new: Vec<String> =
        new_findings(&before, after).iter().map(|it| it.message.clone()).collect();
    assert_eq!(new, ["Workspace has no member `Bar`"]);
}

#[test]
fn long_chains_do_not_overflow_the_stack() {
    for text in [
        format!("local a = game{}", ".Parent".repeat(9_000)),
        format!("local a = game{}", ":GetService('A')".repeat(4_000)),
        format!("local a0 = workspace\n{}", locals(3_000)),
    ] {
        let ast = full_moon::parse(&text).unwrap();
        find_faults(&ast, &text);
    }
}

/// Locals that each refer to the one before.
fn locals(count: usize) -> String {
    let text = (0..count).map(|at| format!("do local a{} = a{at}.CurrentCamera end\n", at + 1));
    text.collect()
}
