"""What docs/console.md says about signing in: the console as a client of Keycloak."""

import json
import time

from browser import forms
from identity import SLACK, expect, expect_status, session, until
from keycloak import Failed, base64url, part
from service import data

NOWHERE = "https://nowhere.example.org/"
# How long the end of a session at Keycloak may take to reach the console, in seconds.
BACK_CHANNEL_TIME = 5 + SLACK


def arrive(world, person, browser=None):
    """Opens the console, and signs in where it leads; the browser and the page that it gets in the end."""
    browser = browser or world.keycloak.browser()
    page, _ = browser.follow(browser.open(f"{world.service.base}/console/systems"), NOWHERE)
    back = f"{world.service.base}/console/signed-in"
    to = world.keycloak.log_in(browser, page, person, back)
    page, _ = browser.follow(browser.open(to), NOWHERE)
    return browser, page


def is_in(world, browser):
    """Whether the console knows who the browser is."""
    answer = browser.open(f"{world.service.base}/console/")
    if answer.status == 200:
        return True
    expect("address without a session", answer.location, f"{world.service.base}/console/sign-in")
    return False


def sign_in(world, person, browser=None):
    browser, page = arrive(world, person, browser)
    expect_status(f"the console for {person}", page, 200)
    expect("page", page.address, f"{world.service.base}/console/systems")
    return browser


def leave(world, browser):
    """Signs out of the console, and says yes if Keycloak asks; the last answer, and whether it has asked."""
    answer = browser.ask("POST", f"{world.service.base}/console/sign-out", {}, {"Origin": world.service.base})
    expect_status("sign-out", answer, 303)
    if not answer.location.startswith(f"{world.keycloak.endpoints}/logout"):
        raise Failed(f"sign-out leads to {answer.location}")
    page, _ = browser.follow(answer, NOWHERE)
    answer, has_asked = world.keycloak.confirm(browser, page)
    page, _ = browser.follow(answer, NOWHERE)
    return page, has_asked


def lets_in(world):
    """the console signs people in at Keycloak, leads to the page they wanted, and gives the browser no token."""
    browser = sign_in(world, "admin")
    page = browser.open(f"{world.service.base}/console/")
    expect_status("home", page, 200)
    kept = browser.cookies(world.service.base)
    expect("cookies of the console", sorted(kept), ["bailiwick-console"])
    expect("tokens in the page", [word for word in ("eyJ", "id_token", "access_token") if word in page.text], [])
    policy = page.headers.get("content-security-policy")
    if f"form-action 'self' {world.keycloak.base};" not in policy:
        raise Failed(f"forms may not lead to Keycloak: {policy}")


def keeps_out(world):
    """the console refuses people whom it does not know, and a browser that comes back with the code of another one."""
    _, page = arrive(world, "stranger")
    expect_status("stranger", page, 403)
    world.keycloak.change_user("una", email="una@example.org", emailVerified=True)
    one, other = world.keycloak.browser(), world.keycloak.browser()
    pages = [browser.follow(browser.open(f"{world.service.base}/console/"), NOWHERE)[0] for browser in (one, other)]
    to = world.keycloak.log_in(one, pages[0], "una", f"{world.service.base}/console/signed-in")
    expect_status("code of another browser", other.open(to), 400)


def signs_out(world):
    """signing out ends the session of the console, and Keycloak's too; Keycloak may ask before."""
    browser = sign_in(world, "admin")
    kept = dict(browser.cookies(world.service.base))
    page, has_asked = leave(world, browser)
    expect("address afterwards", page.address, f"{world.service.base}/console/signed-out")
    browser.cookies(world.service.base).update(kept)
    expect("session with the cookie from before", is_in(world, browser), False)
    page, _ = browser.follow(browser.open(f"{world.service.base}/console/sign-in"), NOWHERE)
    if not any("password" in form.fields for form in forms(page)):
        raise Failed(f"Keycloak asks for no password: {page}")
    return "Keycloak asked" if has_asked else "Keycloak did not ask"


def sessions_of(world, person):
    """The sessions of somebody at Keycloak."""
    path = f"/users/{world.keycloak.user(person)['id']}/sessions"
    return {found["id"] for found in world.keycloak.administer("GET", path)}


def ends_one(world):
    """one session that Keycloak's administrator ends is over in the console; others of this person and of others are not."""
    known = sessions_of(world, "admin")
    first = sign_in(world, "admin")
    (ended,) = sessions_of(world, "admin") - known
    second, other = sign_in(world, "admin"), sign_in(world, "una")
    world.keycloak.administer("DELETE", f"/sessions/{ended}")
    until("end of the session", BACK_CHANNEL_TIME, lambda: not is_in(world, first))
    expect("others", (is_in(world, second), is_in(world, other)), (True, True))


def ends_all(world):
    """when Keycloak's administrator signs a person out, all their sessions in the console are over, and nobody else's."""
    browsers, other = [sign_in(world, "admin") for _ in range(2)], sign_in(world, "una")
    world.keycloak.administer("POST", f"/users/{world.keycloak.user('admin')['id']}/logout")
    until("end of the sessions", BACK_CHANNEL_TIME, lambda: not any(is_in(world, browser) for browser in browsers))
    expect("somebody else", is_in(world, other), True)


def ends_with_other_client(world):
    """signing out at another client of Keycloak, in the same browser, ends the session in the console."""
    browser = sign_in(world, "admin")
    tokens = world.keycloak.sign_in("fleet-web", "admin", browser)
    world.keycloak.sign_out(browser, id_token_hint=tokens["id_token"])
    until("end of the session", BACK_CHANNEL_TIME, lambda: not is_in(world, browser))


def refuses_forged_logouts(world):
    """the back-channel logout takes nothing but Keycloak's logout tokens for this client."""
    browser = sign_in(world, "admin")
    tokens = world.keycloak.sign_in("fleet-web", "admin", browser)
    head, claims = {"alg": "none", "typ": "logout+jwt"}, part(tokens["id_token"])
    claims |= {"aud": "fleet-console", "typ": "Logout", "events": {"http://schemas.openid.net/event/backchannel-logout": {}}}
    claims.pop("nonce", None)
    forged = ".".join([*(base64url(json.dumps(text).encode()) for text in (head, claims)), ""])
    for token in (tokens["id_token"], tokens["access_token"], forged, "nonsense", None):
        fields = {} if token is None else {"logout_token": token}
        answer = world.keycloak.browser().ask("POST", f"{world.service.base}/oidc/backchannel-logout", fields)
        expect_status("forged logout", answer, 400)
    expect("session", is_in(world, browser), True)


def asks_again(world):
    """for a fresh sign-in Keycloak asks for the password again, and the console's session from before ends."""
    browser = sign_in(world, "una")
    kept, since = dict(browser.cookies(world.service.base)), time.monotonic()
    age = world.fresh_sign_in + 2
    until("age of the sign-in", age + SLACK, lambda: time.monotonic() - since > age)
    page, _ = browser.follow(browser.open(f"{world.service.base}/console/sign-in?fresh=1&page=/console/systems"), NOWHERE)
    to = world.keycloak.log_in(browser, page, "una", f"{world.service.base}/console/signed-in")
    page, _ = browser.follow(browser.open(to), NOWHERE)
    expect("page", (page.status, page.address), (200, f"{world.service.base}/console/systems"))
    before = world.keycloak.browser()
    before.cookies(world.service.base).update(kept)
    expect("session from before", is_in(world, before), False)


def ends_exchanged(world):
    """a session that began with a token that a user interface exchanged ends in the same way."""
    browser = world.keycloak.browser()
    tokens = world.keycloak.sign_in("fleet-web", "admin", browser)
    own, other = data(world.service.exchange(tokens["access_token"])), session(world, "fleet-web", "una")
    world.keycloak.sign_out(browser, id_token_hint=tokens["id_token"])
    until("end of the session", BACK_CHANNEL_TIME, lambda: world.service.me(own["token"]).status == 401)
    answer = world.service.me(own["token"])
    expect("answer", json.loads(answer.text), {"code": 401, "message": "token has been revoked", "data": {"reason": "user logout"}})
    expect_status("refresh", world.service.refresh(own["refresh_token"]), 401)
    expect_status("somebody else", world.service.me(other["token"]), 200)


CHECKS = [
    lets_in,
    keeps_out,
    signs_out,
    asks_again,
    ends_one,
    ends_all,
    ends_with_other_client,
    ends_exchanged,
    refuses_forged_logouts,
]
