//! The first rows and lines of a preview, for a client that shows a part of it. Does not know who
//! shows it.

use scene_schemas::proposal::{Hunk, Preview, ScriptDiff};

/// A preview of which later rows and lines may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct CutPreview {
    /// The preview. It has all scripts, those beyond the limit without their hunks.
    pub preview: Preview,
    /// Number of rows and lines that are missing.
    pub more: u32,
}

/// Returns the first rows and lines of a preview, at most this many together.
pub fn cut_preview(preview: &Preview, limit: usize) -> CutPreview {
    let rows = preview.rows.len().min(limit);
    let mut left = limit - rows;
    let mut more = preview.rows.len() - rows;
    let scripts = preview.scripts.iter().map(|script| {
        let total = count_lines(&script.hunks);
        let hunks = cut_hunks(&script.hunks, left);
        let shown = count_lines(&hunks);
        left -= shown;
        more += total - shown;
        ScriptDiff { path: script.path.clone(), hunks, ..*script }
    });
    let scripts = scripts.collect();
    let rows = preview.rows[..rows].to_vec();
    let preview = Preview { rows, more_rows: preview.more_rows, scripts };
    CutPreview { preview, more: u32::try_from(more).unwrap_or(u32::MAX) }
}

fn count_lines(hunks: &[Hunk]) -> usize {
    hunks.iter().map(|hunk| hunk.lines.len()).sum()
}

fn cut_hunks(hunks: &[Hunk], mut left: usize) -> Vec<Hunk> {
    let mut cut = Vec::new();
    for hunk in hunks {
        if left == 0 {
            break;
        }
        let lines = hunk.lines[..hunk.lines.len().min(left)].to_vec();
        left -= lines.len();
        cut.push(Hunk { lines, ..*hunk });
    }
    cut
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::{Change, DiffLine, Row};

    use super::*;

    fn preview(rows: u32, scripts: &[&[usize]]) -> Preview {
        let row = |command| Row {
            command,
            member: None,
            change: Change::Deleted { count: 1 },
            path: "game.Workspace.Part".parse().unwrap(),
            class: "Part".to_owned(),
        };
        let hunk = |lines: usize| Hunk {
            old_start: 7,
            new_start: 9,
            lines: (0..lines).map(|line| DiffLine::Added(format!("line {line}"))).collect(),
        };
        let script = |hunks: &&[usize]| ScriptDiff {
            command: 3,
            path: "game.Workspace.Script".parse().unwrap(),
            left_out: false,
            added: 5,
            removed: 6,
            hunks: hunks.iter().copied().map(hunk).collect(),
        };
        Preview {
            rows: (0..rows).map(row).collect(),
            more_rows: 4,
            scripts: scripts.iter().map(script).collect(),
        }
    }

    /// The number of rows, and of the lines of each hunk of each script.
    fn shape(cut: &CutPreview) -> (usize, Vec<Vec<usize>>, u32) {
        let lines = |script: &ScriptDiff| script.hunks.iter().map(|it| it.lines.len()).collect();
        (cut.preview.rows.len(), cut.preview.scripts.iter().map(lines).collect(), cut.more)
    }

    #[test]
    fn limit_counts_rows_and_then_the_lines_of_each_hunk() {
        let whole = preview(2, &[&[3, 2], &[4]]);
        let shape_at = |limit| shape(&cut_preview(&whole, limit));
        assert_eq!(shape_at(0), (0, vec![vec![], vec![]], 11));
        assert_eq!(shape_at(1), (1, vec![vec![], vec![]], 10));
        assert_eq!(shape_at(2), (2, vec![vec![], vec![]], 9));
        assert_eq!(shape_at(4), (2, vec![vec![2], vec![]], 7));
        assert_eq!(shape_at(5), (2, vec![vec![3], vec![]], 6));
        assert_eq!(shape_at(6), (2, vec![vec![3, 1], vec![]], 5));
        assert_eq!(shape_at(10), (2, vec![vec![3, 2], vec![3]], 1));
    }

    #[test]
    fn whole_preview_is_returned_unchanged() {
        for whole in
            [preview(0, &[]), preview(3, &[]), preview(0, &[&[2], &[]]), preview(1, &[&[1]])]
        {
            let cut = cut_preview(&whole, 5);
            assert_eq!(cut, CutPreview { preview: whole, more: 0 });
        }
    }

    #[test]
    fn parts_of_a_cut_preview_are_the_first_of_the_whole() {
        let whole = preview(1, &[&[3, 2]]);
        let cut = cut_preview(&whole, 2).preview;
        assert_eq!(cut.rows[..], whole.rows[..1]);
        let (script, before) = (&cut.scripts[0], &whole.scripts[0]);
        assert_eq!((script.added, script.removed, script.command), (5, 6, 3));
        assert_eq!((script.hunks[0].old_start, script.hunks[0].new_start), (7, 9));
        assert_eq!(script.hunks[0].lines[..], before.hunks[0].lines[..1]);
        assert_eq!(cut.more_rows, 4);
    }
}
