"""A PostgreSQL for one test, which asks for passwords as that of the compose file does."""

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import program


def binaries():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else Path(shutil.which("initdb")).parent


@contextlib.contextmanager
def cluster(directory, password_file):
    """Runs one with the database and the user `bailiwick`; yields its port."""
    run, bin_ = {"cwd": "/"}, binaries()
    data = directory / "cluster"
    data.mkdir()
    password = data / "password"
    shutil.copy(password_file, password)
    if os.getuid() == 0:
        # It refuses to run as root.
        run |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        directory.chmod(0o755)
        for path in [data, password]:
            shutil.chown(path, "postgres", "postgres")
    initdb = [bin_ / "initdb", "-D", data / "data", "-U", "bailiwick", "-A", "scram-sha-256", "--pwfile", password]
    subprocess.run([*initdb, "-E", "UTF8", "--no-sync"], check=True, stdout=subprocess.DEVNULL, **run)
    port = program.spare_port()
    log = open(directory / "postgres.log", "wb")
    command = [bin_ / "postgres", "-D", data / "data", "-h", "127.0.0.1", "-p", str(port), "-k", "", "-F"]
    process = subprocess.Popen(command, stdout=log, stderr=log, **run)
    try:
        wait_until_ready(process, [bin_ / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], log.name)
        address = ["-h", "127.0.0.1", "-p", str(port), "-U", "bailiwick"]
        known = {**os.environ, "PGPASSWORD": Path(password_file).read_text(encoding="utf-8").strip()}
        subprocess.run([bin_ / "createdb", *address, "bailiwick"], check=True, env=known)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)
        log.close()


def wait_until_ready(process, question, log):
    end = time.monotonic() + 120
    while subprocess.run(question, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(Path(log).read_text(encoding="utf-8"))
        time.sleep(0.05)
