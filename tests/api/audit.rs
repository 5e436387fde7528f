//! The audit log: every change by a person leaves exactly one row in its own transaction, without secrets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use bailiwick_api::routes::{Credential, table};
use bailiwick_settings::{AllowedHosts, Network, Settings};
use bailiwick_store::audit::{self, Filter, Recorded};
use bailiwick_testkit::{
    Call, Persona, Test, api_test,
    engine::OWNER_PASSWORD,
    parts::recorder::{Answer, Recorder},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Sign-out ends sessions and changes nothing that is managed.
const UNRECORDED: &[&str] = &["logout"];

/// Rows with tests elsewhere, because they were not served when this test was written. A change that serves one proves
/// its audit row in a step here, or with its own tests.
const ELSEWHERE: &[&str] = &[
    "validateImport",
    "confirmImport",
    "promote",
    "Import",
    "Impersonation",
    "Consent",
    "Passkey",
    "Authenticator",
    "RecoveryCodes",
    "SecondFactor",
    "Rebranding",
    "Alert",
    "Silence",
    "Backup",
    "Application",
];

/// A run, and the operations that it has done.
struct Run<'a> {
    t: &'a Test,
    who: &'a Persona,
    done: BTreeSet<String>,
    /// Texts that must not be found in any row.
    secrets: Vec<String>,
}

impl Run<'_> {
    /// Makes a call that must succeed and looks for its one row; the answer's `data`.
    async fn step(&mut self, operation: &str, call: Call, action: &str) -> Value {
        let request = format!("{operation}-{}", self.done.len());
        let call = call.bearer(&self.who.token).header("x-request-id", &request);
        let reply = call.send().await;
        assert!(reply.status.is_success(), "{operation}: {}", reply.text());
        let row = self.only_row(&request).await;
        assert_eq!(row.action, action, "{operation}");
        assert_eq!(Some(row.object_type.as_str()), action.split('.').next(), "{operation}");
        assert_eq!(row.actor_user_id, Some(self.who.id), "{operation}");
        assert_eq!(row.actor_organization_id, Some(self.who.org), "{operation}");
        assert_eq!(row.acting_for_user_id, None, "{operation}");
        assert_eq!(row.at, self.t.app.platform.now(), "{operation}");
        let data = reply.data();
        // The id in the answer to a test message is the id of the message.
        let own_id = data["id"].as_str().filter(|_| operation != "testEventSubscription");
        if let Some(id) = own_id {
            assert_eq!(row.object_id.map(|id| id.to_string()).as_deref(), Some(id), "{operation}");
        }
        self.done.insert(operation.to_owned());
        data
    }

    async fn only_row(&self, request: &str) -> Recorded {
        let filter = Filter { request_id: Some(request.to_owned()), ..Filter::default() };
        let mut rows = audit::page(&self.t.app.platform.db, &filter, None, 10).await.unwrap();
        assert_eq!(rows.len(), 1, "{request}: {rows:?}");
        rows.remove(0)
    }

    async fn life(&mut self, path: &str, id: &str, family: &str, object: &str) {
        let t = self.t;
        let path_of = |what: &str| format!("/api/{path}/{id}{what}");
        self.step(&format!("suspend{family}"), t.patch(&path_of("/suspend")), &format!("{object}.suspend"))
            .await;
        self.step(
            &format!("reactivate{family}"),
            t.patch(&path_of("/reactivate")),
            &format!("{object}.reactivate"),
        )
        .await;
        self.step(&format!("delete{family}"), t.delete(&path_of("")), &format!("{object}.delete")).await;
        self.step(&format!("restore{family}"), t.patch(&path_of("/restore")), &format!("{object}.restore"))
            .await;
        self.step(&format!("destroy{family}"), t.delete(&path_of("/destroy")), &format!("{object}.destroy"))
            .await;
    }
}

fn id(data: &Value) -> String {
    data["id"].as_str().unwrap().to_owned()
}

async fn organizations(run: &mut Run<'_>) {
    let t = run.t;
    for (family, object) in
        [("Distributor", "distributor"), ("Reseller", "reseller"), ("Customer", "customer")]
    {
        let path = format!("{object}s");
        let body = |name: &str| json!({"name": name, "custom_data": {"vat": format!("IT{object}")}});
        let made = t.post(&format!("/api/{path}")).json(body("New"));
        let made = id(&run.step(&format!("create{family}"), made, &format!("{object}.create")).await);
        let changed = t.put(&format!("/api/{path}/{made}")).json(body("Changed"));
        run.step(&format!("update{family}"), changed, &format!("{object}.update")).await;
        run.life(&path, &made, family, object).await;
    }
}

async fn users(run: &mut Run<'_>, customer: &str) {
    let t = run.t;
    let body = |name: &str| json!({"email": "m@example.org", "name": name, "user_role_ids": ["reader"], "organization_id": customer});
    let made = id(&run.step("createUser", t.post("/api/users").json(body("New")), "user.create").await);
    let path = format!("/api/users/{made}");
    run.step("updateUser", t.put(&path).json(body("Changed")), "user.update").await;
    let password = "Other-Window-93-Rivers";
    run.secrets.push(password.to_owned());
    let reset = t.patch(&format!("{path}/password")).json(json!({"password": password}));
    run.step("resetUserPassword", reset, "user.password").await;
    let picture = super::avatars::own_picture();
    let upload = super::avatars::with_file(t.put(&format!("{path}/avatar")), "avatar", &picture);
    run.step("putUserAvatar", upload, "user.avatar").await;
    run.step("deleteUserAvatar", t.delete(&format!("{path}/avatar")), "user.avatar_delete").await;
    run.life("users", &made, "User", "user").await;
}

async fn systems(run: &mut Run<'_>, customer: &str) {
    let t = run.t;
    let body = |name: &str| json!({"name": name, "organization_id": customer});
    let data = run.step("createSystem", t.post("/api/systems").json(body("New")), "system.create").await;
    let (made, mut secrets) = (id(&data), vec![data["system_secret"].as_str().unwrap().to_owned()]);
    let path = format!("/api/systems/{made}");
    run.step("updateSystem", t.put(&path).json(body("Changed")), "system.update").await;
    let renewed = t.post(&format!("{path}/regenerate-secret"));
    let data = run.step("regenerateSystemSecret", renewed, "system.regenerate_secret").await;
    secrets.push(data["system_secret"].as_str().unwrap().to_owned());
    run.secrets.extend(secrets.iter().flat_map(|s| s.split('.').map(str::to_owned).collect::<Vec<_>>()));
    run.life("systems", &made, "System", "system").await;
}

async fn event_subscriptions(run: &mut Run<'_>) {
    let t = run.t;
    let hook = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let body = |name: &str| json!({"name": name, "url": format!("{}/secret-path", hook.url()), "types": ["system.*"]});
    let path = "/api/events/subscriptions";
    let made = run
        .step("createEventSubscription", t.post(path).json(body("New")), "event_subscription.create")
        .await;
    let secret = |data: &Value| data["subscription"]["secret"].as_str().unwrap().to_owned();
    run.secrets.extend([secret(&made), "secret-path".to_owned()]);
    let path = format!("{path}/{}", id(&made["subscription"]));
    let path_of = |what: &str| format!("{path}/{what}");
    let update = t.put(&path).json(body("Changed"));
    run.step("updateEventSubscription", update, "event_subscription.update").await;
    let rotate = t.post(&path_of("rotate-secret"));
    let rotated = run.step("rotateEventSubscriptionSecret", rotate, "event_subscription.rotate_secret").await;
    run.secrets.push(secret(&rotated));
    run.step("testEventSubscription", t.post(&path_of("test")), "event_subscription.test").await;
    let replay = t.post(&path_of("replay")).json(json!({"since": t.app.platform.now().to_string()}));
    run.step("replayEvents", replay, "event_subscription.replay").await;
    run.step("deleteEventSubscription", t.delete(&path), "event_subscription.delete").await;
}

async fn own_account(run: &mut Run<'_>) {
    let t = run.t;
    let key = json!({"name": "CI", "mode": "write", "password": OWNER_PASSWORD});
    let data = run.step("createApiKey", t.post("/api/me/api-keys").json(key), "api_key.create").await;
    let token = data["token"].as_str().unwrap();
    run.secrets.extend([token.to_owned(), token.split_once('.').unwrap().1.to_owned()]);
    let end = t.delete(&format!("/api/me/api-keys/{}", id(&data)));
    run.step("revokeApiKey", end, "api_key.revoke").await;
    let upload = super::avatars::with_file(t.put("/api/me/avatar"), "avatar", &super::avatars::own_picture());
    run.step("putOwnAvatar", upload, "user.avatar").await;
    run.step("deleteOwnAvatar", t.delete("/api/me/avatar"), "user.avatar_delete").await;
    let info = t.post("/api/me/change-info").json(json!({"name": "Another"}));
    run.step("changeInfo", info, "user.change_info").await;
    t.session(run.who.id).await;
    let open = t.get("/api/me/sessions").bearer(&run.who.token).send().await.expect(200).data();
    let other = open["sessions"].as_array().unwrap().iter().find(|session| session["is_present"] == false);
    let end = t.delete(&format!("/api/me/sessions/{}", id(other.unwrap())));
    run.step("endOwnSession", end, "user.end_sessions").await;
    run.step("endOtherSessions", t.delete("/api/me/sessions"), "user.end_sessions").await;
    let new = "Third-Garden-17-Clouds";
    run.secrets.extend([OWNER_PASSWORD.to_owned(), new.to_owned()]);
    let body = json!({"current_password": OWNER_PASSWORD, "new_password": new});
    run.step("changePassword", t.post("/api/me/change-password").json(body), "user.password").await;
}

/// Webhooks may go to this machine.
fn settings(settings: &mut Settings) {
    settings.alerting.allowed_hosts =
        AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
}

api_test!(every_change_leaves_one_row_and_no_row_holds_a_secret, |s| settings(s), |t| async move {
    let owner = t.owner().await;
    let customer = t.tree().await.customer.to_string();
    let mut run = Run { t: &t, who: &owner, done: BTreeSet::new(), secrets: Vec::new() };
    run.secrets.extend([owner.token.clone(), owner.refresh_token.clone()]);
    organizations(&mut run).await;
    users(&mut run, &customer).await;
    systems(&mut run, &customer).await;
    event_subscriptions(&mut run).await;
    own_account(&mut run).await;

    let changes = table().into_iter().filter(|r| {
        let by_person =
            matches!(r.credential, Credential::User | Credential::Session | Credential::SessionOrKey);
        by_person && r.method != "GET"
    });
    for route in changes {
        let name = route.operation.as_str();
        let is_elsewhere = ELSEWHERE.iter().any(|part| name.contains(part));
        let is_known = run.done.contains(name) || UNRECORDED.contains(&name) || is_elsewhere;
        assert!(is_known, "{route:?} ({name}) has no step here: prove its audit row");
    }
    let all = audit::page(&t.app.platform.db, &Filter::default(), None, 1_000).await.unwrap();
    assert!(all.len() > run.done.len());
    for row in all {
        let text = format!("{:?} {:?} {:?}", row.before, row.after, row.request_id);
        for secret in &run.secrets {
            assert!(!text.contains(secret.as_str()), "{}: {text}", row.action);
        }
        assert!(!text.contains("$argon2"), "{}: {text}", row.action);
    }
});

api_test!(a_refused_change_leaves_no_row, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    for (call, status) in [
        (t.post("/api/customers").json(json!({"name": ""})), 400),
        (t.patch(&format!("/api/users/{}/suspend", owner.id)), 403),
        (t.patch(&format!("/api/customers/{}/reactivate", tree.customer)), 400),
        (t.delete("/api/users/x"), 404),
    ] {
        call.bearer(&owner.token).header("x-request-id", "refused").send().await.expect(status);
    }
    let filter = Filter { request_id: Some("refused".to_owned()), ..Filter::default() };
    assert_eq!(audit::page(&t.app.platform.db, &filter, None, 10).await.unwrap(), []);
});

api_test!(pages_of_the_log_neither_repeat_nor_lose_a_row, |t| async move {
    let owner = t.owner().await;
    for n in 0..7 {
        let body = json!({"name": "x", "custom_data": {"vat": format!("IT{n}")}});
        t.post("/api/customers").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let filter = Filter { action: Some("customer.".to_owned()), ..Filter::default() };
    let all = audit::page(&t.app.platform.db, &filter, None, 100).await.unwrap();
    assert_eq!(all.len(), 7);
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = audit::page(&t.app.platform.db, &filter, after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.at, last.id));
        paged.extend(page);
    }
    assert_eq!(paged, all);
    assert!(paged.is_sorted_by(|a, b| (a.at, a.id) > (b.at, b.id)), "the newest first");
});
