//! Who needs a second factor (spec: openid-provider#second-factors, organizations#second-factor).

use super::*;
use bailiwick_domain::{OrgId, OrgType, UserId};
use bailiwick_settings::SecondFactorMode;
use bailiwick_testkit::api_test;

async fn with_password(t: &Test, org: OrgId, roles: &[&str]) -> (Persona, String) {
    let user = t.user(org, roles).await;
    set_password(t, user.id, PASSWORD, None).await;
    let email = email_of(t, user.id).await;
    (user, email)
}

/// What follows the password of this person: nothing, the page that adds a factor, or the page that asks for one.
async fn after(t: &Test, email: &str) -> &'static str {
    let browser = Browser::new(t);
    let (page, token) = browser.open_page(&[]).await;
    let next = browser.submit(&page, &token, email, PASSWORD).await.expect(303);
    if next.header("location") != Some(page.as_str()) {
        return "nothing";
    }
    let shown = browser.get(&page).await.expect(200).text();
    if shown.contains("Add a second factor") { "add" } else { "prove" }
}

async fn require(t: &Test, who: &Persona, org: OrgId, required: bool) -> Reply {
    let call = t.put(&format!("/api/organizations/{org}/second-factor")).bearer(&who.token);
    call.json(json!({"required": required})).send().await
}

async fn shown(t: &Test, who: &Persona, org: OrgId) -> Value {
    t.get(&format!("/api/organizations/{org}/second-factor"))
        .bearer(&who.token)
        .send()
        .await
        .expect(200)
        .data()
}

api_test!(
    a_required_factor_is_added_on_the_page,
    |s| {
        s.provider.second_factor.mode = SecondFactorMode::Required;
        s.provider.second_factor.grace = Duration::ZERO;
    },
    |t| async move {
        let browser = Browser::new(&t);
        let (page, shown) = after_password(&browser).await;
        let text = shown.text();
        let (_, rest) = text.split_once("<code>").unwrap();
        let secret = rest.split('<').next().unwrap().to_owned();
        let state = field(&shown, "totp_state");
        let send = async |form: &str, code: &str| {
            let token = form_token(&shown);
            let fields =
                [("form_token", token.as_str()), ("form", form), ("totp_state", &state), ("code", code)];
            browser.post(&page, &fields).await
        };
        // A script cannot, and the step cannot be skipped.
        let going_on = page.replace("/sign-in/", "/auth/");
        assert_eq!(browser.get(&going_on).await.expect(303).header("location"), Some(page.as_str()));
        let submitted = browser.send(t.post("/api/interaction/submit")).await.expect(422).json();
        assert_eq!(submitted["code"], "second_factor.enrolment_required");
        let body = json!({"code": "123456"});
        let proved =
            browser.send(t.post("/api/interaction/second-factor").json(body)).await.expect(422).json();
        assert_eq!(proved["code"], "second_factor.enrolment_required");
        send("factor", &code_at(&t, &secret, 0)).await.expect(400);
        send("add_factor", &wrong_code(&t, &secret)).await.expect(422);
        let added = send("add_factor", &code_at(&t, &secret, 0)).await.expect(200).text();
        assert_eq!(added.matches("<li><code>").count(), 10, "{added}");
        assert!(added.replace("&#x2f;", "/").contains("/oidc/auth/"), "the way on");
        send("add_factor", &code_at(&t, &secret, 0)).await.expect(400);
        let done = browser.get(&going_on).await.expect(303);
        assert_eq!(claims(&t, &done).await["amr"], json!(["pwd", "otp", "mfa"]));
        // The last factor of someone who must have one stays.
        let owner = t.owner().await;
        assert_eq!(overview(&t, &owner).await["is_required"], true);
        let refused = t.delete("/api/me/second-factors/totp").bearer(&owner.token).send().await.expect(409);
        assert_eq!(refused.data()["reason"], "second_factor_required");
    }
);

api_test!(
    a_grace_period_begins_with_the_first_sign_in,
    |s| {
        s.provider.second_factor.mode = SecondFactorMode::Required;
        s.provider.second_factor.grace = Duration::from_secs(3 * 86_400);
    },
    |t| async move {
        assert_eq!(overview(&t, &t.owner().await).await["grace_until"], Value::Null);
        let browser = Browser::new(&t);
        browser.code(&[]).await;
        let until = t.app.platform.now().plus(Duration::from_secs(3 * 86_400));
        assert_eq!(overview(&t, &t.owner().await).await["grace_until"], json!(until));
        t.advance(Duration::from_secs(2 * 86_400));
        assert_eq!(after(&t, OWNER).await, "nothing");
        browser.get(&authorization(&[("prompt", "none")])).await.expect(303);
        t.advance(Duration::from_secs(86_400));
        // The login of the browser does not count either.
        sent_back(browser.get(&authorization(&[("prompt", "none")])).await, "login_required");
        assert_eq!(after(&t, OWNER).await, "add");
    }
);

api_test!(
    levels_and_roles_are_required_by_settings,
    |s| {
        let policy = &mut s.provider.second_factor;
        policy.levels = vec![OrgType::Reseller];
        policy.roles = vec!["super".into()];
        policy.grace = Duration::ZERO;
    },
    |t| async move {
        let tree = t.tree().await;
        for (org, role, expected) in [
            (tree.reseller, "reader", "add"),
            (tree.customer, "super", "add"),
            (tree.customer, "reader", "nothing"),
            (tree.distributor, "admin", "nothing"),
        ] {
            let (_, email) = with_password(&t, org, &[role]).await;
            assert_eq!(after(&t, &email).await, expected, "{role}");
        }
    }
);

api_test!(
    an_organization_requires_it_below_and_nobody_below_relaxes_that,
    |s| s.provider.second_factor.grace = Duration::ZERO,
    |t| async move {
        let tree = t.tree().await;
        let (distributor, _) = with_password(&t, tree.distributor, &["super"]).await;
        let (reseller, reseller_email) = with_password(&t, tree.reseller, &["super"]).await;
        let (_, customer_email) = with_password(&t, tree.customer, &["reader"]).await;
        let (_, foreign_email) = with_password(&t, tree.other_customer, &["reader"]).await;
        let nothing = json!({
            "required": false, "set_by": null, "set_at": null, "is_required_above": false, "may_change": true,
        });
        assert_eq!(shown(&t, &reseller, tree.reseller).await, nothing);
        // Its own, by itself.
        let set = require(&t, &reseller, tree.reseller, true).await.expect(200).data();
        assert_eq!((&set["required"], &set["set_by"]), (&json!(true), &json!("reseller")));
        assert_eq!(after(&t, &customer_email).await, "add");
        assert_eq!(after(&t, &foreign_email).await, "nothing");
        require(&t, &reseller, tree.reseller, false).await.expect(200);
        assert!(has_recorded(&t, &["organization.second_factor"]).await);
        assert_eq!(after(&t, &customer_email).await, "nothing");
        // From above it holds below, and stays.
        require(&t, &distributor, tree.reseller, true).await.expect(200);
        require(&t, &reseller, tree.reseller, false).await.expect(403);
        let required = require(&t, &reseller, tree.reseller, true).await.expect(200).data();
        assert_eq!((&required["set_by"], &required["may_change"]), (&json!("distributor"), &json!(false)));
        require(&t, &distributor, tree.reseller, false).await.expect(200);
        require(&t, &distributor, tree.distributor, true).await.expect(200);
        assert_eq!(shown(&t, &reseller, tree.reseller).await["is_required_above"], true);
        assert_eq!(after(&t, &reseller_email).await, "add");
        assert_eq!(after(&t, &foreign_email).await, "nothing");
        // Of the whole: only the owner's users are above all.
        require(&t, &t.owner().await, tree.owner, true).await.expect(200);
        assert_eq!(after(&t, &foreign_email).await, "add");
        // What is out of reach does not exist, whatever the body.
        for (who, org) in [(&distributor, tree.other_customer), (&reseller, tree.distributor)] {
            let path = format!("/api/organizations/{org}/second-factor");
            t.get(&path).bearer(&who.token).send().await.expect_message(404, "organization not found");
            let call = t.put(&path).bearer(&who.token).json(json!({}));
            call.send().await.expect_message(404, "organization not found");
        }
        let path = format!("/api/organizations/{}/second-factor", tree.reseller);
        let refused = t.put(&path).bearer(&reseller.token).json(json!({})).send().await.expect(400).data();
        assert_eq!(refused["errors"][0]["key"], "required");
    }
);

api_test!(
    off_is_off_whatever_organizations_require,
    |s| s.provider.second_factor.mode = SecondFactorMode::Off,
    |t| async move {
        let owner = t.owner().await;
        for (method, path) in [
            ("GET", "/api/me/second-factors".to_owned()),
            ("POST", "/api/me/second-factors/totp/options".to_owned()),
            ("GET", format!("/api/organizations/{}/second-factor", t.tree().await.owner)),
        ] {
            let reply = t.call(method.parse().unwrap(), &path).bearer(&owner.token).send().await;
            reply.expect_message(403, "second factors are not available");
        }
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let requirement = bailiwick_store::factors::Requirement {
            organization: owner.org,
            set_by: OrgType::Owner,
            set_at: t.app.platform.now(),
        };
        bailiwick_store::factors::require(&mut tx, requirement).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(after(&t, OWNER).await, "nothing");
    }
);

api_test!(changes_want_a_fresh_sign_in, |t| async move {
    let owner = t.owner().await;
    add_totp(&t, &owner).await;
    t.advance(Duration::from_secs(660));
    let some: UserId = owner.id;
    for (method, path) in [
        ("POST", "/api/me/second-factors/passkeys/options".to_owned()),
        ("POST", "/api/me/second-factors/passkeys".to_owned()),
        ("PUT", format!("/api/me/second-factors/passkeys/{some}")),
        ("DELETE", format!("/api/me/second-factors/passkeys/{some}")),
        ("POST", "/api/me/second-factors/totp/options".to_owned()),
        ("POST", "/api/me/second-factors/totp".to_owned()),
        ("DELETE", "/api/me/second-factors/totp".to_owned()),
        ("POST", "/api/me/second-factors/recovery-codes".to_owned()),
    ] {
        let reply = t.call(method.parse().unwrap(), &path).bearer(&owner.token).json(json!({})).send().await;
        assert_eq!(reply.expect(401).data()["reason"], "fresh_sign_in_required", "{path}");
    }
    overview(&t, &owner).await;
});
