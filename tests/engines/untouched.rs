//! Bytes that no edit touched: they are the same in the old and the new file, as chunks of a binary
//! file and items of an XML one.

use std::collections::{BTreeMap, HashSet};

use rbx_types::Ref;
use vector_place::FileFormat;
use vector_place::reflection::{self, StoredNameKind};
use vector_tests::oracle::{Item, Tree, pointed};

use super::edits::Run;
use crate::engine::chunks;

/// Compares a written file with the one that was read.
pub(super) fn hold(run: &Run, new: &[u8]) -> Result<(), String> {
    let before = run.before();
    match run.scene.format() {
        FileFormat::Binary => hold_chunks(run, before, new),
        FileFormat::Xml => hold_items(run, before, new),
    }
}

/// The instances of each class.
fn classes(tree: &Tree) -> BTreeMap<&str, HashSet<Ref>> {
    let mut classes = BTreeMap::<_, HashSet<Ref>>::new();
    for at in tree.subtree(tree.root()) {
        classes.entry(tree.item(at).class.as_str()).or_default().insert(at);
    }
    classes
}

/// The children of each instance, in order.
fn shape(tree: &Tree) -> Vec<(Ref, &[Ref])> {
    let all = tree.subtree(tree.root());
    all.into_iter().map(|at| (at, tree.item(at).children.as_slice())).collect()
}

/// The properties that a stored name represents.
fn means<'a>(class: &str, name: &'a str) -> Vec<&'a str> {
    match reflection::classify_name(class, name) {
        StoredNameKind::Shown(name, _) => vec![name],
        StoredNameKind::Replaced(_, migration) => migration.new_property_names().to_vec(),
        StoredNameKind::Hidden | StoredNameKind::Unknown => vec![name],
    }
}

fn hold_chunks(run: &Run, before: &Tree, new: &[u8]) -> Result<(), String> {
    let (old, new) = (chunks(&run.file), chunks(new));
    let (was, is) = (classes(before), classes(&run.tree));
    let has_gone: HashSet<&str> =
        was.keys().chain(is.keys()).copied().filter(|it| was.get(it) != is.get(it)).collect();
    // A reference to a deleted instance is emptied.
    let is_lost = |item: &Item, name: &str| {
        let to = item.properties.get(name).and_then(pointed);
        to.is_some_and(|to| !run.tree.has(to))
    };
    for (chunk, bytes) in &old {
        let may_change = match chunk.split_once(' ') {
            Some(("INST", class)) => has_gone.contains(class),
            Some(("PROP", property)) => {
                let (class, name) = property.split_once('.').unwrap_or((property, ""));
                let means = means(class, name);
                let is_edited = |name: &&str| {
                    run.edited.contains(&(class.to_owned(), (*name).to_owned()))
                        || was
                            .get(class)
                            .is_some_and(|all| all.iter().any(|at| is_lost(before.item(*at), name)))
                };
                has_gone.contains(class) || means.iter().any(is_edited)
            }
            _ if chunk == "PRNT" => shape(before) != shape(&run.tree),
            // New shared strings are added to the existing ones.
            _ => chunk == "SSTR" || chunk == "head",
        };
        if !may_change && new.get(chunk) != Some(bytes) {
            return Err(format!("the chunk {chunk} is not what it was"));
        }
    }
    Ok(())
}

/// The front of each item: its start tag and its properties.
fn fronts(file: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = file.match_indices("<Item").map(|(at, _)| at).collect();
    starts.push(file.len());
    let front = |ends: &[usize]| {
        let item = &file[ends[0]..ends[1]];
        let properties = item.find("</Properties>").map(|at| at + "</Properties>".len());
        let end =
            properties.or_else(|| item.find("/>").map(|at| at + 2)).or_else(|| item.find('>'));
        item[..end.unwrap_or(item.len())].trim_end()
    };
    starts.windows(2).map(front).collect()
}

fn hold_items(run: &Run, before: &Tree, new: &[u8]) -> Result<(), String> {
    let (Ok(old), Ok(new)) = (str::from_utf8(&run.file), str::from_utf8(new)) else {
        return Err("it is no text".to_owned());
    };
    let (fronts, new) = (fronts(old), HashSet::<&str>::from_iter(fronts(new)));
    let all = before.subtree(before.root());
    if fronts.len() + 1 != all.len() {
        // A text contains something that looks like an item.
        return Ok(());
    }
    for (at, front) in all.into_iter().skip(1).zip(fronts) {
        let item = before.item(at);
        let is_lost = |to: Option<Ref>| to.is_some_and(|to| !run.tree.has(to));
        let is_same = run.tree.has(at) && {
            let now = run.tree.item(at);
            let same = |it: &Item| format!("{:?}", (&it.name, &it.properties));
            same(now) == same(item) && !item.properties.values().any(|it| is_lost(pointed(it)))
        };
        let is_edited = item
            .properties
            .keys()
            .chain([&"Name".to_owned()])
            .any(|name| run.edited.contains(&(item.class.clone(), name.clone())));
        if is_same && !is_edited && !new.contains(front) {
            let tag = front.split('>').next().unwrap_or_default();
            let is = new.iter().find(|it| it.split('>').next() == Some(tag));
            return Err(format!("the item {front} is not what it was, but {is:?}"));
        }
    }
    Ok(())
}
