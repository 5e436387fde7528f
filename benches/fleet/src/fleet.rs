//! What the systems and people do when it is their turn.

use crate::{
    answers::{self, Wrong},
    client::{Answer, Call, Connection, Failure},
    documents::{document, revision},
    ledger::{Alerts, Fate, Ledger},
    measures::Measures,
    random::{below, pick},
    schedule::{Event, Kind},
    world::{Person, World},
};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::json;
use std::time::Instant;
use tokio::sync::Mutex;

/// Where systems send their alerts and read them.
pub(crate) const ALERTS: &str = "/collect/api/services/mimir/alertmanager/api/v2/alerts";
/// Posts of an outage: the first, repetitions, the end.
const POSTS: u64 = 5;
const NAMES: [(&str, &str); 3] =
    [("DiskSpaceLow", "warning"), ("ServiceDown", "critical"), ("SwapFull", "warning")];

/// The fleet, its people, and everything that is known about them.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub world: World,
    /// The first one sees everything.
    pub people: Vec<Person>,
    pub ledger: Ledger,
    pub measures: Measures,
    seed: u64,
    /// Of each system that has alerts. Held while it posts them: a system sends one post after the other.
    alerts: Vec<Mutex<Alerts>>,
}

impl Fleet {
    pub(crate) fn new(
        world: World,
        people: Vec<Person>,
        alerting: u32,
        seed: u64,
        measures: Measures,
    ) -> Fleet {
        let ledger = Ledger::new(world.len());
        let alerts = (0..alerting).map(|_| Mutex::default()).collect();
        Fleet { world, people, ledger, measures, seed, alerts }
    }

    /// Does what is due, on the connection of the caller. `due` is the moment from which its time counts.
    pub(crate) async fn act(&self, connection: &mut Connection, event: Event, due: Instant) {
        let subject = event.subject as usize;
        match event.kind {
            Kind::Heartbeat => self.heartbeat(connection, subject, due).await,
            Kind::Inventory => self.inventory(connection, subject, event.turn, due).await,
            Kind::Alert => self.post_alerts(connection, subject, event.turn, due).await,
            Kind::OwnAlerts => {
                // Others have nothing to read, and must read nothing.
                let other = || self.world.any(&[self.seed, u64::from(event.subject), u64::from(event.turn)]);
                let system =
                    if event.turn.is_multiple_of(2) { self.alerting_system(subject) } else { other() };
                self.own_alerts(connection, system, due).await;
            }
            Kind::Restart => {
                let system = self.world.any(&[self.seed, u64::from(event.turn), 11]);
                self.restart(connection, system, due).await;
            }
            Kind::Registration => {
                self.register(connection, self.world.fleet() + event.turn as usize, due).await;
            }
            Kind::List | Kind::Search | Kind::Watch => self.open_page(connection, event, due).await,
        }
    }

    /// How many systems have not registered yet.
    pub(crate) const fn newcomers(&self) -> usize {
        self.world.len() - self.world.fleet()
    }

    /// How many systems have alerts.
    pub(crate) const fn alerting(&self) -> usize {
        self.alerts.len()
    }

    /// The system that is number `at` of those with alerts, spread over the fleet.
    pub(crate) fn alerting_system(&self, at: usize) -> usize {
        at * self.world.fleet() / self.alerts.len().max(1)
    }

    /// What system number `at` of those with alerts has posted.
    pub(crate) async fn posted_alerts(&self, at: usize) -> Alerts {
        self.alerts[at].lock().await.clone()
    }

    /// The names of its alerts.
    pub(crate) fn alert_names(&self, at: usize) -> Vec<&'static str> {
        self.alerts_of(at).iter().map(|(name, _)| *name).collect()
    }

    fn alerts_of(&self, at: usize) -> &'static [(&'static str, &'static str)] {
        &NAMES[..1 + usize::try_from(below(NAMES.len() as u64, &[self.seed, at as u64, 12])).unwrap_or(0)]
    }

    /// Asks and measures; the body of an answer of success.
    async fn ask(
        &self,
        connection: &mut Connection,
        kind: Kind,
        due: Instant,
        call: Call,
    ) -> (Fate, Option<Bytes>) {
        let sent = Instant::now();
        let answer = connection.ask(&call).await;
        let error = match &answer {
            Ok(Answer { status: 200..=299, .. }) => None,
            Ok(Answer { status, .. }) => Some(status.to_string()),
            Err(failure) => Some(failure.word().to_owned()),
        };
        self.measures.ended(kind, due.elapsed(), sent.elapsed(), error);
        let fate = fate(&answer);
        let body = answer.ok().filter(|_| fate == Fate::Acknowledged).map(|answer| answer.body);
        (fate, body)
    }

    /// What was read, unless it is wrong.
    fn judged<T>(&self, kind: Kind, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|wrong| self.measures.wrong(kind, &wrong)).ok()
    }

    async fn heartbeat(&self, connection: &mut Connection, system: usize, due: Instant) {
        let call = Call::post("/collect/api/systems/heartbeat", self.world.basic(system), "");
        let (_, body) = self.ask(connection, Kind::Heartbeat, due, call).await;
        let Some(body) = body else { return };
        let read = answers::heartbeat(&body, self.world.key(system));
        if let Some(time) = self.judged(Kind::Heartbeat, read) {
            self.ledger.heard(system, time);
        }
    }

    async fn inventory(&self, connection: &mut Connection, system: usize, turn: u32, due: Instant) {
        let revision = revision(self.seed, system, turn);
        let document = document(self.seed, system, revision);
        let call = Call::post("/collect/api/systems/inventory", self.world.basic(system), document);
        let (fate, body) = self.ask(connection, Kind::Inventory, due, call).await;
        let read = body.map(|body| answers::receipt(&body, self.world.key(system)));
        let receipt = read.and_then(|read| self.judged(Kind::Inventory, read));
        if fate != Fate::Refused {
            self.ledger.documented(system, revision, receipt);
        }
    }

    async fn post_alerts(&self, connection: &mut Connection, at: usize, turn: u32, due: Instant) {
        let system = self.alerting_system(at);
        // Outages of different systems begin in different turns.
        let post = u64::from(turn) + below(POSTS, &[self.seed, at as u64, 13]);
        let (number, is_end) = (u32::try_from(post / POSTS).unwrap_or(0), post % POSTS == POSTS - 1);
        let mut alerts = self.alerts[at].lock().await;
        let now = now().as_millisecond();
        let starts_at = alerts.begin(number, now);
        let time = |ms: i64| Timestamp::from_millisecond(ms).map(|time| time.to_string()).unwrap_or_default();
        let posts = self.alerts_of(at).iter().map(|(name, severity)| {
            let mut alert = json!({
                "labels": { "alertname": name, "severity": severity, "mountpoint": "/" },
                "annotations": { "summary": format!("{name} on {{{{ .system_name }}}}") },
                "startsAt": time(starts_at),
            });
            if is_end {
                alert["endsAt"] = time(now.max(starts_at + 1)).into();
            }
            alert
        });
        let body = posts.collect::<serde_json::Value>().to_string();
        let call = Call::post(ALERTS, self.world.basic(system), body);
        let (fate, _) = self.ask(connection, Kind::Alert, due, call).await;
        alerts.posted(is_end, fate);
    }

    async fn own_alerts(&self, connection: &mut Connection, system: usize, due: Instant) {
        let call = Call::get(ALERTS, &self.world.basic(system));
        if let (_, Some(body)) = self.ask(connection, Kind::OwnAlerts, due, call).await {
            let read = self.judged(Kind::OwnAlerts, answers::own_alerts(&body, self.world.key(system)));
            self.measures.rows(read.map_or(0, |alerts| alerts.len() as u64), 0);
        }
    }

    async fn restart(&self, connection: &Connection, system: usize, due: Instant) {
        let mut connection = connection.another();
        let call = Call::get("/collect/api/systems/info", &self.world.basic(system));
        if let (_, Some(body)) = self.ask(&mut connection, Kind::Restart, due, call).await {
            self.judged(Kind::Restart, answers::about_itself(&body, self.world.key(system)));
        }
        self.first_heartbeat(&mut connection, system).await;
    }

    /// A heartbeat that follows something else and is due from then on.
    async fn first_heartbeat(&self, connection: &mut Connection, system: usize) {
        self.measures.due(Kind::Heartbeat);
        self.heartbeat(connection, system, Instant::now()).await;
    }

    async fn register(&self, connection: &mut Connection, system: usize, due: Instant) {
        let body = json!({ "system_secret": self.world.secret(system) }).to_string();
        let call = Call::post("/collect/api/systems/register", String::new(), body);
        let (_, body) = self.ask(connection, Kind::Registration, due, call).await;
        let Some(body) = body else { return };
        let read = answers::about_itself(&body, self.world.key(system));
        if self.judged(Kind::Registration, read).is_some() {
            self.ledger.registered(system);
            self.first_heartbeat(connection, system).await;
            self.measures.due(Kind::Inventory);
            self.inventory(connection, system, 0, Instant::now()).await;
        }
    }

    async fn open_page(&self, connection: &mut Connection, event: Event, due: Instant) {
        let person = &self.people[event.subject as usize % self.people.len()];
        let words = [self.seed, event.kind as u64, u64::from(event.subject), u64::from(event.turn)];
        let call = Call::get(page_path(event.kind, &words), &person.bearer);
        if let (_, Some(body)) = self.ask(connection, event.kind, due, call).await {
            let read = answers::page(&body, &self.world, person);
            let rows = self.judged(event.kind, read).unwrap_or_default();
            self.measures.rows(rows.own, rows.unknown);
        }
    }
}

/// A page that people open.
fn page_path(kind: Kind, words: &[u64]) -> String {
    const LISTS: &[&str] = &[
        "systems?page=1",
        "systems?page=2",
        "systems?sort_by=name&sort_direction=asc",
        "systems?sort_by=updated_at&sort_direction=desc",
        "systems?status=inactive",
        "systems?type=ns8&sort_by=version&sort_direction=desc",
        "users?page=1",
        "users?sort_by=name&sort_direction=asc",
    ];
    const SEARCHES: &[&str] = &["systems?search=", "search?limit=5&q="];
    const TEXTS: &[&str] = &["srl", "milano", "rossi", "SYS-1", "mail", "fw1", "203.0", "gateway", "zz"];
    match kind {
        Kind::Search => format!("/api/{}{}", pick(SEARCHES, words), pick(TEXTS, &[words, &[1]].concat())),
        Kind::Watch => "/api/alerts?page_size=50".to_owned(),
        _ => format!("/api/{}", pick(LISTS, words)),
    }
}

fn fate(answer: &Result<Answer, Failure>) -> Fate {
    match answer {
        Ok(Answer { status: 200..=299, .. }) => Fate::Acknowledged,
        Ok(Answer { status: 400..=499, .. }) | Err(Failure::NotConnected) => Fate::Refused,
        Ok(_) | Err(Failure::Closed | Failure::TimedOut) => Fate::Doubtful,
    }
}

/// The time that posts carry.
#[expect(clippy::disallowed_methods, reason = "a client has the clock of its machine")]
fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::lines;

    #[test]
    fn answers_decide_what_must_be_found() {
        let answered = |status| fate(&Ok(Answer { status, body: Bytes::new() }));
        assert_eq!([200, 202].map(answered), [Fate::Acknowledged; 2]);
        assert_eq!([400, 401, 429].map(answered), [Fate::Refused; 3]);
        assert_eq!([500, 502, 503, 504].map(answered), [Fate::Doubtful; 4]);
        assert_eq!(fate(&Err(Failure::NotConnected)), Fate::Refused);
        assert_eq!(fate(&Err(Failure::Closed)), Fate::Doubtful);
    }

    #[test]
    fn systems_with_alerts_are_spread_and_keep_their_names() {
        let world = World::read(&lines(&["registered"; 100]), 100).unwrap();
        let fleet = Fleet::new(world, Vec::new(), 4, 1, Measures::new().unwrap());
        let systems: Vec<_> = (0..4).map(|at| fleet.alerting_system(at)).collect();
        assert_eq!((systems, fleet.alerting(), fleet.newcomers()), (vec![0, 25, 50, 75], 4, 0));
        assert!((0..4).all(|at| fleet.alert_names(at).contains(&"DiskSpaceLow")));
    }
}
