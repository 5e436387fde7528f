"""Keycloak as people, clients and its administrator use it."""

import base64
import hashlib
import json
import os
import time
import urllib.parse

from browser import Browser, forms

# The realm of realm.json.
REALM = "fleet"
# The address of a user interface, as docs/identity.md has it. Nothing is there: the browser is stopped before it.
REDIRECT = "https://fleet.example.org/login-redirect"
SCOPE = "openid profile email"


class Failed(Exception):
    """Something is not as expected."""


def part(token, at=1):
    """Header (0) or claims (1) of a JWT, unverified."""
    text = token.split(".")[at]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def password(person):
    """Everybody's password in realm.json."""
    return f"password of {person}"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Keycloak:
    def __init__(self, base, authority, administrator_password):
        self.base, self._authority, self._password = base, authority, administrator_password
        self.issuer = f"{base}/realms/{REALM}"
        self.endpoints = f"{self.issuer}/protocol/openid-connect"
        self._token, self._token_at = None, 0.0

    def browser(self):
        return Browser(self._authority)

    # People

    def log_in(self, browser, page, person, until):
        """Fills in the form that Keycloak shows, if it shows one; the address that it leads to in the end."""
        if page.status == 200:
            found = [form for form in forms(page) if "password" in form.fields]
            if not found:
                raise Failed(f"no form to sign in with: {page}")
            form = found[0]
            form.fields.update(username=person, password=password(person))
            page = browser.ask("POST", form.action, form.fields)
        page, to = browser.follow(page, until)
        if not to:
            raise Failed(f"{person} cannot sign in: {page}")
        return to

    def authorize(self, browser, client, **more):
        """Opens the authorization address; the page, and the verifier of the code to come."""
        verifier = base64url(os.urandom(32))
        asked = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": REDIRECT,
            "scope": SCOPE,
            "state": base64url(os.urandom(16)),
            "nonce": base64url(os.urandom(16)),
            "code_challenge": base64url(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
        } | more
        asked = {name: value for name, value in asked.items() if value is not None}
        page = browser.open(f"{self.endpoints}/auth?{urllib.parse.urlencode(asked)}")
        return page, verifier

    def code(self, browser, client, person, **asked):
        """Signs somebody in; the code, and its verifier."""
        page, verifier = self.authorize(browser, client, **asked)
        to = self.log_in(browser, page, person, REDIRECT)
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(to).query))
        if "code" not in answer:
            raise Failed(f"no code: {to}")
        return answer["code"], verifier

    def redeem(self, client, code, verifier, headers=None):
        """The answer of the token endpoint to a code."""
        fields = {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": verifier,
        }
        return self.browser().ask("POST", f"{self.endpoints}/token", fields, headers)

    def sign_in(self, client, person, browser=None, headers=None, **asked):
        """The tokens of somebody who signs in, in a new browser unless one is given."""
        code, verifier = self.code(browser or self.browser(), client, person, **asked)
        answer = self.redeem(client, code, verifier, headers)
        if answer.status != 200:
            raise Failed(f"no tokens: {answer}")
        return json.loads(answer.text)

    def refresh(self, client, refresh_token):
        fields = {"grant_type": "refresh_token", "client_id": client, "refresh_token": refresh_token}
        return self.browser().ask("POST", f"{self.endpoints}/token", fields)

    def revoke(self, client, token):
        return self.browser().ask("POST", f"{self.endpoints}/revoke", {"client_id": client, "token": token})

    def sign_out(self, browser, **asked):
        """Opens the address to sign out at, and says yes if Keycloak asks; the last answer, and whether it has asked."""
        page = browser.open(f"{self.endpoints}/logout?{urllib.parse.urlencode(asked)}")
        return self.confirm(browser, page)

    @staticmethod
    def confirm(browser, page):
        """Says yes if Keycloak asks whether somebody wants to sign out."""
        found = [form for form in forms(page) if "confirmLogout" in form.fields]
        if not found:
            return page, False
        return browser.ask("POST", found[0].action, found[0].fields), True

    # The administrator, through Keycloak's own interface

    def administer(self, method, path, body=None):
        """A request of the administrator about the realm; what is answered."""
        headers = {"Authorization": f"Bearer {self._administrator()}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        answer = self.browser().ask(method, f"{self.base}/admin/realms/{REALM}{path}", headers=headers, body=text)
        if answer.status >= 300:
            raise Failed(f"{method} {path}: {answer}")
        return json.loads(answer.text) if answer.text else None

    def _administrator(self):
        # Such a token lives for a minute.
        if time.monotonic() - self._token_at > 30:
            fields = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": self._password}
            answer = self.browser().ask("POST", f"{self.base}/realms/master/protocol/openid-connect/token", fields)
            if answer.status != 200:
                raise Failed(f"the administrator cannot sign in: {answer}")
            self._token, self._token_at = json.loads(answer.text)["access_token"], time.monotonic()
        return self._token

    def client(self, client):
        return self.administer("GET", f"/clients?clientId={client}")[0]

    def set_attribute(self, client, name, value):
        """Changes one attribute of a client."""
        settings = self.client(client)
        settings["attributes"][name] = value
        self.administer("PUT", f"/clients/{settings['id']}", settings)

    def user(self, person):
        return self.administer("GET", f"/users?exact=true&username={person}")[0]

    def change_user(self, person, **changes):
        user = self.user(person)
        self.administer("PUT", f"/users/{user['id']}", user | changes)

    def scope(self, name):
        """Path of a client scope of the realm, for show_in_lightweight."""
        scopes = self.administer("GET", "/client-scopes")
        return next(f"/client-scopes/{scope['id']}" for scope in scopes if scope["name"] == name)

    def show_in_lightweight(self, owner, name, shown=True):
        """Whether a mapper adds to lightweight access tokens. `owner`: the path of its client or client scope."""
        path = f"{owner}/protocol-mappers/models"
        mapper = next(mapper for mapper in self.administer("GET", path) if mapper["name"] == name)
        mapper["config"]["lightweight.claim"] = str(shown).lower()
        self.administer("PUT", f"{path}/{mapper['id']}", mapper)

    def keys(self):
        """What produces the keys of the realm."""
        return self.administer("GET", "/components?type=org.keycloak.keys.KeyProvider")

    def published(self):
        """The ids of the keys that verify signatures."""
        keys = json.loads(self.browser().open(f"{self.endpoints}/certs").text)["keys"]
        return {key["kid"] for key in keys if key["use"] == "sig"}

    def add_key(self, name, priority):
        """A new key for signatures with RS256; the one with the highest priority signs."""
        config = {"priority": [str(priority)], "enabled": ["true"], "active": ["true"], "algorithm": ["RS256"]}
        realm = self.administer("GET", "")["id"]
        provider = {
            "name": name,
            "providerId": "rsa-generated",
            "providerType": "org.keycloak.keys.KeyProvider",
            "parentId": realm,
            "config": config,
        }
        self.administer("POST", "/components", provider)

    def change_key(self, name, **config):
        provider = next(provider for provider in self.keys() if provider["name"] == name)
        provider["config"] |= {key: [value] for key, value in config.items()}
        self.administer("PUT", f"/components/{provider['id']}", provider)
