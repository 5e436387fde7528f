//! A day in the life of a fleet, all of it over HTTP. Three levels configure recipients, and a system has trouble. The
//! service notifies its recipients once by mail and once by webhook, reminds them, leaves them alone during a silence
//! and notifies them of the end; a person who comes later can read what happened. The test runs with the embedded
//! router, and with a real Prometheus Alertmanager that an operator has given the configuration.

use super::*;
use crate::proxy::{patient, wall_clock};
use bailiwick_alertmanager::{
    config::{Publishing, Smtp, Timing, Upload},
    texts::{Pages, Surroundings, Zone},
};
use bailiwick_alerts::config;
use bailiwick_domain::OrgId;
use bailiwick_settings::{RemoteRouter, Router, RouterKind};
use bailiwick_testkit::{
    Persona,
    parts::alertmanager::{Alertmanager, SILENT_CONFIGURATION},
    seed::{Seeded, Tree},
};
use std::collections::BTreeSet;

/// Reminders come long after everything else of one step, and soon enough to be waited for.
const TIMING: Timing =
    Timing { group_wait: SECOND, group_interval: SECOND, repeat_interval: Duration::from_secs(12) };

struct Day {
    t: Test,
    tree: Tree,
    system: Seeded,
    hook: Recorder,
    smtp: SmtpSink,
    /// The router that is not embedded; it goes by the clock on the wall.
    real: Option<Alertmanager>,
    mails_read: usize,
}

impl Day {
    async fn dawn(engine: Engine, is_remote: bool) -> Day {
        let smtp = SmtpSink::start().await.unwrap_or_else(|e| panic!("{e}"));
        let hook = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let mut settings = settings(smtp.port());
        settings.alerting.timing = TIMING;
        let mut real = None;
        if is_remote {
            let started = Alertmanager::start(SILENT_CONFIGURATION).await.unwrap();
            settings.alerting.router = Router::Remote(RemoteRouter {
                url: started.url().to_owned(),
                prefix: String::new(),
                kind: RouterKind::Plain,
                is_provisioned: false,
            });
            patient(&mut settings);
            real = Some(started);
        }
        let t = Test::with(engine, settings).await;
        if is_remote {
            t.clock.set(wall_clock());
        }
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        Day { t, tree, system, hook, smtp, real, mails_read: 0 }
    }

    fn client(&self) -> Client<'_> {
        let (id, key, secret) = (self.system.id, self.system.key.clone(), self.system.secret.clone());
        Client { test: &self.t, system: Seeded { id, key, secret } }
    }

    /// An organization subscribes to alerts of these severities by mail and by webhook.
    async fn configure(&self, who: &Persona, name: &str, severities: &[&str]) {
        let layer = json!({
            "enabled": {"email": true, "webhook": true},
            "email_recipients": [{"address": format!("{name}@example.org"), "severities": severities}],
            "webhook_recipients": [{"name": name, "url": format!("{}/{name}", self.hook.url()), "severities": severities}],
        });
        let saved = self.t.post("/api/alerts/config").bearer(&who.token).json(layer).send().await;
        saved.expect_message(200, "alerting configuration updated successfully");
    }

    /// The steps of an operator for a router that takes no configuration from the service.
    async fn provision(&self, tenant: OrgId) {
        let Some(real) = &self.real else { return };
        let effective =
            config::effective(&self.t.app.alerts, &self.t.app.platform.db, &[tenant]).await.unwrap();
        let publishing = Publishing {
            resolve_timeout: Duration::from_secs(21_600),
            timing: TIMING,
            smtp: Some(Smtp {
                smarthost: format!("127.0.0.1:{}", self.smtp.port()),
                from: "help@fleet.example.org".to_owned(),
                username: None,
                password: None,
                requires_tls: false,
            }),
            omitted: Vec::new(),
            history: None,
            surroundings: Surroundings {
                pages: Pages::Other("https://ui.example.org".to_owned()),
                zone: Zone::utc(),
            },
        };
        let upload = Upload::new(&tenant.to_string(), &effective[&tenant], &publishing).unwrap();
        real.configure(&upload.alertmanager_config, &upload.template_files).await.unwrap();
    }

    /// The system pushes a firing or a resolved alert.
    async fn push(&self, name: &str, severity: &str, fires: bool) {
        self.now();
        let mut alert = json!({"labels": {"alertname": name, "severity": severity},
            "annotations": {"summary_en": format!("{name} has happened")}});
        if !fires {
            alert["endsAt"] = json!(self.t.app.platform.now().rfc3339(3));
        }
        self.client().push(&json!([alert]).to_string()).await.expect(200);
    }

    /// The service's clock is that of the router, where that one has its own.
    fn now(&self) {
        if self.real.is_some() {
            self.t.clock.set(wall_clock());
        }
    }

    /// Waits for these notifications: `owner mail [FIRING:1] Disk`, `owner hook firing Disk`. The embedded router sends no
    /// others. A real one goes by the clock on the wall, so on a busy machine `reminders` of earlier alerts may come as well.
    async fn expect(&mut self, what: &str, mut expected: Vec<String>, reminders: &[String]) {
        expected.sort();
        if self.real.is_some() {
            let mut received = BTreeSet::new();
            eventually(what, async || {
                received.extend(self.take());
                expected.iter().all(|line| received.contains(line))
            })
            .await;
            received.retain(|line| !expected.contains(line) && !reminders.contains(line));
            assert!(received.is_empty(), "{what}: {received:?}");
            return;
        }
        for _ in 0..60 {
            if self.waiting() >= expected.len() {
                break;
            }
            self.t.advance(SECOND);
            notify::run_until_idle(&self.t.app.alerts).await.unwrap();
        }
        eventually(what, async || self.waiting() >= expected.len()).await;
        assert_eq!(self.take(), expected, "{what}");
    }

    /// The notifications since the last call, sorted.
    fn take(&mut self) -> Vec<String> {
        let mails = self.smtp.messages().unwrap();
        let mut received: Vec<String> = mails[self.mails_read..].iter().map(mailed).collect();
        self.mails_read = mails.len();
        received.extend(self.hook.take().iter().map(posted));
        received.sort();
        received
    }

    fn waiting(&self) -> usize {
        self.smtp.messages().unwrap().len() - self.mails_read + self.hook.requests().len()
    }

    async fn get(&self, who: &Persona, path: &str) -> Value {
        self.t.get(&format!("/api{path}")).bearer(&who.token).send().await.expect(200).data()
    }
}

fn mailed(mail: &Received) -> String {
    let subject: Vec<&str> = mail.subject().split(' ').take(2).collect();
    format!("{} mail {}", mail.to[0].trim_end_matches("@example.org"), subject.join(" "))
}

fn posted(request: &Recorded) -> String {
    let body = request.json().unwrap();
    let name = body["commonLabels"]["alertname"].as_str().unwrap();
    format!("{} hook {} {name}", request.path.trim_start_matches('/'), body["status"].as_str().unwrap())
}

/// A mail and a webhook for each of these.
fn each(whom: &[&str], head: &str, status: &str, name: &str) -> Vec<String> {
    let lines_of = |who: &&str| [format!("{who} hook {status} {name}"), format!("{who} mail {head} {name}")];
    whom.iter().flat_map(lines_of).collect()
}

fn firing(whom: &[&str], name: &str) -> Vec<String> {
    each(whom, "[FIRING:1]", "firing", name)
}

const ALL: [&str; 3] = ["customer", "distributor", "owner"];
const TWO: [&str; 2] = ["customer", "owner"];

async fn a_day(engine: Engine, is_remote: bool) {
    let mut day = Day::dawn(engine, is_remote).await;
    let tree = day.tree;
    let owner = day.t.owner().await;
    let distributor = day.t.user(tree.distributor, &["admin"]).await;
    let customer = day.t.user(tree.customer, &["admin"]).await;
    let stranger = day.t.user(tree.other_customer, &["admin"]).await;
    day.configure(&owner, "owner", &[]).await;
    day.configure(&distributor, "distributor", &["critical"]).await;
    day.configure(&customer, "customer", &[]).await;
    // In another branch: its recipients get no notification of any of it.
    day.configure(&stranger, "stranger", &[]).await;
    day.provision(tree.customer).await;

    let (disk, backup, fan) = (firing(&ALL, "Disk"), firing(&TWO, "Backup"), firing(&ALL, "Fan"));
    day.push("Disk", "critical", true).await;
    day.expect("the first alert", disk.clone(), &[]).await;
    day.push("Backup", "warning", true).await;
    day.expect("the second alert", backup.clone(), &disk).await;
    // The same alerts pushed again are no news, but after a while every recipient is reminded.
    day.push("Disk", "critical", true).await;
    day.push("Backup", "warning", true).await;
    day.expect("the reminders", [disk.clone(), backup.clone()].concat(), &[]).await;

    // A user of the distributor sees it and wants no more notifications about the disk.
    let of_customer = format!("?organization_id={}", tree.customer);
    let listed = day.get(&distributor, &format!("/alerts{of_customer}&alertname=Disk")).await;
    let fingerprint = listed["alerts"][0]["fingerprint"].as_str().unwrap().to_owned();
    day.now();
    let body = json!({"fingerprint": fingerprint, "comment": "on my way", "duration_minutes": 60});
    let silences = day.t.post(&format!("/api/alerts/silences{of_customer}")).bearer(&distributor.token);
    silences.json(body).send().await.expect_message(200, "alert silenced successfully");
    // On a busy machine there may be reminders from before. They must not pass for the next one of the other
    // alert, which gives a reminder of the disk that is on its way the time to arrive.
    let earlier = day.take();
    let is_reminder = |line: &String| disk.contains(line) || backup.contains(line);
    assert!(earlier.iter().all(|line| is_remote && is_reminder(line)), "{earlier:?}");
    // A reminder that was on its way when the silence began may still come, but none after that.
    day.expect("the reminder of the other", backup.clone(), &disk).await;
    day.expect("its next reminder", backup.clone(), &[]).await;

    // Both alerts end, the silenced one without a notification. Later alerts lead to notifications again.
    day.push("Disk", "critical", false).await;
    day.push("Backup", "warning", false).await;
    day.expect("the end", each(&TWO, "[RESOLVED]", "resolved", "Backup"), &backup).await;
    day.push("Fan", "critical", true).await;
    day.expect("the last alert", fan.clone(), &[]).await;

    // A user who comes later reads what happened, within their own organization.
    let history = async |who: &Persona| {
        let rows = day.get(who, "/alerts/history?sort_by=alertname&sort_direction=asc").await;
        let rows = rows["alerts"].as_array().unwrap().clone();
        let line = |r: &Value| format!("{} {}", r["alertname"], r["status"]).replace('"', "");
        rows.iter().map(line).collect::<Vec<_>>()
    };
    let expected = ["Backup resolved", "Disk resolved"];
    eventually("the history", async || history(&customer).await == expected).await;
    assert_eq!(history(&owner).await, expected);
    assert_eq!(history(&stranger).await, [""; 0]);
    let active = day.get(&customer, "/alerts").await;
    assert_eq!(active["alerts"].as_array().unwrap().len(), 1, "{active}");
    let activity = day.get(&customer, &format!("/alerts/activity/{fingerprint}{of_customer}")).await;
    let events = activity["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{activity}");
    assert_eq!(
        (&events[0]["action"], &events[0]["details"]["comment"], &events[0]["actor_user_id"]),
        (&json!("silenced"), &json!("on my way"), &json!(distributor.id))
    );
    let late = day.take();
    assert!(late.iter().all(|line| is_remote && fan.contains(line)), "{late:?}");
}

on_both!(with_the_embedded_router, |engine| a_day(engine, false));

on_both!(with_a_real_alertmanager, |engine| a_day(engine, true));
