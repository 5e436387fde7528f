"""Writes an image for containers from nothing but the program and files of this machine: no base image, no daemon.

    scripts/dist/image.py PROGRAM DOCUMENTS OUTPUT     with DIST_VERSION, BAILIWICK_COMMIT and SOURCE_DATE_EPOCH set

DOCUMENTS is a directory whose files go to /usr/share/doc/bailiwick. The output is an OCI archive that also has the list
of contents of older versions of Docker. Equal inputs give equal bytes.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
from pathlib import Path

USER = 10001
HOME = "var/lib/bailiwick"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Those of the package ca-certificates: what the administrator of this machine has added stays here.
AUTHORITIES = Path("/usr/share/ca-certificates")
ZONES = Path("/usr/share/zoneinfo")
SECOND = 1_000_000_000


def libraries(program):
    """Files that a dynamically linked program needs, its loader among them; none for a static one."""
    told = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", told, re.M)]


def authorities():
    return b"".join(path.read_bytes().strip() + b"\n" for path in sorted(AUTHORITIES.rglob("*.crt")))


def zones():
    """Time zones by their names, without what depends on the settings of this machine."""
    for path in sorted(ZONES.rglob("*")):
        name = path.relative_to(ZONES)
        if name.parts[0] in ("posix", "right", "localtime", "posixrules") or not path.is_file():
            continue
        content = path.read_bytes()
        if content.startswith(b"TZif"):
            yield f"usr/share/zoneinfo/{name}", content


def base():
    """The files beside the program, as {path: content}."""
    nologin = "/usr/sbin/nologin"
    users = f"root:x:0:0:root:/root:{nologin}\nbailiwick:x:{USER}:{USER}::/{HOME}:{nologin}\n"
    return {
        "etc/passwd": users.encode(),
        "etc/group": f"root:x:0:\nbailiwick:x:{USER}:\n".encode(),
        "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
        "etc/ssl/certs/ca-certificates.crt": authorities(),
        **dict(zones()),
    }


def product(program, documents):
    """The program and what belongs to it."""
    files = {"usr/bin/bailiwick": Path(program).read_bytes()}
    files |= {str(path).lstrip("/"): path.read_bytes() for path in libraries(program)}
    return files | {f"usr/share/doc/bailiwick/{path.name}": path.read_bytes() for path in Path(documents).iterdir()}


def add(tar, name, content=None, mode=0o644, owner=0):
    """One entry; without content a directory."""
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    entry.size = len(content or b"")
    entry.mode, entry.uid, entry.gid = mode, owner, owner
    entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
    tar.addfile(entry, None if content is None else io.BytesIO(content))


def layer(files, home=False):
    """An archive with the directories above the files."""
    directories = {str(parent) for name in [*files, *([HOME] if home else [])] for parent in Path(name).parents} - {"."}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(directories):
            add(tar, name, mode=0o755)
        if home:
            add(tar, HOME, mode=0o700, owner=USER)
        for name, content in sorted(files.items()):
            add(tar, name, content, 0o755 if content.startswith(b"\x7fELF") else 0o644)
    return buffer.getvalue()


def config(layers):
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            # By number: only so an orchestrator sees that it is not root.
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"8080/tcp": {}},
            "Env": [
                "PATH=/usr/bin",
                f"BAILIWICK_DATA_DIR=/{HOME}",
                "BAILIWICK_HTTP__LISTEN=0.0.0.0:8080",
                "BAILIWICK_LOG__FORMAT=json",
            ],
            "Entrypoint": ["/usr/bin/bailiwick"],
            "Cmd": ["serve"],
            "Volumes": {f"/{HOME}": {}},
            "WorkingDir": f"/{HOME}",
            "StopSignal": "SIGTERM",
            # Of Docker's images; the first start on a large database may take as long as its migrations.
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/bailiwick", "health"],
                "Interval": 30 * SECOND,
                "Timeout": 10 * SECOND,
                "StartPeriod": 300 * SECOND,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "bailiwick",
                "org.opencontainers.image.version": os.environ["DIST_VERSION"],
                "org.opencontainers.image.revision": os.environ["BAILIWICK_COMMIT"],
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(content)}" for content in layers]},
        "history": [{"created": created, "created_by": "scripts/dist/image.py"} for _ in layers],
    }


def digest(content):
    return hashlib.sha256(content).hexdigest()


def as_json(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class Archive:
    """The files of an OCI archive; a blob is named by its digest."""

    def __init__(self):
        self.files = {"oci-layout": as_json({"imageLayoutVersion": "1.0.0"})}

    def blob(self, kind, content):
        self.files[f"blobs/sha256/{digest(content)}"] = content
        return {
            "mediaType": f"application/vnd.oci.image.{kind}",
            "digest": f"sha256:{digest(content)}",
            "size": len(content),
        }

    def write(self, path):
        directories = {str(parent) for name in self.files for parent in Path(name).parents} - {"."}
        with tarfile.open(path, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name in sorted(directories):
                add(tar, name, mode=0o755)
            for name, content in sorted(self.files.items()):
                add(tar, name, content)


def write(program, documents, output):
    version = os.environ["DIST_VERSION"]
    layers = [layer(base(), home=True), layer(product(program, documents))]
    archive = Archive()
    packed = [archive.blob("layer.v1.tar+gzip", gzip.compress(content, 6, mtime=0)) for content in layers]
    described = archive.blob("config.v1+json", as_json(config(layers)))
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described,
        "layers": packed,
    }
    entry = archive.blob("manifest.v1+json", as_json(manifest))
    entry["annotations"] = {
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": f"docker.io/library/bailiwick:{version}",
    }
    archive.files["index.json"] = as_json({"schemaVersion": 2, "manifests": [entry]})
    place = lambda blob: f"blobs/{blob['digest'].replace(':', '/')}"
    names = {"Config": place(described), "RepoTags": [f"bailiwick:{version}"], "Layers": [place(one) for one in packed]}
    archive.files["manifest.json"] = as_json([names])
    archive.write(output)


if __name__ == "__main__":
    write(*sys.argv[1:])
