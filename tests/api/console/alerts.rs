//! Everything that is done with alerts, with links and forms alone, and by whom.

use super::{Browser, between};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_policy::{Catalogue, KeyMode};
use bailiwick_testkit::{Engine, Persona, Test, api_test, engine, seed::Seeded};
use serde_json::{Value, json};
use std::time::Duration;

const PUSH: &str = "/api/services/mimir/alertmanager/api/v2/alerts";

/// Pushes alerts of a system.
pub async fn push(t: &Test, system: &Seeded, alerts: Value) {
    t.post(PUSH).basic(&system.key, &system.secret).json(alerts).send().await.expect(200);
}

/// An alert with a summary in both languages.
pub fn alert(name: &str, severity: &str) -> Value {
    json!({"labels": {"alertname": name, "severity": severity},
        "annotations": {"summary": format!("{name} <happens>"), "summary_it": format!("{name} succede")}})
}

/// The address of the first alert that a page links to.
pub fn first(page: &str, organization: OrgId) -> String {
    let start = format!("href=\"/console/alerts/{organization}/");
    format!("/console/alerts/{organization}/{}", between(page, &start, "\""))
}

/// A system of a customer with these alerts, and the address of the first in the list.
async fn fired(t: &Test, who: &Persona, organization: OrgId, alerts: Value) -> (Seeded, String) {
    let system = t.system(organization).await;
    push(t, &system, alerts).await;
    let list = Browser::of(t, who).await.get("/console/alerts?page_size=100").await.expect(200).text();
    let address = first(&list, organization);
    (system, address)
}

api_test!(an_alert_is_read_noted_taken_silenced_and_unsilenced, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (system, address) = fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    t.alert_layer(
        tree.reseller,
        json!({"enabled": {"email": true}, "email_recipients": [{"address": "noc@reseller.example"}]}),
    )
    .await;
    let browser = Browser::of(&t, &owner).await;
    let home = browser.get("/console/").await.expect(200).text();
    assert!(
        home.contains(&format!("href=\"{address}\"")) && home.contains("/console/alerts?severity=critical")
    );
    let tab = browser.get(&format!("/console/systems/{}/alerts", system.id)).await.expect(200).text();
    assert!(tab.contains(&format!("href=\"{address}\"")));

    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("DiskFull &lt;happens&gt;") && page.contains("Nobody has taken it"), "{page}");
    assert!(page.contains("noc@reseller.example") && page.contains("named by Alfa Reseller"), "{page}");
    assert!(page.contains("<code>system_key</code>") && page.contains(&system.key));

    let head = between(&page, "<h1", "</div></div>");
    assert!(head.contains(&format!("<form method=\"post\" action=\"{address}/take\"><button")), "{head}");
    let wrong = browser.post(&format!("{address}/notes"), &[("text", " ")]).await.expect(422).text();
    assert!(wrong.contains("id=\"text-wrong\""));
    let noted =
        browser.post(&format!("{address}/notes"), &[("text", "look <at> it\r\nnow")]).await.expect(303);
    assert_eq!(noted.header("location"), Some(address.as_str()));
    browser.post(&format!("{address}/take"), &[("text", "mine")]).await.expect(303);
    let page = browser.get(&address).await.expect(200).text();
    assert!(
        page.contains("look &lt;at&gt; it\nnow") && page.contains("took charge") && page.contains("mine")
    );
    assert!(!page.contains(&format!("action=\"{address}/take\"")), "it is mine already");
    let mine =
        browser.get(&format!("/console/alerts?assigned_user_id={}", owner.id)).await.expect(200).text();
    assert!(mine.contains(&address));
    let untaken = browser.get("/console/alerts?assigned_user_id=none").await.expect(200).text();
    assert!(!untaken.contains(&address) && untaken.contains("No alert matches"));

    // The preview makes nothing.
    let form = browser.get(&format!("{address}/silence")).await.expect(200).text();
    assert!(form.contains("name=\"duration_minutes\""));
    let past = [("duration_minutes", "own"), ("end_at", "2020-01-01T00:00")];
    let wrong = browser.post(&format!("{address}/silence"), &past).await.expect(422).text();
    assert!(wrong.contains("id=\"end_at-wrong\"") && wrong.contains("in the future"), "{wrong}");
    let fields = [("duration_minutes", "240"), ("comment", "planned <work>")];
    let preview = browser.post(&format!("{address}/silence"), &fields).await.expect(200).text();
    assert!(
        preview.contains("alertname=&quot;DiskFull&quot;") && preview.contains("planned &lt;work&gt;"),
        "{preview}"
    );
    assert!(preview.contains(&format!("href=\"{address}\"")), "the alert that would be silenced");
    let quiet = browser.get("/console/alerts/silences").await.expect(200).text();
    assert!(quiet.contains("No silences"));
    let confirmed = [("confirm", "true"), fields[0], fields[1]];
    browser.post(&format!("{address}/silence"), &confirmed).await.expect(303);
    let again = browser.post(&format!("{address}/silence"), &confirmed).await.expect(400).text();
    assert!(again.contains("alert is already silenced"));
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("silenced it until") && page.contains("planned &lt;work&gt;"));
    assert!(!page.contains(&format!("{address}/silence")), "it is silenced");
    assert!(browser.get("/console/alerts?status=suppressed").await.expect(200).text().contains(&address));
    assert!(!browser.get("/console/alerts?status=active").await.expect(200).text().contains(&address));

    let list = browser.get("/console/alerts/silences").await.expect(200).text();
    let silence =
        format!("/console/alerts/silences/{}", between(&list, "href=\"/console/alerts/silences/", "\""));
    let one = browser.get(&silence).await.expect(200).text();
    assert!(one.contains("planned &lt;work&gt;") && one.contains("in force"));
    browser.post(&silence, &[("end_at", "2020-01-01T00:00"), ("comment", "")]).await.expect(422);
    let later = (t.app.platform.now().plus(Duration::from_secs(7200))).rfc3339(0);
    let moved = browser.post(&silence, &[("end_at", &later[..16]), ("comment", "longer")]).await.expect(303);
    let moved = moved.header("location").unwrap().split('?').next().unwrap().to_owned();
    assert!(browser.get(&moved).await.expect(200).text().contains("longer"));
    browser.post(&format!("{moved}/end"), &[]).await.expect(303);
    assert!(browser.get("/console/alerts/silences").await.expect(200).text().contains("No silences"));
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("ended the silence") && page.contains(&format!("{address}/silence")));

    // Resolved: the page stays, with what was done.
    t.advance(Duration::from_secs(600));
    let mut ended = alert("DiskFull", "critical");
    ended["endsAt"] = json!(t.app.platform.now().rfc3339(0));
    push(&t, &system, json!([ended])).await;
    let page = browser.get(&address).await.expect(200).text();
    assert!(
        page.contains("resolved")
            && page.contains("look &lt;at&gt; it")
            && !page.contains(&format!("{address}/take"))
    );
    let history = browser.get("/console/alerts/history").await.expect(200).text();
    assert!(history.contains(&address) && history.contains("10 min"), "{history}");
    assert!(browser.get("/console/alerts").await.expect(200).text().contains("All quiet"));
    let figures = browser.get("/console/alerts/figures?period=7").await.expect(200).text();
    assert!(figures.contains("up to 1 hour") && figures.contains("Alfa Customer"), "{figures}");
});

api_test!(a_silence_keeps_its_end_and_its_comment_unless_they_are_changed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (system, address) = fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    let fingerprint = address.rsplit('/').next().unwrap();
    let browser = Browser::of(&t, &owner).await;
    // Half a minute after a full one.
    let now = t.app.platform.now().secs();
    let end = now - now.rem_euclid(60) + 150;
    let end_at = Ts::from_secs(end).rfc3339(0);
    let path = format!("/api/systems/{}/alerts/silences", system.id);
    let body = json!({"fingerprint": fingerprint, "end_at": end_at, "comment": "planned"});
    let made = t.post(&path).bearer(&owner.token).json(body).send().await.expect(200).data();
    let one = format!("/console/alerts/silences/{}/{}", tree.customer, made["silence_id"].as_str().unwrap());
    let form = browser.get(&one).await.expect(200).text();
    let field = between(&form, "type=\"datetime-local\" value=\"", "\"").to_owned();
    // In its last minute.
    t.advance(Duration::from_secs(end.abs_diff(now) - 20));
    let wrong = browser.post(&one, &[("end_at", &field), ("comment", " ")]).await.expect(422).text();
    assert!(wrong.contains("id=\"comment-wrong\"") && !wrong.contains("id=\"end_at-wrong\""), "{wrong}");
    let changed = browser.post(&one, &[("end_at", &field), ("comment", "longer")]).await.expect(303);
    let id = changed.header("location").unwrap().rsplit('/').next().unwrap();
    let silence = t.get(&format!("{path}/{id}")).bearer(&owner.token).send().await.expect(200).data();
    assert_eq!(silence["silence"]["endsAt"], end_at.replace('Z', ".000Z"));
    assert_eq!(silence["silence"]["comment"], "longer");
});

// The organization of an address is read without the blanks around it.
api_test!(a_form_leads_back_to_any_address_that_names_the_alert, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (_, address) = fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    let browser = Browser::of(&t, &owner).await;
    let odd = address.replace("/alerts/", "/alerts/%0A");
    for (form, fields) in [
        ("notes", &[("text", "noted")][..]),
        ("take", &[]),
        ("silence", &[("duration_minutes", "60"), ("confirm", "true")]),
    ] {
        let reply = browser.post(&format!("{odd}/{form}"), fields).await.expect(303);
        assert_eq!(reply.header("location"), Some(odd.as_str()), "{form}");
    }
    assert!(browser.get(&odd).await.expect(200).text().contains("noted"));
    let list = browser.get("/console/alerts/silences").await.expect(200).text();
    let silence = between(&list, "href=\"/console/alerts/silences/", "\"").to_owned();
    let end_at = t.app.platform.now().plus(Duration::from_secs(7200)).rfc3339(0);
    let fields = [("end_at", &end_at[..16]), ("comment", "longer")];
    let reply = browser.post(&format!("/console/alerts/silences/%0A{silence}"), &fields).await.expect(303);
    browser.get(reply.header("location").unwrap()).await.expect(200);
});

api_test!(a_bar_of_the_figures_leads_to_the_alerts_that_it_counts, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    let query = format!("organization_id={}&include=descendants", tree.reseller);
    let page = format!("/console/alerts/figures?period=7&{query}");
    let page = Browser::of(&t, &owner).await.get(&page).await.expect(200).text();
    let link = format!("href=\"/console/alerts?{query}&severity=critical\"").replace('&', "&amp;");
    assert!(page.contains(&link), "{page}");
});

api_test!(figures_of_resolved_alerts_are_cached_and_show_every_end_at_once, |t| async move {
    let (tree, owner) = (t.tree().await, t.owner().await);
    let (system, _) = fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    let other = t.system(tree.other_customer).await;
    let mut browser = Browser::of(&t, &owner).await;
    let path = "/console/alerts/figures?period=7";
    assert!(!browser.get(path).await.expect(200).text().contains("Alfa Customer"));
    let ended = |name: &str| {
        let mut ended = alert(name, "critical");
        ended["endsAt"] = json!(t.app.platform.now().rfc3339(0));
        json!([ended])
    };
    // A known alert, and one that the service has never received.
    t.advance(Duration::from_secs(60));
    push(&t, &system, ended("DiskFull")).await;
    assert!(browser.get(path).await.expect(200).text().contains("Alfa Customer"));
    let mut unknown = ended("WanDown");
    unknown[0]["startsAt"] = json!(Ts(t.app.platform.now().0 - 60_000_000).rfc3339(0));
    push(&t, &other, unknown).await;
    let page = browser.get(path).await.expect(200).text();
    assert!(page.contains("Alfa Customer") && page.contains("Beta Customer"), "{page}");
    // Afterwards nothing changes them but time: a minute later the rows are read again.
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for table in ["alert_history", "alert_history_days"] {
        let q = bailiwick_store::sql::Q::new(&format!("DELETE FROM {table} WHERE organization_id = ?"));
        q.bind(tree.customer).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert!(browser.get(path).await.expect(200).text().contains("Alfa Customer"));
    t.advance(Duration::from_secs(61));
    browser = Browser::of(&t, &owner).await;
    assert!(!browser.get(path).await.expect(200).text().contains("Alfa Customer"));
});

api_test!(the_list_of_alerts_groups_filters_orders_and_searches, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let alerts =
        json!([alert("DiskFull", "critical"), alert("WanDown", "warning"), alert("HighLoad", "info")]);
    let (system, _) = fired(&t, &owner, tree.customer, alerts).await;
    push(&t, &t.system(tree.other_customer).await, json!([alert("WanDown", "warning")])).await;
    let browser = Browser::of(&t, &owner).await;
    let page = async |query: &str| browser.get(&format!("/console/alerts?{query}")).await.expect(200).text();
    let names = |page: &str| -> Vec<String> {
        let rows = page.split("<th scope=\"row\"").skip(1);
        rows.map(|row| between(row, "title=\"", "\"").to_owned()).collect()
    };
    assert_eq!(
        names(&page("sort_by=alertname&sort_direction=asc").await),
        ["DiskFull", "HighLoad", "WanDown", "WanDown"]
    );
    let by_severity = page("sort_by=severity").await;
    assert!(by_severity.contains("aria-sort=\"descending\"") && by_severity.contains("sort_direction=asc"));
    assert_eq!(names(&by_severity)[0], "DiskFull");
    assert_eq!(
        names(&page("severity=info&severity=critical&sort_by=severity").await),
        ["DiskFull", "HighLoad"]
    );
    assert_eq!(names(&page("search=DISK").await), ["DiskFull"]);
    assert_eq!(names(&page("search=beta+cust").await), ["WanDown"]);
    assert_eq!(names(&page("search=nowhere").await), [""; 0]);
    assert_eq!(names(&page("alertname=WanDown&page_size=1&page=2").await).len(), 1);
    assert_eq!(names(&page(&format!("system_key={}&alertname=WanDown", system.key)).await), ["WanDown"]);

    assert_eq!(names(&page("group=organization").await), ["Alfa Customer", "Beta Customer"]);
    let by_name = page("group=name").await;
    assert_eq!(names(&by_name), ["DiskFull", "WanDown", "HighLoad"]);
    assert!(by_name.contains("href=\"/console/alerts?alertname=WanDown\""), "{by_name}");
    let by_system = page("group=system&severity=warning").await;
    assert_eq!(names(&by_system).len(), 2);
    let link =
        format!("severity=warning&amp;organization_id={}&amp;system_key={}", tree.customer, system.key);
    assert!(by_system.contains(&link), "{by_system}");
    assert_eq!(names(&page("group=system&search=nowhere").await), [""; 0]);
    // A group past the end, and a word that means no group.
    assert_eq!(names(&page("group=nonsense").await).len(), 4);

    let customer = t.user(tree.customer, &["admin"]).await;
    let own =
        Browser::of(&t, &customer).await.get("/console/alerts?group=organization").await.expect(200).text();
    assert!(!own.contains("Beta"));
});

api_test!(alerts_are_handled_by_those_who_may, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (_, address) = fired(&t, &owner, tree.customer, json!([alert("DiskFull", "critical")])).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let reads = t.get("/api/alerts").bearer(&user.token).send().await;
            let home = browser.get("/console/").await.expect(200).text();
            let may_read = reads.status == 200;
            assert_eq!(home.contains("href=\"/console/alerts\""), may_read, "{role}");
            let paths =
                ["", "/silences", "/history", "/figures"].map(|tail| format!("/console/alerts{tail}"));
            for path in paths.iter().chain([&address]) {
                assert_eq!(browser.get(path).await.status, reads.status, "{role} {path}");
            }
            // The answer of the API to the same person.
            let noting = format!("/api/alerts/notes?organization_id={}", tree.customer);
            let body = json!({"fingerprint": "nonsense of a kind", "text": ""});
            let status = t.post(&noting).bearer(&user.token).json(body).send().await.status;
            let may = status == 400;
            assert!(may || status == 403, "{role}: {status}");
            if may_read {
                let page = browser.get(&address).await.expect(200).text();
                for word in ["notes", "take", "silence"] {
                    assert_eq!(page.contains(&format!("{address}/{word}\"")), may, "{role} {word}");
                }
            }
            if may {
                browser.post(&format!("{address}/notes"), &[("text", role)]).await.expect(303);
                continue;
            }
            for word in ["notes", "take", "silence"] {
                let form = [("text", "x"), ("duration_minutes", "60"), ("confirm", "true")];
                browser.post(&format!("{address}/{word}"), &form).await.expect(403);
            }
            browser.get(&format!("{address}/silence")).await.expect(403);
        }
    }
});

api_test!(alerts_of_others_and_alerts_that_never_were_are_the_same_page, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (_, foreign) = fired(&t, &owner, tree.other_customer, json!([alert("Secret", "critical")])).await;
    let own = t.system(tree.customer).await;
    push(&t, &own, json!([alert("Mine", "info")])).await;
    let fingerprint = foreign.rsplit('/').next().unwrap().to_owned();
    let missing: OrgId = t.app.platform.fresh();
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let user = t.user(org, &["super"]).await;
        let browser = Browser::of(&t, &user).await;
        let addresses = [
            foreign.clone(),
            format!("/console/alerts/{missing}/{fingerprint}"),
            format!("/console/alerts/nonsense/{fingerprint}"),
        ];
        for tail in ["", "/silence"] {
            let mut pages = Vec::new();
            for address in &addresses {
                let reply = browser.get(&format!("{address}{tail}")).await;
                assert!(matches!(reply.status.as_u16(), 403 | 404), "{}", reply.status);
                pages.push((reply.status, reply.body, reply.headers.len()));
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        for tail in ["/notes", "/take", "/silence"] {
            let mut pages = Vec::new();
            for address in &addresses {
                let form = [("text", "x"), ("duration_minutes", "60"), ("confirm", "true")];
                let reply = browser.post(&format!("{address}{tail}"), &form).await;
                pages.push((reply.status, reply.body));
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        let silences = [foreign.clone(), addresses[1].clone()]
            .map(|address| address.replace("/alerts/", "/alerts/silences/"));
        let mut pages = Vec::new();
        for silence in &silences {
            pages.push(browser.get(silence).await.body);
        }
        assert_eq!(pages[0], pages[1]);
        // An own alert that never was is missing.
        browser.get(&format!("/console/alerts/{}/0000000000000000", tree.customer)).await.expect(404);
        for path in ["", "/silences", "/history", "/figures"] {
            let page = browser.get(&format!("/console/alerts{path}?page_size=100")).await.expect(200).text();
            assert!(!page.contains("Secret") && !page.contains("Beta"), "{path}");
        }
        let groups = browser.get("/console/alerts?group=name").await.expect(200).text();
        assert!(groups.contains("Mine") && !groups.contains("Secret"));
    }
});

// Silencing is one act, in the console, the interface and through tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn either_of_two_permissions_is_enough_to_silence_everywhere() {
    let mut roles: Value =
        serde_json::from_str(include_str!("../../../crates/policy/src/catalogue.json")).unwrap();
    for (key, permissions) in [
        ("of_systems", &["read:systems", "read:alerts", "manage:systems"][..]),
        ("of_alerts", &["read:systems", "read:alerts", "manage:alerts"]),
        ("of_neither", &["read:systems", "read:alerts", "manage:applications"]),
    ] {
        let role = json!({"key": key, "name": key, "description": "", "permissions": permissions, "read_only": false,
            "organization_actions": ["read"], "assignable_by": null});
        roles["user_roles"].as_array_mut().unwrap().push(role);
    }
    let catalogue = Catalogue::build(&serde_json::from_value(roles).unwrap()).unwrap();
    let t = Test::with_catalogue(Engine::Sqlite, engine::settings(), catalogue).await;
    let tree = t.tree().await;
    let (system, address) =
        fired(&t, &t.owner().await, tree.customer, json!([alert("DiskFull", "critical")])).await;
    let fingerprint = address.rsplit('/').next().unwrap();
    let interface = format!("/api/systems/{}/alerts/silences", system.id);
    let tool = format!("/api/organizations/{}/alertmanager/api/v2/silence", tree.customer);
    for (role, may) in [("of_systems", true), ("of_alerts", true), ("of_neither", false)] {
        let person = t.user(tree.customer, &[role]).await;
        let (_, key) = t.api_key(person.id, KeyMode::Write).await;
        let browser = Browser::of(&t, &person).await;
        let page = browser.get(&address).await.expect(200).text();
        assert_eq!(page.contains(&format!("href=\"{address}/silence\"")), may, "{role}: {page}");
        let form = [("duration_minutes", "60"), ("confirm", "true")];
        let made = browser.post(&format!("{address}/silence"), &form).await;
        let body = json!({"fingerprint": fingerprint});
        let by_interface = async || t.post(&interface).bearer(&person.token).json(body.clone()).send().await;
        let end = async |id: &str| t.delete(&format!("{tool}/{id}")).basic("tool", &key).send().await.status;
        if !may {
            made.expect(403);
            by_interface().await.expect(403);
            assert_eq!(end("00000000-0000-4000-8000-000000000000").await, 403);
            continue;
        }
        made.expect(303);
        let list = browser.get("/console/alerts/silences").await.expect(200).text();
        let silence = between(&list, "href=\"/console/alerts/silences/", "\"").to_owned();
        browser.post(&format!("/console/alerts/silences/{silence}/end"), &[]).await.expect(303);
        let made = by_interface().await.expect(200).data();
        let id = made["silence_id"].as_str().unwrap_or_else(|| panic!("{made}"));
        assert_eq!(end(id).await, 200, "{role}");
    }
}
