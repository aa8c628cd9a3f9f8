//! Damage to binary files that respects their chunks and the structure of the contents.

use random_draws::RandomDraws;

use super::{draw_number, overwrite, raw};

const HEADER: usize = 32;

/// A chunk, unpacked if possible.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub(super) name: [u8; 4],
    pub(crate) content: Vec<u8>,
    /// Exact bytes to write instead: those of an unmodified chunk, or of one with a false head.
    raw: Option<Vec<u8>>,
}

impl Chunk {
    pub(super) fn new(name: [u8; 4], content: Vec<u8>) -> Self {
        Self { name, content, raw: None }
    }

    /// The bytes of the chunk in a file, stored or compressed.
    pub(super) fn print(&self, is_packed: bool) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let packed = lz4_flex::block::compress(&self.content);
        let (size, body) = if is_packed { (packed.len(), &packed) } else { (0, &self.content) };
        let mut bytes = self.name.to_vec();
        for number in [size as u32, self.content.len() as u32, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(body);
        bytes
    }
}

pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The chunks of a file, as far as it can be parsed.
pub(super) fn chunks(file: &[u8]) -> Vec<Chunk> {
    let (mut chunks, mut at) = (Vec::new(), HEADER);
    while let Some((packed, size)) = number(file, at + 4).zip(number(file, at + 8)) {
        let stored = if packed == 0 { size } else { packed } as usize;
        let Some(raw) = file.get(at..at + 16 + stored) else { break };
        let body = &raw[16..];
        let content = match packed {
            0 => Some(body.to_vec()),
            _ if size < 1 << 24 => lz4_flex::block::decompress(body, size as usize).ok(),
            _ => None,
        };
        let name = [raw[0], raw[1], raw[2], raw[3]];
        chunks.push(Chunk { name, content: content.unwrap_or_default(), raw: Some(raw.to_vec()) });
        at += raw.len();
    }
    chunks
}

/// Builds a file from a head and chunks, some of them uncompressed.
pub(super) fn file(head: &[u8], chunks: &[Chunk], draws: &mut RandomDraws) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for chunk in chunks {
        bytes.extend(chunk.print(draws.below(4) > 0));
    }
    bytes
}

/// Decodes the referents of a chunk.
pub(super) fn referents(planes: &[u8]) -> Vec<i32> {
    let (count, mut last) = (planes.len() / 4, 0_i32);
    let one = |at: usize| {
        let bytes = [0, 1, 2, 3].map(|plane| planes[plane * count + at]);
        let folded = u32::from_be_bytes(bytes);
        last = last.wrapping_add((folded >> 1) as i32 ^ -((folded & 1) as i32));
        last
    };
    (0..count).map(one).collect()
}

pub(super) fn planes(numbers: &[i32]) -> Vec<u8> {
    let mut last = 0_i32;
    let folded = numbers.iter().map(|number| {
        let distance = number.wrapping_sub(last);
        last = *number;
        (distance.wrapping_shl(1) ^ (distance >> 31)).to_be_bytes()
    });
    let folded: Vec<_> = folded.collect();
    (0..4).flat_map(|plane| folded.iter().map(move |it| it[plane])).collect()
}

pub(super) fn damage(bytes: &[u8], other: &[u8], draws: &mut RandomDraws) -> Vec<u8> {
    let mut head = bytes[..HEADER.min(bytes.len())].to_vec();
    let mut chunks = chunks(bytes);
    if chunks.is_empty() {
        return raw(bytes.to_vec(), other, draws);
    }
    match draws.below(12) {
        0 => overwrite(&mut head[14..], draws),
        1 => rearrange(&mut chunks, other, draws),
        2 => {
            // A false number in a chunk's head.
            let at = draws.below(chunks.len());
            let mut raw = chunks[at].print(true);
            let field = 4 + 4 * draws.below(3);
            raw[field..field + 4].copy_from_slice(&draw_number(draws).to_le_bytes());
            chunks[at].raw = Some(raw);
        }
        _ => {
            let at = choose(&chunks, draws);
            let known = numbers(&chunks);
            let chunk = &mut chunks[at];
            if !chunk.content.is_empty() {
                chunk.raw = None;
                within(chunk, &known, draws);
            }
        }
    }
    file(&head, &chunks, draws)
}

/// Picks a chunk by its kind, because there are many more PROP chunks than others.
fn choose(chunks: &[Chunk], draws: &mut RandomDraws) -> usize {
    let wanted =
        draws.pick(&[b"INST", b"INST", b"PRNT", b"PRNT", b"SSTR", b"PROP", b"PROP", b"PROP"]);
    let found: Vec<usize> = (0..chunks.len()).filter(|at| chunks[*at].name == *wanted).collect();
    if found.is_empty() { draws.below(chunks.len()) } else { draws.pick(&found) }
}

/// The referents of a file's instances, and some that no instance has.
fn numbers(chunks: &[Chunk]) -> Vec<i32> {
    let of = |chunk: &Chunk| {
        let (start, end) = instances(&chunk.content)?;
        Some(referents(&chunk.content[start..end]))
    };
    let groups = chunks.iter().filter(|chunk| chunk.name == *b"INST").filter_map(of);
    let mut all: Vec<i32> = groups.flatten().collect();
    let highest = all.iter().copied().max().unwrap_or(0);
    // Referents that no instance has yet, among them those of the next new instances.
    all.extend([highest.wrapping_add(1), highest.wrapping_add(2), -1, -7, i32::MAX, i32::MIN]);
    all
}

/// The byte range of the referents in an INST chunk.
fn instances(content: &[u8]) -> Option<(usize, usize)> {
    let count_at = 4 + 4 + number(content, 4)? as usize + 1;
    let start = count_at.checked_add(4)?;
    let end = start.checked_add(4 * number(content, count_at)? as usize)?;
    (end <= content.len()).then_some((start, end))
}

fn rearrange(chunks: &mut Vec<Chunk>, other: &[u8], draws: &mut RandomDraws) {
    let (at, to) = (draws.below(chunks.len()), draws.below(chunks.len()));
    match draws.below(6) {
        0 => {
            chunks.remove(at);
        }
        1 => chunks.insert(to, chunks[at].clone()),
        2 => chunks.swap(at, to),
        3 => {
            let chunk = chunks.remove(at);
            chunks.insert(to.min(chunks.len()), chunk);
        }
        4 => {
            let others = self::chunks(other);
            if !others.is_empty() && other.starts_with(b"<roblox!") {
                chunks.insert(to, draws.pick(&others));
            }
        }
        _ => chunks.insert(to, Chunk::new(*b"ODD\0", vec![7; draws.below(40)])),
    }
}

/// Damages the content of a chunk.
fn within(chunk: &mut Chunk, known: &[i32], draws: &mut RandomDraws) {
    let content = &mut chunk.content;
    if draws.below(5) == 0 {
        let bent = raw(std::mem::take(content), &[], draws);
        *content = bent;
        return;
    }
    match &chunk.name {
        b"INST" => bend_instances(content, known, draws),
        b"PRNT" => bend_parents(content, known, draws),
        b"PROP" => bend_property(content, known, draws),
        _ => overwrite(content, draws),
    }
}

fn bend_instances(content: &mut Vec<u8>, known: &[i32], draws: &mut RandomDraws) {
    let Some((start, end)) = instances(content) else { return overwrite(content, draws) };
    match draws.below(6) {
        0 => content[0] = draw_number(draws) as u8,
        1 => content[start - 5] = draws.below(3) as u8,
        2 => content[start - 4..start].copy_from_slice(&draw_number(draws).to_le_bytes()),
        3 => content.truncate(end + draws.below(3)),
        4 => content[..4].copy_from_slice(&draw_number(draws).to_le_bytes()),
        _ => {
            let mut all = referents(&content[start..end]);
            let at = draws.below(all.len());
            if let Some(one) = all.get_mut(at) {
                *one = draws.pick(known);
            }
            content.splice(start..end, planes(&all));
        }
    }
}

fn bend_parents(content: &mut Vec<u8>, known: &[i32], draws: &mut RandomDraws) {
    let count = number(content, 1).unwrap_or(0) as usize;
    let Some(pairs) = content.get(5..5 + 8 * count) else { return overwrite(content, draws) };
    let mut children = referents(&pairs[..4 * count]);
    let mut parents = referents(&pairs[4 * count..]);
    for _ in 0..=draws.below(3) {
        let (at, to) = (draws.below(children.len()), draws.below(children.len()));
        if children.is_empty() {
            break;
        }
        match draws.below(8) {
            0 => parents[at] = children[at],
            1 => parents[at] = children[to],
            2 => (children[at], parents[at]) = (parents[at], children[at]),
            3 => {
                children.push(children[at]);
                parents.push(parents[to]);
            }
            4 => parents[at] = draws.pick(known),
            5 => children[at] = draws.pick(known),
            6 => {
                children.swap(at, to);
                parents.swap(at, to);
            }
            _ => {
                children.remove(at);
                parents.remove(at);
            }
        }
    }
    content.truncate(1);
    content.extend((children.len() as u32).to_le_bytes());
    content.extend(planes(&children));
    content.extend(planes(&parents));
}

fn bend_property(content: &mut Vec<u8>, known: &[i32], draws: &mut RandomDraws) {
    let Some(end) = number(content, 4).map(|len| 8 + len as usize) else {
        return overwrite(content, draws);
    };
    let Some(ty) = content.get(end).copied() else { return overwrite(content, draws) };
    match draws.below(8) {
        0 => content[..4].copy_from_slice(&draw_number(draws).to_le_bytes()),
        1 => {
            let name =
                draws.pick(&["Name", "Source", "Tags", "Attributes", "UniqueId", "Value", ""]);
            content.splice(8..end, name.bytes());
            content[4..8].copy_from_slice(&(name.len() as u32).to_le_bytes());
        }
        2 => content[end] = draws.below(0x24) as u8,
        3 if ty == 0x13 => {
            let mut all = referents(&content[end + 1..]);
            let at = draws.below(all.len());
            if let Some(one) = all.get_mut(at) {
                *one = draws.pick(known);
            }
            content.truncate(end + 1);
            content.extend(planes(&all));
        }
        4 => content.truncate(end + draws.below(content.len() - end)),
        5 => content.extend([1, 0, 0, 0]),
        6 => {
            for _ in 0..=draws.below(4) {
                let at = end + draws.below(content.len() - end);
                content[at] = draws.below(256) as u8;
            }
        }
        _ => overwrite(&mut content[end..], draws),
    }
}
