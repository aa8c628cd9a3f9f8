#!/usr/bin/env python3
"""What the GitHub action does: checks, tests and compares the places and Rojo projects that a pull request changes.

It writes the job's summary, annotations and one comment, which later runs update. It fails if a check or a spec fails.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PLACES = (".rbxl", ".rbxlx", ".rbxm", ".rbxmx")
SOURCES = (".luau", ".lua", ".json", ".jsonc", ".toml", ".csv", ".txt", ".yml", ".yaml", *PLACES)
MARKER = "<!-- vector: places and projects of this pull request -->"
MAX_COMMENT = 65_000
MAX_SUMMARY = 1_000_000
# GitHub shows ten annotations of each kind and step.
MAX_ANNOTATIONS = 10


def wanted(name):
    return os.environ.get(f"INPUT_{name.upper()}", "true") == "true"


def vector(*arguments):
    command = [os.environ.get("INPUT_BINARY") or "vector", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")


def git(*arguments, text=True):
    return subprocess.run(["git", *arguments], capture_output=True, text=text)


def escaped(text, is_property=False):
    """The text of a workflow command."""
    text = str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def command(kind, message, **properties):
    listed = ",".join(f"{name}={escaped(value, True)}" for name, value in properties.items() if value)
    print(f"::{kind} {listed}::{escaped(message)}" if listed else f"::{kind}::{escaped(message)}")


def fenced(text):
    runs = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * max(3, runs + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}\n"


def folded(title, text):
    return f"\n<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def find_base(event):
    """The commit that the change is compared with; None if there is none."""
    pull = event.get("pull_request")
    base = pull["base"]["sha"] if pull else event.get("before")
    if not base or set(base) == {"0"}:
        return None
    if git("cat-file", "-e", f"{base}^{{commit}}").returncode != 0:
        fetched = git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", base)
        if fetched.returncode != 0:
            command("warning", f"The commit {base} cannot be fetched: {fetched.stderr.strip()}. Nothing is compared with it.")
            return None
    return base


def changed_files(base):
    """The files that the change adds, changes or renames."""
    listed = git("diff", "--name-only", "-z", "--diff-filter=ACMR", base, "HEAD") if base else git("ls-files", "-z")
    return [name for name in listed.stdout.split("\0") if name]


def changed_projects(files, removed):
    """The projects in whose folders something changed, the innermost of each."""
    listed = [name for name in git("ls-files", "-z", "--", "*.project.json", "*.project.jsonc").stdout.split("\0") if name]
    folders = {}
    for name in sorted(listed, key=lambda name: (not name.split("/")[-1].startswith("default."), name)):
        folders.setdefault(pathlib.PurePosixPath(name).parent, name)
    found = set()
    for name in [*files, *removed]:
        path = pathlib.PurePosixPath(name)
        if path.suffix.lower() in SOURCES:
            above = next((folder for folder in path.parents if folder in folders), None)
            if above is not None:
                found.add(folders[above])
    return sorted(found)


def check(place):
    """Checks the scripts. Returns a line for the summary, and whether it passed."""
    run = vector("check", place, "--format", "sarif")
    try:
        results = json.loads(run.stdout)["runs"][0]["results"]
    except (ValueError, KeyError, IndexError):
        command("error", run.stderr.strip() or "the check printed nothing", file=place, title="Vector")
        return f"Check: failed\n\n{fenced(run.stderr)}", False
    counts, shown = {"error": 0, "warning": 0, "note": 0}, 0
    for result in sorted(results, key=lambda it: ("error", "warning").index(it["level"]) if it["level"] in ("error", "warning") else 2):
        level = result["level"] if result["level"] in counts else "note"
        counts[level] += 1
        if shown < MAX_ANNOTATIONS:
            shown += 1
            location = (result.get("locations") or [{}])[0]
            physical = location.get("physicalLocation", {})
            region = physical.get("region", {})
            logical = (location.get("logicalLocations") or [{}])[0].get("fullyQualifiedName")
            message = result["message"]["text"]
            # Files of a project are named from its folder.
            uri = physical.get("artifactLocation", {}).get("uri")
            inside = pathlib.PurePosixPath(place).parent / uri if uri else None
            command(
                "notice" if level == "note" else level,
                f"{logical}: {message}" if logical else message,
                file=inside if inside and pathlib.Path(inside).is_file() else place,
                line=region.get("startLine"),
                col=region.get("startColumn"),
                title=result.get("ruleId", "Vector"),
            )
    parts = [f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items() if n]
    return f"Check: {', '.join(parts) or 'no findings'}", run.returncode == 0


def test(place):
    run = vector("test", place)
    if run.returncode == 0:
        last = [line for line in run.stdout.splitlines() if line.strip()][-1:]
        return f"Specs: {last[0].strip() if last else 'passed'}", True
    if run.returncode == 2 and " has no specs " in run.stderr:
        return "Specs: none", True
    command("error", "Specs fail: see the summary.", file=place, title="Vector")
    return f"Specs: failed\n{folded('Output', fenced(run.stdout + run.stderr))}", False


def compare(before, after, place):
    run = vector("diff", before, after, "--format", "markdown", "--label", f"{place} (before)", "--label", place)
    if run.returncode == 0:
        return "No instance differs."
    if run.returncode == 1:
        return run.stdout
    command("warning", run.stderr.strip(), file=place, title="Vector")
    return f"Not compared:\n\n{fenced(run.stderr)}"


def report(place, before):
    """A place's part of the summary, and whether its checks passed."""
    lines, passed = [f"### `{place}`\n"], True
    for name, run in (("check", check), ("test", test)):
        if wanted(name):
            line, is_passed = run(place)
            lines.append(f"{line}\n")
            passed &= is_passed
    if wanted("diff") and before is not None:
        lines.append(compare(before, place, place))
    elif wanted("diff"):
        lines.append("This is new.\n")
    return "\n".join(lines), passed


def cut(text, limit):
    if len(text) <= limit:
        return text
    note = "\n\n… The rest is left out: it is too long for here.\n"
    return text[: limit - len(note)] + note


def comment(event, text):
    """Writes the comment, or updates the one of an earlier run."""
    repository, number = os.environ["GITHUB_REPOSITORY"], event["pull_request"]["number"]

    def api(*arguments, body=None):
        data = json.dumps({"body": body}) if body is not None else None
        run = subprocess.run(["gh", "api", *arguments], input=data, capture_output=True, text=True, encoding="utf-8")
        if run.returncode != 0:
            raise OSError(run.stderr.strip())
        return run.stdout

    try:
        listed = api("--paginate", f"repos/{repository}/issues/{number}/comments", "--jq", f'.[] | select(.body | startswith("{MARKER}")) | .id')
        earlier = listed.split()
        body = cut(f"{MARKER}\n{text}", MAX_COMMENT)
        if earlier:
            api("--method", "PATCH", f"repos/{repository}/issues/comments/{earlier[0]}", "--input", "-", body=body)
        else:
            api("--method", "POST", f"repos/{repository}/issues/{number}/comments", "--input", "-", body=body)
    except OSError as error:
        # A pull request from a fork may not write.
        command("warning", f"The comment cannot be written: {error}. The job's summary has the same text.")


def main():
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    base = find_base(event)
    files = changed_files(base)
    removed = git("diff", "--name-only", "-z", "--diff-filter=D", base, "HEAD").stdout.split("\0") if base else []
    places = [name for name in files if name.lower().endswith(PLACES)]
    projects = changed_projects(files, removed)
    parts, passed = [], True
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tree = folder / "base"
        if base and git("worktree", "add", "--quiet", "--detach", str(tree), base).returncode != 0:
            tree = None
        for name in [*places, *projects]:
            before = tree / name if base and tree else None
            part, is_passed = report(name, before if before and before.exists() else None)
            parts.append(part)
            passed &= is_passed
        if base and tree:
            git("worktree", "remove", "--force", str(tree))
    text = "\n".join(parts) or "This pull request changes no place and no Rojo project.\n"
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(cut(text, MAX_SUMMARY))
    if wanted("comment") and "pull_request" in event and parts:
        comment(event, text)
    sys.exit(0 if passed else 1)


main()
