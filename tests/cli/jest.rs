//! Specs of Jest-Lua, run by the real one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::Home;
use vector_tests::requirement::Requirement;

/// The folder with the packages of Jest-Lua from npm; None, with a notice, if they are missing.
fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os("VECTOR_JEST").map(PathBuf::from);
    if folder.is_none() {
        Requirement::Jest.skip("specs of Jest-Lua (VECTOR_JEST is not set)");
    }
    folder.map(|folder| folder.join("node_modules"))
}

/// Copies the packages of npm into a folder of a project, each as a module. Their `require`s name files
/// and packages, which a place does not have.
fn copy_packages(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let manifest = entry.path().join("package.json");
        if name.starts_with('@') {
            copy_packages(&entry.path(), to);
        } else if let Ok(manifest) = fs::read_to_string(manifest) {
            let manifest: Json = serde_json::from_str(&manifest).unwrap();
            let main = entry.path().join(manifest["main"].as_str().unwrap());
            copy_modules(main.parent().unwrap(), &to.join(name));
        }
    }
}

fn copy_modules(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_modules(&path, &copy);
        } else if path.extension().is_some_and(|it| it == "lua" || it == "luau") {
            let is_init = path.file_stem().is_some_and(|stem| stem == "init");
            let text = with_requires(&fs::read_to_string(&path).unwrap(), is_init);
            fs::write(copy, text).unwrap();
        }
    }
}

/// Replaces the `require`s of texts by those of instances.
fn with_requires(text: &str, is_init: bool) -> String {
    const REQUIRE: &str = "require(\"";
    let mut parts = text.split(REQUIRE);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once("\")").unwrap();
        let target = if let Some(package) = path.strip_prefix("@pkg/") {
            let name = package.rsplit('/').next().unwrap_or_default();
            format!("game:GetService('ReplicatedStorage').Packages['{name}']")
        } else {
            let path = path.trim_end_matches(".luau").trim_end_matches(".lua");
            let mut target = if is_init { "script" } else { "script.Parent" }.to_owned();
            for step in path.split('/').filter(|step| !matches!(*step, "." | "")) {
                target += &if step == ".." { ".Parent".to_owned() } else { format!("['{step}']") };
            }
            target
        };
        written += &format!("require({target}){rest}");
    }
    written
}

const GLOBALS: &str = "local Jest = require(game:GetService('ReplicatedStorage').Packages['jest-globals'])\n\
    local describe, it, expect, jest = Jest.describe, Jest.it, Jest.expect, Jest.jest\n";

const SHOP: &str = "describe('shop', function()\n\
    it('sells', function()\n\
    local buy = jest.fn(function(price) return price * 2 end)\n\
    expect(buy(2)).toBe(4)\n\
    expect(buy).toHaveBeenCalledWith(2)\n\
    end)\n\
    it.each({ { 1, 2 }, { 2, 4 } })('doubles %d', function(a, b) expect(a * 2).toBe(b) end)\n\
    it('has parts', function()\n\
    local part = Instance.new('Part')\n\
    part.Size = Vector3.new(1, 2, 3)\n\
    expect(part).toMatchInstance({ ClassName = 'Part', Size = Vector3.new(1, 2, 3) })\n\
    task.wait(4)\n\
    end)\n\
    it('has timers', function()\n\
    jest.useFakeTimers()\n\
    local called = false\n\
    task.delay(5, function() called = true end)\n\
    jest.advanceTimersByTime(5000)\n\
    expect(called).toBe(true)\n\
    jest.useRealTimers()\n\
    end)\n\
    it.skip('skips', function() end)\n\
    it('fails', function()\n\
    print('hello')\n\
    expect({ a = 1 }).toEqual({ a = 2 })\n\
    end)\n\
    it('asks', function() settings() end)\n\
    end)\n";

/// Creates a project with these files beside a `jest.config`. Returns its folder.
fn project(home: &Home, packages: &Path, files: &[(&str, &str)]) -> String {
    let folder = home.path().join("project");
    let shared = folder.join("shared");
    fs::create_dir_all(&shared).unwrap();
    fs::create_dir_all(folder.join("packages")).unwrap();
    copy_packages(packages, &folder.join("packages"));
    let tree = json!({
        "name": "Jest",
        "tree": {
            "$className": "DataModel",
            "ReplicatedStorage": {
                "Packages": { "$path": "packages" },
                "Shared": { "$path": "shared" },
            },
        },
    });
    fs::write(folder.join("default.project.json"), tree.to_string()).unwrap();
    let config = "return { testMatch = { '**/*.spec' } }";
    fs::write(shared.join("jest.config.luau"), config).unwrap();
    for (name, text) in files {
        fs::write(shared.join(name), text).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn jest_runs_its_specs() {
    let Some(packages) = packages() else { return };
    let home = Home::new();
    let shop = format!("{GLOBALS}{SHOP}");
    let broken = "local x = nil\nx.y = 1\n";
    let files = [("Shop.spec.luau", shop.as_str()), ("Broken.spec.luau", broken)];
    let left_out = [("Left.test.luau", "error('never')")];
    let place = project(&home, &packages, &[files.as_slice(), &left_out].concat());
    let output = home.run(&["test", &place], "");
    let path = |name: &str| format!("game.ReplicatedStorage.Shared[\"{name}\"]");
    let (broken, left, shop) = (path("Broken.spec"), path("Left.test"), path("Shop.spec"));
    let expected = format!(
        "{broken}\n  ✗ {broken}:2: attempt to index nil with 'y'\n\
         {left}\n  - jest.config leaves it out\n\
         {shop}\n  ✓ shop > sells\n  ✓ shop > doubles 1\n  ✓ shop > doubles 2\n  \
         ✓ shop > has parts\n  ✓ shop > has timers\n  - shop > skips\n  ✗ shop > fails\n    \
         {shop}:27: Error: expect(received).toEqual(expected) -- deep equality\n    \
         - Expected  - 1\n    + Received  + 1\n      Table {{\n    -   \"a\": 2,\n    +   \"a\": 1,\n      }}\n    \
         hello\n  ? shop > asks\n    {shop}:29: Error: NotInRuntime: settings() exists in Roblox, but is \
         not implemented here\n"
    );
    assert_eq!(output.stdout, expected, "{}", output.stderr);
    assert_eq!(
        output.stderr,
        "5 passed, 1 failed, 2 skipped, 1 not known; 1 spec did not finish\n"
    );
    assert_eq!(output.code, 1);
    let one = home.run(&["test", &place, "--root", &shop], "");
    assert_eq!(one.stderr, "5 passed, 1 failed, 1 skipped, 1 not known\n");
}

#[test]
fn jest_does_not_pass_by_what_is_missing() {
    let Some(packages) = packages() else { return };
    let home = Home::new();
    let caught = format!(
        "{GLOBALS}it('catches', function() expect(function() settings() end).toThrow() end)"
    );
    let endless = format!(
        "{GLOBALS}it('ends', function()\npcall(function() settings() end) while true do end\nend)"
    );
    let place = project(&home, &packages, &[("A.spec.luau", &caught)]);
    let output = home.run(&["test", &place], "");
    assert!(output.stdout.contains("? catches"), "{}", output.stdout);
    assert_eq!((output.code, output.stderr.as_str()), (0, "0 passed, 0 failed, 1 not known\n"));
    let place = project(&home, &packages, &[("A.spec.luau", &endless), ("B.spec.luau", &caught)]);
    let output = home.run(&["test", &place, "--timeout", "2"], "");
    assert_eq!(output.stdout.matches("it did not end within 2 s").count(), 2, "{}", output.stdout);
    assert_eq!(output.code, 1);
}

#[test]
fn jest_has_its_root_where_its_config_says() {
    let Some(packages) = packages() else { return };
    let home = Home::new();
    let fails = format!("{GLOBALS}it('fails', function() expect(1).toBe(2) end)");
    let place = project(&home, &packages, &[("A.spec.luau", &fails)]);
    let config = "return { rootDir = script.Parent.Parent, testMatch = { '**/*.spec' } }";
    fs::write(home.path().join("project/shared/jest.config.luau"), config).unwrap();
    let output = home.run(&["test", &place], "");
    assert!(output.stdout.contains("✗ fails"), "{}", output.stdout);
    assert_eq!(output.code, 1);
}

#[test]
fn jest_that_never_ends_is_stopped() {
    let Some(packages) = packages() else { return };
    let home = Home::new();
    let endless = format!("{GLOBALS}it('ends', function()\nwhile true do end\nend)");
    let place = project(&home, &packages, &[("A.spec.luau", &endless)]);
    let output = home.run(&["test", &place, "--timeout", "2"], "");
    assert!(output.stdout.contains("it did not end within 2 s"), "{}", output.stdout);
    assert!(output.stdout.contains("ReplicatedStorage.Shared.A.spec:4"), "{}", output.stdout);
    assert_eq!(output.code, 1);
}

#[test]
fn jest_that_is_missing_is_said() {
    let home = Home::new();
    let place = project(&home, &home.path().join("none"), &[("A.spec.luau", "return nil")]);
    let output = home.run(&["test", &place], "");
    assert!(output.stdout.contains("no ModuleScript named Jest"), "{}", output.stdout);
    assert_eq!(output.code, 1);
}
