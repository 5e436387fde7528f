"""Signs a person in to the console as a browser does (console_cookie.py URL PASSWORD for the owner) and prints the cookie."""

import http.client
import json
import sys
import urllib.parse


def local(address):
    parts = urllib.parse.urlsplit(address)
    return parts.path + ("?" + parts.query if parts.query else "")


def cookie_of(url, email, password):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    cookies = {}

    def call(method, path, body=None):
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items()), "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status < 400, (method, path, answer.status, text)
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            cookies[name] = value
        return answer, text

    answer, _ = call("GET", "/console/sign-in")
    call("GET", local(answer.headers["Location"]))
    call("PATCH", "/api/interaction/identifiers", json.dumps({"email": email, "password": password}))
    _, text = call("POST", "/api/interaction/submit")
    answer, _ = call("GET", local(json.loads(text)["redirectTo"]))
    call("GET", local(answer.headers["Location"]))
    return "bailiwick-console=" + cookies["bailiwick-console"]


if __name__ == "__main__":
    print(cookie_of(sys.argv[1], "owner@bailiwick.example", sys.argv[2]))
