"""What documents add to the database: storage.py URL CREDENTIALS DOCUMENT DATABASE, the last a file of SQLite or the URL
of a PostgreSQL database. First every system sends its document again and again, then a day of its life: one document in
a quarter of an hour, in each of which times run and counters move, now and then a version rises or a module comes or
goes. Prints bytes for each document of both kinds."""

import concurrent.futures
import copy
import http.client
import json
import random
import sqlite3
import subprocess
import sys
import time
import urllib.parse

url, credentials, path, database = sys.argv[1:5]
address = urllib.parse.urlsplit(url).netloc
with open(credentials, encoding="utf-8") as file:
    systems = file.read().split()[:24]
with open(path, encoding="utf-8") as file:
    document = json.load(file)
REPEATS = 160
A_DAY = 96


def ask(statement):
    if database.startswith("postgres"):
        run = subprocess.run(["psql", "-XqAtd", database, "-c", statement], check=True, capture_output=True, text=True)
        return run.stdout.strip()
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        return str(db.execute(statement).fetchone()[0])


def size():
    """Bytes in use once nothing waits."""
    while ask("SELECT count(*) FROM inventory_queue") != "0":
        time.sleep(0.1)
    if not database.startswith("postgres"):
        pages, free = int(ask("PRAGMA page_count")), int(ask("PRAGMA freelist_count"))
        return (pages - free) * int(ask("PRAGMA page_size"))
    ask("VACUUM")
    return int(ask("SELECT pg_database_size(current_database())"))


def send(system, documents):
    connection = http.client.HTTPConnection(address)
    for body in documents:
        connection.request("POST", "/collect/api/systems/inventory", body,
                           {"Authorization": "Basic " + system, "Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 202, answer.status


def all_send(documents_of):
    with concurrent.futures.ThreadPoolExecutor(len(systems)) as pool:
        list(pool.map(lambda pair: send(pair[1], documents_of(pair[0])), enumerate(systems)))


def day(number):
    """The documents of a day of one system."""
    dice, now = random.Random(number), copy.deepcopy(document)
    facts = now["facts"]
    for quarter in range(A_DAY):
        for node in facts["nodes"].values():
            node["uptime_seconds"] += 900
        for module in dice.sample(facts["modules"], 2):
            for key, value in module.items():
                if key.endswith("_count") and isinstance(value, int):
                    module[key] = max(0, value + dice.choice((-1, 1)))
        if quarter % 24 == 7:
            module = dice.choice(facts["modules"])
            module["version"] = f"{quarter}.{dice.randrange(10)}.{dice.randrange(10)}"
        if quarter == 30:
            facts["modules"].append(dict(facts["modules"][0], id="extra1"))
        if quarter == 70:
            facts["modules"] = [m for m in facts["modules"] if m["id"] != "extra1"]
        yield json.dumps(now).encode()


plain = json.dumps(document).encode()
# Until the tables that everything passes through have the size at which they stay.
all_send(lambda _: [plain] * REPEATS)
before = size()
all_send(lambda _: [plain] * REPEATS)
unchanged = (size() - before) / (REPEATS * len(systems))
before = size()
all_send(day)
changed = (size() - before) / (A_DAY * len(systems))
print(f"unchanged {unchanged:.0f} bytes, changed {changed:.0f} bytes = {100 * changed / len(plain):.1f} % of {len(plain)}")
