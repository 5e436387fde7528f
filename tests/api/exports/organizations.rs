//! Exports of the three families (spec: organizations#stats).

use super::{NOW, cells, column, csv, file, get, pages, pdf};
use bailiwick_domain::OrgType;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

async fn make(t: &Test, who: &Persona, family: &str, body: Value) -> String {
    let made =
        t.post(&format!("/api/{family}")).bearer(&who.token).json(body).send().await.expect(201).data();
    made["id"].as_str().expect("an id").to_owned()
}

async fn put(t: &Test, who: &Persona, path: &str, body: Value) {
    t.put(path).bearer(&who.token).json(body).send().await.expect(200);
}

// Proves spec: guarantees#organizations 30.
api_test!(cells_are_quoted_and_neutralised, |t| async move {
    let tree = t.tree().await;
    let r = t.user(tree.reseller, &["admin"]).await;
    let before = csv(&t, &r, "customers", "").await;
    let header = "Name,Description,Custom Data,Created At,Updated At,Logto Synced At";
    assert_eq!(before.lines().next(), Some(header));
    assert!(!before.contains('\r'));
    let rows =
        [("=HYPERLINK(\"http://x\")", "a, \"b\"\nc"), ("+39 02", "-1"), ("@sum", "Αθήνα Жуковский Łódź ß")];
    let mut expected = String::new();
    for (i, (name, description)) in rows.iter().enumerate() {
        let vat = format!("=E{i}");
        // Within the second, so that all show the same time and yet have an order.
        t.advance(std::time::Duration::from_millis(1));
        let id = make(
            &t,
            &r,
            "customers",
            json!({"name": name, "description": description, "custom_data": {"vat": vat, "city": "Città"}}),
        )
        .await;
        if i == 0 {
            put(&t, &r, &format!("/api/customers/{id}"), json!({})).await;
        }
    }
    let org = tree.reseller;
    let updated = format!(r#",""updatedBy"":""{org}"",""updatedAt"":""2026-03-04T10:00:00Z"""#);
    let cells_of = [
        ("\"'=HYPERLINK(\"\"http://x\"\")\"", "\"a, \"\"b\"\"\nc\"", updated.as_str()),
        ("'+39 02", "'-1", ""),
        ("'@sum", "Αθήνα Жуковский Łódź ß", ""),
    ];
    for (i, (name, description, updated)) in cells_of.iter().enumerate() {
        let data = format!(
            r#""{{""vat"":""=E{i}"",""city"":""Città"",""type"":""customer"",""createdBy"":""{org}"",""createdAt"":""2026-03-04T10:00:00Z""{updated}}}""#
        );
        expected.push_str(&format!("{name},{description},{data},{NOW},{NOW},\n"));
    }
    let after = csv(&t, &r, "customers", "sort_by=created_at&sort_direction=asc").await;
    let (first, rest) = after.split_at(before.len());
    assert_eq!(first, before);
    assert_eq!(rest, expected);
    let read = cells(&after);
    assert_eq!(read[2][..2], ["'=HYPERLINK(\"http://x\")", "a, \"b\"\nc"]);
    assert_eq!(read[3][..2], ["'+39 02", "'-1"]);
    assert_eq!(read[4][..2], ["'@sum", "Αθήνα Жуковский Łódź ß"]);
    assert!(read.iter().all(|row| row.len() == 6));
    let shown: Value = serde_json::from_str(&read[2][2]).expect("JSON");
    let list = get(&t, &r, "/api/customers?search=hyperlink").await.data();
    assert_eq!(shown, list["customers"][0]["custom_data"]);
});

// Proves spec: guarantees#identity 34.
api_test!(the_pdf_is_ascii_and_states_its_contents, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let long = "Длинное описание, которое никак не поместится в шестьдесят знаков";
    for (name, description) in [
        ("Ελληνική Εταιρεία Α.Ε.", "περιγραφή"),
        ("ООО «Ромашка»", long),
        ("Žluťoučký kůň Ñandú", " "),
        ("日本 😀\u{200d}", "x\u{301}\ty"),
        (&"Überlang ".repeat(28), ""),
    ] {
        let body =
            json!({"name": name, "description": description, "custom_data": {"vat": format!("V-{name}")}});
        make(&t, &owner, "distributors", body).await;
    }
    let query = "search=a&status=enabled&status=Suspended&created_by=none&search=b&organization_id=x&include_hierarchy=true";
    let none = pdf(&t, &owner, "distributors", query).await;
    let head = format!(
        "Distributors Export Report\nGenerated: {NOW}\nTotal Distributors: 0\n\
         Filters Applied: search=a, status=enabled, status=Suspended, created_by=none\n\
         Exported by: Owner (owner@example.org)\n"
    );
    assert!(none.starts_with(&head), "{none}");
    assert!(none.contains("No distributors found with the applied filters."), "{none}");
    assert!(none.contains("Page 1 of 1"), "{none}");
    let all = pdf(&t, &owner, "distributors", "search=%20").await;
    for text in [
        "Total Distributors: 7\nExported by: ",
        "Alfa Distributor",
        "Beta Distributor",
        "Ελληνική Εταιρεία Α.Ε.",
        "Description: περιγραφή",
        "ООО «Ромашка»",
        "Description: Длинное описание, которое никак не поместится в шестьдесят…",
        "Žluťoučký kůň Ñandú",
        "No description",
        "VAT: V-ООО «Ромашка»",
        "Überlang Überlang",
        "Created At: 2026-03-04 10:00",
        "日本 😀",
    ] {
        assert!(all.contains(text), "{text:?} in {all}");
    }
    assert!(!all.contains(long) && !all.contains("Filters Applied"), "{all}");
    assert_eq!(all.matches("No description").count(), 4);
    assert_eq!(all.matches("VAT: ").count(), 7);
    let customers =
        pdf(&t, &owner, "customers", &format!("organization_id={}&include_hierarchy=true", tree.distributor))
            .await;
    let filters = format!("Filters Applied: organization_id={}, include_hierarchy=true\n", tree.distributor);
    assert!(customers.contains(&filters) && customers.contains("Alfa Customer"), "{customers}");
    assert!(!customers.contains("Beta"), "{customers}");
});

api_test!(an_empty_export_is_a_header, |t| async move {
    t.tree().await;
    let owner = t.owner().await;
    for family in ["distributors", "resellers", "customers"] {
        let empty = csv(&t, &owner, family, "search=nothing-like-this").await;
        assert_eq!(empty, "Name,Description,Custom Data,Created At,Updated At,Logto Synced At\n");
    }
    // Any case of the word; HEAD promises the same file.
    file(&t, &owner, "resellers", "CSV", "").await;
    let head =
        t.call(reqwest::Method::HEAD, "/api/resellers/export?format=csv").bearer(&owner.token).send().await;
    let length = csv(&t, &owner, "resellers", "").await.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
});

// Proves spec: acceptance#scenarios 13.
api_test!(the_rows_are_those_of_the_list, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let r = t.user(tree.reseller, &["admin"]).await;
    for (parent, name) in [
        (tree.reseller, "Éta"),
        (tree.distributor, "beta"),
        (tree.owner, "Zed"),
        (tree.other_reseller, "alba"),
    ] {
        t.advance(std::time::Duration::from_millis(7));
        let id = t.organization(parent, OrgType::Customer, name).await;
        if name == "beta" {
            t.suspend_organization(id).await;
        }
        if name == "alba" {
            t.delete_organization(id).await;
        }
    }
    let mut count = 0;
    for who in [&owner, &d, &r] {
        for query in [
            "sort_by=",
            "sort_by=unknown&sort_direction=asc",
            "sort_by=name&sort_direction=asc",
            "sort_by=name&sort_direction=desc",
            "sort_by=suspended_at&sort_direction=asc",
            "status=deleted&sort_by=&",
            "status=suspended&status=enabled&sort_by=created_at&sort_direction=desc",
            "status=gone",
            "search=ET",
            "search=%25",
            "created_by=x",
            &format!("organization_id={}", tree.distributor),
            &format!("organization_id={}&include_hierarchy=true", tree.distributor),
            &format!("organization_id={}&include_hierarchy=true", tree.other_distributor),
            "page=2&page_size=1",
        ] {
            let list = get(
                &t,
                who,
                &format!("/api/customers?{query}&page_size=100").replace("page=2&page_size=1&", ""),
            )
            .await;
            let list = list.expect(200).data();
            let rows = list["customers"].as_array().expect("rows");
            let names: Vec<&str> = rows.iter().map(|c| c["name"].as_str().expect("a name")).collect();
            let exported = column(&csv(&t, who, "customers", query).await, "Name");
            assert_eq!(exported, names, "{query}");
            count += names.len();
        }
    }
    assert!(count > 60, "{count}");
    // A known column descends unless the request has a direction.
    let names = column(&csv(&t, &d, "customers", "sort_by=name").await, "Name");
    assert_eq!(names, ["Éta", "beta", "Alfa Customer"]);
});

api_test!(who_may_export_and_how, |t| async move {
    let tree = t.tree().await;
    let (owner, d) = (t.owner().await, t.user(tree.distributor, &["admin"]).await);
    let (r, c) = (t.user(tree.reseller, &["admin"]).await, t.user(tree.customer, &["admin"]).await);
    for (who, family) in [(&d, "distributors"), (&r, "resellers"), (&c, "customers")] {
        for query in ["", "?format=csv", "?format=nothing"] {
            get(&t, who, &format!("/api/{family}/export{query}"))
                .await
                .expect_message(403, "insufficient permissions");
        }
    }
    for family in ["distributors", "resellers", "customers"] {
        t.get(&format!("/api/{family}/export?format=csv")).send().await.expect(401);
        for query in ["", "?format=", "?format=xlsx", "?Format=csv", "?format=csv%20"] {
            let reply = get(&t, &owner, &format!("/api/{family}/export{query}")).await;
            let reply = reply.expect_message(400, "format parameter required (csv or pdf)");
            assert_eq!(reply.data(), Value::Null);
        }
    }
    assert_eq!(column(&csv(&t, &d, "resellers", "").await, "Name"), ["Alfa Reseller"]);
    let text = pages(&file(&t, &r, "customers", "pdf", "").await.body);
    assert!(text.contains("Alfa Customer") && !text.contains("Beta"), "{text}");
});
