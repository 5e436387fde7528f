//! Who is notified, with links and forms alone, and who may look and change.

use super::{Browser, between};
use bailiwick_domain::OrgId;
use bailiwick_settings::{AllowedHosts, Network};
use bailiwick_testkit::{
    api_test,
    parts::recorder::{Answer, Recorder},
};
use serde_json::json;

const HERE: &str = "/console/notifications";

api_test!(
    recipients_are_named_tested_explained_and_removed,
    |s| {
        s.alerting.allowed_hosts =
            AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
    },
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let hook = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let browser = Browser::of(&t, &owner).await;
        assert!(browser.get("/console/").await.expect(200).text().contains(&format!("href=\"{HERE}\"")));
        let empty = browser.get(HERE).await.expect(200).text();
        assert!(
            empty.contains("nobody is notified of its alerts")
                && empty.contains("/console/notifications/edit")
        );
        assert!(!empty.contains("The recipients of the organizations above it"), "{empty}");
        let own = owner.org.to_string();
        let form = browser.get(&format!("{HERE}/edit?organization_id={own}")).await.expect(200).text();
        for name in
            ["email_recipients.0.address", "webhook_recipients.1.url", "telegram_recipients.0.chat_id"]
        {
            assert!(form.contains(&format!("name=\"{name}\"")), "{name}");
        }
        // More rows, with what has been written so far.
        let url = format!("{}/hook", hook.url());
        let fields = [
            ("organization_id", own.as_str()),
            ("enabled.email", "true"),
            ("enabled.webhook", "true"),
            ("enabled.telegram", "false"),
            ("email_recipients.rows", "3"),
            ("email_recipients.0.address", "noc@example.org"),
            ("email_recipients.0.severities", "critical"),
            ("email_recipients.0.severities", "warning"),
            ("email_recipients.0.language", "it"),
            ("email_recipients.1.address", ""),
            ("email_recipients.2.address", "second <x>@example"),
            ("webhook_recipients.rows", "1"),
            ("webhook_recipients.0.name", "hook"),
            ("webhook_recipients.0.url", url.as_str()),
            ("telegram_recipients.rows", "1"),
            ("telegram_recipients.0.chat_id", "nonsense"),
            ("telegram_recipients.0.bot_token", "1:abc"),
        ];
        let more: Vec<_> = fields.into_iter().chain([("more", "email_recipients")]).collect();
        let longer = browser.post(&format!("{HERE}/edit"), &more).await.expect(200).text();
        assert!(longer.contains("email_recipients.5.address") && longer.contains("noc@example.org"));
        // Where the first new row begins.
        let before = longer.split(" autofocus").next().unwrap();
        assert!(before.rsplit('<').next().unwrap().contains("id=\"email_recipients.2.address\""), "{before}");
        // What is wrong stands beside the fields; rows that were left empty are gone.
        let wrong = browser.post(&format!("{HERE}/edit"), &fields).await.expect(422).text();
        assert!(wrong.contains("id=\"email_recipients.1.address-wrong\""), "{wrong}");
        assert!(wrong.contains("second &lt;x&gt;@example"));
        assert!(wrong.contains("id=\"telegram_recipients.0.chat_id-wrong\""), "{wrong}");
        let good: Vec<_> = fields
            .into_iter()
            .filter(|(key, _)| {
                !key.starts_with("email_recipients.2") && !key.starts_with("telegram_recipients.0")
            })
            .collect();
        let saved = browser.post(&format!("{HERE}/edit"), &good).await;
        // Without a mail server the page warns that no mail is sent.
        assert!(matches!(saved.status.as_u16(), 200 | 303), "{}", saved.text());
        let layer = t.get("/api/alerts/config").bearer(&owner.token).send().await.expect(200).data();
        assert_eq!(layer["email_recipients"][0]["address"], "noc@example.org");
        assert_eq!(layer["email_recipients"][0]["severities"], json!(["critical", "warning"]));
        assert_eq!(layer["email_recipients"][0]["language"], "it");
        assert_eq!(
            (&layer["webhook_recipients"][0]["url"], &layer["enabled"]["telegram"]),
            (&json!(url), &json!(false))
        );

        let page = browser.get(HERE).await.expect(200).text();
        assert!(page.contains("noc@example.org") && page.contains("In force") && page.contains("Italian"));
        assert!(!page.contains("/hook\""), "an address of a webhook is a secret");

        // One test message, to the webhook alone.
        let test = [("channel", "webhook"), ("recipient", "hook")];
        let sent = browser.post(&format!("{HERE}/test"), &test).await.expect(200).text();
        assert!(sent.contains("A test message went to hook."), "{sent}");
        assert_eq!(hook.take().len(), 1);
        hook.answer_by(|_| Answer::status(404));
        let sent = browser.post(&format!("{HERE}/test"), &test).await.expect(200).text();
        assert!(sent.contains("answered with status 404"));
        let gone = [("channel", "webhook"), ("recipient", "gone")];
        browser.post(&format!("{HERE}/test"), &gone).await.expect(400);

        // Who would be notified.
        let customer = tree.customer.to_string();
        let ask = |severity: &str| {
            format!("{HERE}/who?organization_id={customer}&severity={severity}&labels=a%3Db")
        };
        let page = browser.get(&ask("critical")).await.expect(200).text();
        assert!(page.contains("noc@example.org") && page.contains("named by Owner"), "{page}");
        let page = browser.get(&ask("info")).await.expect(200).text();
        assert!(!page.contains("noc@example.org") && page.contains("hook"));

        // An exception for one system of the customer.
        let system = t.system(tree.customer).await;
        let address = format!("{HERE}/edit?organization_id={customer}&system_key={}", system.key);
        assert!(browser.get(&address).await.expect(200).text().contains("Edit for this system"));
        let mut exception = vec![
            ("organization_id", customer.as_str()),
            ("system_key", system.key.as_str()),
            ("enabled.email", "false"),
        ];
        let saved = browser.post(&format!("{HERE}/edit"), &exception).await;
        assert!(matches!(saved.status.as_u16(), 200 | 303), "{}", saved.text());
        let path = format!("/api/alerts/config?organization_id={customer}");
        let layer = t.get(&path).bearer(&owner.token).send().await.expect(200).data();
        assert_eq!(layer["systems"][0]["enabled"]["email"], false);
        let of_system = format!("{}&system_key={}", ask("critical"), system.key);
        let page = browser.get(&of_system).await.expect(200).text();
        assert!(!page.contains("noc@example.org") && page.contains("switched off for this system"), "{page}");
        exception[1].1 = "nonsense";
        let wrong = browser.post(&format!("{HERE}/edit"), &exception).await.expect(422).text();
        assert!(wrong.contains("Key of the system"), "{wrong}");

        // Another organization is found by its name.
        let page = browser.get(&format!("{HERE}?find=alfa+cust")).await.expect(200).text();
        assert!(page.contains(&format!("{HERE}?organization_id={customer}")));

        let remove = format!("{HERE}/remove?organization_id={own}");
        let question = browser.get(&remove).await.expect(200).text();
        assert!(question.contains("Remove all recipients of Owner?"));
        let layer = t.get("/api/alerts/config").bearer(&owner.token).send().await.expect(200).data();
        let mut changed = layer.clone();
        changed["enabled"]["email"] = json!(false);
        t.post("/api/alerts/config").bearer(&owner.token).json(changed).send().await.expect(200);
        let outdated = browser.post(&action(&question), &[]).await.expect(422).text();
        assert!(outdated.contains("Somebody else changed these recipients"), "{outdated}");
        let removed = browser.post(&action(&outdated), &[]).await.expect(303);
        let page = browser.get(removed.header("location").unwrap()).await.expect(200).text();
        assert!(page.contains("are removed") && !page.contains("noc@example.org"));
    }
);

/// Where the form of a question goes.
fn action(page: &str) -> String {
    let start = page.split("action=\"/console/notifications/remove").nth(1).expect("a form");
    format!("/console/notifications/remove{}", start.split('"').next().unwrap().replace("&amp;", "&"))
}

api_test!(layers_are_seen_and_changed_by_those_who_may, |t| async move {
    let tree = t.tree().await;
    let layer =
        |address: &str| json!({"enabled": {"email": true}, "email_recipients": [{"address": address}]});
    t.alert_layer(tree.owner, layer("secret@owner.example")).await;
    t.alert_layer(tree.customer, layer("noc@customer.example")).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let path = format!("organization_id={}", tree.customer);
            let status = |reply: bailiwick_testkit::Reply| reply.status.as_u16();
            let ask = |path: String| t.get(&path).bearer(&user.token).send();
            let reads = status(ask(format!("/api/alerts/config?{path}")).await);
            let sees = status(ask(format!("/api/alerts/config/effective?{path}")).await);
            let page = browser.get(&format!("{HERE}?{path}")).await;
            assert_eq!(page.status.as_u16(), reads, "{role}");
            let home = browser.get("/console/").await.expect(200).text();
            assert_eq!(home.contains(&format!("href=\"{HERE}\"")), reads == 200, "{role}");
            let who = browser.get(&format!("{HERE}/who?{path}")).await;
            assert_eq!(who.status.as_u16(), sees, "{role}");
            let body = json!({"channel": "", "recipient": ""});
            let reply = t.post("/api/alerts/config/test").bearer(&user.token).json(body).send().await;
            let may_edit = reply.status == 400;
            let edit = browser.get(&format!("{HERE}/edit?{path}")).await;
            assert_eq!(edit.status.as_u16(), if may_edit { 200 } else { 403 }, "{role}");
            if reads == 200 {
                let page = page.text();
                assert_eq!(page.contains("/console/notifications/edit"), may_edit, "{role}");
                assert!(page.contains("noc@customer.example"), "{role}");
                assert_eq!(page.contains("In force"), sees == 200, "{role}");
                if org != tree.owner {
                    assert!(!page.contains("secret@owner.example"), "{role}");
                    assert!(!who.text().contains("secret@owner.example"), "{role}");
                }
            }
            if !may_edit {
                let form = [("organization_id", &*tree.customer.to_string())];
                browser.post(&format!("{HERE}/edit"), &form).await.expect(403);
                browser.post(&format!("{HERE}/remove?{path}"), &[]).await.expect(403);
                let test = [("channel", "email"), ("recipient", "noc@customer.example")];
                browser.post(&format!("{HERE}/test"), &test).await.expect(403);
            }
        }
    }
});

api_test!(layers_of_others_and_those_of_nobody_are_the_same_page, |t| async move {
    let tree = t.tree().await;
    let layer = json!({"enabled": {"email": true}, "email_recipients": [{"address": "noc@beta.example"}]});
    t.alert_layer(tree.other_customer, layer).await;
    let missing: OrgId = t.app.platform.fresh();
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let user = t.user(org, &["super"]).await;
        let browser = Browser::of(&t, &user).await;
        let ids = [tree.other_customer.to_string(), missing.to_string(), "nonsense".to_owned()];
        for tail in ["", "/edit", "/remove", "/who"] {
            let mut pages = Vec::new();
            for id in &ids {
                let reply = browser.get(&format!("{HERE}{tail}?organization_id={id}")).await;
                let text = reply.text().replace(id.as_str(), "");
                assert!(!text.contains("noc@beta.example") && !text.contains("Beta"), "{tail}");
                pages.push((reply.status, text));
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
            let is_own = org == tree.customer;
            assert_eq!(pages[0].0.as_u16(), if is_own { 200 } else { 403 }, "{tail}");
        }
        if org != tree.customer {
            for id in &ids {
                browser.post(&format!("{HERE}/edit"), &[("organization_id", id)]).await.expect(403);
                browser.post(&format!("{HERE}/remove?organization_id={id}"), &[]).await.expect(403);
            }
        }
    }
});

api_test!(an_editor_is_warned_of_a_concurrent_change, |t| async move {
    let tree = t.tree().await;
    let (first, second) = (t.owner().await, t.user(tree.owner, &["admin"]).await);
    let system = t.system(tree.customer).await;
    let layer =
        json!({"enabled": {"email": true}, "email_recipients": [{"address": "noc@customer.example"}]});
    t.alert_layer(tree.customer, layer).await;
    let own = tree.customer.to_string();
    let stored = async || {
        let request = t.get(&format!("/api/alerts/config?organization_id={own}")).bearer(&first.token);
        request.send().await.expect(200).data()
    };
    let etag_of = |page: &str| between(page, "name=\"seen\" value=\"", "\"").replace("&quot;", "\"");
    let (one, other) = (Browser::of(&t, &first).await, Browser::of(&t, &second).await);
    let edit = format!("{HERE}/edit");
    for key in ["", &*system.key] {
        let open = format!("{edit}?organization_id={own}&system_key={key}");
        let etag = etag_of(&other.get(&open).await.expect(200).text());
        assert_eq!(etag, etag_of(&one.get(&open).await.expect(200).text()));
        let form = |address: &'static str, etag: &str, more: &str| {
            let fields = [
                ("organization_id", own.as_str()),
                ("system_key", key),
                ("seen", etag),
                ("enabled.email", "true"),
                ("email_recipients.rows", "1"),
                ("email_recipients.0.address", address),
                ("email_recipients.0.severities", "critical"),
                ("more", more),
            ];
            fields.map(|(key, value)| (key.to_owned(), value.to_owned()))
        };
        let send = async |browser: &Browser<'_>, fields: &[(String, String)]| {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            browser.post(&edit, &fields).await
        };
        // More rows do not make the form younger.
        let longer = send(&other, &form("second@customer.example", &etag, "email_recipients")).await;
        assert_eq!(etag_of(&longer.expect(200).text()), etag);
        let saved = send(&one, &form("first@customer.example", &etag, "")).await;
        assert!(matches!(saved.status.as_u16(), 200 | 303), "{}", saved.text());
        let saved_layer = stored().await;
        // The other person sees the conflict, and their form still has what they wrote.
        let late = send(&other, &form("second@customer.example", &etag, "")).await.expect(422).text();
        assert!(
            late.contains("Somebody else changed this") && late.contains("second@customer.example"),
            "{late}"
        );
        assert_eq!(stored().await, saved_layer, "nothing is lost");
        // What is wrong with a field does not hide the conflict.
        let wrong = send(&other, &form("nonsense", &etag, "")).await.expect(422).text();
        assert!(wrong.contains("Somebody else changed this"), "{wrong}");
        // Now that they know of it, they may replace it.
        let again = send(&other, &form("second@customer.example", &etag_of(&late), "")).await;
        assert!(matches!(again.status.as_u16(), 200 | 303), "{}", again.text());
        let layer = stored().await;
        let recipients = if key.is_empty() {
            &layer["email_recipients"]
        } else {
            &layer["systems"][0]["email_recipients"]
        };
        assert_eq!(recipients[0]["address"], "second@customer.example");
    }
});

api_test!(a_saved_recipient_is_notified_or_the_page_explains_why_not, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let person = t.user(tree.customer, &["admin"]).await;
    let browser = Browser::of(&t, &person).await;
    let organization = tree.customer.to_string();
    let fields = |toggle| {
        [
            ("organization_id", organization.as_str()),
            ("enabled.email", toggle),
            ("email_recipients.rows", "1"),
            ("email_recipients.0.address", "noc@example.org"),
        ]
    };
    let toggle = async || {
        let layer = t.get("/api/alerts/config").bearer(&person.token).send().await.expect(200).data();
        layer["enabled"]["email"].clone()
    };
    browser.post(&format!("{HERE}/edit"), &fields("")).await;
    assert_eq!(toggle().await, json!(true), "an address with the usual choice");
    // What is switched off stays off when something else is edited.
    let off = browser.post(&format!("{HERE}/edit"), &fields("false")).await.expect(200).text();
    assert!(off.contains("This channel is switched off here."), "{off}");
    let form = browser.get(&format!("{HERE}/edit")).await.expect(200).text();
    let select = between(&form, "name=\"enabled.email\"", "</select>");
    assert!(select.contains("value=\"false\" selected"), "{select}");
    // The owner has the last word of those who have not spoken.
    let body = json!({"enabled": {"email": false}});
    t.post("/api/alerts/config").bearer(&owner.token).json(body).send().await.expect(200);
    let off = browser.post(&format!("{HERE}/edit"), &fields("")).await.expect(200).text();
    assert!(off.contains("Owner has switched this channel off.") && off.contains("not notified"), "{off}");
    assert_eq!(toggle().await, json!(null));
    let form = [("organization_id", organization.as_str()), ("channel", "email")];
    browser.post(&format!("{HERE}/switch-on"), &form).await;
    assert_eq!(toggle().await, json!(true));
    browser.post(&format!("{HERE}/switch-on"), &[("channel", "fax")]).await.expect(400);
    let reader = t.user(tree.customer, &["reader"]).await;
    Browser::of(&t, &reader).await.post(&format!("{HERE}/switch-on"), &form).await.expect(403);
});
