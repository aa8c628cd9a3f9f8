//! Tests of the scan of models.

use super::*;

/// A model from lines of class, name and parent, with values and texts added afterwards.
fn node<'a>(class: &'a str, name: &'a str, parent: Option<u32>) -> ModelInstance<'a> {
    ModelInstance { class, name, parent, ..ModelInstance::default() }
}

fn script<'a>(name: &'a str, parent: u32, source: &'a str) -> ModelInstance<'a> {
    ModelInstance { source: Some(source), ..node("Script", name, Some(parent)) }
}

fn with<'a>(mut node: ModelInstance<'a>, name: &str, content: ModelContent) -> ModelInstance<'a> {
    node.values.push(ModelValue { name: name.to_owned(), content });
    node
}

fn texts(instances: &[ModelInstance<'_>]) -> Vec<String> {
    scan_model(instances, &|| false)
        .into_iter()
        .map(|it| format!("{}: {}", it.at, it.text))
        .collect()
}

#[test]
fn values_of_the_model_are_followed_to_the_call() {
    let asset = "2: Line 1 requires the asset 7712345678, code from outside the place.";
    for source in [
        "require(script.Parent.Id.Value)",
        "require(script.Parent:FindFirstChild(\"Id\").Value)",
        "require(script.Parent:WaitForChild(\"Id\").Value)",
        "require(script.Parent:GetChildren()[1].Value)",
        "require(script.Parent:FindFirstChildOfClass(\"IntValue\").Value)",
        "require(script:GetAttribute(\"Id\"))",
        "require(tonumber(script.Parent.Name))",
        "require(tonumber((script.Parent:GetTags()[1]:gsub(\"id\", \"\"))))",
        "require(script.Parent:FindFirstChildWhichIsA(\"ValueBase\").Value)",
    ] {
        let mut root = node("Model", "7712345678", None);
        root.tags.push("id7712345678".to_owned());
        let id =
            with(node("IntValue", "Id", Some(0)), "Value", ModelContent::Number(7_712_345_678.0));
        let main = with(script("Main", 0, source), "@Id", ModelContent::Number(7_712_345_678.0));
        assert_eq!(texts(&[root, id, main]), [asset], "{source}");
    }
}

#[test]
fn modules_and_references_of_the_model_are_harmless() {
    let root = node("Model", "Kit", None);
    let link = with(node("ObjectValue", "Link", Some(0)), "Value", ModelContent::Instance(2));
    let module = ModelInstance {
        source: Some("return { speed = 5, id = 7712345678 }"),
        ..node("ModuleScript", "Core", Some(0))
    };
    let loader = ModelInstance {
        source: Some("return { id = 7712345678, load = require }"),
        ..module.clone()
    };
    let main = |source| script("Main", 0, source);
    for source in [
        "require(script.Parent.Core)",
        "require(script.Parent.Link.Value)",
        "print(require(script.Parent.Core).id)",
    ] {
        assert_eq!(
            texts(&[root.clone(), link.clone(), module.clone(), main(source)]),
            [""; 0],
            "{source}"
        );
    }
    for source in
        ["require(require(script.Parent.Core).id)", "require(script.Parent.Core).load(7712345678)"]
    {
        let found = texts(&[root.clone(), link.clone(), loader.clone(), main(source)]);
        let last = found.last().unwrap();
        assert!(last.starts_with("3: Line 1 requires the asset 7712345678"), "{source}: {found:?}");
    }
}

#[test]
fn texts_that_hide_something_are_named_with_their_place() {
    let root = node("Model", "Box", None);
    let holder = |name: &str, text: &str| {
        with(node("StringValue", "Note", Some(0)), name, ModelContent::Text(text.to_owned()))
    };
    for (name, text, said) in [
        ("Value", "require(7712345678)", "Its Value is code, which requires the asset"),
        ("@Note", "local x = loadstring(", "Its attribute Note holds text that can become code"),
        ("@Note", "\\114\\101\\113\\117\\105\\114\\101", "Its attribute Note writes \"require\""),
        (
            "Value",
            "cmVxdWlyZSg3NzEyMzQ1Njc4KQ==",
            "Its Value writes \"require(7712345678)\" in base64",
        ),
    ] {
        let found = texts(&[root.clone(), holder(name, text)]);
        assert!(found.len() == 1 && found[0].contains(said), "{text}: {found:?}");
    }
    for text in [
        "We require two keys (see the door).",
        "See https://northwind.example (in English).",
        "local Spring = require(path.Spring) -- how to use it, in a text that is not code: 5",
        "{\"speed\":16,\"zones\":[\"A\"]}",
    ] {
        assert_eq!(texts(&[root.clone(), holder("Value", text)]), [""; 0], "{text}");
    }
}

#[test]
fn scripts_out_of_sight_are_named() {
    let weld = [node("Model", "A", None), node("Weld", "Weld", Some(0)), script("S", 1, "")];
    assert_eq!(texts(&weld), ["2: It is inside of a Weld, where people do not look for scripts."]);
    let mut deep: Vec<ModelInstance<'_>> = vec![node("Model", "A", None)];
    deep.extend((0..8).map(|above| node("Folder", "F", Some(above))));
    let ninth = [deep.clone(), vec![script("S", 8, "")]].concat();
    assert_eq!(texts(&ninth), ["9: It is 9 levels deep in the model."]);
    assert_eq!(texts(&[deep[..8].to_vec(), vec![script("S", 7, "")]].concat()), [""; 0]);
    let context = with(script("S", 0, ""), "RunContext", ModelContent::Number(2.0));
    let found = texts(&[node("Model", "A", None), context]);
    assert!(found[0].contains("RunContext is Client"), "{found:?}");
}

/// Time grows with the size and not with its square.
#[test]
fn large_models_are_scanned_in_proportion() {
    let source = "for _, part in script.Parent:GetDescendants() do print(part.Name, part.Size) end\n\
                  require(script.Parent:FindFirstChild(\"Part\", true).Value)";
    let scan = |count: u32| {
        let mut all = vec![node("Model", "Part", None)];
        all.extend((0..count).map(|_| node("Part", "Part", Some(0))));
        all.extend((0..20).map(|_| script("Part", 0, source)));
        let began = std::time::Instant::now();
        scan_model(&all, &|| false);
        began.elapsed()
    };
    let (small, large) = (scan(2_000), scan(20_000));
    assert!(large.as_millis() < 20 * small.as_millis() + 500, "{small:?}, {large:?}");
}

#[test]
fn long_scripts_are_scanned_in_proportion() {
    let line = "local part = script.Parent:FindFirstChild(\"Part\") print(part.Name .. \"x\", part.Value)\n";
    let scan = |bytes: usize| {
        let source = format!("do {}end\n", line.repeat(100)).repeat(bytes / line.len() / 100);
        let all =
            [node("Model", "A", None), node("Part", "Part", Some(0)), script("S", 0, &source)];
        let began = std::time::Instant::now();
        assert_eq!(scan_model(&all, &|| false), []);
        began.elapsed()
    };
    let (small, large) = (scan(40_000), scan(400_000));
    eprintln!("40 KB in {small:?}, 400 KB in {large:?}");
    assert!(large.as_millis() < 30 * small.as_millis() + 500, "{small:?}, {large:?}");
}

#[test]
fn equal_names_and_many_values_are_scanned_in_proportion() {
    let line = "print(script.Parent.Part.Name, script:GetAttribute(\"None\"))\n";
    let scan = |count: u32| {
        let source = line.repeat(count as usize / 10);
        let mut main = script("Main", 0, &source);
        main.values = (0..count).map(|n| text_value(format!("@A{n}"), String::new())).collect();
        let mut all = vec![node("Model", "Kit", None), main, node("Folder", "F", Some(0))];
        all.extend((0..count).map(|_| node("Part", "Part", Some(2))));
        let began = std::time::Instant::now();
        assert_eq!(scan_model(&all, &|| false), []);
        began.elapsed()
    };
    let (small, large) = (scan(4_000), scan(40_000));
    eprintln!("equal names: {small:?}, {large:?}");
    assert!(large.as_millis() < 30 * small.as_millis() + 500, "{small:?}, {large:?}");
}

fn text_value(name: String, text: String) -> ModelValue {
    ModelValue { name, content: ModelContent::Text(text) }
}

#[test]
fn texts_that_are_compiled_are_limited() {
    let note = format!("local Spring = require(path.Spring)\n{}", "print(1 + 2)\n".repeat(1_400));
    let mut root = node("Model", "Kit", None);
    root.values = (0..60).map(|n| text_value(format!("@A{n}"), note.clone())).collect();
    let began = std::time::Instant::now();
    let found = texts(&[root, script("S", 0, "print(1)"), script("T", 0, "")]);
    eprintln!("60 texts in {:?}", began.elapsed());
    let limited = |at: u32| format!("{at}: {TEXTS_NOT_SCANNED}");
    assert_eq!(found, [limited(1), limited(2)]);
}

#[test]
fn scan_that_is_ended_says_so_at_every_script() {
    let all = [node("Model", "A", None), script("S", 0, "require(7)"), script("T", 0, "")];
    let found = scan_model(&all, &|| true);
    let ended = |at: u32| ModelFinding { at, text: NOT_SCANNED.to_owned() };
    assert_eq!(found, [ended(1), ended(2)]);
    // A long script is ended too.
    let long = "print(script.Parent.Name .. 1)\n".repeat(2_000);
    let all = [node("Model", "A", None), script("S", 0, &long)];
    let looks = std::cell::Cell::new(0);
    scan_model(&all, &|| {
        looks.set(looks.get() + 1);
        looks.get() > 10
    });
    assert!((11..20).contains(&looks.get()), "{}", looks.get());
}
