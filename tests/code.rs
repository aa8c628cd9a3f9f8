//! Compares the code index with a full Luau parser on real places.

use std::fs;
use std::thread;

use vector_core::code::{self, CodeIndex};
use vector_luau::index;
use vector_place::Scene;
use vector_tests::cases::cases;

/// The parser is recursive; this stack is large enough for the scripts in the cases.
const STACK: usize = 64 << 20;

/// Lists the definitions that only the parser finds (`-`), those that only the index finds (`+`),
/// and the parse errors of the index.
fn differences(path: &str, source: &str) -> Vec<String> {
    let Ok(parsed) = vector_luau::outline_script(source) else { return Vec::new() };
    let line = |byte: u32| source[..byte as usize].matches('\n').count() as u32 + 1;
    let read = index::summarize_script(source);
    let told = |name: &str, kind, line, end| format!("{path}:{line}-{end} {kind:?} {name}");
    let of_parser = parsed.iter().map(|it| told(&it.name, it.kind, it.line, it.end_line));
    let of_reader = read
        .definitions
        .iter()
        .map(|it| told(&it.name, it.kind, line(it.span.start), line(it.span.end)));
    let (of_parser, of_reader): (Vec<_>, Vec<_>) = (of_parser.collect(), of_reader.collect());
    let lost = of_parser.iter().filter(|it| !of_reader.contains(it)).map(|it| format!("- {it}"));
    let found = of_reader.iter().filter(|it| !of_parser.contains(it)).map(|it| format!("+ {it}"));
    let trouble =
        read.parse_error.iter().map(|it| format!("{path}:{} {}", line(it.at), it.message));
    lost.chain(found).chain(trouble).collect()
}

#[test]
fn definitions_in_real_scripts_match_a_parser() {
    let Some(cases) = cases() else { return };
    let mut scripts = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(cases.join("places")).unwrap() {
        let path = entry.unwrap().path();
        let is_place = path.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx"));
        let Some(scene) = is_place.then(|| Scene::decode(&fs::read(&path).unwrap()).ok()).flatten()
        else {
            continue;
        };
        let sources: Vec<(String, String)> = scene
            .descendants(scene.root())
            .filter_map(|it| {
                Some((scene.path(it).to_string(), scene.script_text(it)?.into_owned()))
            })
            .collect();
        scripts += sources.len();
        let thread = thread::Builder::new().stack_size(STACK);
        let look = move || -> Vec<String> {
            sources.iter().flat_map(|(path, source)| differences(path, source)).collect()
        };
        wrong.extend(thread.spawn(look).unwrap().join().unwrap());
        // A symbol at any byte must be resolvable without a panic, whatever it is.
        let index = CodeIndex::new(&scene);
        for node in index.script_nodes().iter().take(20) {
            let text = scene.script_text(*node).unwrap_or_default();
            for byte in (0..text.len() as u32).step_by(97) {
                if let Some(symbol) = code::symbol_at(&index, &scene, *node, byte) {
                    code::find_definitions(&index, &scene, &symbol);
                }
            }
        }
    }
    assert!(scripts > 20, "the places have {scripts} scripts");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
