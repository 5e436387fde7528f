//! Texts that people write: names, identifiers, addresses, passwords, files of spreadsheets.

mod files;
mod mails;

use crate::{
    imports::{row_issues, upload},
    mail::{self, deliver, last, mail_test, password_in, start},
    provider::client::Browser,
};
use bailiwick_domain::OrgType;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Engine, Persona, Reply, Test, api_test, parts::smtp::SmtpSink};
use serde_json::{Value, json};

async fn post(t: &Test, who: &Persona, path: &str, body: &Value) -> Reply {
    t.post(path).bearer(&who.token).json(body.clone()).send().await
}

async fn get(t: &Test, who: &Persona, path: &str) -> Value {
    t.get(path).bearer(&who.token).send().await.expect(200).data()
}

/// `key: code` of a refusal; empty when it was accepted.
#[track_caller]
fn refusals(reply: &Reply) -> Vec<String> {
    match reply.status.as_u16() {
        200 | 201 => Vec::new(),
        400 => {
            let errors = reply.json()["data"]["errors"].clone();
            let errors = errors.as_array().cloned().unwrap_or_default();
            let text = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
            errors.iter().map(|e| format!("{}: {}", text(e, "key"), text(e, "message"))).collect()
        }
        status => panic!("{status}: {}", reply.text()),
    }
}

fn user(email: &str, organization: impl serde::Serialize) -> Value {
    json!({"name": "Anna", "email": email, "user_role_ids": ["reader"], "organization_id": organization})
}

api_test!(names_show_what_they_are, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut number = 0;
    for (text, is_blank) in [
        ("\u{200b}", true),
        ("\u{2060}\u{feff} \u{3164}", true),
        ("Societ\u{e0} dell\u{92}Acqua", false),
        ("\u{202e}gpj.exe", false),
        ("Acme\u{200e}", false),
        ("two\nlines", false),
        ("\u{1b}[31mred", false),
        ("tab\there", false),
    ] {
        number += 1;
        let customer = json!({"name": text, "custom_data": {"vat": format!("N{number}")}});
        let person = json!({"name": text, "email": format!("n{number}@x.example"), "user_role_ids": ["reader"],
            "organization_id": tree.customer});
        let system = json!({"name": text, "organization_id": tree.customer});
        let key = json!({"name": text, "mode": "read", "password": "x"});
        for (path, body, blank) in [
            ("/api/customers", customer, "cannot_be_empty"),
            ("/api/users", person, "cannot_be_empty"),
            ("/api/systems", system, "required"),
            ("/api/me/api-keys", key, "required"),
        ] {
            let code = if is_blank { blank } else { "invalid_format" };
            assert_eq!(
                refusals(&post(&t, &owner, path, &body).await),
                [format!("name: {code}")],
                "{path} {text:?}"
            );
        }
    }
    // What joins letters is part of names.
    for (i, name) in
        ["می\u{200c}خواهم", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", "dell’Acqua"].iter().enumerate()
    {
        let body = json!({"name": name, "custom_data": {"vat": format!("J{i}")}});
        post(&t, &owner, "/api/customers", &body).await.expect(201);
    }
});

api_test!(rows_of_older_rules_stay_readable_and_can_be_changed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let person = t.user(tree.customer, &["reader"]).await;
    let customer = t.organization(tree.reseller, OrgType::Customer, "Old\u{92}\tname").await;
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE users SET name = ?, email = ? WHERE id = ?")
        .bind("a\u{202e}b")
        .bind("<old@x.example>");
    q.bind(person.id).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let (of_user, of_customer) = (format!("/api/users/{}", person.id), format!("/api/customers/{customer}"));
    assert_eq!(get(&t, &owner, &of_user).await["name"], "a\u{202e}b");
    for (path, body) in [
        (&of_user, json!({"name": "a\u{202e}b", "email": "<old@x.example>", "phone": "+39 011 5550100"})),
        (&of_user, json!({"custom_data": {"desk": "4"}})),
        (&of_customer, json!({"name": "Old\u{92}\tname", "description": "new"})),
    ] {
        t.put(path).bearer(&owner.token).json(body).send().await.expect(200);
    }
});

api_test!(vat_numbers_are_what_is_seen_of_them, |t| async move {
    let owner = t.owner().await;
    let body = |vat: &str| json!({"name": "R", "custom_data": {"vat": vat}});
    post(&t, &owner, "/api/resellers", &body("IT01234567897")).await.expect(201);
    for vat in
        ["IT\u{200e}01234567897", "it 0123\u{a0}4567897", "IT01234567897\u{feff}", "I\u{ad}T01234567897"]
    {
        let refused = refusals(&post(&t, &owner, "/api/resellers", &body(vat)).await);
        assert_eq!(refused, ["custom_data.vat: already exists"], "{vat:?}");
    }
    assert_eq!(
        refusals(&post(&t, &owner, "/api/resellers", &body("\u{200b}")).await),
        ["custom_data.vat: cannot_be_empty"]
    );
});

/// Addresses that no mail can be sent to.
const UNREACHABLE: [&str; 9] = [
    "not-an-email",
    "<u@x.example>",
    "A <a@x.example>",
    "a b@x.example",
    "a@x..example",
    "a@-x.example",
    "a@xn--a.example",
    "a\u{200b}b@x.example",
    "a,b@x.example",
];

api_test!(one_rule_decides_which_addresses_are_valid, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["super"]).await;
    for address in UNREACHABLE {
        let made = post(&t, &d, "/api/users", &user(address, tree.customer)).await;
        assert_eq!(refusals(&made), ["email: invalid"], "{address:?}");
        let body = json!({"name": "C", "custom_data": {"vat": "E1", "email": address}});
        assert_eq!(
            refusals(&post(&t, &d, "/api/customers", &body).await),
            ["custom_data.email: invalid_format"],
            "{address:?}"
        );
        let layer = json!({"enabled": {}, "email_recipients": [{"address": address}]});
        let saved = t.post("/api/alerts/config").bearer(&d.token).json(layer).send().await;
        assert_eq!(refusals(&saved), ["email_recipients.0.address: invalid_format"], "{address:?}");
        let cell = address.replace(',', ".");
        let file = format!("{}\nC,,E2,,,,\"{address}\",,,\n", files::HEADER.replace(';', ","));
        let preview = upload(&t, &d, "customers", &file).await.expect(200).data();
        assert_eq!(row_issues(&preview), [format!("error: email invalid_format [{address}]")], "{cell:?}");
        let file = format!("email,name,phone,company_name,roles\n\"{address}\",A,,Alfa Customer,Reader\n");
        let preview = upload(&t, &d, "users", &file).await.expect(200).data();
        assert_eq!(row_issues(&preview), [format!("error: email invalid_format [{address}]")]);
    }
    for address in ["o'neil+x@x.example", "perché@caffè.example", "a@localhost"] {
        post(&t, &d, "/api/users", &user(address, tree.customer)).await.expect(201);
    }
});

mail_test!(a_domain_has_one_form, |t, sink| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    post(&t, &owner, "/api/users", &user("mario@münchen.example", tree.customer)).await.expect(201);
    let mail = last(&deliver(&t, &sink).await, 1);
    assert_eq!(mail.to, ["mario@xn--mnchen-3ya.example"]);
    for same in ["mario@xn--mnchen-3ya.example", "MARIO@MÜNCHEN.example", "mario@mu\u{308}nchen.example"] {
        let refused = refusals(&post(&t, &owner, "/api/users", &user(same, tree.customer)).await);
        assert_eq!(refused, ["email: already_exists"], "{same}");
    }
    // The stored spelling is found, and either form signs in.
    for search in ["münchen", "xn--mnchen"] {
        let answer = get(&t, &owner, &format!("/api/users?search={}", escaped(search))).await;
        assert_eq!(answer["users"][0]["email"], "mario@münchen.example", "{search}");
    }
    let password = password_in(&mail);
    let browser = Browser::new(&t);
    let (_, reply) = mail::sign_in(&browser, "Mario@XN--mnchen-3ya.example", &password).await;
    assert_ne!(reply.status, 422, "{}", reply.text());
});

api_test!(a_password_is_one_however_it_is_typed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (composed, decomposed) = ("Caff\u{e9} Lungo 47!", "Caffe\u{301}\u{a0}Lungo\u{2009}47!");
    let check = async |typed: &str, hash: &str| {
        bailiwick_identity::passwords::verify(&t.app.identity, typed, Some(hash)).await.unwrap()
    };
    for (set, typed) in [(composed, decomposed), (decomposed, composed)] {
        let person = t.user(tree.customer, &["reader"]).await;
        let body = json!({"password": set});
        t.patch(&format!("/api/users/{}/password", person.id))
            .bearer(&owner.token)
            .json(body)
            .send()
            .await
            .expect(200);
        let hash = bailiwick_store::identities::password(&t.app.platform.db, person.id)
            .await
            .unwrap()
            .unwrap()
            .hash
            .unwrap();
        for form in [set, typed] {
            assert!(check(form, &hash).await, "{set:?} {form:?}");
        }
        assert!(!check("Caffe Lungo 47!", &hash).await);
    }
    // A hash that was made of the text as it was typed.
    let old =
        "$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$RorkWtUrlGmo7Loy/yqdHnSzWCB/xAyPbznmnMpCGjA";
    assert!(check("e\u{301}", old).await && !check("\u{e9}", old).await);
});

api_test!(upper_and_lower_case_are_one_in_every_script, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for (i, (name, search)) in [
        ("Παπαδοπουλος", "ΠΑΠΑΔΟΠΟΥΛΟΣ"),
        ("ΑΘΗΝΑΣ", "αθηνας"),
        ("Straße", "STRASSE"),
        ("STRASSE 2", "straße 2"),
        ("Ärger", "ärger"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"name": name, "custom_data": {"vat": format!("C{i}")}});
        post(&t, &owner, "/api/customers", &body).await.expect(201);
        let answer = get(&t, &owner, &format!("/api/customers?search={}", escaped(search))).await;
        let names: Vec<&str> =
            answer["customers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert!(names.contains(&name), "{search}: {names:?}");
    }
    post(&t, &owner, "/api/users", &user("Παπας@x.example", tree.customer)).await.expect(201);
    let refused = refusals(&post(&t, &owner, "/api/users", &user("ΠΑΠΑΣ@X.example", tree.customer)).await);
    assert_eq!(refused, ["email: already_exists"]);
});

fn escaped(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

api_test!(stored_texts_follow_a_new_rule_of_folding, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let people = [t.user(tree.customer, &["reader"]).await, t.user(tree.customer, &["reader"]).await];
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let old = [
        Q::new("UPDATE text_folding SET rule = 1"),
        Q::new("UPDATE organizations SET name = ?, name_key = ?, search_key = ?, vat_key = ? WHERE id = ?")
            .bind("Παπας Straße")
            .bind("παπας straße")
            .bind("παπας straße\u{1f}")
            .bind("IT\u{200e}7")
            .bind(tree.reseller),
        Q::new("UPDATE users SET email = ?, email_key = ? WHERE id = ?")
            .bind("σ@ü.example")
            .bind("σ@ü.example")
            .bind(people[0].id),
        // By the newer rule the same address as the other's.
        Q::new("UPDATE users SET email = ?, email_key = ? WHERE id = ?")
            .bind("ς@ü.example")
            .bind("ς@ü.example")
            .bind(people[1].id),
    ];
    for q in old {
        q.run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    t.app.platform.db.migrate().await.unwrap();
    let key: (String, String, String) =
        Q::new("SELECT name_key, search_key, vat_key FROM organizations WHERE id = ?")
            .bind(tree.reseller)
            .one(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(key, ("παπασ strasse".into(), "παπασ strasse\u{1f}".into(), "IT7".into()));
    let keys: Vec<(String,)> = Q::new("SELECT email_key FROM users WHERE email_key LIKE '%.example' AND email_key NOT LIKE '%.org' ORDER BY email_key").all(&t.app.platform.db).await.unwrap();
    let keys: Vec<String> = keys.into_iter().map(|(key,)| key).filter(|key| !key.is_ascii()).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert_eq!(keys.iter().filter(|key| *key == "σ@xn--tda.example").count(), 1, "{keys:?}");
    for person in &people {
        get(&t, &owner, &format!("/api/users/{}", person.id)).await;
    }
    let rule: (i64,) = Q::new("SELECT rule FROM text_folding").one(&t.app.platform.db).await.unwrap();
    assert!(rule.0 > 1);
});

api_test!(colleagues_share_a_phone, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let mut ids = Vec::new();
    for email in ["one@x.example", "two@x.example"] {
        let mut body = user(email, tree.customer);
        body["phone"] = json!("+39 011 5550100");
        ids.push(
            post(&t, &owner, "/api/users", &body).await.expect(201).data()["id"].as_str().unwrap().to_owned(),
        );
    }
    let path = format!("/api/users/{}", ids[0]);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    t.patch(&format!("{path}/restore")).bearer(&owner.token).send().await.expect(200);
    let d = t.user(tree.distributor, &["admin"]).await;
    let lines = [
        "three@x.example,C,+39 0115550100,Alfa Customer,Reader",
        "four@x.example,D,+390115550100,Alfa Customer,Reader",
    ];
    let file = format!("email,name,phone,company_name,roles\n{}\n", lines.join("\n"));
    let preview = upload(&t, &d, "users", &file).await.expect(200).data();
    assert_eq!(row_issues(&preview), ["valid:", "valid:"]);
});

api_test!(the_audit_record_finds_nobody_that_it_hides, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let reseller = t.user(tree.reseller, &["admin"]).await;
    t.post("/api/impersonate/consent")
        .bearer(&reseller.token)
        .json(json!({"duration_hours": 1}))
        .send()
        .await
        .expect(200);
    let started =
        post(&t, &owner, "/api/impersonate", &json!({"user_id": reseller.id})).await.expect(200).data();
    let token = started["token"].as_str().unwrap();
    let body = json!({"name": "Made by the owner", "custom_data": {"vat": "A1"}});
    t.post("/api/customers").bearer(token).json(body).send().await.expect(201);
    let rows = async |who: &Persona, query: &str| {
        get(&t, who, &format!("/api/audit?page_size=100{query}")).await["audit"].as_array().unwrap().clone()
    };
    let shown = rows(&reseller, "").await;
    assert!(
        shown.iter().any(|row| row["action"] == "customer.create" && row["actor"].is_null()),
        "{shown:?}"
    );
    let stranger = t.user(tree.other_reseller, &["admin"]).await;
    for hidden in [owner.id, stranger.id] {
        assert_eq!(rows(&reseller, &format!("&actor_id={hidden}")).await, Vec::<Value>::new());
    }
    // Whoever may be shown is found.
    assert!(!rows(&owner, &format!("&actor_id={}&action=customer.create", owner.id)).await.is_empty());
    let own = rows(&reseller, &format!("&actor_id={}", reseller.id)).await;
    assert!(own.iter().all(|row| row["actor"]["id"] == json!(reseller.id)) && !own.is_empty(), "{own:?}");
    // Nor once the impersonator is gone.
    let helper = t.user(tree.distributor, &["super"]).await;
    let started =
        post(&t, &helper, "/api/impersonate", &json!({"user_id": reseller.id})).await.expect(200).data();
    let token = started["token"].as_str().unwrap();
    t.post("/api/customers")
        .bearer(token)
        .json(json!({"name": "B", "custom_data": {"vat": "A2"}}))
        .send()
        .await
        .expect(201);
    t.delete(&format!("/api/users/{}", helper.id)).bearer(&owner.token).send().await.expect(200);
    t.delete(&format!("/api/users/{}/destroy", helper.id)).bearer(&owner.token).send().await.expect(200);
    assert_eq!(rows(&reseller, &format!("&actor_id={}", helper.id)).await, Vec::<Value>::new());
    assert!(!rows(&owner, &format!("&actor_id={}&action=customer.create", helper.id)).await.is_empty());
});
