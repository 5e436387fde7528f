"""The real program, with settings that are meant for a container."""

import contextlib
import os
import re
import secrets
import socket
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = os.environ["CHARTS_PROGRAM"]
CHARTS_TOOLS = Path(os.environ["CHARTS_TOOLS"])


def spare_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*arguments, environment):
    """Runs a command of the program with these variables and no others."""
    return subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False)


def check(*arguments, environment):
    """The configuration in force, as a tree, without what is not set."""
    done = run(*arguments, "config", "check", environment=environment)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return tomllib.loads(done.stdout)


def write_secrets(directory, names):
    """Files with secrets as the settings of these names want them."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        database = name.startswith("database.")
        text = "postgres://bailiwick@127.0.0.1/bailiwick" if database else secrets.token_hex(32)
        (directory / name).write_text(f"{text}\n")


def write_certificate(directory):
    """A certificate and its key, as a secret of Kubernetes holds them."""
    directory.mkdir(parents=True, exist_ok=True)
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fleet"
    files = ["-keyout", directory / "tls.key", "-out", directory / "tls.crt"]
    subprocess.run([*command.split(), *files], capture_output=True, timeout=60, check=True)


@contextlib.contextmanager
def serving(environment, log):
    """Runs the service until the block ends; yields the address of its metrics once /ready answers 200."""
    metrics = f"127.0.0.1:{spare_port()}"
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [PROGRAM, "serve"], env={**environment, "BAILIWICK_METRICS__LISTEN": metrics}, stdout=output, stderr=output
        )
    try:
        wait_until_ready(process, f"http://{metrics}/ready", log)
        yield f"http://{metrics}"
    finally:
        process.terminate()
        process.wait(timeout=70)


def wait_until_ready(process, url, log):
    end = time.monotonic() + 120
    while status(url) != 200:
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"{url} is not ready:\n{Path(log).read_text(encoding='utf-8')}")
        time.sleep(0.05)


def status(url):
    """The status of an answer; 0 when there is none."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code
    except OSError:
        return 0


def secret_settings():
    """Settings that may be given by file, as the program tells them."""
    schema = run("config", "schema", environment={}).stdout
    return set(re.findall(r"File that holds `([a-z_.]+)`", schema))
