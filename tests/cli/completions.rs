//! Completions, man pages and the version, as packagers use them.

use std::fs;

use vector_tests::binary::{Home, run};

use super::{ended, text};

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = run(&["completions", shell], "");
        ended(&printed, 0);
        for word in ["sourcemap", "dry-run", "setup"] {
            assert!(printed.stdout.contains(word), "{shell}: {word}");
        }
    }
    ended(&run(&["completions", "cmd"], ""), 2);
}

#[test]
fn each_command_has_a_man_page() {
    let home = Home::new();
    let page = home.run(&["man"], "");
    ended(&page, 0);
    assert!(page.stdout.contains(".TH vector 1"), "{}", page.stdout);
    let folder = home.path().join("man1");
    ended(&home.run(&["man", "--out", &text(&folder)], ""), 0);
    for name in ["vector.1", "vector-setup.1", "vector-plugin-install.1"] {
        assert!(fs::read_to_string(folder.join(name)).unwrap().contains(".TH"), "{name}");
    }
    let file = folder.join("vector.1");
    let refused = home.run(&["man", "--out", &text(&file)], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("the man pages cannot be written to"), "{}", refused.stderr);
}

#[test]
fn version_output_names_the_protocol() {
    let said = run(&["--version"], "").stdout;
    let protocol = scene_schemas::api::PROTOCOL;
    let version = env!("CARGO_PKG_VERSION");
    assert!(said.starts_with(&format!("vector {version} (protocol {protocol}, MCP 20")), "{said}");
}
