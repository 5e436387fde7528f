"""The compose files, read as Docker Compose reads them."""

import json
import os
import shutil
import subprocess

from chart import REPOSITORY

COMPOSE = REPOSITORY / "packaging/compose"


def project(files, **variables):
    """Compose files, separated by spaces, with their variables filled in, as a tree."""
    command = ["compose-config", *(str(COMPOSE / file) for file in files.split())]
    plain = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(command, cwd=COMPOSE, env=plain, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(done.stderr or done.stdout)
    return json.loads(done.stdout)


def docker_compose():
    """The command of a Docker Compose of today's generation, or nothing; version 1 knows less."""
    for command in [["docker", "compose"], ["docker-compose"]]:
        if not shutil.which(command[0]):
            continue
        done = subprocess.run([*command, "version", "--short"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and int(done.stdout.lstrip("v").split(".")[0]) >= 2:
            return command
    return None
