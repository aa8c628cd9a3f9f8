//! The worst case for files of a few megabytes: time and memory grow with the file, and not with
//! the sizes that it claims or with its square.
//!
//! `VECTOR_HOSTILE=N` makes the files N times as large. Each case prints its cost.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use scene_schemas::Value;
use vector_place::{DetachedSubtree, Node, Scene};

use super::binary::{Chunk, planes};
use super::variable;

/// The number of elements in a file.
fn many() -> usize {
    4_000 * variable("VECTOR_HOSTILE").unwrap_or(1) as usize
}

/// The peak memory of the process in megabytes. 0 if the system does not report it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.unwrap_or(0_u64) / 1024
}

/// Uses a file in every way whose cost could get out of hand.
fn measure(name: &str, bytes: Vec<u8>) {
    let (started, size) = (Instant::now(), bytes.len());
    let opened = Scene::decode(&bytes);
    let mut times = vec![("open", started.elapsed())];
    let mut result = "refused".to_owned();
    if let Ok(mut scene) = opened {
        result = format!("{} instances", scene.len());
        let mut step = |what, scene: &mut Scene, act: &mut dyn FnMut(&mut Scene)| {
            let started = Instant::now();
            act(scene);
            times.push((what, started.elapsed()));
        };
        let nodes: Vec<Node> = scene.descendants(scene.root()).collect();
        step("unchanged", &mut scene, &mut |scene| assert!(scene.encode().unwrap() == bytes));
        step("says", &mut scene, &mut |scene| says(scene, &nodes));
        step("edits", &mut scene, &mut |scene| edits(scene, &nodes));
        step("write", &mut scene, &mut |scene| {
            if let Ok(after) = scene.encode() {
                assert_eq!(Scene::decode(&after).unwrap().len(), scene.len());
            }
        });
    }
    let total = started.elapsed();
    println!("{name}: {size} bytes, {result}, peak {} MB, {times:.2?}", peak());
    // Generous, because machines differ: quadratic time would take minutes. Checked only if
    // `VECTOR_HOSTILE` is set, because an ordinary test run may share its machine.
    if let Some(times) = variable("VECTOR_HOSTILE") {
        assert!(total < Duration::from_secs(10 * times), "{name}: {total:?}");
    }
}

fn says(scene: &Scene, nodes: &[Node]) {
    let _ = scene.unsupported_items();
    for node in nodes.first().into_iter().chain(nodes.last()) {
        let path = scene.path(*node);
        assert_eq!(scene.resolve(&path).ok(), Some(*node));
        for name in scene.stored_names(*node) {
            let _ = scene.stored_value(*node, name);
        }
    }
    for node in nodes {
        let _ = (scene.id(*node), scene.fixed_reason(scene.class(*node)), scene.tags(*node));
    }
}

fn edits(scene: &mut Scene, nodes: &[Node]) {
    let (Some(first), Some(last)) = (nodes.first().copied(), nodes.last().copied()) else { return };
    let removed = scene.encode_subtree(first).ok();
    let _ = scene.set_property(last, "@Hostile", Some(&Value::Float64(0.5)));
    scene.create(last, "Folder", "New");
    scene.copy(last, first, "Copy");
    scene.rename(first, "Another");
    if let Some(middle) = nodes.get(nodes.len() / 2).copied().filter(|node| *node != last) {
        let _ = (scene.references_into(middle), scene.references_out_of(middle));
        scene.delete(middle);
    }
    if let Some(removed) = removed.filter(|it| it.len() < 1 << 26) {
        let subtree = DetachedSubtree::decode(&removed).unwrap();
        scene.restore_subtree(subtree, scene.root(), None);
    }
}

pub(crate) fn inst(id: u32, class: &str, numbers: &[i32]) -> Chunk {
    let mut content = id.to_le_bytes().to_vec();
    content.extend((class.len() as u32).to_le_bytes());
    content.extend(class.bytes());
    content.push(0);
    content.extend((numbers.len() as u32).to_le_bytes());
    content.extend(planes(numbers));
    Chunk::new(*b"INST", content)
}

pub(super) fn prop(id: u32, name: &str, values: &[u8]) -> Chunk {
    let mut content = id.to_le_bytes().to_vec();
    content.extend((name.len() as u32).to_le_bytes());
    content.extend(name.bytes());
    content.extend(values);
    Chunk::new(*b"PROP", content)
}

pub(crate) fn prnt(children: &[i32], parents: &[i32]) -> Chunk {
    let mut content = vec![0];
    content.extend((children.len() as u32).to_le_bytes());
    content.extend(planes(children));
    content.extend(planes(parents));
    Chunk::new(*b"PRNT", content)
}

pub(crate) fn file(chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a\0\0".to_vec();
    bytes.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for chunk in chunks {
        bytes.extend(chunk.print(true));
    }
    bytes.extend(Chunk::new(*b"END\0", b"</roblox>".to_vec()).print(false));
    bytes
}

/// A file of one class, with all instances at the top.
fn flat(class: &str, count: usize, props: Vec<Chunk>) -> Vec<u8> {
    let numbers: Vec<i32> = (0..count as i32).collect();
    let mut chunks = vec![inst(0, class, &numbers)];
    chunks.extend(props);
    chunks.push(prnt(&numbers, &vec![-1; count]));
    file(&chunks)
}

#[test]
fn binary_files_with_false_lengths_are_handled() {
    let mut lying = inst(0, "Part", &[0]);
    lying.content[13..17].copy_from_slice(&u32::MAX.to_le_bytes());
    measure("a claimed count of instances", file(&[lying, prnt(&[], &[])]));
    let mut lying = prnt(&[0], &[-1]);
    lying.content[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
    measure("a claimed count of parents", file(&[inst(0, "Part", &[0]), lying]));
    let strings = Chunk::new(*b"SSTR", [[0; 4], [0xff; 4]].concat());
    measure(
        "a claimed count of strings",
        file(&[strings, inst(0, "Part", &[0]), prnt(&[0], &[-1])]),
    );
    for ty in 0..0x24 {
        let values = [&[ty][..], &[0xff; 40]].concat();
        measure("a claimed length", flat("Part", 1, vec![prop(0, "Anything", &values)]));
    }
    let attributes = |ty: u8| {
        let inner = [&[1, 0, 0, 0, 1, 0, 0, 0, b'a', ty][..], &[0xff; 40]].concat();
        let len = (inner.len() as u32).to_le_bytes();
        prop(0, "AttributesSerialize", &[&[1][..], &len, &inner].concat())
    };
    for ty in 0..0x24 {
        measure("a claimed length of an attribute", flat("Part", 1, vec![attributes(ty)]));
    }
}

#[test]
fn binary_files_with_many_elements_are_handled() {
    let count = 10 * many();
    let name = [4, 0, 0, 0, b'S', b'a', b'm', b'e'].repeat(count);
    let names = prop(0, "Name", &[&[1][..], &name].concat());
    measure("many of one name", flat("Part", count, vec![names]));
    let columns = |ty: u8, width| {
        let column = |n| prop(0, &format!("P{n}"), &[&[ty][..], &vec![0; width]].concat());
        (0..many()).map(column).collect()
    };
    measure("many columns", flat("Part", 1, columns(2, 1)));
    measure("many columns of references", flat("ObjectValue", 1, columns(0x13, 4)));
    measure("many columns that nobody knows", flat("Part", 1, columns(0x55, 4)));
    let same = |_| prop(0, "Anchored", &[2, 1]);
    measure("many columns of one name", flat("Part", 1, (0..many()).map(same).collect()));
    let numbers: Vec<i32> = (0..many() as i32).collect();
    for is_same in [true, false] {
        let class = |n: &i32| if is_same { "Part".to_owned() } else { format!("C{n}") };
        let mut chunks: Vec<_> =
            numbers.iter().map(|n| inst(*n as u32, &class(n), &[*n])).collect();
        chunks.push(prnt(&numbers, &vec![-1; numbers.len()]));
        measure("many classes", file(&chunks));
    }
    let up: Vec<i32> = numbers.iter().map(|n| n - 1).collect();
    measure("a deep tree", file(&[inst(0, "Folder", &numbers), prnt(&numbers, &up)]));
    let refs = prop(0, "Value", &[&[0x13][..], &planes(&vec![0; numbers.len()])].concat());
    let chunks = [inst(0, "ObjectValue", &numbers), refs, prnt(&numbers, &up)];
    measure("a deep tree that points to its root", file(&chunks));
    let bomb = prop(0, "Bomb", &vec![1; 4_000 * many()]);
    measure("a chunk that unpacks to much", flat("Part", 1, vec![bomb]));
}

pub(super) fn xml(inside: &str) -> Vec<u8> {
    format!("<roblox version=\"4\">{inside}</roblox>").into_bytes()
}

pub(super) fn item(properties: &str) -> Vec<u8> {
    xml(&format!(
        "<Item class=\"Part\" referent=\"a\"><Properties>{properties}</Properties></Item>"
    ))
}

fn list(one: impl Fn(usize) -> String) -> String {
    (0..many()).fold(String::new(), |mut all, n| {
        let _ = write!(all, "{}", one(n));
        all
    })
}

#[test]
fn xml_files_with_many_elements_are_handled() {
    let many_of = |one: &dyn Fn(usize) -> String| item(&list(one));
    measure("many properties", many_of(&|n| format!("<bool name=\"P{n}\">true</bool>")));
    measure("many references", many_of(&|n| format!("<Ref name=\"P{n}\">a</Ref>")));
    measure("many unknown values", many_of(&|n| format!("<x name=\"P{n}\">a</x>")));
    measure("many of one property", many_of(&|_| "<bool name=\"Anchored\">true</bool>".to_owned()));
    measure("many names", many_of(&|n| format!("<string name=\"Name\">{n}</string>")));
    let same = |_| "<Item class=\"Part\" referent=\"1\"/>".to_owned();
    measure("many of one referent", xml(&list(same)));
    let pointing = |n| {
        format!(
            "<Item class=\"ObjectValue\" referent=\"{n}\"><Properties><Ref name=\"Value\">{n}</Ref>\
             </Properties></Item>"
        )
    };
    measure("many that point to themselves", xml(&list(pointing)));
    let shared = list(|n| format!("<SharedString md5=\"{n}\">YQ==</SharedString>"));
    measure("many shared strings", xml(&format!("<SharedStrings>{shared}</SharedStrings>")));
    measure("many comments", item(&"<!-- -->".repeat(many())));
    measure(
        "many sections",
        item(&format!("<string name=\"Name\">{}</string>", "<![CDATA[ ]]>".repeat(many()))),
    );
    let long = "a".repeat(100 * many());
    measure("a long attribute", xml(&format!("<Item class=\"{long}\" referent=\"{long}\"/>")));
    measure("a long entity", item(&format!("<string name=\"Name\">&{long}</string>")));
    measure(
        "many entities",
        item(&format!("<string name=\"Name\">{}</string>", "&".repeat(many()))),
    );
}

#[test]
fn deeply_nested_xml_files_are_handled() {
    let nested = |open: &str, close: &str, times: usize| open.repeat(times) + &close.repeat(times);
    let items = nested("<Item class=\"Folder\">", "</Item>", many());
    measure("a deep tree", xml(&items));
    let lines = nested("\n\t<Item class=\"Folder\">", "</Item>", many());
    measure("a deep tree with lines", xml(&lines));
    let named = "<Item class=\"Folder\"><Properties></Properties>";
    measure("a deep tree with properties", xml(&nested(named, "</Item>", many())));
    for (open, close) in [("<a>", "</a>"), ("<X>", "</X>"), ("<CFrame>", "</CFrame>")] {
        let deep = nested(open, close, many());
        for tag in ["UDim2", "Unheard", "OptionalCoordinateFrame", "string", "Content", "Font"] {
            measure("a deep value", item(&format!("<{tag} name=\"P\">{deep}</{tag}>")));
        }
    }
    measure("a deep tree that is not closed", xml(&"<Item class=\"Folder\">".repeat(many())));
}
