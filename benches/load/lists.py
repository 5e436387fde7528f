#!/usr/bin/env python3
"""Processor time of lists and totals: `lists.py SERVICE TOKEN PIDS [OPERATION...]`.

Makes the same requests in every run, one after the other, and reads before and after how much processor time the processes
PIDS (comma-separated) and everything below them have used: the service, and the database's server with its backends. What
else runs on the machine changes that far less than it changes times on the clock. Prints a line for each operation:
`operation<TAB>milliseconds for each request<TAB>bar`. Seconds for 1,000 requests are the same number.
`lists.py --ticks PIDS` says what they have used so far.
"""

import http.client
import itertools
import os
import random
import sys
import urllib.parse

SYSTEM_ORDERS = [
    "name", "type", "status", "fqdn", "version", "system_key", "created_at", "updated_at", "creator_name",
    "organization_name",
]
# No index has them: they sort the systems of the scope.
SORTED = {"type", "fqdn", "version", "updated_at", "creator_name"}
PEOPLE_ORDERS = ["name", "description", "creator_name", "created_at", "updated_at"]
SEARCHES = ["srl", "milan", "ns8", "rossi", "10.1", "web", "SYS-1", "zz", "fi", "node"]


def ticks(roots):
    """Processor time of these processes and all below them, ended children included."""
    below, used = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        below.setdefault(int(fields[1]), []).append(int(pid))
        own, reaped = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        used[int(pid)] = own + reaped
    total, waiting = 0, list(roots)
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += below.get(pid, [])
    return total


def operations(dice):
    """Name, bar in milliseconds, and an endless row of paths."""
    word = lambda: urllib.parse.quote(dice.choice(SEARCHES))
    way = lambda: dice.choice(["asc", "desc"])

    def forever(path):
        while True:
            yield path()

    def listed(family, orders, pages, more=""):
        return forever(lambda: f"/{family}?page={dice.randint(*pages)}&page_size=50&sort_by={dice.choice(orders)}"
                               f"&sort_direction={way()}" + (more and more + word()))

    yield "systems/totals", 2, itertools.repeat("/systems/totals")
    for order in SYSTEM_ORDERS:
        yield f"systems by {order}, pages 1 to 99", 150 if order in SORTED else 10, listed("systems", [order], (1, 99))
    yield "systems, any order, pages 100 to 2,000", 150, listed("systems", SYSTEM_ORDERS, (100, 2000))
    yield "systems, search, any order and page", 20, listed("systems", SYSTEM_ORDERS, (1, 5), "&search=")
    for status in ["active", "inactive", "unknown", "suspended"]:
        yield f"systems with status={status}, pages 1 to 9", 10, forever(
            lambda status=status: f"/systems?page={dice.randint(1, 9)}&page_size=20&status={status}&sort_by=name")
    yield "systems by status=inactive with a search", 20, listed("systems", ["created_at"], (1, 20), "&status=inactive&search=")
    yield "customers, any order, pages 1 to 99", 5, listed("customers", PEOPLE_ORDERS, (1, 99))
    yield "customers, search, any order and page", 20, listed("customers", PEOPLE_ORDERS, (1, 5), "&search=")
    yield "users, pages 1 to 99", 5, listed("users", ["name", "email", "created_at"], (1, 99))
    yield "customers/totals", 2, itertools.repeat("/customers/totals")
    yield "users/totals", 2, itertools.repeat("/users/totals")
    yield "applications/totals", 5, itertools.repeat("/applications/totals")


def main():
    service, token, roots = urllib.parse.urlparse(sys.argv[1]), sys.argv[2], [int(p) for p in sys.argv[3].split(",")]
    rounds = int(os.environ.get("BENCH_ROUNDS", "100"))
    connection = http.client.HTTPConnection(service.hostname, service.port)
    headers = {"Authorization": f"Bearer {token}"}

    def ask(path):
        connection.request("GET", "/api" + path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status}")

    for name, bar, paths in operations(random.Random(1)):
        if sys.argv[4:] and not any(word in name for word in sys.argv[4:]):
            continue
        for path in itertools.islice(paths, max(rounds // 10, 3)):
            ask(path)
        before = ticks(roots)
        for path in itertools.islice(paths, rounds):
            ask(path)
        spent = (ticks(roots) - before) / os.sysconf("SC_CLK_TCK")
        print(f"{name}\t{spent / rounds * 1000:.1f}\t{bar}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--ticks":
        print(ticks([int(pid) for pid in sys.argv[2].split(",")]))
    else:
        main()
