//! Which event ends which credentials, for the very next request at every process on the database (the table of spec:
//! authentication#session-chains). API keys, system credentials and impersonation have their own tests beside their
//! other rules.

use super::client::*;
use bailiwick_domain::OrgId;
use bailiwick_testkit::{Call, Engine, Persona, Reply, Test, api_test};
use serde_json::json;
use std::time::Duration;

const GIVEN: &str = "Given-Horse-9-Battery";
const CHOSEN: &str = "Chosen-Horse-4-Staple";

/// A user with a login and a session from a browser, and with another session from elsewhere.
struct SignedIn<'a> {
    who: Persona,
    browser: Browser<'a>,
    provider_access: String,
    provider_refresh: String,
    session: (String, String),
    elsewhere: Persona,
}

async fn sign_in(t: &Test, org: OrgId) -> SignedIn<'_> {
    let who = t.user(org, &["admin"]).await;
    set_password(t, who.id, GIVEN, None).await;
    let browser = Browser::new(t);
    let code = query(&browser.sign_in(&email_of(t, who.id).await, GIVEN, &[]).await)["code"].clone();
    let tokens = redeem(t, &code, &[]).await.expect(200).json();
    let token_named = |name: &str| tokens[name].as_str().unwrap().to_owned();
    let (provider_access, provider_refresh) = (token_named("access_token"), token_named("refresh_token"));
    let data = exchange(t, &provider_access).await.expect(200).data();
    let text = |name: &str| data[name].as_str().unwrap().to_owned();
    let session = (text("token"), text("refresh_token"));
    let elsewhere = t.session(who.id).await;
    SignedIn { who, browser, provider_access, provider_refresh, session, elsewhere }
}

/// The credentials that are over after an event.
#[derive(Clone, Copy, PartialEq)]
struct Over {
    /// The session that came from the browser's login.
    session: bool,
    /// The other session.
    elsewhere: bool,
    /// The browser's login and its provider tokens.
    login: bool,
}

const ALL: Over = Over { session: true, elsewhere: true, login: true };

async fn me(process: &Test, token: &str) -> Reply {
    process.get("/api/me").bearer(token).send().await
}

fn renewal(process: &Test, token: &str) -> Call {
    process.post("/api/auth/refresh").json(json!({"refresh_token": token}))
}

/// Every way in, at one process.
async fn check(process: &Test, signed_in: &SignedIn<'_>, over: Over, what: &str) {
    let status = |is_over: bool| if is_over { 401 } else { 200 };
    let sessions = [(&signed_in.session.0, over.session), (&signed_in.elsewhere.token, over.elsewhere)];
    for (token, is_over) in sessions {
        assert_eq!(me(process, token).await.status, status(is_over), "{what}: access token");
        let profile = process.get("/api/user/profile").bearer(token).send().await;
        assert_eq!(profile.status, status(is_over), "{what}: profile");
    }
    assert_eq!(
        userinfo(process, &signed_in.provider_access).await.status,
        status(over.login),
        "{what}: userinfo"
    );
    if over.login {
        assert_eq!(exchange(process, &signed_in.provider_access).await.status, 401, "{what}: exchange");
        refused(refresh(process, &signed_in.provider_refresh).await, 400, "invalid_grant");
        let same = Browser { t: process, cookies: signed_in.browser.cookies.clone() };
        sent_back(same.get(&authorization(&[("prompt", "none")])).await, "login_required");
    }
    for (token, is_over) in
        [(&signed_in.session.1, over.session), (&signed_in.elsewhere.refresh_token, over.elsewhere)]
    {
        if is_over {
            assert_eq!(renewal(process, token).send().await.status, 401, "{what}: refresh token");
        }
    }
}

// Proves spec: authorization#guarantees 18.
api_test!(what_ends_a_session_ends_it_in_every_process, |t| async move {
    let tree = t.tree().await;
    let other = if t.engine == Engine::Postgres { Some(t.replica().await) } else { None };
    let processes: Vec<&Test> = std::iter::once(&t).chain(&other).collect();
    // The event happens at one process, the next request comes to the other one first.
    let everywhere = async |signed_in: &SignedIn<'_>, over: Over, what: &str| {
        for process in processes.iter().rev() {
            check(process, signed_in, over, what).await;
        }
    };
    let owner = t.owner().await;
    let none = Over { session: false, elsewhere: false, login: false };
    let by_owner = async |call: Call| {
        call.bearer(&owner.token).send().await.expect(200);
    };

    let one = sign_in(&t, tree.customer).await;
    everywhere(&one, none, "nothing").await;
    t.post("/api/auth/logout").bearer(&one.elsewhere.token).send().await.expect(200);
    everywhere(&one, Over { login: false, ..ALL }, "logout").await;

    let one = sign_in(&t, tree.customer).await;
    one.browser.get("/oidc/session/end").await.expect(200);
    // The browser has forgotten its cookie. A copy of the cookie opens nothing either.
    everywhere(&one, Over { elsewhere: false, ..ALL }, "sign-out at the provider").await;

    let one = sign_in(&t, tree.customer).await;
    let body = json!({"current_password": GIVEN, "new_password": CHOSEN});
    t.post("/api/me/change-password").bearer(&one.elsewhere.token).json(body).send().await.expect(200);
    everywhere(&one, Over { elsewhere: false, ..ALL }, "own new password").await;

    let one = sign_in(&t, tree.customer).await;
    let path = format!("/api/users/{}/password", one.who.id);
    by_owner(t.patch(&path).json(json!({"password": CHOSEN}))).await;
    everywhere(&one, ALL, "an administrator's new password").await;

    let one = sign_in(&t, tree.customer).await;
    let used = one.session.1.clone();
    renewal(&t, &used).send().await.expect(200);
    t.advance(Duration::from_secs(31));
    renewal(&t, &used).send().await.expect(401);
    everywhere(&one, Over { session: true, ..none }, "late reuse").await;

    for (end, begin) in [("suspend", "reactivate"), ("delete", "restore"), ("destroy", "")] {
        let one = sign_in(&t, tree.customer).await;
        let user = format!("/api/users/{}", one.who.id);
        match end {
            "suspend" => by_owner(t.patch(&format!("{user}/suspend"))).await,
            "delete" => by_owner(t.delete(&user)).await,
            _ => by_owner(t.delete(&format!("{user}/destroy"))).await,
        }
        everywhere(&one, ALL, end).await;
        if !begin.is_empty() {
            by_owner(t.patch(&format!("{user}/{begin}"))).await;
            everywhere(&one, ALL, begin).await;
        }
    }
    for (above, kind) in [(tree.reseller, "resellers"), (tree.distributor, "distributors")] {
        let one = sign_in(&t, tree.customer).await;
        by_owner(t.patch(&format!("/api/{kind}/{above}/suspend"))).await;
        everywhere(&one, ALL, "an organization above suspended").await;
        by_owner(t.patch(&format!("/api/{kind}/{above}/reactivate"))).await;
        everywhere(&one, ALL, "an organization above reactivated").await;
    }
    let one = sign_in(&t, tree.customer).await;
    by_owner(t.delete(&format!("/api/customers/{}", tree.customer))).await;
    everywhere(&one, ALL, "his organization deleted").await;
});
