//! Exports of users (spec: users#export).

use super::{NOW, cells, column, csv, get, pdf};
use bailiwick_testkit::{Test, api_test};
use serde_json::json;

async fn make(t: &Test, token: &str, body: serde_json::Value) -> bailiwick_domain::UserId {
    let made = t.post("/api/users").bearer(token).json(body).send().await.expect(201).data();
    made["id"].as_str().expect("an id").parse().expect("a UUID")
}

api_test!(the_csv_of_users, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let full = json!({"email": "a@example.org", "name": "=Άννα, \"Ёлкина\"", "username": "anna", "phone": "+39 333 123456",
        "user_role_ids": ["reader", "support"], "organization_id": tree.reseller});
    make(&t, &d.token, full).await;
    let plain = |email: &str, name: &str| json!({"email": email, "name": name, "username": name, "user_role_ids": ["reader"], "organization_id": tree.customer});
    let suspended = make(&t, &d.token, plain("s@example.org", "susi")).await;
    t.suspend_user(suspended).await;
    let deleted = make(&t, &d.token, plain("x@example.org", "xaver")).await;
    t.delete_user(deleted).await;
    let query = "search=@example.org&status=enabled&status=suspended&status=deleted&sort_by=username&sort_direction=asc";
    let text = csv(&t, &d, "users", query).await;
    let header =
        "Username,Email,Name,Phone,Organization,User Roles,Status,Created At,Latest Login At,Suspended At";
    assert_eq!(text.lines().next(), Some(header));
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_default().to_owned();
    assert_eq!(
        line("anna"),
        format!(
            "anna,a@example.org,\"'=Άννα, \"\"Ёлкина\"\"\",39333123456,Alfa Reseller,\"Reader, Support\",active,{NOW},,"
        )
    );
    assert_eq!(line("xaver"), format!("xaver,x@example.org,xaver,,Alfa Customer,Reader,deleted,{NOW},,"));
    assert_eq!(line("susi"), format!("susi,s@example.org,susi,,Alfa Customer,Reader,suspended,{NOW},,{NOW}"));
    assert!(cells(&text).iter().all(|row| row.len() == 10));
    // Suspended and deleted with the organization are the same to a reader.
    t.suspend_organization(tree.reseller).await;
    assert_eq!(column(&csv(&t, &d, "users", "search=a@example.org").await, "Status"), ["suspended"]);
    t.delete_organization(tree.reseller).await;
    assert_eq!(column(&csv(&t, &d, "users", "search=a@example.org").await, "Status"), [""; 0]);
    assert_eq!(
        column(&csv(&t, &d, "users", "search=a@example.org&status=deleted").await, "Status"),
        ["deleted"]
    );
});

api_test!(the_pdf_of_users, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let name = "Ελληνικό όνομα Жуковский";
    let email = format!("{}@example.org", "long.mailbox".repeat(4));
    let body = json!({"email": email, "name": name, "username": "anna", "user_role_ids": ["reader", "support"],
        "organization_id": tree.reseller});
    make(&t, &owner.token, body).await;
    let text = pdf(&t, &owner, "users", "search=long.mailbox&status=active&role=reader").await;
    let head = format!(
        "Users Export Report\nGenerated: {NOW}\nTotal Users: 1\n\
         Filters Applied: search=long.mailbox, status=active, role=reader\nExported by: Owner (owner@example.org)\n"
    );
    assert!(text.starts_with(&head), "{text}");
    for part in [
        "anna",
        "Created At: 2026-03-04 10:00",
        "Name: Ελληνικό όνομα Жуковский",
        "Roles: Reader, Support",
        "Email: long.mailboxlong.mailboxlong.mailboxlon…\n",
        "Phone: N/A",
        "Organization: Alfa Reseller",
        "Page 1 of 1",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let none = pdf(&t, &owner, "users", "role=nothing").await;
    assert!(none.contains("Total Users: 0\nFilters Applied: role=nothing\n"), "{none}");
    assert!(none.contains("No users found with the applied filters."), "{none}");
});

// Proves spec: acceptance#scenarios 17.
api_test!(the_rows_are_those_of_the_list, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let c = t.user(tree.customer, &["admin"]).await;
    for org in [tree.reseller, tree.customer, tree.other_customer] {
        t.advance(std::time::Duration::from_millis(3));
        t.user(org, &["reader"]).await;
    }
    let mut count = 0;
    for who in [&owner, &d, &c] {
        for query in [
            "sort_by=",
            "sort_by=email&sort_direction=asc",
            "sort_by=organization&sort_direction=desc",
            "sort_by=latest_login_at&sort_direction=asc",
            "sort_by=status&sort_direction=desc",
            "role=reader",
            "role=nothing",
            "status=deleted",
            "search=%5F",
            &format!("organization_id={}", tree.other_customer),
            &format!("organization_id={}", tree.customer),
            &format!("created_by={}", tree.customer),
        ] {
            let list = get(&t, who, &format!("/api/users?page_size=100&{query}")).await.expect(200).data();
            let rows = list["users"].as_array().expect("rows");
            let emails: Vec<&str> = rows.iter().map(|c| c["email"].as_str().expect("an address")).collect();
            assert_eq!(column(&csv(&t, who, "users", query).await, "Email"), emails, "{query}");
            count += emails.len();
        }
    }
    assert!(count > 40, "{count}");
    let reader = t.user(tree.customer, &[]).await;
    get(&t, &reader, "/api/users/export?format=csv").await.expect_message(403, "insufficient permissions");
    get(&t, &c, "/api/users/export").await.expect_message(400, "format parameter required (csv or pdf)");
});
