//! Rows of users.

use super::*;
use bailiwick_domain::OrgType;
use bailiwick_store::identities;

/// A user by e-mail, as the list shows them.
async fn by_email(t: &Test, who: &Persona, email: &str) -> Value {
    let list = get(t, who, &format!("/api/users?search={email}")).await;
    let found = list["users"].as_array().unwrap().iter().find(|user| user["email"] == email).cloned();
    found.unwrap_or_default()
}

fn user(email: &str, roles: &[&str], organization: impl serde::Serialize) -> Value {
    json!({"email": email, "name": "Prima", "user_role_ids": roles, "organization_id": organization})
}

api_test!(the_answers_of_an_import, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for _ in 0..2 {
        t.organization(tree.distributor, OrgType::Customer, "Doppia").await;
    }
    let body = json!({"email": "old@example.org", "name": "Prima", "phone": "+39 011 5550109",
        "user_role_ids": ["reader"], "organization_id": tree.reseller, "custom_data": {"desk": 4}});
    let old = post(&t, &d, "/api/users", body).await;
    let lines = [
        "Anna.Neri@example.org,Anna Neri,+39 011 5550100,alfa customer,support; Reader;READER",
        ",,12,Nessuna,Capo",
        "OLD@example.org,Dopo,,Alfa Customer,Support",
        "x@example.org,X,,doppia,Reader",
    ];
    let preview = validated(&t, &d, "users", &lines).await;
    insta::assert_json_snapshot!("users_validated", masked(preview.clone()));
    assert_eq!(preview["rows"][0]["data"]["organization_id"], json!(tree.customer));
    let body = json!({"import_id": preview["import_id"], "override": true});
    let done = send_confirm(&t, &d, "users", body).await;
    let done = done.expect_message(200, "users imported successfully").data();
    insta::assert_json_snapshot!("users_confirmed", masked(done.clone()));
    // Created by the rules of POST: derived user name, digits, a generated password.
    let id = done["results"][0]["id"].as_str().unwrap();
    let made = get(&t, &d, &format!("/api/users/{id}")).await;
    assert_eq!((&made["username"], &made["phone"]), (&json!("Anna_Neri"), &json!("390115550100")));
    assert_eq!(
        made["roles"],
        json!([{"id": "support", "name": "Support"}, {"id": "reader", "name": "Reader"}])
    );
    assert_eq!(
        (&made["organization"]["id"], &made["created_by"]["user_id"]),
        (&json!(tree.customer), &json!(d.id))
    );
    let password = identities::password(&t.app.platform.db, id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(password.generated_at, Some(t.app.platform.now()));
    // The change follows the rules of PUT: the user moves, an empty phone removes theirs, and fields that the file
    // lacks stay.
    assert_eq!(done["results"][2]["id"], json!(old));
    let changed = get(&t, &d, &format!("/api/users/{old}")).await;
    assert_eq!((&changed["name"], &changed["email"]), (&json!("Dopo"), &json!("old@example.org")));
    assert_eq!((&changed["phone"], &changed["custom_data"]), (&Value::Null, &json!({"desk": 4})));
    assert_eq!(changed["organization"]["id"], json!(tree.customer));
    assert_eq!(changed["roles"], json!([{"id": "support", "name": "Support"}]));
});

api_test!(every_issue_of_a_row, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let taken = json!({"email": "a@example.org", "name": "A", "phone": "+39 011 5550100",
        "user_role_ids": ["reader"], "organization_id": tree.customer});
    post(&t, &d, "/api/users", taken).await;
    let (long, roles) = ("x".repeat(256), "x".repeat(1001));
    let lines = [
        ",,12,,".to_owned(),
        ";,;,;,;,;".to_owned(),
        format!("{long}@x.example,{long},{long},{long},{roles}"),
        "b@example.org,B,0115550101,Alfa Customer,Reader;Capo;capo".to_owned(),
        "c@example.org,C,,Beta Customer,Super Admin".to_owned(),
        "d@example.org,D,,Alfa Customer,super".to_owned(),
        "e@example.org,E,+39011-5550102,Alfa Customer,Admin".to_owned(),
        "E@Example.ORG,E,(0),Alfa Customer,Admin".to_owned(),
        "f@example.org,F,+(39) 0115550102,Alfa Customer,Admin".to_owned(),
        "g@example.org,G,+39 0115550100,Alfa Customer,Admin".to_owned(),
        "A@example.org,A,+39 0115550100,Alfa Customer,Admin".to_owned(),
        "h@example.org,H,,Alfa Distributor,Admin".to_owned(),
        "i@example.org,I,,Owner,Admin".to_owned(),
        "j@example.org,J,,Alfa Customer,Super Admin".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "users", &lines).await;
    let expected = [
        "error: email required; name required; phone invalid_format [12]; company_name required; \
         roles at_least_one_required"
            .to_owned(),
        "error: email invalid_format [;]; phone invalid_format [;]; company_name not_found [;]; \
         roles at_least_one_required"
            .to_owned(),
        format!(
            "error: email too_long [{long}@x.example]; name too_long [{long}]; phone invalid_format [{long}]; \
             company_name too_long [{long}]; roles too_long [{roles}]"
        ),
        "error: phone invalid_format [0115550101]; roles unknown [Capo] [capo]".to_owned(),
        "error: company_name not_found [Beta Customer]".to_owned(),
        "error: roles unknown [super]".to_owned(),
        "valid:".to_owned(),
        "error: email duplicate_in_csv [E@Example.ORG] [8]; phone invalid_format [(0)]".to_owned(),
        // Colleagues share a number.
        "valid:".to_owned(),
        "valid:".to_owned(),
        "warning: email already_exists [A@example.org]".to_owned(),
        "valid:".to_owned(),
        "error: company_name not_found [Owner]".to_owned(),
        "error: roles insufficient_privileges [Super Admin]".to_owned(),
    ];
    assert_eq!(row_issues(&preview), expected);
    let done = confirmed(&t, &d, "users", &preview, true).await;
    let counts = ["created", "updated", "skipped", "failed"];
    assert_eq!(counts.map(|key| done[key].as_u64().unwrap()), [4, 1, 9, 0], "{done}");
    assert!(outcomes(&done).iter().all(|o| ["created", "updated", "skipped error"].contains(&&**o)));
});

// Proves spec: guarantees#identity 3.
api_test!(roles_that_do_not_exist_or_go_too_far_are_refused, |t| async move {
    let tree = t.tree().await;
    let backoffice = t.user(tree.distributor, &["backoffice"]).await;
    let owner = t.owner().await;
    let lines = [
        "a@example.org,A,,Alfa Customer,Reader;Admin",
        "b@example.org,B,,Alfa Customer,Backoffice",
        "c@example.org,C,,Alfa Customer,Super Admin",
        "d@example.org,D,,Alfa Customer,Reader;Nessuno",
    ];
    let preview = validated(&t, &backoffice, "users", &lines).await;
    let expected = [
        "error: roles insufficient_privileges [Admin]",
        "valid:",
        "error: roles insufficient_privileges [Super Admin]",
        "error: roles unknown [Nessuno]",
    ];
    assert_eq!(row_issues(&preview), expected);
    let preview = validated(&t, &owner, "users", &lines[..3]).await;
    assert_eq!(row_issues(&preview), ["valid:", "valid:", "valid:"]);
    // The caller has fewer rights at the confirmation than at the validation: the rights at the confirmation decide
    // about every row.
    let preview = validated(&t, &owner, "users", &lines[..2]).await;
    let admin = t.user(tree.owner, &["admin"]).await;
    let by_admin = validated(&t, &admin, "users", &lines[..2]).await;
    let path = format!("/api/users/{}", admin.id);
    let roles = json!({"user_role_ids": ["backoffice"]});
    t.put(&path).bearer(&owner.token).json(roles).send().await.expect(200);
    let done = confirmed(&t, &admin, "users", &by_admin, false).await;
    assert_eq!(outcomes(&done), ["skipped error", "created"]);
    let done = confirmed(&t, &owner, "users", &preview, false).await;
    assert_eq!(outcomes(&done), ["created", "skipped warning_not_overridden"]);
});

// Proves spec: guarantees#identity 6, authorization#guarantees 7.
api_test!(nobody_overrides_himself_or_somebody_above_him, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let backoffice = t.user(tree.distributor, &["backoffice"]).await;
    let boss = t.user(tree.distributor, &["super"]).await;
    let peer = t.user(tree.distributor, &["admin"]).await;
    let mut emails = Vec::new();
    for persona in [&d, &backoffice, &boss, &peer] {
        let user = identities::get(&t.app.platform.db, persona.id).await.unwrap().unwrap();
        emails.push(user.email);
    }
    let lines: Vec<String> = emails
        .iter()
        .map(|email| format!("{},Altro nome,,Alfa Customer,Reader", email.to_uppercase()))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "users", &lines).await;
    let refused = |row: usize| {
        let email = emails[row].to_uppercase();
        format!("error: email insufficient_privileges; email already_exists [{email}]")
    };
    let warned = |row: usize| format!("warning: email already_exists [{}]", emails[row].to_uppercase());
    assert_eq!(row_issues(&preview), [refused(0), warned(1), refused(2), warned(3)]);
    let done = confirmed(&t, &d, "users", &preview, true).await;
    assert_eq!(outcomes(&done), ["skipped error", "updated", "skipped error", "updated"]);
    for (persona, is_changed) in [(&d, false), (&backoffice, true), (&boss, false), (&peer, true)] {
        let user = identities::get(&t.app.platform.db, persona.id).await.unwrap().unwrap();
        assert_eq!(user.name == "Altro nome", is_changed);
    }
    let preview = validated(&t, &t.user(tree.distributor, &["backoffice"]).await, "users", &lines[..1]).await;
    assert_eq!(row_issues(&preview), [refused(0)]);
});

api_test!(an_organization_that_several_are_called_is_chosen, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let first = t.organization(tree.distributor, OrgType::Customer, "Doppia").await;
    t.advance(Duration::from_secs(1));
    let second = t.organization(tree.distributor, OrgType::Reseller, "DOPPIA").await;
    let foreign = t.organization(tree.other_distributor, OrgType::Customer, "Doppia").await;
    let gone = t.organization(tree.distributor, OrgType::Customer, "doppia").await;
    t.delete_organization(gone).await;
    let lines: Vec<String> = (0..8)
        .map(|n| format!("u{n}@example.org,U,,doppia,{}", if n == 7 { "Capo" } else { "Reader" }))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "users", &lines).await;
    assert_eq!((&preview["ambiguous_rows"], &preview["error_rows"]), (&json!(7), &json!(1)));
    let issue = &preview["rows"][0]["errors"][0];
    let candidate = |id, name: &str, org_type: &str| json!({"logto_id": id, "name": name, "type": org_type});
    let candidates = [candidate(first, "Doppia", "customer"), candidate(second, "DOPPIA", "reseller")];
    let expected = json!({"field": "company_name", "message": "ambiguous", "values": ["doppia"],
        "candidates": candidates});
    assert_eq!(*issue, expected);
    // The row needs a choice, but it is not wrong. Only an issue that offers a choice has candidates.
    assert_eq!(
        (&preview["rows"][0]["status"], &preview["rows"][0]["warnings"]),
        (&json!("ambiguous"), &json!([]))
    );
    let wrong = &preview["rows"][7]["errors"];
    assert_eq!((wrong[0].get("candidates").is_some(), wrong[1].get("candidates")), (true, None));
    let chosen = |id: String| json!({"organization_id": id});
    let resolutions = json!({
        "2": chosen(first.to_string()), "3": chosen(second.to_string().to_uppercase()),
        "4": chosen(foreign.to_string()), "5": chosen(gone.to_string()), "6": chosen(tree.customer.to_string()),
        "7": {"organization_id": 7}, "9": chosen(first.to_string()), "1": chosen(first.to_string()), "x": 1,
    });
    let body = json!({"import_id": preview["import_id"], "resolutions": resolutions});
    let done = send_confirm(&t, &d, "users", body).await.expect(200).data();
    let open = "skipped ambiguous_unresolved";
    assert_eq!(outcomes(&done), ["created", "created", open, open, open, open, open, "skipped error"]);
    assert_eq!(by_email(&t, &d, "u0@example.org").await["organization"]["id"], json!(first));
    assert_eq!(by_email(&t, &d, "u1@example.org").await["organization"]["id"], json!(second));
    // The other branch sees its one organization of that name.
    let other = t.user(tree.other_distributor, &["admin"]).await;
    let preview = validated(&t, &other, "users", &["v@example.org,V,,doppia,Reader"]).await;
    assert_eq!(preview["rows"][0]["data"]["organization_id"], json!(foreign));
});

api_test!(a_choice_does_not_lift_the_other_rules, |t| async move {
    let tree = t.tree().await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(t.organization(tree.reseller, OrgType::Customer, "Doppia").await);
    }
    post(&t, &r, "/api/users", user("e@example.org", &["reader"], tree.customer)).await;
    let lines = ["e@example.org,E,,Doppia,Reader", "s@example.org,S,,Doppia,Super Admin"];
    let preview = validated(&t, &r, "users", &lines).await;
    assert_eq!(
        row_issues(&preview)[0],
        "ambiguous: company_name ambiguous [Doppia]; email already_exists [e@example.org]"
    );
    let choice = json!({"organization_id": ids[1]});
    let resolutions = json!({"2": choice, "3": choice});
    let body = json!({"import_id": preview["import_id"], "resolutions": resolutions});
    let done = send_confirm(&t, &r, "users", body).await.expect(200).data();
    assert_eq!(outcomes(&done), ["skipped warning_not_overridden", "skipped error"]);
    let preview = validated(&t, &r, "users", &lines).await;
    let body = json!({"import_id": preview["import_id"], "resolutions": resolutions, "override": true});
    let done = send_confirm(&t, &r, "users", body).await.expect(200).data();
    assert_eq!(outcomes(&done), ["updated", "skipped error"]);
    assert_eq!(by_email(&t, &r, "e@example.org").await["organization"]["id"], json!(ids[1]));
});

// Proves spec: authorization#guarantees 6.
api_test!(addresses_phones_and_organizations_out_of_reach_are_unknown, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let other = t.user(tree.other_distributor, &["admin"]).await;
    let body = json!({"email": "f@example.org", "name": "Altrui", "phone": "+39 011 5550100",
        "user_role_ids": ["reader"], "organization_id": tree.other_customer});
    let foreign = post(&t, &other, "/api/users", body).await;
    post(&t, &other, "/api/users", user("gone@example.org", &["reader"], tree.other_customer)).await;
    let gone = by_email(&t, &other, "gone@example.org").await["id"].as_str().unwrap().to_owned();
    t.delete(&format!("/api/users/{gone}")).bearer(&other.token).send().await.expect(200);
    let lines = [
        "f@example.org,Mio,,Alfa Customer,Reader",
        "g@example.org,Mio,+39 011 5550100,Alfa Customer,Reader",
        "h@example.org,Mio,,Beta Customer,Reader",
        "gone@example.org,Mio,,Alfa Customer,Reader",
    ];
    let preview = validated(&t, &d, "users", &lines).await;
    assert_eq!(
        row_issues(&preview),
        ["valid:", "valid:", "error: company_name not_found [Beta Customer]", "valid:"]
    );
    let unknown = validated(&t, &d, "users", &["h@example.org,Mio,,Nessuna,Reader"]).await;
    assert_eq!(row_issues(&unknown), ["error: company_name not_found [Nessuna]"]);
    let done = confirmed(&t, &d, "users", &preview, true).await;
    let expected = ["failed email: already_exists", "created", "skipped error", "created"];
    assert_eq!(outcomes(&done), expected);
    assert_eq!(name_of(&t, &other, format!("/api/users/{foreign}")).await, "Altrui");
    // A customer's people do not even reach their reseller.
    let c = t.user(tree.customer, &["admin"]).await;
    let lines = ["k@example.org,K,,Alfa Reseller,Reader", "l@example.org,L,,Alfa Customer,Reader"];
    assert_eq!(
        row_issues(&validated(&t, &c, "users", &lines).await),
        ["error: company_name not_found [Alfa Reseller]", "valid:"]
    );
});

api_test!(addresses_of_deleted_users_are_archived, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let gone = post(&t, &d, "/api/users", user("own@example.org", &["reader"], tree.customer)).await;
    t.delete(&format!("/api/users/{gone}")).bearer(&d.token).send().await.expect(200);
    let home = t.organization(tree.distributor, OrgType::Customer, "Chiusa").await;
    post(&t, &d, "/api/users", user("hidden@example.org", &["reader"], home)).await;
    t.delete(&format!("/api/customers/{home}")).bearer(&d.token).send().await.expect(200);
    let lines = ["OWN@example.org,A,,Alfa Customer,Reader", "hidden@example.org,B,,Alfa Customer,Reader"];
    let preview = validated(&t, &d, "users", &lines).await;
    assert_eq!(
        row_issues(&preview),
        ["error: email archived [OWN@example.org]", "error: email archived [hidden@example.org]"]
    );
    assert_eq!(
        outcomes(&confirmed(&t, &d, "users", &preview, true).await),
        ["skipped error", "skipped error"]
    );
    // A new user has the address by now, and is the one that the import finds.
    post(&t, &d, "/api/users", user("own@example.org", &["reader"], tree.customer)).await;
    let preview = validated(&t, &d, "users", &lines[..1]).await;
    assert_eq!(row_issues(&preview), ["warning: email already_exists [OWN@example.org]"]);
});

api_test!(nobody_is_imported_into_the_owner_organization, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let name = bailiwick_store::organizations::get(&t.app.platform.db, tree.owner)
        .await
        .unwrap()
        .unwrap()
        .details
        .name;
    let preview = validated(&t, &owner, "users", &[&format!("x@example.org,X,,{name},Reader")]).await;
    assert_eq!(row_issues(&preview), [format!("error: company_name not_found [{name}]")]);
});

api_test!(a_suspended_organization_takes_nobody_and_keeps_who_is_there, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    post(&t, &d, "/api/users", user("in@example.org", &["reader"], tree.customer)).await;
    t.suspend_organization(tree.customer).await;
    let lines = ["new@example.org,N,,Alfa Customer,Reader", "in@example.org,Dopo,,Alfa Customer,Reader"];
    let preview = validated(&t, &d, "users", &lines).await;
    let done = confirmed(&t, &d, "users", &preview, true).await;
    assert_eq!(outcomes(&done), ["skipped error", "updated"]);
    assert_eq!(by_email(&t, &d, "in@example.org").await["name"], "Dopo");
});

api_test!(users_change_between_the_two_looks, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let owner = t.owner().await;
    let home = t.organization(tree.distributor, OrgType::Customer, "Passa").await;
    let risen = post(&t, &d, "/api/users", user("risen@example.org", &["reader"], tree.customer)).await;
    let moved = post(&t, &d, "/api/users", user("moved@example.org", &["reader"], tree.customer)).await;
    let lines = [
        "risen@example.org,Dopo,,Alfa Customer,Reader",
        "moved@example.org,Dopo,,Alfa Customer,Reader",
        "a@example.org,Dopo,,Passa,Reader",
        "b@example.org,Dopo,,Alfa Customer,Reader",
    ];
    let preview = validated(&t, &d, "users", &lines).await;
    assert_eq!((&preview["warning_rows"], &preview["valid_rows"]), (&json!(2), &json!(2)));
    let put = async |id: &str, body: Value| {
        t.put(&format!("/api/users/{id}")).bearer(&owner.token).json(body).send().await.expect(200);
    };
    put(&risen, json!({"user_role_ids": ["super"]})).await;
    put(&moved, json!({"organization_id": tree.other_customer})).await;
    t.delete(&format!("/api/customers/{home}")).bearer(&d.token).send().await.expect(200);
    let done = confirmed(&t, &d, "users", &preview, true).await;
    // A user who has left is out of reach: their address is merely taken.
    let expected = ["skipped error", "failed email: already_exists", "skipped error", "created"];
    assert_eq!(outcomes(&done), expected);
    for id in [&risen, &moved] {
        assert_eq!(name_of(&t, &owner, format!("/api/users/{id}")).await, "Prima");
    }
});

api_test!(a_suspended_organization_is_named_before_anything_is_confirmed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let body = json!({"email": "old@example.org", "name": "Prima", "user_role_ids": ["reader"],
        "organization_id": tree.customer});
    post(&t, &owner, "/api/users", body).await;
    let elsewhere = json!({"email": "other@example.org", "name": "Prima", "user_role_ids": ["reader"],
        "organization_id": tree.other_customer});
    post(&t, &owner, "/api/users", elsewhere).await;
    let lines = [
        "new@example.org,A,,Alfa Customer,Reader",
        "old@example.org,B,,Alfa Customer,Reader",
        "other@example.org,C,,Alfa Customer,Reader",
        ",D,,Alfa Customer,Reader",
    ];
    let before = validated(&t, &owner, "users", &lines[..1]).await;
    assert_eq!(row_issues(&before), ["valid:"]);
    let path = format!("/api/customers/{}/suspend", tree.customer);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    let preview = validated(&t, &owner, "users", &lines).await;
    let expected = [
        "error: company_name organization is not active [Alfa Customer]",
        // A user who is already there may be changed, as by PUT.
        "warning: email already_exists [old@example.org]",
        "error: company_name organization is not active [Alfa Customer]; email already_exists [other@example.org]",
        "error: email required; company_name organization is not active [Alfa Customer]",
    ];
    assert_eq!(row_issues(&preview), expected);
    let done = confirmed(&t, &owner, "users", &preview, true).await;
    assert_eq!(outcomes(&done), ["skipped error", "updated", "skipped error", "skipped error"]);
    // The confirmation finds the changes since the validation.
    assert_eq!(outcomes(&confirmed(&t, &owner, "users", &before, true).await), ["skipped error"]);
    let path = format!("/api/distributors/{}", tree.distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    let gone = validated(&t, &owner, "users", &lines[..1]).await;
    assert_eq!(row_issues(&gone), ["error: company_name not_found [Alfa Customer]"]);
});
