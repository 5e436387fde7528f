"""Changed documents at a fixed rate from the wire to the difference that can be read: pipeline.py URL CREDENTIALS TOKEN
DOCUMENT RATE SECONDS. Prints the rate that was kept, how far behind the results were, and what the queue did."""

import base64
import http.client
import json
import re
import sys
import threading
import time
import urllib.parse

url, credentials, token, path, rate, seconds = sys.argv[1:7]
rate, seconds = int(rate), int(seconds)
address = urllib.parse.urlsplit(url).netloc
with open(credentials, encoding="utf-8") as file:
    systems = file.read().split()
with open(path, encoding="utf-8") as file:
    document = file.read()
SENDERS = 16
VERSION = re.compile(r'"version": ?"[^"]*"')
spans = [match.span() for match in VERSION.finditer(document)]

late = 0
refused = 0
sent = 0
lags = []
lock = threading.Lock()


def changed(number):
    """The document with another version of one of its modules, so that something significant differs each time."""
    start, end = spans[number % len(spans)]
    return (document[:start] + f'"version": "0.0.{number}"' + document[end:]).encode()


def sender(which, begin):
    """Its share of the rate; a document goes out when it is due, or at once when that time is over."""
    global late, refused, sent
    connection = http.client.HTTPConnection(address)
    for turn in range(rate * seconds // SENDERS):
        number = turn * SENDERS + which
        due = begin + number / rate
        now = time.monotonic()
        if now < due:
            time.sleep(due - now)
        elif now > due + 0.25:
            late += 1
        # The last system is the watcher's.
        system = systems[number % (len(systems) - 1)]
        connection.request("POST", "/collect/api/systems/inventory", changed(number),
                           {"Authorization": "Basic " + system, "Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        with lock:
            if answer.status == 202:
                sent += 1
            else:
                refused += 1


def watcher(end):
    """Asks for the differences of a system of its own after each of its documents until they are there."""
    connection = http.client.HTTPConnection(address)
    manage = {"Authorization": "Bearer " + token}
    key = base64.b64decode(systems[-1]).decode().split(":")[0]

    def get(path):
        connection.request("GET", "/api" + path, headers=manage)
        return json.loads(connection.getresponse().read())["data"]

    own = get("/systems?page_size=100&search=" + urllib.parse.quote(key))["systems"][0]["id"]
    number = 1_000_000

    def post():
        connection.request("POST", "/collect/api/systems/inventory", changed(number),
                           {"Authorization": "Basic " + systems[-1], "Content-Type": "application/json"})
        connection.getresponse().read()

    # The first document differs from nothing.
    post()
    time.sleep(0.5)
    while time.monotonic() < end:
        number += 1
        post()
        accepted = time.monotonic()
        wanted = f"0.0.{number}"
        while not any(wanted in json.dumps(d) for d in get(f"/systems/{own}/inventory/diffs?page_size=100")["diffs"]):
            if time.monotonic() > accepted + 10:
                sys.exit(f"no difference with {wanted} after 10 s")
            time.sleep(0.01)
        lags.append(time.monotonic() - accepted)
        time.sleep(0.1)


begin = time.monotonic() + 0.2
threads = [threading.Thread(target=sender, args=(which, begin)) for which in range(SENDERS)]
threads.append(threading.Thread(target=watcher, args=(begin + seconds,)))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
lags.sort()
took = time.monotonic() - begin
print(f"{sent / max(took, seconds):.0f} documents/s for {took:.0f} s, {late} sent late, {refused} refused; "
      f"results behind: p50 {lags[len(lags) // 2] * 1000:.0f} ms, longest {lags[-1] * 1000:.0f} ms")
