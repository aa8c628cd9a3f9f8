//! The samples that a new user edits first: they can be read and checked, and their scripts pass
//! the project's own standards.
use vector_place::{FileFormat, Scene};
use vector_tests::binary::Home;
use vector_tests::{places, repository};

const OBBY: &str = "samples/obby.rbxlx";

fn obby() -> Scene {
    let scene = Scene::decode(repository::read(OBBY).as_bytes()).unwrap();
    assert_eq!(scene.format(), FileFormat::Xml);
    assert!(scene.is_place());
    scene
}

#[test]
fn sample_place_is_a_small_game() {
    let scene = obby();
    let all: Vec<_> = scene.descendants(scene.root()).collect();
    let of = |class: &str| all.iter().filter(|node| scene.class(**node) == class).count();
    let tagged = |tag: &str| {
        let has = |node: &&_| scene.tags(**node).iter().any(|it| it == tag);
        all.iter().filter(has).count()
    };
    assert_eq!(of("SpawnLocation"), 1);
    assert!(of("Part") >= 8 && of("Script") >= 2 && of("ModuleScript") >= 1);
    assert!(of("TextLabel") == 1 && of("LocalScript") == 1);
    assert!(tagged("KillBrick") >= 3 && tagged("Checkpoint") >= 2);
    for node in all {
        let Some(source) = scene.script_text(node) else {
            continue;
        };
        assert_eq!(vector_luau::compile_errors(&source), [], "{}", scene.path(node));
        assert_eq!(vector_luau::scan_script(&source), [], "{}", scene.path(node));
    }
}

#[test]
fn sample_place_survives_the_rbx_crates() {
    let text = repository::read(OBBY);
    let before = places::decode(text.as_bytes());
    let again = places::decode(&places::rewrite(text.as_bytes()));
    assert_eq!(before.descendants().count(), again.descendants().count());
    for (a, b) in before.descendants().zip(again.descendants()) {
        assert_eq!((&a.name, a.class), (&b.name, b.class));
        assert_eq!(a.properties.len(), b.properties.len(), "{}", a.name);
    }
}

#[test]
fn sample_project_passes_checks_and_specs() {
    let home = Home::new();
    let project = repository::root().join("samples/project").display().to_string();
    let checked = home.run(&["check", &project, "--no-types"], "");
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    let tested = home.run(&["test", &project], "");
    assert_eq!(tested.code, 0, "{}", tested.stdout);
    assert!(tested.stderr.contains("3 passed, 0 failed"), "{}", tested.stderr);
    for name in repository::files("samples/project/src", "luau") {
        let source = repository::read(&name);
        assert_eq!(vector_luau::scan_script(&source), [], "{name}");
    }
}
