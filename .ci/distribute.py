#!/usr/bin/env python3
"""Makes what package managers and installers need of a release: distribute.py PACKED REPOSITORY FOLDER

PACKED has the archives of a release, as package.py writes them; REPOSITORY is OWNER/NAME on GitHub. Writes to FOLDER:

- install.sh and install.ps1, which download from that repository
- npm/*.tgz: a package for each system, and the one that people install, which takes the right one
- scoop/vector.json, homebrew/vector.rb and winget/*.yaml, for the repositories that collect them

The same input gives the same files. It refuses a release whose archives have different versions.
"""

import gzip
import hashlib
import io
import json
import pathlib
import re
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
ARCHIVE = re.compile(r"vector-(?P<version>.+)-(?P<system>linux|macos|windows)-(?P<cpu>x86_64|aarch64)\.zip")
ABOUT = "Language models work on your Roblox place, and you approve each change"
# The names of Node.js.
SYSTEMS = {"linux": "linux", "macos": "darwin", "windows": "win32"}
CPUS = {"x86_64": "x64", "aarch64": "arm64"}
NPM_NAME = "vector-roblox"


class Archive:
    def __init__(self, path, match):
        self.path, self.system, self.cpu = path, match["system"], match["cpu"]
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.binary = "vector.exe" if self.system == "windows" else "vector"

    def read(self, name):
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name)


def archives(packed):
    found, versions = {}, set()
    for path in sorted(packed.glob("vector-*.zip")):
        match = ARCHIVE.fullmatch(path.name)
        if not match:
            raise SystemExit(f"error: {path.name} is not named like an archive of a release")
        versions.add(match["version"])
        archive = Archive(path, match)
        found[archive.system, archive.cpu] = archive
    if len(versions) != 1:
        raise SystemExit(f"error: {packed} has archives of {len(versions)} versions ({', '.join(sorted(versions))}); give those of one")
    return found, versions.pop()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")


def tarball(path, files):
    """An npm package: names, contents and modes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(raw.getvalue(), mtime=0))


def npm(found, version, repository, folder):
    common = {
        "version": version,
        "license": "MIT",
        "repository": {"type": "git", "url": f"git+https://github.com/{repository}.git"},
    }
    text = lambda value: (json.dumps(value, indent=2) + "\n").encode()
    parts = {}
    for archive in found.values():
        system, cpu = SYSTEMS[archive.system], CPUS[archive.cpu]
        name = f"{NPM_NAME}-{system}-{cpu}"
        parts[name] = version
        about = {"name": name, **common, "description": f"{ABOUT} ({system}, {cpu})", "os": [system], "cpu": [cpu], "preferUnplugged": True}
        files = {"package.json": (text(about), 0o644), archive.binary: (archive.read(archive.binary), 0o755)}
        for licence in ("LICENSE", "THIRD-PARTY.txt"):
            files[licence] = (archive.read(licence), 0o644)
        tarball(folder / f"{name}-{version}.tgz", files)
    about = {
        "name": NPM_NAME,
        **common,
        "description": ABOUT,
        "keywords": ["roblox", "roblox-studio", "mcp", "luau"],
        "bin": {"vector": "vector.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": dict(sorted(parts.items())),
    }
    first = next(iter(found.values()))
    files = {
        "package.json": (text(about), 0o644),
        "vector.js": ((PACKAGING / "npm" / "vector.js").read_bytes(), 0o755),
        "README.md": ((PACKAGING / "npm" / "README.md").read_bytes(), 0o644),
        "LICENSE": (first.read("LICENSE"), 0o644),
    }
    tarball(folder / f"{NPM_NAME}-{version}.tgz", files)


def scoop(found, version, repository):
    names = {"x86_64": "64bit", "aarch64": "arm64"}
    address = f"https://github.com/{repository}/releases/download/v{version}"
    windows = [archive for (system, _), archive in sorted(found.items()) if system == "windows"]
    return json.dumps(
        {
            "version": version,
            "description": ABOUT,
            "homepage": f"https://github.com/{repository}",
            "license": "MIT",
            "architecture": {names[it.cpu]: {"url": f"{address}/{it.path.name}", "hash": it.sha256} for it in windows},
            "bin": "vector.exe",
            "checkver": "github",
            "autoupdate": {
                "architecture": {
                    names[it.cpu]: {"url": f"https://github.com/{repository}/releases/download/v$version/{it.path.name.replace(version, '$version')}"}
                    for it in windows
                }
            },
        },
        indent=4,
    ) + "\n"


def homebrew(found, version, repository):
    def block(system):
        lines = [f"  on_{system} do"]
        for cpu, name in (("aarch64", "arm"), ("x86_64", "intel")):
            if (system, cpu) in found:
                it = found[system, cpu]
                address = f"https://github.com/{repository}/releases/download/v{version}/{it.path.name}"
                lines += [f"    on_{name} do", f'      url "{address}"', f'      sha256 "{it.sha256}"', "    end"]
        return "\n".join([*lines, "  end"])

    systems = "\n\n".join(block(system) for system in ("macos", "linux"))
    return f"""class Vector < Formula
  desc "{ABOUT}"
  homepage "https://github.com/{repository}"
  version "{version}"
  license "MIT"

{systems}

  def install
    bin.install "vector"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/vector.bash" => "vector"
    zsh_completion.install "completions/_vector"
    fish_completion.install "completions/vector.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/vector --version")
  end
end
"""


def winget(found, version, repository):
    identifier = "Vector.Vector"
    head = f"PackageIdentifier: {identifier}\nPackageVersion: {version}\n"
    schema = lambda kind: f"# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.1.9.0.schema.json\n"
    tail = lambda kind: f"ManifestType: {kind}\nManifestVersion: 1.9.0\n"
    installers = ""
    for (system, cpu), it in sorted(found.items()):
        if system == "windows":
            address = f"https://github.com/{repository}/releases/download/v{version}/{it.path.name}"
            installers += f"- Architecture: {CPUS[cpu]}\n  InstallerUrl: {address}\n  InstallerSha256: {it.sha256.upper()}\n"
    return {
        f"{identifier}.yaml": schema("version") + head + "DefaultLocale: en-US\n" + tail("version"),
        f"{identifier}.installer.yaml": schema("installer")
        + head
        + "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n- RelativeFilePath: vector.exe\n  PortableCommandAlias: vector\n"
        + f"Installers:\n{installers}"
        + tail("installer"),
        f"{identifier}.locale.en-US.yaml": schema("defaultLocale")
        + head
        + f"PackageLocale: en-US\nPublisher: {repository.split('/')[0]}\nPackageName: Vector\nPackageUrl: https://github.com/{repository}\n"
        + f"License: MIT\nShortDescription: {ABOUT}\n"
        + tail("defaultLocale"),
    }


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__.split("\n", 1)[0])
    packed, repository, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise SystemExit(f"error: {repository} is not OWNER/NAME")
    found, version = archives(packed)
    for name in ("install.sh", "install.ps1"):
        text = (PACKAGING / name).read_text("utf-8")
        write(folder / name, text.replace("@RELEASES@", f"https://github.com/{repository}/releases"))
    npm(found, version, repository, folder / "npm")
    if any(system == "windows" for system, _ in found):
        write(folder / "scoop" / "vector.json", scoop(found, version, repository))
        for name, text in winget(found, version, repository).items():
            write(folder / "winget" / name, text)
    write(folder / "homebrew" / "vector.rb", homebrew(found, version, repository))


main()
