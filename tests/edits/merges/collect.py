#!/usr/bin/env python3
"""Collects merges of real texts from the history of this repository, with the answer of `git merge-file`.

    tests/edits/merges/collect.py > tests/edits/merges/history.txt

The history has to be there (no shallow clone). The test reads only what is committed, so nothing changes
until someone runs this again and reads the difference.

Four kinds of triples:
  merge     the versions of a file at a merge commit: the common ancestor and both parents
  revert    what `git revert` merges: a later version, with an earlier change taken back
  contained the second side made the change of the first side, and another one
  beside    two changes that were made one after the other, as if made at the same time

Each case is one listing of all four texts. The first character of a line is a hexadecimal digit that says
which texts have it: 1 base, 2 ours, 4 theirs, 8 the result of Git; a line of `\\` says that the line above
has no end. Lines in all texts that are far from every change are left out, before Git merges. Only cases in
which both sides touch lines near each other are kept: the others test nothing. Those come first whose
changes could stand elsewhere and give the same text, because lines repeat.
"""

import difflib
import hashlib
import os
import subprocess
import sys
import tempfile

LIMIT = 880_000
LONGEST = 2_600
CONTEXT = 5
NEAR = 12
SUFFIXES = (".rs", ".luau", ".md", ".toml", ".js", ".css", ".py", ".json", ".txt")


def git(*args):
    return subprocess.run(["git", *args], check=True, capture_output=True).stdout


def text_of(commit, path):
    try:
        data = git("show", f"{commit}:{path}")
    except subprocess.CalledProcessError:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if "\r" not in text and len(text) < 120_000 else None


def merge_commits():
    for line in git("log", "--merges", "--format=%H %P").decode().splitlines():
        ids = line.split()
        if len(ids) != 3:
            continue
        _, ours, theirs = ids
        base = git("merge-base", ours, theirs).decode().strip()
        changed = [
            set(git("diff", "--name-only", "--diff-filter=M", base, side).decode().splitlines())
            for side in (ours, theirs)
        ]
        for path in sorted(changed[0] & changed[1]):
            if path.endswith(SUFFIXES):
                yield "merge", path, [text_of(commit, path) for commit in (base, ours, theirs)]


def histories():
    """The versions of each file, oldest first."""
    versions = {}
    log = git("log", "--reverse", "--no-merges", "--topo-order", "--raw", "--no-abbrev", "--no-renames",
              "--format=").decode()
    for line in log.splitlines():
        if not line.startswith(":"):
            continue
        _, _, _, blob, rest = line.split(" ", 4)
        status, path = rest.split("\t", 1)
        if status in "AM" and path.endswith(SUFFIXES):
            versions.setdefault(path, []).append(blob)
    return versions


def blob_text(blob):
    data = git("cat-file", "blob", blob)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if "\r" not in text and len(text) < 120_000 else None


def neighbours():
    for path, blobs in sorted(histories().items()):
        texts = [blob_text(blob) for blob in blobs]
        for first, second, third in zip(texts, texts[1:], texts[2:]):
            yield "contained", path, [first, second, third]
            yield "revert", path, [second, third, first]
            if first is None or second is None or third is None:
                continue
            # The change from the second to the third, made to the first.
            moved = merged(second, first, third)
            if moved is not None:
                yield "beside", path, [first, second, moved]


def merged(base, ours, theirs):
    """What Git makes of it; none where it is a conflict."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
        for name, text in zip(names, (ours, base, theirs)):
            with open(name, "w", newline="") as file:
                file.write(text)
        run = subprocess.run(["git", "merge-file", "-p", *names], capture_output=True)
        return run.stdout.decode() if run.returncode == 0 else None


def blocks(base, side):
    matcher = difflib.SequenceMatcher(None, base, side, autojunk=False)
    return [(i, i + n, j) for i, j, n in matcher.get_matching_blocks() if n]


def changed_ranges(base, side):
    """Which lines of the base a side changed."""
    at, found = 0, []
    matched = blocks(base, side) + [(len(base), len(base), len(side))]
    other = 0
    for start, end, there in matched:
        if start > at or there > other:
            found.append((at, start))
        at, other = end, there + end - start
    return found


def is_interesting(base, ours, theirs):
    one, other = changed_ranges(base, ours), changed_ranges(base, theirs)
    return any(a <= d + NEAR and c <= b + NEAR for a, b in one for c, d in other)


def can_slide(base, side):
    """Whether an insertion or a deletion could stand a line further up or down."""
    matcher = difflib.SequenceMatcher(None, base, side, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        lines, start, end = (side, k, m) if kind == "insert" else (base, i, j)
        if kind not in ("insert", "delete"):
            continue
        if start > 0 and lines[start - 1] == lines[end - 1]:
            return True
        if end < len(lines) and lines[start] == lines[end]:
            return True
    return False


def trimmed(texts):
    """The texts without lines that all have and that are far from every change."""
    base = texts[0]
    maps = []
    for side in texts[1:]:
        where = {}
        for start, end, there in blocks(base, side):
            for at in range(start, end):
                where[at] = there + at - start
        maps.append(where)
    changed = sorted(
        {at for side in texts[1:] for a, b in changed_ranges(base, side) for at in range(a, b + 1)}
    )
    keep = set()
    for at in changed:
        keep.update(range(at - CONTEXT, at + CONTEXT))
    dropped = [at for at in range(len(base)) if at not in keep and all(at in where for where in maps)]
    gone = [set(dropped)] + [{where[at] for at in dropped} for where in maps]
    return [[it for at, it in enumerate(text) if at not in out] for text, out in zip(texts, gone)]


def listing(texts):
    """All texts as one list of lines, each with the texts that have it."""
    found = [(1, it) for it in texts[0]]
    for number, text in enumerate(texts[1:], 1):
        if text is None:
            continue
        bit, out, at = 1 << number, [], 0
        matcher = difflib.SequenceMatcher(None, [it for _, it in found], text, autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            if kind == "equal":
                out += [(bits | bit, it) for bits, it in found[i:j]]
            else:
                out += found[i:j] + [(bit, it) for it in text[k:m]]
        found = out
    return found


def main():
    seen, size, counts = set(), 0, {}
    cases = []
    for kind, path, texts in [*merge_commits(), *neighbours()]:
        if any(text is None for text in texts) or len(set(texts)) < 3:
            continue
        lines = [text.splitlines(keepends=True) for text in texts]
        if any(len(it.replace("\n", "").splitlines()) > 1 for it in texts):
            continue  # It has line ends that only Python sees.
        if not is_interesting(*lines):
            continue
        lines = trimmed(lines)
        key = hashlib.sha256("\0".join("".join(it) for it in lines).encode()).hexdigest()
        if key in seen:
            continue
        seen.add(key)
        base, ours, theirs = ("".join(it) for it in lines)
        result = merged(base, ours, theirs)
        answer = None if result is None else result.splitlines(keepends=True)
        shown = listing([*lines, answer])
        name = key[:8]
        out = [f"# {name} {kind} {path} {'conflict' if result is None else 'merged'}\n"]
        for bits, line in shown:
            out.append(f"{bits:x}{line}")
            if not line.endswith("\n"):
                out.append("\n\\\n")
        text = "".join(out)
        if len(text.encode()) <= LONGEST:
            slides = any(can_slide(lines[0], side) for side in lines[1:])
            cases.append((key, kind, text, not slides))
    by_kind = {}
    for case in cases:
        by_kind.setdefault(case[1], []).append(case)
    chosen = []
    for kind, of_kind in by_kind.items():
        of_kind.sort(key=lambda case: (case[3], case[0]))
        share, used = LIMIT // len(by_kind), 0
        for case in of_kind:
            if used + len(case[2].encode()) > share:
                continue
            used += len(case[2].encode())
            chosen.append(case)
        counts[kind] = (len(of_kind), sum(1 for it in chosen if it[1] == kind))
    sys.stdout.write("".join(case[2] for case in chosen))
    print(counts, file=sys.stderr)


main()
