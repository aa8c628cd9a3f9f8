//! The tests that documents name must exist.

use vector_tests::repository;

/// The documents that name tests.
const DOCUMENTS: [&str; 2] = ["SECURITY.md", "docs/attacks.md"];
/// The folders that test paths start from.
const ROOTS: [&str; 3] = ["tests", "daemon/src", "scene-schemas/src"];

/// The names of tests in a text: in backticks, with their modules.
fn named(text: &str) -> Vec<&str> {
    let is_name = |it: &&str| {
        it.contains("::") && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    text.split('`').skip(1).step_by(2).filter(is_name).collect()
}

/// Whether a test of this name exists.
fn exists(name: &str, read: impl Fn(&str) -> Option<String>) -> bool {
    let Some((modules, test)) = name.rsplit_once("::") else { return false };
    // Tests may be in the file that they test.
    let inner = modules.strip_suffix("::tests").unwrap_or(modules);
    let files = [modules, inner].into_iter().flat_map(|modules| {
        let path = modules.replace("::", "/");
        let roots = ROOTS.map(|root| format!("{root}/{path}"));
        // The first segment may be one of the daemon's crates, without its prefix.
        let (name, rest) = path.split_once('/').unwrap_or((&path, "lib"));
        let own = format!("daemon/crates/{}/src/{rest}", name.replace('_', "-"));
        let files = |path: String| [format!("{path}.rs"), format!("{path}/mod.rs")];
        roots.into_iter().chain([own]).flat_map(files)
    });
    let is_test = |text: String| {
        let text = text.replace("async fn", "fn");
        let written = [format!("test]\nfn {test}("), format!("test]\n    fn {test}(")];
        // A row of the attacks is a test as well.
        let row = modules.starts_with("attacks::") && text.contains(&format!("\n    {test}: "));
        row || written.iter().any(|it| text.contains(it))
    };
    files.into_iter().filter_map(|file| read(&file)).any(is_test)
}

#[test]
fn tests_named_in_documents_exist() {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = repository::read(document);
        let names = named(&text);
        assert!(names.len() > 20, "{document} names {} tests", names.len());
        let lost = names.into_iter().filter(|name| !exists(name, super::read));
        missing.extend(lost.map(|name| format!("{document}: there is no test {name}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_threat_model_row_names_a_test() {
    let text = repository::read("SECURITY.md");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let bare = |row: &&&str| {
        named(row).is_empty() && !row.contains("---") && !row.ends_with("| held by |")
    };
    let bare: Vec<_> = rows.iter().filter(bare).collect();
    assert!(rows.len() > 20 && bare.is_empty(), "{bare:#?}");
}

#[test]
fn nonexistent_test_names_are_detected() {
    let read = |path: &str| {
        let text = match path {
            "tests/attacks/guard.rs" => "attacks! {\n    a_row: WebPage, \"x\" => Line;\n}",
            "daemon/crates/core/src/page.rs" => {
                "mod tests {\n    #[test]\n    fn one() {}\n    fn two() {}\n}"
            }
            _ => return None,
        };
        Some(text.to_owned())
    };
    let known = ["attacks::guard::a_row", "core::page::tests::one"];
    let unknown =
        ["attacks::guard::row", "core::page::tests::two", "core::pages::tests::one", "one"];
    assert!(known.iter().all(|name| exists(name, read)));
    assert!(unknown.iter().all(|name| !exists(name, read)));
    assert_eq!(named("a `b` c `d::e` `f::g()`"), ["d::e"]);
}
