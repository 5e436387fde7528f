"""Open consoles: streams.py URL TOKEN PIDS. Ten people of a distributor, a reseller and each of two customers keep five consoles
open. Prints what a stream costs in resident memory of the service (the first of PIDS), what all of them cost in processor
while nothing happens, and what they hear and cost while two systems push 1,000 alerts a second."""

import base64
import itertools
import json
import os
import re
import selectors
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from console_cookie import cookie_of
from lists import ticks

# Every 2,000 alerts end before they begin again, so a push of a multiple of 4,000 begins as many as it ends.
PEOPLE, EACH, RATE, PER_POST, SECONDS = 10, 5, 1000, 100, 12
PASSWORD = "Correct-Horse-7-Battery"
url, token, pids = sys.argv[1], sys.argv[2], [int(pid) for pid in sys.argv[3].split(",")]
host, port = urllib.parse.urlsplit(url).netloc.split(":")


def call(method, path, body, bearer=True):
    headers = {"Content-Type": "application/json"}
    if bearer:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(url + "/api" + path, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer).get("data")
    except urllib.error.HTTPError as refused:
        sys.exit(f"{method} {path}: {refused.code} {refused.read()}")


def person(number, organization, role):
    email = f"console{number}@bailiwick.example"
    call("POST", "/users", {"email": email, "name": f"Console {number}", "user_role_ids": [role],
                            "organization_id": organization})
    with urllib.request.urlopen(urllib.request.Request(
            f"{url}/api/users?search={email}", headers={"Authorization": "Bearer " + token})) as answer:
        found = json.load(answer)["data"]["users"][0]
    call("PATCH", f"/users/{found['logto_id']}/password", {"password": PASSWORD})
    return cookie_of(url, email, PASSWORD)


def resident():
    with open(f"/proc/{pids[0]}/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])


class Streams:
    """Open streams, read by a thread; it counts the events about alerts."""

    def __init__(self):
        self.selector, self.heard, self.count = selectors.DefaultSelector(), 0, 0
        self.is_over = threading.Event()
        self.failure = None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def open(self, cookie):
        stream = socket.create_connection((host, int(port)))
        stream.sendall(f"GET /console/events HTTP/1.1\r\nHost: bench\r\nCookie: {cookie}\r\n\r\n".encode())
        head = stream.recv(65536)
        assert head.startswith(b"HTTP/1.1 200"), head
        self.selector.register(stream, selectors.EVENT_READ)
        self.count += 1

    def read(self):
        try:
            while not self.is_over.is_set():
                for key, _ in self.selector.select(0.2):
                    part = key.fileobj.recv(65536)
                    assert part, "a stream has ended"
                    self.heard += part.count(b"data: alert")
        except (OSError, AssertionError) as failure:
            self.failure = failure

    def close(self):
        self.is_over.set()
        self.reader.join()
        if self.failure:
            sys.exit(f"streams: {self.failure!r}")
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def spent(seconds, what=lambda: None):
    """Milliseconds of processor a second while `what` runs and until these seconds are over."""
    before, begun = ticks(pids), time.monotonic()
    what()
    time.sleep(max(0, begun + seconds - time.monotonic()))
    return (ticks(pids) - before) * 1000 / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begun)


def push(credentials, numbers=itertools.count()):
    """RATE alerts a second, PER_POST in each request, of one system after the other; as many end as begin."""
    stream = socket.create_connection((host, int(port)))
    begun, pushed = time.monotonic(), 0
    while pushed < RATE * SECONDS:
        turn = next(numbers)
        first, credential = turn * PER_POST, credentials[turn % len(credentials)]
        alerts = [{"labels": {"alertname": f"S{n % 2000}", "severity": "warning"},
                   "annotations": {"summary": "disk is filling"}} for n in range(first, first + PER_POST)]
        if first // 2000 % 2:
            for alert in alerts:
                alert["endsAt"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        body = json.dumps(alerts).encode()
        stream.sendall((f"POST /collect/api/services/mimir/alertmanager/api/v2/alerts HTTP/1.1\r\nHost: bench\r\n"
                        f"Authorization: Basic {credential}\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        answer = stream.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        pushed += PER_POST
        time.sleep(max(0, begun + pushed / RATE - time.monotonic()))
    print(f"{pushed / (time.monotonic() - begun):.0f} alerts/s; ", end="")


def organization(family, above):
    custom = {"vat": f"IT{len(organizations):011}"}
    made = call("POST", f"/{family}", {"name": f"Console {len(organizations)}", "custom_data": custom,
                                       **({"parent_id": above} if above else {})})
    organizations.append(made["id"])
    return made["id"]


def system_of(customer):
    """The credential of a new system."""
    system = call("POST", "/systems", {"name": "console", "organization_id": customer})
    call("POST", "/systems/register", {"system_secret": system["system_secret"]}, bearer=False)
    return base64.b64encode(f"{system['system_key']}:{system['system_secret']}".encode()).decode()


organizations = []
reseller = organization("resellers", organization("distributors", None))
credentials = [system_of(organization("customers", reseller)) for _ in range(2)]
people = [(n, organizations[n % 4]) for n in range(4 * PEOPLE)]
with ThreadPoolExecutor(4) as pool:
    cookies = list(pool.map(lambda who: person(*who, "admin"), people))

# Whatever the first streams bring about is not counted.
first = Streams()
for cookie in cookies:
    first.open(cookie)
time.sleep(3)
first.close()
quiet = spent(10)
empty, streams = resident(), Streams()
for cookie in cookies:
    for _ in range(EACH):
        streams.open(cookie)
time.sleep(5)
idle = spent(10) - quiet
each = (resident() - empty) / streams.count
print(f"{streams.count} streams: {each:.1f} kB each, {idle:.1f} ms/s of processor while nothing happens; ", end="")
busy = spent(SECONDS, lambda: push(credentials))
print(f"{streams.heard / streams.count / SECONDS:.0f} events/s in each stream, {busy:.0f} ms/s of processor; ", end="")
streams.close()
alone = spent(SECONDS, lambda: push(credentials))
print(f"{alone:.0f} ms/s without streams")
