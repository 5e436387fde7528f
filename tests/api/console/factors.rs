//! Second factors: the person's own, those of a user who has lost them, and what an organization requires.

use super::{Browser, between};
use bailiwick_domain::{SignInMethod, SignInMethods, Ts, UserId};
use bailiwick_settings::SecondFactorMode;
use bailiwick_store::factors::{self, passkeys::Passkey};
use bailiwick_testkit::{Test, api_test};
use std::{collections::BTreeSet, time::Duration};
use totp_rs::{Builder, Secret};

const HERE: &str = "/console/account/factors";

/// The code that an application with this secret shows.
fn code(secret: &str, time: Ts) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let application = Builder::new().with_secret(secret).with_account_name("account").build().unwrap();
    application.generate(u64::try_from(time.secs()).unwrap()).to_string()
}

/// The value of a hidden field.
fn hidden<'p>(page: &'p str, name: &str) -> &'p str {
    between(page, &format!("name=\"{name}\" value=\""), "\"")
}

/// The recovery codes that a page shows.
fn codes(page: &str) -> BTreeSet<String> {
    page.split("<li><code>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

/// Adds an application; the page that follows.
async fn add_authenticator(t: &Test, browser: &Browser<'_>) -> String {
    let form = browser.get(&format!("{HERE}/authenticator")).await.expect(200).text();
    let code = code(between(&form, "data-copy=\"", "\""), t.app.platform.now());
    let sent = [("state", hidden(&form, "state")), ("code", &code)];
    browser.post(&format!("{HERE}/authenticator"), &sent).await.expect(200).text()
}

/// A passkey as a browser would have made it.
async fn insert_passkey(t: &Test, user: UserId, name: &str) -> String {
    let passkey = Passkey {
        id: t.app.platform.fresh(),
        user_id: user,
        name: name.to_owned(),
        credential_id: name.as_bytes().to_vec(),
        public_key: vec![1],
        state: vec![1],
        created_at: t.app.platform.now(),
        last_used_at: None,
    };
    let mut tx = t.app.platform.db.begin().await.unwrap();
    assert!(factors::passkeys::insert(&mut tx, &passkey).await.unwrap());
    tx.commit().await.unwrap();
    passkey.id.to_string()
}

api_test!(an_application_is_added_replaced_and_removed_with_its_recovery_codes, |t| async move {
    let browser = Browser::of(&t, &t.owner().await).await;
    let account = browser.get("/console/account").await.expect(200).text();
    assert!(account.contains(&format!("href=\"{HERE}\"")), "{account}");
    let none = browser.get(HERE).await.expect(200).text();
    assert!(none.contains("Add an application") && !none.contains("Recovery codes"), "{none}");
    browser.get(&format!("{HERE}/authenticator/remove")).await.expect(404);
    browser.post(&format!("{HERE}/authenticator/remove"), &[]).await.expect(404);
    browser.post(&format!("{HERE}/recovery-codes"), &[]).await.expect(409);

    let form = browser.get(&format!("{HERE}/authenticator")).await.expect(200).text();
    assert!(form.contains("<svg") && form.contains("otpauth://totp/"), "{form}");
    let secret = between(&form, "data-copy=\"", "\"");
    let wrong = [("state", hidden(&form, "state")), ("code", "000000")];
    let again = browser.post(&format!("{HERE}/authenticator"), &wrong).await.expect(422).text();
    assert!(again.contains("id=\"code-wrong\""), "{again}");
    assert_eq!(between(&again, "data-copy=\"", "\""), secret, "the application has this one already");
    let sent = [("state", hidden(&again, "state")), ("code", &*code(secret, t.app.platform.now()))];
    let shown = browser.post(&format!("{HERE}/authenticator"), &sent).await.expect(200).text();
    let first = codes(&shown);
    assert!(first.len() == 10 && shown.contains("The application is added."), "{shown}");

    let there = browser.get(HERE).await.expect(200).text();
    assert!(there.contains("10 of 10 are left.") && there.contains("In use"), "{there}");
    assert!(!first.iter().any(|code| there.contains(&**code)), "shown once");
    assert!(browser.get(&format!("{HERE}/recovery-codes")).await.expect(200).text().contains("stop working"));
    let renewed = browser.post(&format!("{HERE}/recovery-codes"), &[]).await.expect(200).text();
    assert!(codes(&renewed).len() == 10 && codes(&renewed).is_disjoint(&first), "{renewed}");

    // Another application in its place leaves the codes as they are.
    t.advance(Duration::from_secs(60));
    let form = browser.get(&format!("{HERE}/authenticator")).await.expect(200).text();
    assert!(form.contains("takes the place") && !form.contains(secret), "{form}");
    let code = code(between(&form, "data-copy=\"", "\""), t.app.platform.now());
    let sent = [("state", hidden(&form, "state")), ("code", &*code)];
    let replaced = browser.post(&format!("{HERE}/authenticator"), &sent).await.expect(303);
    assert_eq!(replaced.header("location"), Some(HERE));

    let page = browser.get(&format!("{HERE}/authenticator/remove")).await.expect(200).text();
    assert!(page.contains("recovery codes go with it"), "{page}");
    browser.post(&format!("{HERE}/authenticator/remove"), &[]).await.expect(303);
    let none = browser.get(HERE).await.expect(200).text();
    assert!(none.contains("Add an application") && !none.contains("Recovery codes"), "{none}");
});

api_test!(passkeys_are_renamed_and_removed_and_belong_to_one_person, |t| async move {
    let tree = t.tree().await;
    let person = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &person).await;
    let id = insert_passkey(&t, person.id, "Old <phone>").await;
    let page = browser.get(HERE).await.expect(200).text();
    assert!(page.contains("Old &lt;phone&gt;"), "{page}");
    // Browsers offer none at an address of numbers.
    assert!(page.contains("not possible at this address") && !page.contains("/passkeys/new"), "{page}");
    browser.get(&format!("{HERE}/passkeys/new")).await.expect(403);
    let sent = [("state", "x"), ("credential", "{}"), ("name", "x")];
    browser.post(&format!("{HERE}/passkeys/new"), &sent).await.expect(403);

    let path = format!("{HERE}/passkeys/{id}");
    assert!(browser.get(&format!("{path}/rename")).await.expect(200).text().contains("Rename Old"));
    let wrong = browser.post(&format!("{path}/rename"), &[("name", " ")]).await.expect(422).text();
    assert!(wrong.contains("id=\"name-wrong\""), "{wrong}");
    browser.post(&format!("{path}/rename"), &[("name", "New phone")]).await.expect(303);
    assert!(browser.get(HERE).await.expect(200).text().contains("New phone"));

    let stranger = Browser::of(&t, &t.user(tree.customer, &["super"]).await).await;
    for word in ["rename", "remove"] {
        for path in [format!("{path}/{word}"), format!("{HERE}/passkeys/nonsense/{word}")] {
            stranger.get(&path).await.expect(404);
            stranger.post(&path, &[("name", "Mine")]).await.expect(404);
        }
    }
    assert!(browser.get(&format!("{path}/remove")).await.expect(200).text().contains("New phone?"));
    browser.post(&format!("{path}/remove"), &[]).await.expect(303);
    assert!(!browser.get(HERE).await.expect(200).text().contains("New phone"));
});

api_test!(
    a_passkey_is_offered_where_browsers_have_them,
    |settings| settings.public_url = "http://localhost:8080".to_owned(),
    |t| async move {
        let browser = Browser::of(&t, &t.owner().await).await;
        assert!(browser.get(HERE).await.expect(200).text().contains("/passkeys/new"));
        let form = browser.get(&format!("{HERE}/passkeys/new")).await.expect(200).text();
        assert!(form.contains("data-passkey=\"create\"") && form.contains("data-without-passkeys"), "{form}");
        // Many authenticators of devices lack this extension, and browsers would refuse them.
        assert!(!form.contains("enforceCredentialProtectionPolicy&quot;:true"), "{form}");
        let script = between(&form, "src=\"/console/assets/passkey.", "\"");
        let script = browser.get(&format!("/console/assets/passkey.{script}")).await.expect(200).text();
        assert!(script.contains("navigator.credentials"), "{script}");
        let state = hidden(&form, "state").to_owned();
        for credential in ["", "nonsense", "{}"] {
            let sent = [("state", &*state), ("credential", credential), ("name", "Laptop")];
            let call = browser.call(axum::http::Method::POST, &format!("{HERE}/passkeys/new"));
            let again =
                call.header("sec-fetch-site", "same-origin").form(&sent).send().await.expect(422).text();
            assert!(again.contains("was not accepted") && again.contains("value=\"Laptop\""), "{again}");
        }
    }
);

api_test!(
    whoever_must_have_a_factor_keeps_one,
    |settings| settings.provider.second_factor.mode = SecondFactorMode::Required,
    |t| async move {
        let person = t.owner().await;
        let browser = Browser::of(&t, &person).await;
        assert!(browser.get(HERE).await.expect(200).text().contains("Your account needs a second factor"));
        add_authenticator(&t, &browser).await;
        let page = browser.get(HERE).await.expect(200).text();
        assert!(page.contains("add another one before you remove this one"), "{page}");
        assert!(!page.contains("/authenticator/remove\""), "{page}");
        browser.post(&format!("{HERE}/authenticator/remove"), &[]).await.expect(409);
        insert_passkey(&t, person.id, "Laptop").await;
        assert!(browser.get(HERE).await.expect(200).text().contains("/authenticator/remove\""));
        browser.post(&format!("{HERE}/authenticator/remove"), &[]).await.expect(303);
    }
);

api_test!(adding_asks_for_a_fresh_sign_in_and_leads_back, |t| async move {
    let browser = Browser::of(&t, &t.owner().await).await;
    let form = browser.get(&format!("{HERE}/authenticator")).await.expect(200).text();
    t.advance(Duration::from_secs(660));
    browser.get(HERE).await.expect(200);
    let page = browser.get(&format!("{HERE}/authenticator")).await.expect(401).text();
    assert!(page.contains("page=%2Fconsole%2Faccount%2Ffactors%2Fauthenticator\""), "{page}");
    for (path, sent) in [
        ("authenticator", vec![("state", hidden(&form, "state")), ("code", "000000")]),
        ("authenticator/remove", vec![]),
        ("recovery-codes", vec![]),
        ("passkeys/x/rename", vec![("name", "x")]),
        ("passkeys/x/remove", vec![]),
    ] {
        let page = browser.post(&format!("{HERE}/{path}"), &sent).await.expect(401).text();
        assert!(page.contains("Sign in again for this"), "{path}: {page}");
    }
});

api_test!(
    nothing_is_there_where_second_factors_are_off,
    |settings| settings.provider.second_factor.mode = SecondFactorMode::Off,
    |t| async move {
        let tree = t.tree().await;
        let target = t.user(tree.customer, &["reader"]).await;
        let browser = Browser::of(&t, &t.owner().await).await;
        assert!(!browser.get("/console/account").await.expect(200).text().contains(HERE));
        let user = format!("/console/users/{}", target.id);
        assert!(!browser.get(&user).await.expect(200).text().contains("second-factors"));
        let organization = format!("/console/organizations/{}", tree.customer);
        for page in [organization.as_str(), "/console/organizations"] {
            assert!(!browser.get(page).await.expect(200).text().contains("second-factor"), "{page}");
        }
        for path in [
            HERE.to_owned(),
            format!("{HERE}/authenticator"),
            format!("{HERE}/passkeys/new"),
            format!("{user}/second-factors"),
            format!("{organization}/second-factor"),
        ] {
            browser.get(&path).await.expect(403);
            if path != HERE {
                browser.post(&path, &[("required", "true")]).await.expect(403);
            }
        }
    }
);

api_test!(a_session_shows_how_the_person_has_signed_in, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let page = browser.get("/console/account/sessions").await.expect(200).text();
    assert!(!page.contains("authenticator application"), "{page}");
    let methods = SignInMethods::of(SignInMethod::Password).with(SignInMethod::Totp).to_string();
    let text = "UPDATE session_chains SET methods = ?";
    let mut tx = t.app.platform.db.begin().await.unwrap();
    bailiwick_store::sql::Q::new(text).bind(methods.as_str()).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let page = browser.get("/console/account/sessions").await.expect(200).text();
    assert!(page.contains("password + authenticator application"), "{page}");
});

api_test!(second_factors_of_a_user_are_removed_by_those_who_may_set_their_password, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let target = t.user(tree.customer, &["reader"]).await;
            let own = Browser::of(&t, &target).await;
            insert_passkey(&t, target.id, &format!("{role} {org}")).await;
            let person = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &person).await;
            let page = browser.get(&format!("/console/users/{}", target.id)).await;
            let path = format!("/console/users/{}/second-factors", target.id);
            let may = browser.get(&format!("/console/users/{}/password", target.id)).await.status == 200;
            assert_eq!(page.text().contains(&format!("href=\"{path}\"")), may, "{role} of {org}");
            if !may {
                browser.get(&path).await.expect(403);
                browser.post(&path, &[]).await.expect(403);
                assert!(own.get(HERE).await.expect(200).text().contains("/remove"));
                continue;
            }
            assert!(browser.get(&path).await.expect(200).text().contains("Remove all second factors of"));
            let done = browser.post(&path, &[]).await.expect(303);
            let page = browser.get(done.header("location").unwrap()).await.expect(200).text();
            assert!(page.contains("The second factors are removed."), "{page}");
            own.get(HERE).await.expect(303);
            let again = Browser::of(&t, &target).await.get(HERE).await.expect(200).text();
            assert!(!again.contains("/remove"), "{again}");
            // Nobody does this to themselves.
            browser.post(&format!("/console/users/{}/second-factors", person.id), &[]).await.expect(403);
        }
    }
});

api_test!(an_organization_requires_a_factor_of_those_below, |t| async move {
    let tree = t.tree().await;
    let page_of = |org| format!("/console/organizations/{org}/second-factor");
    let person = t.user(tree.customer, &["admin"]).await;
    let own = Browser::of(&t, &person).await;
    let above = Browser::of(&t, &t.user(tree.distributor, &["admin"]).await).await;
    let overview = own.get(&format!("/console/organizations/{}", tree.customer)).await.expect(200).text();
    assert!(overview.contains("Not required") && overview.contains(&page_of(tree.customer)), "{overview}");
    assert!(!own.get(HERE).await.expect(200).text().contains("Your account needs a second factor"));

    let done = above.post(&page_of(tree.reseller), &[("required", "true")]).await.expect(303);
    let page = above.get(done.header("location").unwrap()).await.expect(200).text();
    assert!(page.contains("Required by this organization") && page.contains("level Distributor"), "{page}");
    assert!(own.get(HERE).await.expect(200).text().contains("Your account needs a second factor"));
    let page = own.get(&page_of(tree.customer)).await.expect(200).text();
    assert!(page.contains("Required by an organization above") && page.contains("value=\"true\""), "{page}");

    // What a level has set, none below it takes back.
    above.post(&page_of(tree.customer), &[("required", "true")]).await.expect(303);
    let page = own.get(&page_of(tree.customer)).await.expect(200).text();
    assert!(page.contains("Only the level Distributor or one above"), "{page}");
    assert!(!page.contains("value=\"false\""), "{page}");
    own.post(&page_of(tree.customer), &[("required", "false")]).await.expect(403);
    for org in [tree.customer, tree.reseller] {
        above.post(&page_of(org), &[("required", "false")]).await.expect(303);
    }
    let overview = own.get(&format!("/console/organizations/{}", tree.customer)).await.expect(200).text();
    assert!(overview.contains("Not required"), "{overview}");
    own.get(&page_of(tree.other_customer)).await.expect(404);
    own.post(&page_of(tree.other_customer), &[("required", "true")]).await.expect(404);
});

api_test!(the_requirement_is_read_and_changed_with_the_rights_over_users, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for (role, reads, changes) in [
            ("super", true, true),
            ("admin", true, true),
            ("backoffice", true, true),
            ("support", false, false),
            ("reader", true, false),
        ] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let path = format!("/console/organizations/{org}/second-factor");
            let request = t.get(&format!("/api/organizations/{org}/second-factor")).bearer(&user.token);
            assert_eq!(request.send().await.status == 200, reads, "{role} of {org}");
            let tree_page = browser.get("/console/organizations").await.expect(200).text();
            assert_eq!(tree_page.contains(&path), reads && org == tree.owner, "{role} of {org}");
            if org != tree.owner {
                let overview = browser.get(&format!("/console/organizations/{org}")).await.expect(200).text();
                assert_eq!(overview.contains(&path), reads, "{role} of {org}");
            }
            let page = browser.get(&path).await.expect(if reads { 200 } else { 403 }).text();
            assert_eq!(page.contains("value=\"true\""), changes, "{role} of {org}: {page}");
            let sent = browser.post(&path, &[("required", "true")]).await;
            assert_eq!(sent.status, if changes { 303 } else { 403 }, "{role} of {org}");
            if changes {
                browser.post(&path, &[("required", "false")]).await.expect(303);
            }
        }
    }
});
