"""The embedded alert router under load: alerts.py URL TOKEN PID WAIT, or alerts.py sink.

1,000 customers with a system each push 20 alerts, every one a group of its own, one in each POST, at 2,000 POSTs a second;
then the same again as refreshes. The owner's webhook (a process of its own that takes one connection for each
notification) hears of each alert WAIT seconds after its push. Prints the rate and time of POSTs, when notifications came
after they were due, whether each came once, and what the service's resident memory grew by for an alert beyond its labels.
Ends by itself within 90 s."""

import asyncio
import base64
import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

# As many connections as share a commit while the one before it is under way.
TENANTS, EACH, RATE, SENDERS = 1000, 20, 2000, 64
BY = 85
NAME = re.compile(rb'"alertname":"A(\d+)"')


class Sink(asyncio.Protocol):
    """One notification a connection; what came when is told to whoever asks with GET."""

    came = []

    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end:
            return
        answer = b""
        if head.startswith(b"GET"):
            answer = json.dumps(self.came).encode()
        else:
            length = re.search(rb"content-length: (\d+)", head, re.I)
            if len(body) < int(length[1]):
                return
            self.came.append((int(NAME.search(body)[1]), time.time()))
        self.transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        self.transport.close()


async def sink():
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if sys.argv[1] == "sink":
    asyncio.run(sink())

url, token, pid, wait = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
begun = time.monotonic()
host, port = urllib.parse.urlsplit(url).netloc.split(":")


def call(path, body, bearer=True):
    headers = {"Content-Type": "application/json"}
    if bearer:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]


def tenant(n):
    """A customer with a system; its credential."""
    made = call("/api/customers", {"name": f"Alerts {n}", "custom_data": {"vat": f"IT{n:011}"}})
    system = call("/api/systems", {"name": f"alerts {n}", "organization_id": made["id"]})
    call("/api/systems/register", {"system_secret": system["system_secret"]}, bearer=False)
    return base64.b64encode(f"{system['system_key']}:{system['system_secret']}".encode()).decode()


def resident():
    """Its own memory, without the pages of the database's file, which the system takes back when it likes. With SQLite up
    to 24 MiB of cache are in it, however many alerts there are."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]) * 1024


def body_of(number):
    labels = {"alertname": f"A{number}", "severity": "warning", "service": "storage", "mountpoint": "/var/lib/data"}
    return json.dumps([{"labels": labels, "annotations": {"summary": "disk is filling"}}]).encode()


pushed, times, refused = {}, [], 0


def sender(which, systems, start):
    """Its share of the rate on one connection; a POST goes out when it is due, or at once when that time is over."""
    global refused
    stream = socket.create_connection((host, int(port)))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(which, TENANTS * EACH, SENDERS):
        body = body_of(number)
        head = (f"POST /collect/api/services/mimir/alertmanager/api/v2/alerts HTTP/1.1\r\nHost: bench\r\n"
                f"Authorization: Basic {systems[number % TENANTS]}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        due = start + number / RATE
        if (now := time.monotonic()) < due:
            time.sleep(due - now)
        before = time.monotonic()
        stream.sendall(head.encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += stream.recv(4096)
        times.append(time.monotonic() - before)
        if not answer.startswith(b"HTTP/1.1 200"):
            refused += 1
        pushed.setdefault(number, time.time())


def push_all(systems):
    """All alerts once; how many POSTs a second."""
    start = time.monotonic()
    threads = [threading.Thread(target=sender, args=(n, systems, start)) for n in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return TENANTS * EACH / (time.monotonic() - start)


def labels_of_one(system):
    """Bytes of the names and values of an alert's labels and annotations, those that the service has added among them."""
    request = urllib.request.Request(url + "/collect/api/services/mimir/alertmanager/api/v2/alerts",
                                     headers={"Authorization": f"Basic {system}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        alert = json.load(answer)[0]
    return sum(len(k) + len(v) for texts in (alert["labels"], alert["annotations"]) for k, v in texts.items())


def at(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


program = subprocess.Popen([sys.executable, __file__, "sink"], stdout=subprocess.PIPE, text=True)
try:
    place = f"http://127.0.0.1:{program.stdout.readline().strip()}"
    call("/api/alerts/config", {"enabled": {"webhook": True},
                                "webhook_recipients": [{"name": "sink", "url": place + "/"}]})
    with ThreadPoolExecutor(8) as pool:
        all_systems = list(pool.map(tenant, range(TENANTS)))
    empty = resident()
    rate = push_all(all_systems)
    stored = resident() - empty
    first = f"{rate:.0f} new alerts/s, p99 {at(times, 0.99) * 1000:.0f} ms"
    came = []
    while time.monotonic() - begun < BY:
        with urllib.request.urlopen(place, timeout=10) as answer:
            came = json.load(answer)
        if len(came) >= TENANTS * EACH:
            break
        time.sleep(0.5)
    lags = [moment - pushed[number] - wait for number, moment in came]
    times.clear()
    refresh = "refreshes: no time left"
    if time.monotonic() - begun < BY - 15:
        rate = push_all(all_systems)
        refresh = f"{rate:.0f} refreshes/s, p99 {at(times, 0.99) * 1000:.0f} ms"
    alerts, label_bytes = TENANTS * EACH, labels_of_one(all_systems[0])
    stored, grown = (f"{size / alerts - label_bytes:.0f}" for size in (stored, resident() - empty))
    told = f"{len({number for number, _ in came})} of {alerts} told, {len(came) - len({n for n, _ in came})} twice"
    late = f"p50 {at(lags, 0.5):.2f} s, p99 {at(lags, 0.99):.2f} s, last {max(lags):.2f} s after due" if lags else "none"
    print(f"{first}; {refresh}; {refused} refused; {told}; {late}; "
          f"{stored} bytes for an alert above its labels when all were pushed, {grown} at the end")
finally:
    program.kill()
