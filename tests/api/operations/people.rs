//! Users.

use super::*;

async fn create(s: &mut Transcript<'_>, owner: &Persona, org: &str) -> String {
    let new = |email: &str| {
        json!({"email": email, "name": "Mario Rossi", "phone": "+39 333 123456", "user_role_ids": ["admin", "support"],
            "organization_id": org, "custom_data": {"desk": 4, "createdBy": "x"}})
    };
    let made = id(&s.call(owner, "POST", "/users", new("m.rossi@example.org")).await);
    s.call(owner, "POST", "/users", json!({})).await;
    s.call(owner, "POST", "/users", json!({"user_role_ids": ["admin"], "organization_id": UNKNOWN})).await;
    s.call(owner, "POST", "/users", json!({"user_role_ids": ["x", "y"], "organization_id": org})).await;
    s.call(owner, "POST", "/users", json!({"user_role_ids": ["admin"], "organization_id": owner.org})).await;
    let mut wrong = new("a@b@c");
    wrong["name"] = json!("n".repeat(256));
    wrong["username"] = json!("1x");
    wrong["phone"] = json!("12");
    wrong["custom_data"] = json!({"a\0": 1, "b": "\0"});
    s.call(owner, "POST", "/users", wrong).await;
    let mut taken = new("M.Rossi@Example.ORG");
    taken["username"] = json!("M_ROSSI");
    s.call(owner, "POST", "/users", taken).await;
    let mut reserved = new("b@example.org");
    reserved["username"] = json!("Owner");
    reserved["phone"] = json!("");
    s.call(owner, "POST", "/users", reserved).await;
    made
}

async fn read_and_change(s: &mut Transcript<'_>, owner: &Persona, org: &str, one: &str) {
    s.ask(owner, "GET", one).await;
    s.ask(owner, "GET", &format!("/users/{UNKNOWN}")).await;
    s.ask(owner, "GET", "/users/none").await;
    s.ask(owner, "GET", &format!("/users?organization_id={org}&sort_by=email&page_size=1")).await;
    s.ask(owner, "GET", "/users?search=nothing").await;
    s.ask(owner, "GET", "/users/totals").await;
    s.ask(owner, "GET", "/users/trend?period=7").await;
    s.ask(owner, "GET", "/users/trend?period=8").await;
    s.ask(owner, "GET", "/filters/users").await;
    s.test.advance(std::time::Duration::from_secs(60));
    s.call(owner, "PUT", one, json!({"name": "Mario Bianchi", "phone": "", "user_role_ids": ["reader"]}))
        .await;
    s.call(owner, "PUT", one, json!({"name": "", "email": "", "username": "", "user_role_ids": ["reader"]}))
        .await;
    s.call(owner, "PUT", one, json!({"user_role_ids": []})).await;
    s.call(owner, "PUT", one, json!({"user_role_ids": ["x"]})).await;
    s.call(owner, "PUT", one, json!({"organization_id": owner.org})).await;
    s.call(owner, "PUT", one, json!({"organization_id": UNKNOWN})).await;
    s.call(owner, "PUT", one, json!({"email": "owner@example.org"})).await;
    s.call(owner, "PUT", &format!("/users/{UNKNOWN}"), json!({})).await;
    s.call(owner, "PUT", &format!("/users/{}", owner.id), json!({})).await;
    s.call(owner, "PATCH", &format!("{one}/password"), json!({})).await;
    s.call(owner, "PATCH", &format!("{one}/password"), json!({"password": "short"})).await;
    s.call(owner, "PATCH", &format!("{one}/password"), json!({"password": "Trombone-47-Quux!"})).await;
}

async fn move_about(s: &mut Transcript<'_>, owner: &Persona, org: &str, one: &str) {
    for verb in ["reactivate", "suspend", "suspend", "restore", "reactivate"] {
        s.ask(owner, "PATCH", &format!("{one}/{verb}")).await;
    }
    let org = format!("/customers/{org}");
    s.ask(owner, "PATCH", &format!("{org}/suspend")).await;
    s.ask(owner, "PATCH", &format!("{one}/reactivate")).await;
    s.ask(owner, "GET", one).await;
    s.ask(owner, "PATCH", &format!("{org}/reactivate")).await;
    s.ask(owner, "DELETE", one).await;
    s.ask(owner, "DELETE", one).await;
    s.ask(owner, "PATCH", &format!("{one}/suspend")).await;
    s.ask(owner, "GET", "/users?status=deleted").await;
    s.ask(owner, "DELETE", &org).await;
    s.ask(owner, "PATCH", &format!("{one}/restore")).await;
    s.ask(owner, "PATCH", &format!("{org}/restore")).await;
    s.ask(owner, "PATCH", &format!("{one}/restore")).await;
    s.ask(owner, "DELETE", &format!("{one}/destroy")).await;
    s.ask(owner, "DELETE", &format!("{one}/destroy")).await;
}

/// Refusals of a caller who holds less than the user whom they act on.
async fn outranked(s: &mut Transcript<'_>, backoffice: &Persona, org: &str, one: &str) {
    let rank =
        json!({"email": "c@example.org", "name": "N", "user_role_ids": ["admin"], "organization_id": org});
    s.call(backoffice, "POST", "/users", rank).await;
    let restricted =
        json!({"email": "c@example.org", "name": "N", "user_role_ids": ["super"], "organization_id": org});
    s.call(backoffice, "POST", "/users", restricted).await;
    s.call(backoffice, "PUT", one, json!({})).await;
    s.ask(backoffice, "DELETE", one).await;
    s.ask(backoffice, "DELETE", &format!("{one}/destroy")).await;
}

api_test!(users, |t| async move {
    let owner = t.owner().await;
    let body = json!({"name": "Gamma Srl", "custom_data": {"vat": "IT1"}});
    let org = id(&t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201).data());
    let backoffice = t.user(owner.org, &["backoffice"]).await;
    let mut s = Transcript::new(&t);
    let one = format!("/users/{}", create(&mut s, &owner, &org).await);
    outranked(&mut s, &backoffice, &org, &one).await;
    // Of a number that differs from run to run.
    t.delete(&format!("/api/users/{}/destroy", backoffice.id)).bearer(&owner.token).send().await.expect(200);
    read_and_change(&mut s, &owner, &org, &one).await;
    move_about(&mut s, &owner, &org, &one).await;
    insta::assert_snapshot!("users", s.text);
});
