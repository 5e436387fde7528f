//! Rows of distributors, resellers and customers.

use super::*;

api_test!(the_answers_of_an_import, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let body =
        json!({"name": "Vecchia", "custom_data": {"vat": "IT7", "floor": 3, "city": "Asti", "notes": "n"}});
    let old = post(&t, &d, "/api/customers", body).await;
    let full = "Delta Srl,Fiori,IT5,Via Po 1,Torino,A. Neri,info@delta.example,+39 011 123456,en,Nota";
    let lines = [full, ",,it 5,,,,,,,", "Nuova,D,IT 7,,Alba,,,,,", "Epsilon,,IT8,,,,,,,"];
    let preview = validated(&t, &d, "customers", &lines).await;
    insta::assert_json_snapshot!("validated", masked(preview.clone()));
    t.advance(Duration::from_secs(5));
    let done = confirmed(&t, &d, "customers", &preview, true).await;
    insta::assert_json_snapshot!("confirmed", masked(done.clone()));
    let now = t.app.platform.now();
    let made = get(&t, &d, &format!("/api/customers/{}", done["results"][0]["id"].as_str().unwrap())).await;
    assert_eq!(
        made["custom_data"],
        json!({"vat": "IT5", "address": "Via Po 1", "city": "Torino", "main_contact": "A. Neri",
            "email": "info@delta.example", "phone": "+39 011 123456", "language": "en", "notes": "Nota",
            "type": "customer", "createdBy": tree.distributor, "createdAt": now.rfc3339(0)})
    );
    assert_eq!((&made["name"], &made["description"]), (&json!("Delta Srl"), &json!("Fiori")));
    assert_eq!(made["created_by"]["user_id"], json!(d.id));
    // The override follows PUT: its values are laid over the stored ones, and other keys stay.
    assert_eq!(done["results"][2]["id"], json!(old));
    let changed = get(&t, &d, &format!("/api/customers/{old}")).await;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Nuova"), &json!("D")));
    let data = &changed["custom_data"];
    assert_eq!((&data["vat"], &data["floor"], &data["city"]), (&json!("IT 7"), &json!(3), &json!("Alba")));
    assert_eq!((&data["notes"], &data["language"]), (&json!(""), &json!("en")));
    assert_eq!((&data["updatedBy"], &data["updatedAt"]), (&json!(tree.distributor), &json!(now.rfc3339(0))));
    // The audit log records each row as the creation or the change that it was.
    let rows: Vec<(String,)> = Q::new("SELECT action FROM audit_log WHERE at = ? ORDER BY id")
        .bind(now)
        .all(&t.app.platform.db)
        .await
        .unwrap();
    let actions: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    assert_eq!(actions, ["customer.create", "customer.update", "customer.create"]);
});

// Proves spec: acceptance#scenarios 15.
api_test!(every_issue_of_a_row_in_every_family, |t| async move {
    let owner = t.owner().await;
    let long = |n: usize| "x".repeat(n);
    for family in FAMILIES {
        let wide = [501, 256, 256, 256, 1001].map(long);
        let [description, address, city, contact, notes] = &wide;
        let lines = [
            format!("{}x", line("", "")),
            format!("{}x", line(" ", "\t")),
            line(&long(255), &long(255)),
            line(&long(256), &long(256)),
            format!("a,{},1,{},{},{},,,,{}", long(500), long(255), long(255), long(255), long(1000)),
            format!("a,{description},2,{address},{city},{contact},,,,{notes}"),
            "a,,3,,,,info,123,fr,".to_owned(),
            "a,,4,,,,A <a@x.example>,0123 45678,IT,".to_owned(),
            "a,,5,,,,a@x.example,+1234567,it,".to_owned(),
            "a,,6,,,,,+123456,en,".to_owned(),
            line("a", " IT 1 2 "),
            line("b", "it12"),
            line("c", "I T12"),
            // A number that is wrong itself is compared with nothing.
            line("a\0", "\0"),
            line("b", "\0"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let preview = validated(&t, &owner, family, &lines).await;
        let expected = [
            "error: company_name required; vat_number required",
            "error: company_name required; vat_number required",
            "valid:",
            &format!("error: company_name too_long [{0}]; vat_number too_long [{0}]", long(256)),
            "valid:",
            &format!(
                "error: description too_long [{description}]; address too_long [{address}]; city too_long [{city}]; \
                 main_contact too_long [{contact}]; notes too_long [{notes}]"
            ),
            "error: email invalid_format [info]; phone invalid_format [123]; language invalid_format [fr]",
            "error: email invalid_format [A <a@x.example>]; phone invalid_format [0123 45678]",
            "valid:",
            "error: phone invalid_format [+123456]",
            "valid:",
            "error: vat_number duplicate_in_csv [it12] [12]",
            "error: vat_number duplicate_in_csv [I T12] [12]",
            "error: company_name invalid_format [a\0]; vat_number invalid_format [\0]",
            "error: vat_number invalid_format [\0]",
        ];
        assert_eq!(row_issues(&preview), expected, "{family}");
        let counts = ["total_rows", "valid_rows", "error_rows", "warning_rows", "ambiguous_rows"];
        assert_eq!(counts.map(|key| preview[key].as_u64().unwrap()), [15, 4, 11, 0, 0]);
        let done = confirmed(&t, &owner, family, &preview, false).await;
        let counts = ["created", "updated", "skipped", "failed"];
        assert_eq!(counts.map(|key| done[key].as_u64().unwrap()), [4, 0, 11, 0], "{done}");
        let list = get(&t, &owner, &format!("/api/{family}")).await;
        assert_eq!(list["pagination"]["total_count"], 4);
    }
});

// Proves spec: guarantees#organizations 10.
api_test!(an_import_and_the_json_operations_agree_about_name_and_vat, |t| async move {
    let owner = t.owner().await;
    let texts = ["", " ", "a", "a\0", "0", &"é".repeat(255), &"é".repeat(256), "=x", "\u{a0}"];
    for (n, text) in texts.iter().enumerate() {
        for (name, vat) in [(*text, format!("N{n}")), ("n", (*text).to_owned())] {
            let body = json!({"name": name, "custom_data": {"vat": vat}});
            let json = t.post("/api/customers").bearer(&owner.token).json(body.clone()).send().await;
            let preview = validated(&t, &owner, "resellers", &[&line(name, &vat)]).await;
            assert_eq!(preview["valid_rows"] == 1, json.status == 201, "{body}: {preview}");
        }
    }
});

// Proves spec: acceptance#scenarios 15.
api_test!(numbers_that_exist_are_warned_of_and_overridden_only_on_demand, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for family in ["distributors", "resellers"] {
        let body = json!({"name": "Prima", "custom_data": {"vat": "IT 50"}});
        let id = post(&t, &owner, &format!("/api/{family}"), body).await;
        let preview = validated(&t, &owner, family, &[&line("Seconda", "it50")]).await;
        assert_eq!(row_issues(&preview), ["warning: vat_number already_exists [it50]"]);
        let done = confirmed(&t, &owner, family, &preview, false).await;
        assert_eq!(outcomes(&done), ["skipped warning_not_overridden"]);
        let path = format!("/api/{family}/{id}");
        assert_eq!(name_of(&t, &owner, path.clone()).await, "Prima");
        // Suspended ones count as well.
        t.patch(&format!("{path}/suspend")).bearer(&owner.token).send().await.expect(200);
        let preview = validated(&t, &owner, family, &[&line("Seconda", "it50"), &line("", "it50")]).await;
        let duplicate = "error: company_name required; vat_number duplicate_in_csv [it50] [2]; \
                         vat_number already_exists [it50]";
        assert_eq!(row_issues(&preview), ["warning: vat_number already_exists [it50]", duplicate]);
        let done = confirmed(&t, &owner, family, &preview, true).await;
        assert_eq!(outcomes(&done), ["updated", "skipped error"]);
        assert_eq!(done["results"][0]["id"], json!(id));
        assert_eq!(name_of(&t, &owner, path).await, "Seconda");
    }
    // One number may be a distributor's and a reseller's.
    let d = t.user(tree.distributor, &["admin"]).await;
    let preview = validated(&t, &d, "customers", &[&line("Terza", "IT50")]).await;
    assert_eq!(row_issues(&preview), ["valid:"]);
});

api_test!(customers_are_matched_among_the_own_children_alone, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let body = |name: &str, vat: &str| json!({"name": name, "custom_data": {"vat": vat}});
    let below = post(&t, &r, "/api/customers", body("Sotto", "C1")).await;
    // The child of a reseller is in reach, but not the distributor's own child.
    assert_eq!(row_issues(&validated(&t, &d, "customers", &[&line("x", "c 1")]).await), ["valid:"]);
    assert_eq!(
        row_issues(&validated(&t, &r, "customers", &[&line("x", "c 1")]).await),
        ["warning: vat_number already_exists [c 1]"]
    );
    let oldest = post(&t, &d, "/api/customers", body("Uno", "C2")).await;
    t.advance(Duration::from_secs(1));
    let younger = post(&t, &d, "/api/customers", body("Due", "c2")).await;
    let preview = validated(&t, &d, "customers", &[&line("Tre", "C2")]).await;
    let done = confirmed(&t, &d, "customers", &preview, true).await;
    assert_eq!(done["results"][0]["id"], json!(oldest));
    let path = |id: &str| format!("/api/customers/{id}");
    assert_eq!(name_of(&t, &d, path(&oldest)).await, "Tre");
    assert_eq!(name_of(&t, &d, path(&younger)).await, "Due");
    assert_eq!(name_of(&t, &d, path(&below)).await, "Sotto");
    // Deleted customers hinder no import: the numbers of customers need not be unique.
    for id in [&oldest, &younger] {
        t.delete(&path(id)).bearer(&d.token).send().await.expect(200);
    }
    assert_eq!(row_issues(&validated(&t, &d, "customers", &[&line("Tre", "C2")]).await), ["valid:"]);
    // A number of zeros only means that there is none.
    post(&t, &d, "/api/customers", body("Zero", "00000000000")).await;
    let zeros = [
        line("a", "00000000000"),
        line("b", "000 00000000"),
        line("c", "0"),
        line("d", "00x"),
        line("e", "00X"),
    ];
    let zeros: Vec<&str> = zeros.iter().map(String::as_str).collect();
    let duplicate = "error: vat_number duplicate_in_csv [00X] [5]";
    let preview = validated(&t, &d, "customers", &zeros).await;
    assert_eq!(row_issues(&preview), ["valid:", "valid:", "valid:", "valid:", duplicate]);
    let preview = validated(&t, &d, "resellers", &zeros[..2]).await;
    assert_eq!(row_issues(&preview), ["valid:", "error: vat_number duplicate_in_csv [000 00000000] [2]"]);
});

api_test!(numbers_of_deleted_organizations_are_archived, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let body = |vat: &str| json!({"name": "Via", "custom_data": {"vat": vat}});
    let gone = post(&t, &d, "/api/resellers", body("A1")).await;
    t.delete(&format!("/api/resellers/{gone}")).bearer(&d.token).send().await.expect(200);
    let preview = validated(&t, &d, "resellers", &[&line("x", "a1")]).await;
    assert_eq!(row_issues(&preview), ["error: vat_number archived [a1]"]);
    assert_eq!(outcomes(&confirmed(&t, &d, "resellers", &preview, true).await), ["skipped error"]);
    // A deleted organization in another branch does not count; a live holder counts more than an archived one.
    let other = t.user(tree.other_distributor, &["admin"]).await;
    assert_eq!(row_issues(&validated(&t, &other, "resellers", &[&line("x", "A1")]).await), ["valid:"]);
    post(&t, &d, "/api/resellers", body("A1")).await;
    let preview = validated(&t, &d, "resellers", &[&line("x", "A1")]).await;
    assert_eq!(row_issues(&preview), ["warning: vat_number already_exists [A1]"]);
    // Hidden through the distributor counts as well.
    post(&t, &other, "/api/resellers", body("A2")).await;
    t.delete(&format!("/api/distributors/{}", tree.other_distributor))
        .bearer(&owner.token)
        .send()
        .await
        .expect(200);
    let preview = validated(&t, &owner, "resellers", &[&line("x", "A2")]).await;
    assert_eq!(row_issues(&preview), ["error: vat_number archived [A2]"]);
    let body = body("A3");
    let gone = post(&t, &owner, "/api/distributors", body).await;
    t.delete(&format!("/api/distributors/{gone}")).bearer(&owner.token).send().await.expect(200);
    let preview = validated(&t, &owner, "distributors", &[&line("x", "A3")]).await;
    assert_eq!(row_issues(&preview), ["error: vat_number archived [A3]"]);
});

// Proves spec: guarantees#organizations 7.
api_test!(an_import_neither_shows_nor_changes_what_is_out_of_reach, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let other = t.user(tree.other_distributor, &["admin"]).await;
    let body = |vat: &str| json!({"name": "Altrui", "custom_data": {"vat": vat}});
    let reseller = post(&t, &other, "/api/resellers", body("F1")).await;
    let customer = post(&t, &other, "/api/customers", body("F2")).await;
    let lines = [line("Mia", "F1"), line("Mia anche", "F3")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "resellers", &lines).await;
    assert_eq!(row_issues(&preview), ["valid:", "valid:"]);
    // The store refuses a number that is taken anywhere, and the rows after it go on.
    let done = confirmed(&t, &d, "resellers", &preview, true).await;
    assert_eq!(outcomes(&done), ["failed custom_data.vat: already exists", "created"]);
    assert_eq!(done["results"][0].get("id"), None);
    let preview = validated(&t, &d, "customers", &[&line("Mia", "F2")]).await;
    assert_eq!(row_issues(&preview), ["valid:"]);
    let done = confirmed(&t, &d, "customers", &preview, true).await;
    assert_eq!(outcomes(&done), ["created"]);
    assert_ne!(done["results"][0]["id"], json!(customer));
    for (who, path) in
        [(&other, format!("/api/resellers/{reseller}")), (&other, format!("/api/customers/{customer}"))]
    {
        assert_eq!(name_of(&t, who, path).await, "Altrui");
    }
});

// Proves spec: guarantees#organizations 8.
api_test!(a_confirmation_looks_at_every_row_again, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let body = |vat: &str| json!({"name": "Nel frattempo", "custom_data": {"vat": vat}});
    let going = post(&t, &d, "/api/resellers", body("S3")).await;
    let archived = post(&t, &d, "/api/resellers", body("S4")).await;
    let lines: Vec<String> = ["S1", "S2", "S3", "S4"].map(|vat| line("Da file", vat)).into();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "resellers", &lines).await;
    let exists = |vat: &str| format!("warning: vat_number already_exists [{vat}]");
    assert_eq!(row_issues(&preview), ["valid:".to_owned(), "valid:".to_owned(), exists("S3"), exists("S4")]);
    // One was created meanwhile, one destroyed, one deleted.
    let made = post(&t, &d, "/api/resellers", body("s1")).await;
    let owner = t.owner().await;
    let path = format!("/api/resellers/{going}/destroy");
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    t.delete(&format!("/api/resellers/{archived}")).bearer(&d.token).send().await.expect(200);
    let done = confirmed(&t, &d, "resellers", &preview, false).await;
    assert_eq!(outcomes(&done), ["skipped warning_not_overridden", "created", "created", "skipped error"]);
    assert_eq!(name_of(&t, &d, format!("/api/resellers/{made}")).await, "Nel frattempo");
    assert_eq!(tree.distributor, d.org);
});

// Proves spec: guarantees#organizations 1.
api_test!(an_override_leaves_what_the_server_owns, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let body = json!({"name": "Prima", "custom_data": {"vat": "P1"}});
    let id = post(&t, &d, "/api/resellers", body).await;
    let path = format!("/api/resellers/{id}");
    let before = get(&t, &owner, &path).await;
    t.advance(Duration::from_secs(1));
    // The owner reaches it too, and would create below the owner organization.
    let preview = validated(&t, &owner, "resellers", &[&line("Dopo", "P1")]).await;
    assert_eq!(outcomes(&confirmed(&t, &owner, "resellers", &preview, true).await), ["updated"]);
    let after = get(&t, &owner, &path).await;
    assert_eq!(after["name"], "Dopo");
    for key in ["id", "created_at", "created_by"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    for key in ["type", "createdBy", "createdAt"] {
        assert_eq!(after["custom_data"][key], before["custom_data"][key], "{key}");
    }
    assert_eq!(after["custom_data"]["updatedBy"], json!(tree.owner));
});

api_test!(a_thousand_rows, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let lines: Vec<String> = (0..1000).map(|n| line(&format!("Cliente {n}"), &format!("M{n}"))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "customers", &lines).await;
    assert_eq!(preview["valid_rows"], 1000);
    let done = confirmed(&t, &d, "customers", &preview, false).await;
    assert_eq!(done["created"], 1000);
    assert_eq!(done["results"][999]["row_number"], 1001);
    let preview = validated(&t, &d, "customers", &lines).await;
    assert_eq!(preview["warning_rows"], 1000);
    let totals = get(&t, &d, "/api/customers/totals").await;
    assert_eq!(totals["total"], 1001);
});
