#!/usr/bin/env python3
"""Packs a built binary as a release: package.py BINARY LABEL FOLDER

Writes FOLDER/vector-VERSION-LABEL.zip and FOLDER/Vector.rbxm; LABEL is linux-x86_64 or the like. The binary must run on
this machine: it prints its own completions, man pages and plugin. The same input gives the same bytes.

Foreman unpacks the first file of an archive, whatever it is, and Rokit and Aftman look for one by the name of the tool:
so the binary is the first, and no other file is called like it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHELLS = {"bash": "vector.bash", "zsh": "_vector", "fish": "vector.fish", "powershell": "vector.ps1", "elvish": "vector.elv"}
LICENCES = ("LICEN", "COPYING", "NOTICE", "UNLICENSE")
# Labels that Rokit, Aftman and Foreman all recognise.
LABELS = [f"{system}-{cpu}" for system in ("linux", "macos", "windows") for cpu in ("x86_64", "aarch64")]


def ran(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def crates():
    """The packages that the binary is made of on this machine, in the order of their names."""
    host = next(line for line in ran("rustc", "-vV").decode().splitlines() if line.startswith("host: "))[6:]
    data = json.loads(ran("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host))
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    open_ids = [package["id"] for package in data["packages"] if package["name"] == "vector-daemon"]
    found = set()
    while open_ids:
        package = open_ids.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            # Crates that only build others belong too: some of those carry C sources.
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"]):
                open_ids.append(dependency["pkg"])
    others = [packages[package] for package in found if packages[package]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def notices():
    """The licences of others, each text once."""
    texts = {}
    for package in crates():
        folder = pathlib.Path(package["manifest_path"]).parent
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        files = [file for depth in ("*", "*/*", "*/*/*") for file in folder.glob(depth)]
        files = [file for file in files if file.is_file() and file.name.upper().startswith(LICENCES)]
        found = {file.read_text("utf-8", "replace").strip().replace("\r\n", "\n") for file in files}
        for text in sorted(found) or ["(It comes without a text of its licence.)"]:
            texts.setdefault(text, []).append(name)
    parts = ["Vector is made with the packages below. Under each list of packages stands their licence."]
    for text, names in sorted(texts.items(), key=lambda item: (item[1], item[0])):
        parts.append("\n".join(names) + "\n\n" + text)
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def contents(binary):
    """The files of the archive, the binary first."""
    vector = str(binary)
    yield binary.name, binary.read_bytes()
    for name in ("README.md", "LICENSE"):
        yield name, (ROOT / name).read_bytes()
    yield "THIRD-PARTY.txt", notices().encode()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ran(vector, "plugin", "build", "--out", str(folder / "Vector.rbxm"))
        yield "Vector.rbxm", (folder / "Vector.rbxm").read_bytes()
        for shell, file in SHELLS.items():
            yield f"completions/{file}", ran(vector, "completions", shell)
        ran(vector, "man", "--out", str(folder / "man"))
        for page in sorted((folder / "man").iterdir()):
            yield f"man/{page.name}", page.read_bytes()


def main(binary, label, folder):
    binary, folder = pathlib.Path(binary).resolve(), pathlib.Path(folder).resolve()
    if label not in LABELS:
        sys.exit(f"error: {label} is no label that tool managers know; say one of {', '.join(LABELS)}")
    version = ran(str(binary), "--version").decode().split()[1]
    # All of it is there before anything is written.
    files = list(contents(binary))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"vector-{version}-{label}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            # Unix, and the mode of a file there.
            entry.create_system = 3
            entry.external_attr = (0o100755 if name == binary.name else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
            if name == "Vector.rbxm":
                (folder / name).write_bytes(data)
    print(target)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
