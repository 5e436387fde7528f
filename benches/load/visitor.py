"""A browser without pages, for scripts that sign people in at the embedded provider."""

import http.client
import json
import urllib.parse


def local(address):
    parts = urllib.parse.urlsplit(address)
    return parts.path + ("?" + parts.query if parts.query else "")


class Visitor:
    """One connection with its cookies."""

    def __init__(self, url):
        self.connection, self.cookies = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc), {}

    def call(self, method, path, body=None, kind="application/json"):
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()), "Content-Type": kind}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 400, (method, path, answer.status, text)
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer, text

    def sign_in(self, email, password):
        """Answers the provider, which has asked who it is; the address that it leads to, with its code."""
        self.call("PATCH", "/api/interaction/identifiers", json.dumps({"email": email, "password": password}))
        _, text = self.call("POST", "/api/interaction/submit")
        answer, _ = self.call("GET", local(json.loads(text)["redirectTo"]))
        return answer.headers["Location"]
