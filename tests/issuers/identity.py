"""What docs/identity.md says, for a user interface that exchanges tokens of Keycloak."""

import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.parse

from keycloak import REDIRECT, Failed, base64url, part, password
from service import data

AUDIENCE = "https://fleet.example.org/api"
ORIGIN = "https://fleet.example.org"
# A token with a key that the service does not know makes it look for new keys once in this many seconds.
KEYS_PAUSE = 10
# How much longer than a documented time something may take on a busy machine, in seconds.
SLACK = 5


def expect(what, came, wanted):
    if came != wanted:
        raise Failed(f"{what}: expected {wanted!r}, came {came!r}")


def expect_status(what, answer, wanted):
    if answer.status != wanted:
        raise Failed(f"{what}: expected {wanted}, came {answer}")


def until(what, within, happens):
    """Waits until `happens` is true; the seconds that it took."""
    since = time.monotonic()
    while not happens():
        if time.monotonic() - since > within:
            raise Failed(f"{what}: expected within {within} s, did not come")
        time.sleep(0.2)
    return time.monotonic() - since


def session(world, client, person, browser=None):
    """Somebody's session at the service, by a new sign-in at Keycloak."""
    tokens = world.keycloak.sign_in(client, person, browser)
    answer = world.service.exchange(tokens["access_token"])
    expect_status(f"exchange for {person}", answer, 200)
    return data(answer)


def refused(world, what, token):
    answer = world.service.exchange(token)
    expect_status(what, answer, 401)
    expect(what, json.loads(answer.text)["message"], "invalid access token")


def as_issuer(world):
    """A token that names Keycloak's realm, with a signature of nobody's."""
    now = int(time.time())
    claims = {"iss": world.keycloak.issuer, "sub": "x", "aud": AUDIENCE, "azp": "fleet-web", "typ": "Bearer", "exp": now + 300}
    head = {"alg": "RS256", "typ": "JWT", "kid": "unknown"}
    return ".".join([*(base64url(json.dumps(text).encode()) for text in (head, claims)), base64url(b"x" * 256)])


def starts_without(world):
    """without the issuer the service starts, and a sign-in is answered with 502."""
    expect_status("health", world.service.send("GET", "/health"), 200)
    expect_status("exchange", world.service.exchange(as_issuer(world)), 502)


def needs_pkce(world):
    """Keycloak refuses fleet-web without PKCE, with the method plain and with another verifier."""
    browser = world.keycloak.browser()
    for challenge in ({"code_challenge": None, "code_challenge_method": None}, {"code_challenge_method": "plain"}):
        page, _ = world.keycloak.authorize(browser, "fleet-web", **challenge)
        _, to = browser.follow(page, REDIRECT)
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(to or "").query))
        expect(f"answer to {challenge}", answer.get("error"), "invalid_request")
    code, _ = world.keycloak.code(browser, "fleet-web", "admin")
    expect_status("another verifier", world.keycloak.redeem("fleet-web", code, base64url(os.urandom(32))), 400)


def signs_in(world):
    """the owner signs in by code flow with PKCE, and the service exchanges the token."""
    owner = session(world, "fleet-web", "admin")
    me = world.service.me(owner["token"])
    expect_status("/me", me, 200)
    expect("address of the owner", data(me)["email"], "admin@example.org")
    expect("roles of the owner", data(me)["user_roles"], ["Super Admin"])
    world.owner = owner


def reads_profiles(world):
    """/user/profile and /user/permissions take Keycloak's access token itself, other paths do not."""
    token = world.keycloak.sign_in("fleet-web", "admin")["access_token"]
    for path, wanted in (("/user/profile", 200), ("/user/permissions", 200), ("/me", 401)):
        expect_status(path, world.service.send("GET", path, token=token), wanted)


def has_claims(world):
    """access tokens have the claims of the document: aud, azp, email and email_verified."""
    tokens = world.keycloak.sign_in("fleet-web", "admin")
    claims = part(tokens["access_token"])
    # Keycloak adds itself, for the account pages of the person.
    wanted = {"aud": [AUDIENCE, "account"], "azp": "fleet-web", "email": "admin@example.org", "email_verified": True, "typ": "Bearer"}
    expect("claims", {name: claims.get(name) for name in wanted}, wanted)
    expect("algorithm", part(tokens["access_token"], 0)["alg"], "RS256")
    expect("audience of the ID token", part(tokens["id_token"])["aud"], "fleet-web")


def allows_origin(world):
    """a page of the web origin may read the answer of the token endpoint, another one may not."""
    for origin, wanted in ((ORIGIN, ORIGIN), ("https://elsewhere.example.org", None)):
        code, verifier = world.keycloak.code(world.keycloak.browser(), "fleet-web", "admin")
        answer = world.keycloak.redeem("fleet-web", code, verifier, {"Origin": origin})
        expect(f"origin {origin}", answer.headers.get("access-control-allow-origin"), wanted)


def signs_out(world):
    """with the ID token as a hint, Keycloak signs out without a question and leads to the post logout address."""
    browser = world.keycloak.browser()
    tokens = world.keycloak.sign_in("fleet-web", "admin", browser)
    asked = {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": f"{ORIGIN}/login"}
    answer, has_asked = world.keycloak.sign_out(browser, **asked)
    expect("question", has_asked, False)
    expect("address afterwards", answer.location, f"{ORIGIN}/login")
    page, _ = world.keycloak.authorize(browser, "fleet-web")
    expect_status("form to sign in with", page, 200)


def refreshes(world):
    """the session at the service is refreshed, and so is Keycloak's, whose new token is exchanged."""
    tokens = world.keycloak.sign_in("fleet-web", "admin")
    own = data(world.service.exchange(tokens["access_token"]))
    answer = world.service.refresh(own["refresh_token"])
    expect_status("refresh at the service", answer, 200)
    expect_status("/me", world.service.me(data(answer)["token"]), 200)
    answer = world.keycloak.refresh("fleet-web", tokens["refresh_token"])
    expect_status("refresh at Keycloak", answer, 200)
    expect_status("exchange", world.service.exchange(json.loads(answer.text)["access_token"]), 200)


def refuses_other_tokens(world):
    """ID tokens, refresh tokens, offline tokens and altered tokens are refused."""
    tokens = world.keycloak.sign_in("fleet-web", "admin")
    for kind in ("id_token", "refresh_token"):
        refused(world, kind, tokens[kind])
    offline = world.keycloak.sign_in("fleet-web", "admin", scope="openid email offline_access")["refresh_token"]
    expect("kind of an offline token", part(offline)["typ"], "Offline")
    refused(world, "offline token", offline)
    head, claims, signature = tokens["access_token"].split(".")
    other = base64url(json.dumps(part(tokens["access_token"]) | {"email": "una@example.org"}).encode())
    refused(world, "altered claims", f"{head}.{other}.{signature}")
    unsigned = base64url(json.dumps({"alg": "none", "typ": "JWT"}).encode())
    refused(world, "no signature", f"{unsigned}.{claims}.")
    refused(world, "opaque token", base64url(os.urandom(32)))


def proof(address):
    """A proof of a new key (DPoP), for a request of the token endpoint."""
    def openssl(*arguments, text=b""):
        return subprocess.run(["openssl", *arguments], input=text, capture_output=True, check=True, timeout=60).stdout

    with tempfile.NamedTemporaryFile() as file:
        file.write(openssl("genrsa", "2048"))
        file.flush()
        modulus = openssl("rsa", "-in", file.name, "-noout", "-modulus").decode().strip().removeprefix("Modulus=")
        key = {"kty": "RSA", "e": "AQAB", "n": base64url(bytes.fromhex(modulus))}
        head = {"typ": "dpop+jwt", "alg": "RS256", "jwk": key}
        claims = {"jti": base64url(os.urandom(16)), "htm": "POST", "htu": address, "iat": int(time.time())}
        signed = ".".join(base64url(json.dumps(text).encode()) for text in (head, claims))
        return f"{signed}.{base64url(openssl('dgst', '-sha256', '-sign', file.name, text=signed.encode()))}"


def refuses_bound_tokens(world):
    """a token that is bound to a key of the client (DPoP) is refused."""
    headers = {"DPoP": proof(f"{world.keycloak.endpoints}/token")}
    token = world.keycloak.sign_in("fleet-web", "admin", headers=headers)["access_token"]
    if "jkt" not in part(token).get("cnf", {}):
        raise Failed(f"Keycloak has not bound the token: {part(token)}")
    refused(world, "bound token", token)


def makes_people(world):
    """the owner makes users for people of the realm."""
    token = world.owner["token"]
    customer = world.service.send("POST", "/customers", {"name": "Verdi", "custom_data": {"vat": "IT00000000000"}}, token)
    expect_status("customer", customer, 201)
    # Una's address is written otherwise here than at Keycloak.
    for address in ("Una@Example.org", "ugo@example.org", "rita@example.org", "lena@example.org"):
        person = {"name": address.split("@")[0], "email": address, "organization_id": data(customer)["id"], "user_role_ids": ["admin"]}
        expect_status(address, world.service.send("POST", "/users", person, token), 201)


def links_verified(world):
    """a verified address links, in upper and lower case; from then on the subject counts, whatever its address."""
    first = session(world, "fleet-web", "una")
    expect("address", first["user"]["email"].lower(), "una@example.org")
    status, printed = world.service.command("audit", "--json", "--action", "user.link", "--object", first["user"]["id"])
    expect("entries user.link in the audit log", (status, printed.count("user.link")), (0, 1))
    world.keycloak.change_user("una", email="una.rossi@example.org", emailVerified=False)
    second = session(world, "fleet-web", "una")
    expect("user after a change of address", second["user"]["id"], first["user"]["id"])


def links_no_unverified(world):
    """an unverified address does not link; once it is verified, it does."""
    refused(world, "unverified", world.keycloak.sign_in("fleet-web", "ugo")["access_token"])
    world.keycloak.change_user("ugo", emailVerified=True)
    expect("address", session(world, "fleet-web", "ugo")["user"]["email"], "ugo@example.org")


def refuses_strangers(world):
    """a verified address that no user has is refused."""
    refused(world, "stranger", world.keycloak.sign_in("fleet-web", "stranger")["access_token"])


def links_again_after_unlink(world):
    """a new account with the address of a linked user is refused until `user unlink`, which ends the user's sessions."""
    before = session(world, "fleet-web", "rita")
    world.keycloak.administer("DELETE", f"/users/{world.keycloak.user('rita')['id']}")
    account = {
        "username": "rita2",
        "email": "rita@example.org",
        "emailVerified": True,
        "firstName": "Rita",
        "lastName": "Gallo",
        "enabled": True,
        "credentials": [{"type": "password", "value": password("rita2"), "temporary": False}],
    }
    world.keycloak.administer("POST", "/users", account)
    token = world.keycloak.sign_in("fleet-web", "rita2")["access_token"]
    refused(world, "second account", token)
    expect("user unlink", world.service.command("user", "unlink", "rita@example.org")[0], 0)
    expect_status("session of the first account", world.service.me(before["token"]), 401)
    answer = world.service.exchange(token)
    expect_status("second account after unlink", answer, 200)
    expect("user", data(answer)["user"]["id"], before["user"]["id"])


def refuses_other_clients(world):
    """a token of a client that is not in client_ids is refused, although its audience is right."""
    token = world.keycloak.sign_in("wiki", "admin")["access_token"]
    expect("audience", part(token)["aud"], [AUDIENCE, "account"])
    refused(world, "client wiki", token)


def refuses_other_audiences(world):
    """a token of a client in client_ids without the audience is refused."""
    token = world.keycloak.sign_in("fleet-no-audience", "admin")["access_token"]
    expect("audience", part(token)["aud"], "account")
    refused(world, "no audience", token)


def takes_lightweight(world):
    """lightweight access tokens need sub, auth_time and the audience turned on, and to link, email and email_verified."""
    def fresh(person):
        return world.keycloak.sign_in("fleet-light", person)["access_token"]

    def show(names, shown=True):
        for name in names:
            world.keycloak.show_in_lightweight(*mappers[name], shown)

    client, basic, email = world.keycloak.client("fleet-light"), world.keycloak.scope("basic"), world.keycloak.scope("email")
    mappers = {
        "aud": (f"/clients/{client['id']}", "audience"),
        "sub": (basic, "sub"),
        "auth_time": (basic, "auth_time"),
        "email": (email, "email"),
        "email_verified": (email, "email verified"),
    }
    bare = fresh("admin")
    expect("claims when nothing is turned on", sorted(mappers.keys() & part(bare).keys()), [])
    refused(world, "nothing turned on", bare)
    show(["sub", "auth_time", "email", "email_verified"])
    refused(world, "without the audience", fresh("admin"))
    show(["aud"])
    show(["email", "email_verified"], False)
    expect_status("somebody who is linked, without an address", world.service.exchange(fresh("admin")), 200)
    # Keycloak's userinfo refuses such a token, so the address must be in it.
    refused(world, "somebody who is not linked, without an address", fresh("lena"))
    show(["email", "email_verified"])
    expect_status("everything turned on", world.service.exchange(fresh("lena")), 200)


def revokes(world):
    """what Keycloak revokes cannot be refreshed there; the session here, and a JWT until it expires, are not affected."""
    tokens = world.keycloak.sign_in("fleet-web", "admin")
    own = data(world.service.exchange(tokens["access_token"]))
    expect_status("revocation", world.keycloak.revoke("fleet-web", tokens["refresh_token"]), 200)
    expect_status("refresh at Keycloak", world.keycloak.refresh("fleet-web", tokens["refresh_token"]), 400)
    expect_status("/me", world.service.me(own["token"]), 200)
    expect_status("refresh at the service", world.service.refresh(own["refresh_token"]), 200)
    expect_status("exchange of the revoked access token", world.service.exchange(tokens["access_token"]), 200)


def ends_sessions(world):
    """somebody who is disabled at Keycloak cannot sign in; `sessions end` ends the session here for the next request."""
    own = session(world, "fleet-web", "ugo")
    world.keycloak.change_user("ugo", enabled=False)
    try:
        world.keycloak.sign_in("fleet-web", "ugo")
    except Failed:
        pass
    else:
        raise Failed("a disabled person has signed in at Keycloak")
    expect_status("/me", world.service.me(own["token"]), 200)
    expect("sessions end", world.service.command("sessions", "end", "ugo@example.org")[0], 0)
    expect_status("/me after sessions end", world.service.me(own["token"]), 401)
    expect_status("refresh after sessions end", world.service.refresh(own["refresh_token"]), 401)
    world.keycloak.change_user("ugo", enabled=True)


def asks_again(world):
    """a sensitive operation needs a sign-in that is fresh at Keycloak: by prompt=login, not by a refresh or by being signed in there."""
    def consent(tokens):
        own = data(world.service.exchange(tokens["access_token"]))
        return world.service.send("POST", "/impersonate/consent", {"duration_hours": 1}, own["token"])

    def is_refused(what, tokens):
        answer = consent(tokens)
        expect_status(what, answer, 401)
        wanted = {"reason": "fresh_sign_in_required", "max_age": world.fresh_sign_in}
        expect(what, json.loads(answer.text)["data"], wanted)

    browser = world.keycloak.browser()
    first = world.keycloak.sign_in("fleet-web", "ugo", browser)
    expect_status("fresh", consent(first), 200)
    age = world.fresh_sign_in + 2
    until("age of the sign-in", age + SLACK, lambda: time.time() - part(first["access_token"])["auth_time"] > age)
    is_refused("old", first)
    answer = world.keycloak.refresh("fleet-web", first["refresh_token"])
    expect_status("refresh at Keycloak", answer, 200)
    is_refused("refreshed", json.loads(answer.text))
    is_refused("signed in at Keycloak already", world.keycloak.sign_in("fleet-web", "ugo", browser))
    is_refused("lightweight", world.keycloak.sign_in("fleet-light", "ugo", browser))
    again = world.keycloak.sign_in("fleet-web", "ugo", browser, prompt="login")
    expect("session at Keycloak", part(again["access_token"])["sid"], part(first["access_token"])["sid"])
    expect_status("fresh again", consent(again), 200)


def verifies_algorithms(world):
    """signatures with RS384, RS512, PS256, ES256, ES384, ES512 and EdDSA are accepted, with PS384 and HS256 not."""
    def signed(algorithm):
        world.keycloak.set_attribute("fleet-web", "access.token.signed.response.alg", algorithm)
        token = world.keycloak.sign_in("fleet-web", "admin", browser)["access_token"]
        expect("algorithm", part(token, 0)["alg"], algorithm or "RS256")
        return token

    browser = world.keycloak.browser()
    good = {algorithm: signed(algorithm) for algorithm in ("RS384", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA")}
    bad = {algorithm: signed(algorithm) for algorithm in ("PS384", "HS256")}
    signed("")
    # Keycloak has made a key for each of them just now.
    first = next(iter(good.values()))
    until("new keys", KEYS_PAUSE + SLACK, lambda: world.service.exchange(first).status == 200)
    for algorithm, token in good.items():
        expect_status(algorithm, world.service.exchange(token), 200)
    for algorithm, token in bad.items():
        refused(world, algorithm, token)


def rotates(world):
    """tokens with a new key are accepted within 10 s, and those with the old one as long as it is published."""
    def fresh():
        return world.keycloak.sign_in("fleet-web", "admin")["access_token"]

    before, known = fresh(), world.keycloak.published()
    expect_status("old key", world.service.exchange(before), 200)
    # Of a lower priority it is published and does not sign; generated keys have 100.
    world.keycloak.add_key("second", 50)
    (added,) = world.keycloak.published() - known
    expect("key that signs", part(fresh(), 0)["kid"], part(before, 0)["kid"])
    world.keycloak.change_key("second", priority="200")
    after = fresh()
    expect("key that signs after that", part(after, 0)["kid"], added)
    took = until("new key", KEYS_PAUSE + SLACK, lambda: world.service.exchange(after).status == 200)
    world.keycloak.change_key("rsa-generated", active="false")
    expect_status("old key, passive", world.service.exchange(before), 200)
    world.rotated = (before, after)
    return f"after {took:.1f} s"


def forgets_keys(world):
    """tokens with a key that Keycloak publishes no more are refused when the cached keys have expired."""
    before, after = world.rotated
    world.keycloak.change_key("rsa-generated", enabled="false")
    took = until("old key", world.keys_cache + SLACK, lambda: world.service.exchange(before).status == 401)
    expect_status("new key", world.service.exchange(after), 200)
    return f"after {took:.1f} s of {world.keys_cache:.0f}"


def goes_on_without(world):
    """while Keycloak is away, sign-ins end with 502 once the cached keys have expired, and sessions go on."""
    tokens = world.keycloak.sign_in("fleet-web", "admin")
    own = data(world.service.exchange(tokens["access_token"]))
    os.kill(world.keycloak_process, signal.SIGKILL)
    took = until("502", world.keys_cache + SLACK, lambda: world.service.exchange(tokens["access_token"]).status == 502)
    expect_status("/me", world.service.me(own["token"]), 200)
    answer = world.service.refresh(own["refresh_token"])
    expect_status("refresh", answer, 200)
    expect_status("/me after the refresh", world.service.me(data(answer)["token"]), 200)
    return f"after {took:.1f} s of {world.keys_cache:.0f}"


BEFORE = [starts_without]
CHECKS = [
    needs_pkce,
    signs_in,
    reads_profiles,
    has_claims,
    allows_origin,
    signs_out,
    refreshes,
    refuses_other_tokens,
    refuses_bound_tokens,
    makes_people,
    links_verified,
    links_no_unverified,
    refuses_strangers,
    links_again_after_unlink,
    refuses_other_clients,
    refuses_other_audiences,
    takes_lightweight,
    revokes,
    ends_sessions,
    asks_again,
]
ROTATION = [verifies_algorithms, rotates, forgets_keys]
LAST = [goes_on_without]
