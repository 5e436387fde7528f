"""Runs a program in an unpacked image as a container's runtime does, but without namespaces: with the root, directory, user and
environment of its configuration.

    enter.py BUNDLE [NAME=VALUE …] [-- PROGRAM ARGUMENT …]      without a program the one that the image names
"""

import json
import os
import sys

bundle, *rest = sys.argv[1:]
at = rest.index("--") if "--" in rest else len(rest)
settings, arguments = rest[:at], rest[at + 1 :]
with open(f"{bundle}/config.json") as file:
    process = json.load(file)["process"]
os.chroot(f"{bundle}/rootfs")
os.chdir(process["cwd"])
os.setgroups([])
os.setgid(process["user"]["gid"])
os.setuid(process["user"]["uid"])
arguments = arguments or process["args"]
os.execve(arguments[0], arguments, dict(pair.split("=", 1) for pair in process["env"] + settings))
