//! Scripts and shuffles that are the same in every run.

/// A xorshift generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// Generates the lines of a plausible script: functions with distinct names, whose inner lines
/// repeat.
pub(crate) fn script(random: &mut Random, count: usize) -> Vec<String> {
    const NOUNS: [&str; 8] =
        ["player", "round", "score", "door", "coin", "enemy", "weapon", "lobby"];
    let mut lines = vec!["--!strict".to_owned(), String::new()];
    while lines.len() < count {
        let (noun, number) = (NOUNS[random.below(NOUNS.len())], lines.len());
        lines.push(format!("local function {noun}{number}(self, amount: number): boolean"));
        for _ in 0..2 + random.below(12) {
            let other = NOUNS[random.below(NOUNS.len())];
            let value = random.below(1_000);
            match random.below(6) {
                0 => lines.push(format!("\tlocal {other} = self.{noun}.{other}[{value}]")),
                1 => lines.push(format!("\tself.{other}:Update({value}, amount)")),
                2 => lines.push(format!("\tprint(\"{noun} and {other}\", {value})")),
                3 => lines.push(format!("\ttask.wait({value} / 10)")),
                4 => lines.push(String::new()),
                _ => {
                    lines.push(format!("\tif self.{other} > {value} then"));
                    lines.push("\t\treturn false".to_owned());
                    lines.push("\tend".to_owned());
                }
            }
        }
        lines.extend(["\treturn true", "end", ""].map(str::to_owned));
    }
    lines.truncate(count);
    lines
}

/// Joins lines, each with its line end.
pub(crate) fn text<T: AsRef<str>>(lines: &[T]) -> String {
    lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect()
}
