//! Thousands of hostile requests in front of a router that records the requests it gets and answers with texts that no
//! system may see. Each request that reaches it is one that the service itself would make, and no answer reveals
//! anything of another system or of the router (spec: alerts#tenant, alerts#request-order, alerts#answers,
//! alert-guarantees#guarantees).
//!
//! The requests are made from a seed, the same in every run unless `BAILIWICK_TEST_SEED` sets another; a failure names
//! the seed and shows the request. To add an attack: a function in [`attacks`] or [`bodies`]; if it has a name of its
//! own, a line in [`named`].

mod attacks;
mod bodies;
mod draft;
mod judge;
mod named;

use super::*;
use bailiwick_alertmanager::SenderLabels;
use bailiwick_testkit::{
    Engine, PATIENCE, api_test,
    parts::recorder::{Answer, Recorded, Recorder},
};
use base64::Engine as _;
use draft::{Dice, Draft};
use judge::Judge;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use uuid::Uuid;

/// A mark in every text that comes from the router and that no caller may see.
const UPSTREAM: &str = "UPSTREAM";

/// A system that attacks, and is attacked.
struct Who {
    identity: SenderLabels,
    credential: String,
    /// A mark in everything that the router has of this system. No other system may see it.
    mark: String,
    /// Its only silence.
    silence: Uuid,
}

/// The service with a port, the router behind it, and the systems.
struct World {
    /// Of the service; held for as long as the requests go.
    p: Test,
    upstream: Recorder,
    service: bailiwick_testkit::Running,
    systems: Vec<Who>,
    headers: Vec<(String, String)>,
}

/// The data that the router has of a system, in the forms in which it returns them.
struct Stored {
    alerts: Vec<Value>,
    silences: Vec<Value>,
}

fn stored(who: &Who) -> Stored {
    let SenderLabels { system_key: key, organization_id: org, .. } = &who.identity;
    let alert = |n: usize, labels: Value, state: &str| {
        json!({
            "labels": labels, "annotations": {"mark": who.mark},
            "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z", "updatedAt": "2026-03-04T09:00:00Z",
            "fingerprint": format!("{n:016x}"), "generatorURL": "", "receivers": [{"name": UPSTREAM}], "routeLabels": {"x": UPSTREAM},
            "status": {"state": state, "silencedBy": [], "inhibitedBy": [UPSTREAM], "mutedBy": [UPSTREAM]},
        })
    };
    let silence = |id: Uuid, comment: &str, (is_regex, is_equal): (bool, bool)| {
        json!({
            "id": id, "status": {"state": "active"}, "updatedAt": "2026-03-04T09:00:00.000Z", "comment": comment, "createdBy": comment,
            "startsAt": "2026-03-04T09:00:00.000Z", "endsAt": "2026-03-04T12:00:00.000Z",
            "matchers": [{"name": "system_key", "value": key, "isRegex": is_regex, "isEqual": is_equal}],
        })
    };
    let own = json!({"alertname": "A", "mark": who.mark, "system_key": key, "organization_id": org});
    Stored {
        alerts: vec![
            alert(1, own.clone(), "active"),
            alert(2, own, "unprocessed"),
            alert(
                3,
                json!({"alertname": UPSTREAM, "system_key": key, "organization_id": "another"}),
                "active",
            ),
            alert(4, json!({"alertname": UPSTREAM}), "active"),
            alert(
                5,
                json!({"alertname": UPSTREAM, "SYSTEM_KEY": key, "system_key": format!("{key} ")}),
                "active",
            ),
        ],
        silences: vec![
            silence(who.silence, &who.mark, (false, true)),
            silence(Uuid::from_u128(who.silence.as_u128() ^ 1), UPSTREAM, (true, true)),
            silence(Uuid::from_u128(who.silence.as_u128() ^ 2), UPSTREAM, (false, false)),
        ],
    }
}

/// Serves the request, and returns more than it asked for; now and then the router fails in some way.
fn router(request: &Recorded, all: &[Stored], may_fail: bool) -> Answer {
    let mut hasher = DefaultHasher::new();
    (&request.path, &request.query, &request.body, request.value("x-request-id")).hash(&mut hasher);
    let throw = hasher.finish();
    // The answer holds the data of the system that asks and of the next one, whatever filter was sent.
    let asks = request.value("x-request-id").and_then(|id| id.split('-').next()?.parse().ok());
    let both = |n: usize| [&all[n % all.len()], &all[(n + 1) % all.len()]];
    let list = |part_of: fn(&Stored) -> &[Value]| {
        let entries: Vec<&Value> = both(asks.unwrap_or(0)).into_iter().flat_map(part_of).collect();
        Answer::json(200, &json!(entries))
    };
    let answer = match (request.method.as_str(), request.path.as_str()) {
        _ if may_fail && throw.is_multiple_of(16) => fault(throw / 16),
        ("GET", path) if path.ends_with("/alerts") => list(|s| &s.alerts),
        ("GET", path) if path.ends_with("/silences") => list(|s| &s.silences),
        ("GET", path) => {
            let entries =
                all.iter().flat_map(|s| &s.silences).find(|s| path.ends_with(s["id"].as_str().unwrap()));
            entries.map_or(Answer::status(404), |silence| Answer::json(200, silence))
        }
        ("POST", path) if path.ends_with("/silences") => {
            Answer::json(200, &json!({"silenceID": "a2e4ebe0-81c0-474b-a001-eed897ce79ab", "note": UPSTREAM}))
        }
        _ => Answer::status(200).body(UPSTREAM),
    };
    answer.header("x-upstream", UPSTREAM).header("set-cookie", "a=UPSTREAM").header("server", UPSTREAM)
}

fn fault(throw: u64) -> Answer {
    let text = |status| Answer::status(status).header("content-type", "text/plain").body(UPSTREAM);
    match throw % 12 {
        0 => text(401),
        1 => text(403),
        2 => text(409),
        3 => text(302).header("location", "http://UPSTREAM.example/"),
        4 => text(200),
        5 => Answer::json(200, &json!({"alerts": [UPSTREAM]})),
        6 => Answer::json(400, &json!({"code": 400, "message": UPSTREAM, "more": UPSTREAM})),
        7 => Answer::json(404, &json!([UPSTREAM])),
        8 => text(429),
        9 => Answer::status(204),
        // These the service asks again, after a pause.
        10 if throw % 96 == 10 => text(500),
        11 if throw % 96 == 11 => Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[\"UPSTREAM"),
        _ => text(400),
    }
}

impl World {
    async fn new(t: &Test) -> World {
        let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
        // A body that is too large need not be large.
        let p = remote(t, &upstream.url(), RouterKind::Mimir, |s| {
            s.alerting.limits.body_bytes = 64 * 1024;
            s.alerting.limits.alerts_per_system = 1_000_000;
            // So that each request is one of the service's; `together` is about those of several.
            s.alerting.limits.pushes_together = 1;
        })
        .await;
        let tree = p.tree().await;
        let service = p.serve().await;
        let mut systems = Vec::new();
        for n in 0..6_u8 {
            let org = if n % 2 == 0 { tree.customer } else { tree.other_customer };
            let Seeded { id, key, secret } = p.system(org).await;
            systems.push(Who {
                identity: SenderLabels {
                    system_key: key.clone(),
                    system_id: id.to_string(),
                    organization_id: org.to_string(),
                    ..SenderLabels::default()
                },
                credential: base64::engine::general_purpose::STANDARD.encode(format!("{key}:{secret}")),
                mark: format!("mark-{n}-of-nobody-else"),
                silence: Uuid::from_u128(0xa2e4_ebe0_81c0_474b_a001_0000_0000_0000 + (u128::from(n) << 8)),
            });
        }
        let mut world = World { p, upstream, service, systems, headers: Vec::new() };
        world.learn().await;
        world
    }

    /// Has the router do its part; with faults in between, or without any.
    fn open(&self, may_fail: bool) {
        let all: Arc<[Stored]> = self.systems.iter().map(stored).collect();
        self.upstream.answer_by(move |request| router(request, &all, may_fail));
    }

    /// Learns what a plain request looks like behind the service.
    async fn learn(&mut self) {
        for n in 0..self.systems.len() {
            let draft = Draft::new("POST", "/api/v2/alerts", r#"[{"labels":{"alertname":"A"}}]"#);
            let answer = self
                .client()
                .exchange(&draft, &draft.bytes(&self.systems[n].credential, &format!("{n}-0")))
                .await;
            assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
            let [request] = &self.received()[..] else { panic!("one request") };
            self.headers = judge::headers(request);
            let annotations = request.json().unwrap()[0]["annotations"].take();
            let identity = &mut self.systems[n].identity;
            let text = |name: &str| annotations[name].as_str().unwrap_or_default().to_owned();
            identity.system_name = text("system_name");
            identity.organization_name = text("organization_name");
            identity.organization_type = text("organization_type");
            identity.organization_vat = text("organization_vat");
            assert!(identity.system_name.starts_with("System ") && identity.organization_type == "customer");
            assert_eq!(annotations.as_object().unwrap().len(), 4, "{annotations}");
        }
        let names: BTreeSet<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "accept",
            "content-length",
            "content-type",
            "host",
            "user-agent",
            "x-request-id",
            "x-scope-orgid",
        ];
        assert!(names.into_iter().eq(expected) && self.headers.len() == expected.len(), "{:?}", self.headers);
        let value = |name: &str| self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(value("host"), self.upstream.url().strip_prefix("http://"));
    }

    fn client(&self) -> Client {
        Client { address: self.service.url.trim_start_matches("http://").to_owned(), stream: None }
    }

    /// The requests that the router got because of the clients. Each minute the service asks it for figures by itself,
    /// under ids of its own, which are UUIDs and never a client's here.
    fn received(&self) -> Vec<Recorded> {
        let is_own = |r: &Recorded| r.value("x-request-id").is_some_and(|id| Uuid::parse_str(id).is_ok());
        let (own, received): (Vec<_>, Vec<_>) = self.upstream.take().into_iter().partition(is_own);
        for request in own {
            assert_eq!((request.method.as_str(), &request.query), ("GET", &None), "{request:?}");
        }
        // Before it takes one more silence, it asks how many the tenant has; nothing of the client's is in that.
        let judge = self.judge();
        let is_count = |r: &Recorded| r.method == "GET" && r.path.ends_with("/silences") && r.query.is_none();
        let (counts, received): (Vec<_>, Vec<_>) = received.into_iter().partition(is_count);
        counts.iter().for_each(|request| judge.check_count(request));
        received
    }

    fn judge(&self) -> Judge<'_> {
        Judge { systems: &self.systems, headers: self.headers.clone(), now: self.p.app.platform.now() }
    }

    /// The texts that an answer to this system must not hold.
    fn check_answer(&self, n: usize, answer: &[u8], about: impl Fn() -> String) {
        let text = String::from_utf8_lossy(answer);
        let others =
            self.systems.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, who)| who.mark.as_str());
        for secret in others.chain([UPSTREAM]) {
            assert!(!text.contains(secret), "{secret} in the answer to {}\n{text}", about());
        }
        let status = text.get(9..12).unwrap_or_default();
        let is_known = match status {
            "500" => false,
            "502" | "503" => text.contains("alerting backend is "),
            _ => !status.starts_with('5'),
        };
        assert!(is_known, "{text}\nto {}", about());
    }
}

/// A connection that is opened again when it has ended.
struct Client {
    address: String,
    stream: Option<TcpStream>,
}

impl Client {
    /// The answer to a request as it came; empty when the service ended the connection instead.
    async fn exchange(&mut self, draft: &Draft, bytes: &[u8]) -> Vec<u8> {
        let exchange = async {
            if draft.is_last() {
                return self.last(bytes).await;
            }
            if self.stream.is_some() {
                let answer = self.one(draft, bytes).await;
                if !answer.is_empty() {
                    return answer;
                }
            }
            self.stream = Some(TcpStream::connect(&self.address).await.unwrap());
            self.one(draft, bytes).await
        };
        let answer = timeout(PATIENCE, exchange).await;
        answer.unwrap_or_else(|_| panic!("no answer to {}", String::from_utf8_lossy(bytes)))
    }

    /// On a connection of its own, of which everything is read.
    async fn last(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let mut answer = Vec::new();
        // The service may end it while it is still written to.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut answer).await;
        answer
    }

    async fn one(&mut self, draft: &Draft, bytes: &[u8]) -> Vec<u8> {
        let Some(mut stream) = self.stream.take() else { return Vec::new() };
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        loop {
            if let Some((length, is_end)) = whole(&answer, draft.method == "HEAD") {
                assert_eq!(
                    answer.len(),
                    length,
                    "one answer to one request: {}",
                    String::from_utf8_lossy(&answer)
                );
                if !is_end {
                    self.stream = Some(stream);
                }
                return answer;
            }
            match stream.read_buf(&mut answer).await {
                Ok(n) if n > 0 => {}
                _ => return answer,
            }
        }
    }
}

/// The length of the answer once it is whole, and whether the connection ends with it.
fn whole(answer: &[u8], is_head: bool) -> Option<(usize, bool)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    if head.starts_with("http/1.1 100 ") {
        return whole(&answer[end..], is_head).map(|(length, is_end)| (end + length, is_end));
    }
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let length: usize = value("content-length:").map_or(0, |n| n.parse().unwrap());
    let length = if is_head { end } else { end + length };
    (answer.len() >= length).then(|| (length, value("connection:") == Some("close")))
}

/// Whether no reader finds one JSON value in it. A byte order mark is skipped, and bytes that are no UTF-8 are characters.
fn is_malformed(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body));
    serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err()
}

/// A request that has been thought of for a while.
fn invent(dice: &mut Dice, own: &Who, other: &Who) -> Draft {
    let id = if dice.once_in(2) { own.silence } else { other.silence };
    let mut draft = match dice.below(12) {
        0..=3 => Draft::new("POST", "/api/v2/alerts", bodies::ALERT),
        4..=6 => Draft::new("POST", "/api/v2/silences", bodies::SILENCE),
        7 => Draft::new("GET", "/api/v2/alerts", ""),
        8 => Draft::new(
            "GET",
            dice.pick(&["/api/v2/alerts/groups", "/api/v2/status", "/api/v2/receivers"]),
            "",
        ),
        9 => Draft::new("GET", "/api/v2/silences", ""),
        10 => Draft::new("GET", &format!("/api/v2/{}/{id}", dice.pick(&["silence", "silences"])), ""),
        _ => Draft::new("DELETE", &format!("/api/v2/{}/{id}", dice.pick(&["silence", "silences"])), ""),
    };
    let apply = |all: &[attacks::Attack], draft: &mut Draft, dice: &mut Dice| {
        let victim = if dice.once_in(8) { own } else { other };
        all[dice.below(all.len())](draft, dice, victim);
    };
    if draft.is_post() {
        let own_kind = if draft.body.first() == Some(&b'[') { bodies::ALERTS } else { bodies::SILENCES };
        for _ in 0..dice.below(3) {
            apply(own_kind, &mut draft, dice);
        }
        if dice.once_in(2) {
            apply(bodies::ANY, &mut draft, dice);
        }
    }
    if dice.once_in(3) {
        apply(attacks::QUERIES, &mut draft, dice);
    }
    if dice.once_in(6) {
        apply(attacks::PATHS, &mut draft, dice);
    }
    for _ in 0..dice.below(3) {
        if dice.once_in(2) {
            apply(attacks::HEADERS, &mut draft, dice);
        }
    }
    if dice.once_in(8) {
        apply(attacks::FRAMES, &mut draft, dice);
    }
    draft
}

/// The outcomes of the requests of one system.
#[derive(Default)]
struct Tally {
    /// By status; "" = the connection ended.
    answers: BTreeMap<String, usize>,
    /// Ids of requests that may not reach the router.
    broken: BTreeSet<String>,
    /// Answers that showed the system its own.
    shown: usize,
}

async fn attack(world: &World, n: usize, seed: u64, requests: usize) -> Tally {
    let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(n as u64));
    let mut client = world.client();
    let mut tally = Tally::default();
    let own = &world.systems[n];
    for number in 1..=requests {
        let other = &world.systems[(n + 1 + dice.below(world.systems.len() - 1)) % world.systems.len()];
        let draft = invent(&mut dice, own, other);
        let id = format!("{n}-{number}");
        let is_broken = draft.is_broken || is_malformed(draft.plain.as_ref().unwrap_or(&draft.body));
        if draft.is_post() && is_broken && !draft.is_last() {
            tally.broken.insert(id.clone());
        }
        let bytes = draft.bytes(&own.credential, &id);
        let answer = client.exchange(&draft, &bytes).await;
        let about = || format!("seed {seed}, {id}:\n{}", String::from_utf8_lossy(&bytes));
        world.check_answer(n, &answer, about);
        let text = String::from_utf8_lossy(&answer);
        tally.shown += usize::from(text.contains(&own.mark));
        *tally.answers.entry(text.get(9..12).unwrap_or_default().to_owned()).or_default() += 1;
    }
    tally
}

/// On each engine, which makes other ones.
const REQUESTS: usize = 5_000;

fn seed(engine: Engine) -> u64 {
    let usual = if engine == Engine::Sqlite { 4 } else { 5 };
    let given = std::env::var("BAILIWICK_TEST_SEED");
    given.map_or(usual, |text| text.parse().expect("BAILIWICK_TEST_SEED is a number"))
}

api_test!(
    // Proves spec: alert-guarantees#guarantees 1 2 7 8 11.
    thousands_of_hostile_requests,
    |t| async move {
        let seed = seed(t.engine);
        let world = World::new(&t).await;
        world.open(true);
        let count = world.systems.len();
        let all = (0..count).map(|n| attack(&world, n, seed, REQUESTS.div_ceil(count)));
        let tallies = futures_util::future::join_all(all).await;
        let judge = world.judge();
        let requests = world.received();
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for request in &requests {
            let id = request.value("x-request-id").unwrap();
            let is_broken = tallies.iter().any(|tally| tally.broken.contains(id));
            assert!(request.method != "POST" || !is_broken, "seed {seed}: {request:?}");
            judge.check(request);
            let path = request.path.strip_prefix("/alertmanager/api/v2/").unwrap();
            let path = path.split('/').next().unwrap();
            *kinds.entry(format!("{} {path}", request.method)).or_default() += 1;
        }
        // All of this has happened, or the attacks have become tame.
        let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
        for (status, n) in tallies.iter().flat_map(|tally| &tally.answers) {
            *answers.entry(status).or_default() += n;
        }
        for (status, least) in [
            ("200", 1000),
            ("400", 500),
            ("404", 100),
            ("405", 50),
            ("406", 10),
            ("413", 10),
            ("415", 25),
            ("422", 50),
            ("502", 50),
        ] {
            assert!(answers.get(status).is_some_and(|n| *n >= least), "{status}: {answers:?}");
        }
        for (kind, least) in [
            ("GET alerts", 250),
            ("POST alerts", 250),
            ("GET silences", 150),
            ("POST silences", 50),
            ("GET silence", 150),
            ("DELETE silence", 25),
        ] {
            assert!(kinds.get(kind).is_some_and(|n| *n >= least), "{kind}: {kinds:?}");
        }
        assert!(tallies.iter().map(|tally| tally.shown).sum::<usize>() > 250);
        assert!(tallies.iter().map(|tally| tally.broken.len()).sum::<usize>() > 250);
    }
);
