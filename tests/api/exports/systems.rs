//! Exports of systems (spec: systems#export).

use super::{NOW, cells, column, csv, get, pdf};
use bailiwick_testkit::api_test;
use serde_json::json;

api_test!(the_files_of_systems, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let notes = format!("+ {} end", "заметка ".repeat(20));
    let body = json!({"name": "@Κεντρικός", "organization_id": tree.customer, "notes": notes, "custom_data": {"a": "b"}});
    t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    t.advance(std::time::Duration::from_millis(1));
    let registered = t.system(tree.reseller).await;
    let text = csv(&t, &owner, "systems", "sort_by=created_at&sort_direction=asc").await;
    let header = "Name,Type,Version,Status,FQDN,IPv4 Address,IPv6 Address,System Key,Notes,Created At,Organization,\
        Organization Type,Created By,Creator Email,Creator Organization";
    assert_eq!(text.lines().next(), Some(header));
    // Unregistered: its key stays hidden.
    let first = format!(
        "'@Κεντρικός,,,unknown,,,,,'{notes},{NOW},Alfa Customer,customer,Owner,owner@example.org,Owner"
    );
    assert_eq!(text.lines().nth(1), Some(first.as_str()));
    let read = cells(&text);
    assert_eq!((read.len(), read[2].len(), read[2][7].as_str()), (3, 15, registered.key.as_str()));
    assert_eq!(read[2][11], "reseller");

    let shown = pdf(&t, &owner, "systems", &format!("system_key={}", registered.key)).await;
    let head = format!(
        "Systems Export Report\nGenerated: {NOW}\nTotal Systems: 1\nFilters Applied: system_key={}\n\
         Exported by: Owner (owner@example.org)\n",
        registered.key
    );
    assert!(shown.starts_with(&head), "{shown}");
    let both = pdf(&t, &owner, "systems", "").await;
    for part in [
        "@Κεντρικός",
        "Status: unknown",
        "Organization: Alfa Customer (customer)",
        "By: Owner (owner@example.org)",
        "Notes: + заметка",
        "Created At: 2026-03-04 10:00",
        &format!("Key: {}", registered.key),
    ] {
        assert!(both.contains(part), "{part:?} in {both}");
    }
    assert!(both.contains('…') && !both.contains("заметка end"), "{both}");
    let none = pdf(&t, &owner, "systems", "type=none&version=ns8:1&name=x&search=y").await;
    assert!(none.contains("Filters Applied: search=y, name=x, type=none, version=ns8:1\n"), "{none}");
    assert!(none.contains("No systems found with the applied filters."), "{none}");
});

// Proves spec: acceptance#scenarios 27.
api_test!(the_rows_are_those_of_the_list, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let c = t.user(tree.customer, &["admin"]).await;
    for (i, org) in [tree.customer, tree.reseller, tree.other_customer, tree.customer, tree.customer]
        .into_iter()
        .enumerate()
    {
        t.advance(std::time::Duration::from_millis(5));
        let system = t.system(org).await;
        match i {
            0 => t.suspend_system(system.id).await,
            1 => t.delete_system(system.id).await,
            2 => {
                t.post("/api/systems/heartbeat").basic(&system.key, &system.secret).send().await.expect(200);
            }
            _ => {}
        }
    }
    let mut count = 0;
    for who in [&owner, &d, &c] {
        for query in [
            "sort_by=",
            "sort_by=name&sort_direction=asc",
            "sort_by=status&sort_direction=asc",
            "sort_by=status&sort_direction=desc",
            "sort_by=organization_name&sort_direction=asc",
            "status=deleted",
            "status=active&status=unknown",
            "status=nothing",
            "search=system",
            &format!("organization_id={}&include_hierarchy=true", tree.distributor),
            &format!("organization_id={}", tree.other_customer),
        ] {
            let list = get(&t, who, &format!("/api/systems?page_size=100&{query}")).await.expect(200).data();
            let rows = list["systems"].as_array().expect("rows");
            let values = |key: &str| {
                rows.iter().map(|s| s[key].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
            };
            let text = csv(&t, who, "systems", query).await;
            assert_eq!(column(&text, "Name"), values("name"), "{query}");
            assert_eq!(column(&text, "Status"), values("status"), "{query}");
            assert_eq!(column(&text, "System Key"), values("system_key"), "{query}");
            count += rows.len();
        }
    }
    assert!(count > 40, "{count}");
    get(&t, &c, "/api/systems/export?format=ods")
        .await
        .expect_message(400, "format parameter required (csv or pdf)");
    let nobody = t.user(tree.customer, &[]).await;
    get(&t, &nobody, "/api/systems/export?format=csv").await.expect_message(403, "insufficient permissions");
});

// Proves spec: guarantees#systems 13.
api_test!(no_cell_is_a_formula_and_every_filter_is_named_in_seven_bits, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (i, first) in ["=", "+", "-", "@", "\t", "\r"].into_iter().enumerate() {
        let dangerous = format!("{first}cmd|'/C calc'!A{i}");
        // No name has control characters.
        let name = dangerous.trim_start().to_owned();
        let body = json!({"name": name, "organization_id": tree.customer, "notes": dangerous});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
        names.push(if name == dangerous { format!("'{name}") } else { name });
        texts.push(dangerous);
        t.advance(std::time::Duration::from_millis(1));
    }
    let plain = json!({"name": "a=1", "organization_id": tree.customer, "notes": "'=1"});
    t.post("/api/systems").bearer(&owner.token).json(plain).send().await.expect(201);
    let file = csv(&t, &owner, "systems", "sort_by=created_at&sort_direction=asc").await;
    let mut expected: Vec<String> = texts.iter().map(|text| format!("'{text}")).collect();
    names.push("a=1".to_owned());
    assert_eq!(column(&file, "Name"), names);
    expected.push("'=1".to_owned());
    assert_eq!(column(&file, "Notes"), expected);
    // Names of people and organizations stand in other columns of the same file.
    let named = json!({"name": "=Formula", "custom_data": {"vat": "IT77"}});
    let made = t.post("/api/customers").bearer(&owner.token).json(named).send().await.expect(201).data();
    let org = made["id"].as_str().unwrap();
    let body = json!({"name": "Plain", "organization_id": org});
    t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    let file = csv(&t, &owner, "systems", "name=Plain").await;
    assert_eq!(column(&file, "Organization"), ["'=Formula"]);
    // Every filter by itself and all together: `pdf` has checked every byte.
    let filters = [
        ("search", "s\u{20ac}arch"),
        ("name", "n\u{e0}me"),
        ("system_key", "SYS-1"),
        ("type", "ns8"),
        ("created_by", &owner.id.to_string()),
        ("version", "ns8:1.0"),
        ("organization_id", &tree.customer.to_string()),
        ("status", "active"),
        ("include_hierarchy", "true"),
    ];
    let query = |filters: &[(&str, &str)]| {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filters).finish()
    };
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    for filter in filters {
        let with = if filter.0 == "include_hierarchy" { vec![filters[6], filter] } else { vec![filter] };
        let shown = squeezed(&pdf(&t, &owner, "systems", &query(&with)).await);
        let named = squeezed(&format!("{}={}", filter.0, filter.1));
        assert!(shown.contains("FiltersApplied:") && shown.contains(&named), "{named} in {shown}");
    }
    let shown = squeezed(&pdf(&t, &owner, "systems", &query(&filters)).await);
    for (key, value) in filters {
        assert!(shown.contains(&squeezed(&format!("{key}={value}"))), "{key} in {shown}");
    }
});
