"""Signs the owner in at the embedded provider as a script does (sign_in.py URL PASSWORD) and prints the provider's
access token."""

import base64
import hashlib
import json
import sys
import urllib.parse

from visitor import Visitor

url, password = sys.argv[1:3]
visitor = Visitor(url)
verifier = "v" * 43
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
back = url + "/login-redirect"
query = urllib.parse.urlencode({"client_id": "bailiwick", "redirect_uri": back, "response_type": "code", "scope": "openid",
                                "code_challenge": challenge, "code_challenge_method": "S256"})
visitor.call("GET", "/oidc/auth?" + query)
address = visitor.sign_in("owner@bailiwick.example", password)
code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]
form = urllib.parse.urlencode({"grant_type": "authorization_code", "client_id": "bailiwick", "code": code,
                               "code_verifier": verifier, "redirect_uri": back})
_, text = visitor.call("POST", "/oidc/token", form, "application/x-www-form-urlencoded")
print(json.loads(text)["access_token"])
