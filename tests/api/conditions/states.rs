//! Changes of state and the other ways to change an entity keep to the same condition.

use super::*;
use bailiwick_testkit::api_test;

/// The ways to change one entity.
struct Steps<'a> {
    t: &'a Test,
    who: &'a Persona,
    path: String,
}

impl Steps<'_> {
    async fn tag(&self) -> String {
        tag(&self.t.get(&self.path).bearer(&self.who.token).send().await.expect(200))
    }

    fn call(&self, method: Method, below: &str, body: &Value, etag: &str) -> Call {
        let call = self.t.call(method, &format!("{}{below}", self.path)).bearer(&self.who.token);
        let call = call.header("if-match", etag);
        if body.is_null() { call } else { call.json(body.clone()) }
    }

    /// Refused with `before` and anything unknown, done with the present tag.
    async fn step(&self, method: Method, below: &str, body: Value, before: &str) {
        for etag in ["\"x.y\"", before] {
            refused(self.call(method.clone(), below, &body, etag).send().await, "If-Match");
        }
        let unreadable = self.call(method.clone(), below, &body, "x").send().await;
        unreadable.expect_fields(&[("If-Match", "malformed_header")]);
        let now = self.tag().await;
        self.call(method, below, &body, &now).send().await.expect(200);
    }
}

api_test!(changes_of_state_keep_to_the_condition, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await;
    for (path, change) in [
        (format!("/api/users/{}", user.id), json!({"name": "changed"})),
        (format!("/api/systems/{}", system.id), json!({"notes": "changed"})),
        (format!("/api/customers/{}", tree.customer), json!({"description": "changed"})),
        (format!("/api/resellers/{}", tree.reseller), json!({"description": "changed"})),
    ] {
        let steps = Steps { t: &t, who: &owner, path: path.clone() };
        let before = steps.tag().await;
        t.put(&path).bearer(&owner.token).json(change).send().await.expect(200);
        steps.step(Method::PATCH, "/suspend", Value::Null, &before).await;
        steps.step(Method::PATCH, "/reactivate", Value::Null, &before).await;
        steps.step(Method::DELETE, "", Value::Null, &before).await;
        let call = |below: &str, method: Method, etag: &str| steps.call(method, below, &Value::Null, etag);
        refused(call("/restore", Method::PATCH, &before).send().await, "If-Match");
        call("/restore", Method::PATCH, "*").send().await.expect(200);
        steps.step(Method::DELETE, "/destroy", Value::Null, &before).await;
        call("/destroy", Method::DELETE, "*").send().await.expect(404);
    }
});

api_test!(every_other_change_keeps_to_the_condition, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let user = t.user(tree.customer, &["reader"]).await;
    let system = t.system(tree.customer).await;
    let application = t.application(&system).await;
    let steps = |path: String| Steps { t: &t, who: &owner, path };

    let person = steps(format!("/api/users/{}", user.id));
    let before = person.tag().await;
    let roles = json!({"user_role_ids": ["support"]});
    t.put(&person.path).bearer(&owner.token).json(roles).send().await.expect(200);
    let password = json!({"password": "Correct-Horse-7-Battery"});
    person.step(Method::PATCH, "/password", password, &before).await;

    let listed = steps(format!("/api/applications/{application}"));
    let before = listed.tag().await;
    t.put(&listed.path).bearer(&owner.token).json(json!({"notes": "changed"})).send().await.expect(200);
    listed.step(Method::PATCH, "/assign", json!({"organization_id": tree.customer}), &before).await;
    let assigned = listed.tag().await;
    t.put(&listed.path).bearer(&owner.token).json(json!({"notes": "again"})).send().await.expect(200);
    listed.step(Method::PATCH, "/unassign", Value::Null, &assigned).await;
    listed.step(Method::DELETE, "", Value::Null, &assigned).await;

    let machine = steps(format!("/api/systems/{}", system.id));
    let before = machine.tag().await;
    t.put(&machine.path).bearer(&owner.token).json(json!({"name": "Changed"})).send().await.expect(200);
    // To another organization, which is done in steps.
    machine.step(Method::PUT, "", json!({"organization_id": tree.other_customer}), &before).await;
    machine.step(Method::POST, "/regenerate-secret", json!({"force": true}), &before).await;

    let reseller = steps(format!("/api/resellers/{}", tree.reseller));
    let before = reseller.tag().await;
    t.put(&reseller.path).bearer(&owner.token).json(json!({"name": "Changed"})).send().await.expect(200);
    reseller.step(Method::PATCH, "/promote", Value::Null, &before).await;
});
