//! Scripts and shuffles that are the same in every run.

use fastrand::Rng;

/// Generates the lines of a plausible script: functions with distinct names, whose inner lines
/// repeat.
pub(crate) fn script(random: &mut Rng, count: usize) -> Vec<String> {
    const NOUNS: [&str; 8] =
        ["player", "round", "score", "door", "coin", "enemy", "weapon", "lobby"];
    let mut lines = vec!["--!strict".to_owned(), String::new()];
    while lines.len() < count {
        let (noun, number) = (NOUNS[random.usize(..NOUNS.len())], lines.len());
        lines.push(format!("local function {noun}{number}(self, amount: number): boolean"));
        for _ in 0..2 + random.usize(..12) {
            let other = NOUNS[random.usize(..NOUNS.len())];
            let value = random.usize(..1_000);
            match random.usize(..6) {
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
