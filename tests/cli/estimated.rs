//! `vector estimate`.

use scene_schemas::tier::{TaskEstimate, TaskTier};
use vector_tests::binary::Home;
use vector_tests::places::Format;

use super::{text, with_place};

#[test]
fn estimate_needs_no_place_and_no_model() {
    let home = Home::new();
    let said = home
        .run(&["estimate", "create a jump pad that launches players", "--model", "offline"], "");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.stdout, "Simple · alone\n  because: one wish\n");
}

#[test]
fn estimate_of_a_place_counts_its_scripts() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let words = "rewrite all scripts of the game";
    let said = home.run(&["estimate", words, &place, "--model", "offline", "--json"], "");
    let found: TaskEstimate = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(found.tier, TaskTier::Complex);
    assert!(found.reasons[0].contains("all of the code"), "{found:?}");
    // A place that cannot be written is estimated too.
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    let read_only = home.run(&["estimate", words, &place, "--model", "offline", "--json"], "");
    assert_eq!(read_only.stdout, said.stdout, "{read_only:?}");
    let missing = home.run(&["estimate", words, "nowhere.rbxl", "--model", "offline"], "");
    assert_eq!(missing.code, 1, "{missing:?}");
}
