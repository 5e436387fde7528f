"""What is linked into the program: crates for a target, and works of others that are no crates. Used by sbom.py and
licences.py; needs cargo, and the sources that `cargo fetch` has brought."""

import functools
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CARGO = os.environ.get("CARGO", "cargo")
PACKAGE = "bailiwick-server"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.I)


class Work(NamedTuple):
    """A crate, or another work that is part of one."""

    name: str
    version: str
    licence: str  # SPDX
    purl: str
    checksum: str | None  # SHA-256 of the crate's archive
    texts: list  # of its licence
    authors: list


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@functools.cache
def metadata(target):
    """All packages of the lock file that cargo knows for a target."""
    arguments = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(run(CARGO, *arguments))["packages"]


def tree(target):
    """Names and versions as [(depth, (name, version))]: without procedural macros, build scripts and tests."""
    arguments = ["tree", "--locked", "--package", PACKAGE, "--edges", "normal,no-proc-macro", "--target", target]
    lines = run(CARGO, *arguments, "--prefix", "depth", "--format", " {p}").splitlines()
    split = [line.split(" ")[:3] for line in lines]
    return [(int(depth), (name, version.removeprefix("v"))) for depth, name, version in split]


def crates(target):
    """Crates of others by (name, version), and what each names, as {(name, version): set}; the program itself is None
    there, with everything that our own crates name."""
    linked = tree(target)
    packages = {(p["name"], p["version"]): p for p in metadata(target)}
    own = {key for key, package in packages.items() if package["source"] is None}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock}
    names, above = {}, []
    for depth, key in linked:
        above[depth:] = [key]
        names.setdefault(None if key in own else key, set())
        if depth and key not in own:
            parent = above[depth - 1]
            names.setdefault(None if parent in own else parent, set()).add(key)
    found = {key: crate(packages[key], checksums[key]) for key in names if key}
    return found, names


def crate(package, checksum):
    name, version = package["name"], package["version"]
    licence = re.sub(r" ?/ ?", " OR ", package["license"] or "")
    directory = Path(package["manifest_path"]).parent
    texts = [path.read_text() for path in sorted(directory.iterdir()) if path.is_file() and is_licence(path)]
    return Work(name, version, licence, f"pkg:cargo/{name}@{version}", checksum, texts, package["authors"])


def is_licence(path):
    return bool(LICENCE_FILE.match(path.name)) and path.suffix not in (".rs", ".html", ".toml")


def others(target, static):
    """Works that are no crates, as [(key of the crate that contains it or None, work)]; `static` = the C library too."""
    sources = {p["name"]: Path(p["manifest_path"]).parent for p in metadata(target)}
    for name, source in sources.items():
        if name == "aws-lc-sys":
            yield name, in_c(source, "aws-lc", "ISC AND Apache-2.0 AND MIT AND BSD-3-Clause", "github/aws/aws-lc",
                             "aws-lc/include/openssl/base.h", r'AWSLC_VERSION_NUMBER_STRING "(.+?)"',
                             ["aws-lc/LICENSE", *paths(source, "aws-lc/third_party/*/LICENSE")])
        if name == "libsqlite3-sys":
            work = in_c(source, "sqlite", "blessing", "generic/sqlite",
                        "sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"(.+?)"', [])
            header = (source / "sqlite3/sqlite3.h").read_text()
            yield name, work._replace(texts=[dedicated(header)])
        if name == "zstd-sys":
            yield name, in_c(source, "zstd", "BSD-3-Clause", "github/facebook/zstd",
                             "Cargo.toml", r'\nversion = ".+\+zstd\.(.+?)"', ["zstd/LICENSE"])
        if name == "libmimalloc-sys":
            work = in_c(source, "mimalloc", "MIT", "github/microsoft/mimalloc",
                        "c_src/mimalloc/v3/include/mimalloc.h", r"MI_MALLOC_VERSION +(\d+)",
                        ["c_src/mimalloc/v3/LICENSE"])
            number = int(work.version)
            yield name, versioned(work, f"{number // 10000}.{number // 100 % 100}.{number % 100}")
    yield None, Work("Roboto", "2.138", "Apache-2.0", "pkg:generic/roboto@2.138", None,
                     [(ROOT / "crates/export/fonts/LICENSE-Roboto").read_text()], ["Google Inc."])
    yield None, standard_library()
    if static:
        yield from c_library()


def paths(source, pattern):
    return sorted(str(path.relative_to(source)) for path in source.glob(pattern))


def in_c(source, name, licence, place, file, pattern, texts):
    version = re.search(pattern, (source / file).read_text()).group(1)
    texts = [(source / text).read_text() for text in texts]
    return versioned(Work(name, "", licence, f"pkg:{place}", None, texts, []), version)


def versioned(work, version):
    return work._replace(version=version, purl=f"{work.purl.split('@')[0]}@{version}")


def dedicated(header):
    """What SQLite's header says instead of a licence."""
    start = header.index("The author disclaims copyright")
    lines = header[start : header.index("*****", start)].splitlines()
    return "\n".join(line.removeprefix("**").strip() for line in lines)


def standard_library():
    version = run(os.environ.get("RUSTC", "rustc"), "--version").split()[1]
    purl = f"pkg:generic/rust-std@{version}"
    return Work("rust-std", version, "MIT OR Apache-2.0", purl, None, [], ["The Rust Project contributors"])


def c_library():
    """Of the Debian packages that the linker took it from."""
    library = run("cc", "-print-file-name=libc.a").strip()
    support = run("cc", "-print-libgcc-file-name").strip()
    common = Path("/usr/share/common-licenses")
    for name, file, licence, text in [
        ("glibc", library, "LGPL-2.1-or-later", "LGPL-2.1"),
        ("libgcc", support, "GPL-3.0-or-later WITH GCC-exception-3.1", "GPL-3"),
    ]:
        package = run("dpkg", "-S", os.path.realpath(file)).split(":")[0]
        version = run("dpkg-query", "-W", "-f", "${source:Version}\n", package).split()[0]
        own = Path("/usr/share/doc", package, "copyright").read_text()
        yield None, Work(name, version, licence, f"pkg:generic/{name}@{version}", None,
                         [own, (common / text).read_text()], [])
