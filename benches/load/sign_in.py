"""Signs the owner in at the embedded provider as a script does (sign_in.py URL PASSWORD) and prints the provider's
access token."""

import base64
import hashlib
import http.client
import json
import sys
import urllib.parse

url, password = sys.argv[1:3]
address = urllib.parse.urlsplit(url).netloc
connection = http.client.HTTPConnection(address)
cookies = {}


def call(method, path, body=None, kind="application/json"):
    headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items()), "Content-Type": kind}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status < 400, (method, path, answer.status, text)
    for line in answer.headers.get_all("Set-Cookie") or []:
        name, value = line.split(";")[0].split("=", 1)
        cookies[name] = value
    return answer, text


def local(address):
    parts = urllib.parse.urlsplit(address)
    return parts.path + ("?" + parts.query if parts.query else "")


verifier = "v" * 43
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
back = url + "/login-redirect"
query = urllib.parse.urlencode({"client_id": "bailiwick", "redirect_uri": back, "response_type": "code", "scope": "openid",
                                "code_challenge": challenge, "code_challenge_method": "S256"})
call("GET", "/oidc/auth?" + query)
call("PATCH", "/api/interaction/identifiers", json.dumps({"email": "owner@bailiwick.example", "password": password}))
_, text = call("POST", "/api/interaction/submit")
answer, _ = call("GET", local(json.loads(text)["redirectTo"]))
code = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)["code"][0]
form = urllib.parse.urlencode({"grant_type": "authorization_code", "client_id": "bailiwick", "code": code,
                               "code_verifier": verifier, "redirect_uri": back})
_, text = call("POST", "/oidc/token", form, "application/x-www-form-urlencoded")
print(json.loads(text)["access_token"])
