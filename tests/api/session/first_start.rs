//! The first owner and further ones (spec: authentication#identity-modes).

use super::*;

api_test!(the_first_start_creates_one_owner_however_many_processes_start, |t| async move {
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for table in ["users", "organization_counts", "organizations"] {
        Q::new(&format!("DELETE FROM {table}")).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    let (first, second) = (other(&t, |s| s.owner.password = None, Duration::ZERO), t.app.clone());
    let (a, b) = tokio::join!(operator::ensure_owner(&first), operator::ensure_owner(&second));
    let created = [a.unwrap(), b.unwrap()];
    let is_created = |s: &&operator::FirstStart| matches!(s, operator::FirstStart::Created { .. });
    assert_eq!(created.iter().filter(is_created).count(), 1);
    let again = operator::ensure_owner(&second).await.unwrap();
    assert!(matches!(again, operator::FirstStart::Done));
    let token = operator::issue_operator_token(&t.app, "OWNER@example.org").await.unwrap();
    let data = t.get("/api/me").bearer(&token).send().await.expect(200).data();
    assert_eq!((data["username"].as_str(), data["org_role"].as_str()), (Some("owner"), Some("Owner")));
    assert_eq!(data["user_roles"], json!(["Super Admin"]));
});

api_test!(a_further_owner_user_needs_good_fields, |t| async move {
    let create = |email: &str, username: Option<&str>, password: &str| {
        let new = operator::NewOwnerUser {
            email: email.to_owned(),
            username: username.map(str::to_owned),
            name: "N".to_owned(),
            password: Some(Secret::new(password.to_owned())),
        };
        let app = t.app.clone();
        async move { operator::create_owner_user(&app, &new).await.map_err(|e| e.to_string()) }
    };
    for (email, username, password, key) in [
        ("nobody", None, PASSWORD, "email ("),
        ("a@example.org", None, "weak", "password ("),
        ("a@example.org", Some("owner"), PASSWORD, "username ("),
        ("OWNER@example.org", None, PASSWORD, "email ("),
    ] {
        let error = create(email, username, password).await.unwrap_err();
        assert!(error.contains(key) && !error.contains(password), "{error}");
    }
    create("a.b@example.org", None, PASSWORD).await.unwrap();
    create("a.b@example.net", None, PASSWORD).await.unwrap();
    let names: Vec<(String,)> =
        Q::new("SELECT username FROM users WHERE username LIKE 'a%' ORDER BY username")
            .all(&t.app.platform.db)
            .await
            .unwrap();
    assert_eq!(names.into_iter().map(|n| n.0).collect::<Vec<_>>(), ["a_b", "a_b_1"]);
    assert!(operator::issue_operator_token(&t.app, "nobody@example.org").await.is_err());
});
