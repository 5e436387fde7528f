//! Each known attack once, by its name, with the answer it gets and the number of requests that the router gets.

use super::{
    bodies::{ALERT, SILENCE, gzip},
    draft::Framing,
    *,
};

/// Name, request, statuses that are right, and how many requests of it reach the router.
type Case = (&'static str, Draft, &'static [&'static str], std::ops::RangeInclusive<usize>);

/// Nothing at all is forwarded.
const NONE: std::ops::RangeInclusive<usize> = 0..=0;

fn push(body: impl AsRef<str>) -> Draft {
    Draft::new("POST", "/api/v2/alerts", body.as_ref())
}

fn silence(body: impl AsRef<str>) -> Draft {
    Draft::new("POST", "/api/v2/silences", body.as_ref())
}

fn get(target: &str) -> Draft {
    Draft::new("GET", target, "")
}

fn with(mut draft: Draft, line: &str) -> Draft {
    draft.line(line);
    draft
}

fn framed(mut draft: Draft, lines: &str, body: Vec<u8>) -> Draft {
    draft.framing = Framing::Lines(lines.as_bytes().to_vec());
    draft.body = body;
    draft
}

fn packed(body: &[u8]) -> Draft {
    let mut draft = with(push(""), "Content-Encoding: gzip");
    draft.body = body.to_vec();
    draft
}

fn of_bodies(other: &Who) -> Vec<Case> {
    let key = &other.identity.system_key;
    let plain = r#"{"labels":{"alertname":"A"}}"#;
    vec![
        ("trailing bytes", push(format!("[{plain}] x")), &["400"], NONE),
        (
            "a second value",
            push(format!("[{plain}][{{\"labels\":{{\"alertname\":\"A\",\"system_key\":\"{key}\"}}}}]")),
            &["400"],
            NONE,
        ),
        (
            "a key twice",
            push(format!("[{{\"labels\":{{\"alertname\":\"A\"}},\"labels\":{{\"system_key\":\"{key}\"}}}}]")),
            &["400"],
            NONE,
        ),
        (
            "a key twice, once escaped",
            push(format!(
                "[{{\"labels\":{{\"alertname\":\"A\"}},\"label\\u0073\":{{\"system_key\":\"{key}\"}}}}]"
            )),
            &["400"],
            NONE,
        ),
        ("a label twice", push(r#"[{"labels":{"alertname":"A","alertname":"B"}}]"#), &["400"], NONE),
        (
            "a key in capitals",
            push(format!("[{{\"labels\":{{\"alertname\":\"A\"}},\"LABELS\":{{\"system_key\":\"{key}\"}}}}]")),
            &["200"],
            1..=1,
        ),
        (
            "a key with a long s",
            push(format!(
                "[{{\"labels\":{{\"alertname\":\"A\"}},\"label\u{17f}\":{{\"system_key\":\"{key}\"}}}}]"
            )),
            &["200"],
            1..=1,
        ),
        (
            "only a key with a long s",
            push(format!("[{{\"label\u{17f}\":{{\"alertname\":\"A\",\"system_key\":\"{key}\"}}}}]")),
            &["422"],
            NONE,
        ),
        (
            "another's stable labels",
            push(format!(
                "[{{\"labels\":{{\"alertname\":\"A\",\"system_key\":\"{key}\",\"organization_id\":\"x\",\"system_id\":\"\"}}}}]"
            )),
            &["200"],
            1..=1,
        ),
        (
            "nothing but another's stable labels",
            push(format!("[{{\"labels\":{{\"system_key\":\"{key}\"}}}}]")),
            &["400"],
            NONE,
        ),
        ("[null]", push("[null]"), &["422"], NONE),
        ("null", push("null"), &["200"], NONE),
        ("[[]]", push("[[]]"), &["400"], NONE),
        ("[1]", push("[1]"), &["400"], NONE),
        ("deep nesting", push(format!("{}{}", "[".repeat(20_000), "]".repeat(20_000))), &["400"], NONE),
        ("a huge number", push(r#"[{"labels":{"alertname":"A"},"x":1e999999}]"#), &["200", "400"], 0..=1),
        ("half a surrogate pair", push(r#"[{"labels":{"alertname":"\ud800"}}]"#), &["200"], 1..=1),
        ("a byte order mark", push(format!("\u{feff}{ALERT}")), &["200"], 1..=1),
        (
            "a header in a label",
            push(r#"[{"labels":{"alertname":"A","x":"\r\nX-Scope-OrgID: y"}}]"#),
            &["200"],
            1..=1,
        ),
        ("a name that is none", push(r#"[{"labels":{"alertname":"A","x-y":"z"}}]"#), &["400"], NONE),
        ("compressed", packed(&gzip(ALERT.as_bytes())), &["200"], 1..=1),
        ("compressed, trailing bytes inside", packed(&gzip(format!("{ALERT} x").as_bytes())), &["400"], NONE),
        ("a bomb", packed(&gzip(&[b"[".as_slice(), &b" ".repeat(5_000_000), b"]"].concat())), &["413"], NONE),
        ("cut while compressed", packed(&gzip(ALERT.as_bytes())[..40]), &["400"], NONE),
        ("compressed twice", packed(&gzip(&gzip(ALERT.as_bytes()))), &["400"], NONE),
        ("declared as compressed", packed(ALERT.as_bytes()), &["400"], NONE),
        (
            "compressed, but not declared",
            {
                let mut d = push("");
                d.body = gzip(ALERT.as_bytes());
                d
            },
            &["400"],
            NONE,
        ),
        ("another encoding", with(push(ALERT), "Content-Encoding: br"), &["415"], NONE),
        ("too large", push(format!("[{}]", " ".repeat(70_000))), &["413"], NONE),
        ("not declared as JSON", with(push(ALERT), "Content-Type: text/plain"), &["415"], NONE),
    ]
}

fn of_silences(own: &Who, other: &Who) -> Vec<Case> {
    let key = &other.identity.system_key;
    let update = |id: &str| silence(SILENCE.replacen('{', &format!("{{\"id\":\"{id}\","), 1));
    let matcher =
        |text: String| silence(SILENCE.replacen("\"matchers\":[", &format!("\"matchers\":[{text},"), 1));
    let by_id = |method: &str, id: &str| Draft::new(method, &format!("/api/v2/silence/{id}"), "");
    let (mine, theirs) = (own.silence, other.silence);
    let (expression, negative) =
        (Uuid::from_u128(own.silence.as_u128() ^ 1), Uuid::from_u128(own.silence.as_u128() ^ 2));
    vec![
        ("the own silence", update(&mine.to_string()), &["200"], 2..=3),
        ("another's silence is changed", update(&theirs.to_string()), &["404"], 1..=1),
        ("one that an expression seems to own", update(&expression.to_string()), &["404"], 1..=1),
        ("one that the opposite seems to own", update(&negative.to_string()), &["404"], 1..=1),
        ("an id that is a path", update(&format!("{mine}/../../alerts")), &["404"], NONE),
        ("an id in braces", update(&format!("{{{mine}}}")), &["404"], NONE),
        (
            "another's key in a matcher",
            matcher(format!("{{\"name\":\"system_key\",\"value\":\"{key}\",\"isRegex\":false}}")),
            &["400"],
            NONE,
        ),
        (
            "every key in a matcher",
            matcher("{\"name\":\"system_key\",\"value\":\".*\",\"isRegex\":true}".to_owned()),
            &["200"],
            2..=2,
        ),
        (
            "a matcher with a folded key",
            matcher("{\"name\":\"a\",\"NAME\":\"system_key\",\"value\":\"b\",\"isRegex\":false}".to_owned()),
            &["200"],
            2..=2,
        ),
        (
            "a matcher with a key twice",
            matcher("{\"name\":\"a\",\"name\":\"system_key\",\"value\":\"b\",\"isRegex\":false}".to_owned()),
            &["400"],
            NONE,
        ),
        (
            "an expression that explodes",
            matcher("{\"name\":\"a\",\"value\":\"((a{1,500}){1,500}){1,500}\",\"isRegex\":true}".to_owned()),
            &["400"],
            NONE,
        ),
        ("a silence and more", silence(format!("{SILENCE} x")), &["400"], NONE),
        ("the own is read", by_id("GET", &mine.to_string()), &["200"], 1..=1),
        ("another's is read", by_id("GET", &theirs.to_string()), &["404"], 1..=1),
        ("the own is ended", by_id("DELETE", &mine.to_string()), &["200"], 2..=2),
        ("another's is ended", by_id("DELETE", &theirs.to_string()), &["404"], 1..=1),
        ("one of an expression is ended", by_id("DELETE", &expression.to_string()), &["404"], 1..=1),
        ("one of the opposite is ended", by_id("DELETE", &negative.to_string()), &["404"], 1..=1),
        ("an id in capitals", by_id("GET", &mine.to_string().to_uppercase()), &["200"], 1..=1),
        ("a path in an id", by_id("GET", &format!("{mine}%2f..%2f..%2falerts")), &["404"], NONE),
        ("no id", by_id("GET", "%2e%2e"), &["422"], NONE),
    ]
}

fn of_addresses(other: &Who) -> Vec<Case> {
    let key = &other.identity.system_key;
    let absolute = |front: &str| {
        let mut draft = get("/api/v2/alerts");
        draft.target = [front.as_bytes(), &draft.target].concat();
        draft
    };
    vec![
        ("up and out", get("/api/v2/../v1/alerts"), &["404"], NONE),
        ("up and out, encoded", get("/api/v2/%2e%2e/%2e%2e/metrics"), &["404"], NONE),
        ("two slashes", get("//api/v2/alerts"), &["404"], NONE),
        ("two slashes inside", get("/api/v2//alerts"), &["404"], NONE),
        ("an encoded slash", get("/api/v2/alerts%2fgroups"), &["200", "404"], 0..=2),
        ("a parameter of the path", get("/api/v2/alerts;x=y"), &["404"], NONE),
        ("capitals", get("/api/v2/ALERTS"), &["404"], NONE),
        ("a back slash", get("/api/v2\\alerts"), &["404", "400"], NONE),
        ("the router's own paths", get("/multitenant_alertmanager/configs"), &["404"], NONE),
        ("its configuration", Draft::new("POST", "/api/v1/alerts", "alertmanager_config: x"), &["410"], NONE),
        ("another host in the target", absolute("http://evil.example"), &["200"], 1..=2),
        (
            "an address of another",
            get(&format!("/api/v2/alerts?filter=system_key%3D%22{key}%22")),
            &["200"],
            1..=2,
        ),
        ("everybody's", get("/api/v2/alerts?filter=system_key%3D~%22.*%22"), &["200"], 1..=2),
        ("a semicolon for an ampersand", get("/api/v2/silences?a;filter=x&b"), &["200"], 1..=1),
        (
            "a filter in braces",
            get(&format!("/api/v2/alerts?filter=%7Bsystem_key%3D%22{key}%22%7D")),
            &["400"],
            NONE,
        ),
        ("another method", Draft::new("PUT", "/api/v2/alerts", ALERT), &["405"], NONE),
        (
            "a method in a header",
            with(get("/api/v2/alerts"), "X-HTTP-Method-Override: DELETE"),
            &["200"],
            1..=2,
        ),
        (
            "a path in a header",
            with(get("/api/v2/alerts"), "X-Original-URL: /api/v1/alerts"),
            &["200"],
            1..=2,
        ),
    ]
}

fn of_tenants(other: &Who) -> Vec<Case> {
    let org = &other.identity.organization_id;
    let forms = [
        format!("X-Scope-OrgID: {org}"),
        format!("x-scope-orgid: {org}\r\nX-SCOPE-ORGID: {org}"),
        format!("X-Scope-OrgID: a|{org}"),
        format!("X-Scope-OrgID: {org}, b"),
        "X-Scope-OrgID:".to_owned(),
        format!("Connection: X-Scope-OrgID\r\nX-Scope-OrgID: {org}"),
        format!("X_Scope_OrgID: {org}"),
    ];
    forms.into_iter().map(|line| ("a tenant", with(push(ALERT), &line), &["200"][..], 1..=1)).collect()
}

fn of_framing(other: &Who) -> Vec<Case> {
    let org = &other.identity.organization_id;
    let inner = format!(
        "GET {P}/api/v2/alerts HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: {org}\r\nX-Request-Id: 0-smuggled\r\n\r\n"
    );
    let chunked = format!("{:x}\r\n{ALERT}\r\n0\r\n\r\n", ALERT.len());
    let both = format!("{chunked}{inner}").into_bytes();
    let n = ALERT.len();
    vec![
        (
            "a length and chunks",
            framed(push(""), "Content-Length: 4\r\nTransfer-Encoding: chunked", both.clone()),
            &["200", "400", ""],
            0..=1,
        ),
        (
            "chunks and a length",
            framed(push(""), "Transfer-Encoding: chunked\r\nContent-Length: 4", both.clone()),
            &["200", "400", ""],
            0..=1,
        ),
        (
            "chunks that are none",
            framed(push(""), "Transfer-Encoding: xchunked\r\nContent-Length: 4", both.clone()),
            &["400", ""],
            NONE,
        ),
        (
            "chunks before a space",
            framed(push(""), "Transfer-Encoding : chunked\r\nContent-Length: 4", both),
            &["400", ""],
            NONE,
        ),
        (
            "two lengths",
            framed(push(""), &format!("Content-Length: {n}\r\nContent-Length: 4"), ALERT.into()),
            &["400", ""],
            NONE,
        ),
        (
            "a length that is too short",
            framed(push(""), &format!("Content-Length: {}", n - 4), ALERT.into()),
            &["400"],
            NONE,
        ),
        (
            "a length that is too long",
            framed(push(""), &format!("Content-Length: {}", n + 4), ALERT.into()),
            &["400", ""],
            NONE,
        ),
        (
            "a signed length",
            framed(push(""), &format!("Content-Length: +{n}"), ALERT.into()),
            &["400", ""],
            NONE,
        ),
        (
            "a request behind another",
            framed(push(""), &format!("Content-Length: {n}"), format!("{ALERT}{inner}").into_bytes()),
            &["200"],
            1..=1,
        ),
        (
            "a chunk that does not end",
            framed(push(""), "Transfer-Encoding: chunked", b"ffffffff\r\n[".to_vec()),
            &["400", "413", ""],
            NONE,
        ),
    ]
}

// Proves spec: alert-guarantees#guarantees 3 5 6 10.
api_test!(each_attack_by_its_name, |t| async move {
    let world = World::new(&t).await;
    world.open(false);
    let (own, other) = (&world.systems[0], &world.systems[1]);
    let judge = world.judge();
    let mut client = world.client();
    let cases = [
        of_bodies(other),
        of_silences(own, other),
        of_addresses(other),
        of_tenants(other),
        of_framing(other),
    ];
    for (number, (name, draft, statuses, request_counts)) in cases.into_iter().flatten().enumerate() {
        let bytes = draft.bytes(&own.credential, &format!("0-{number}"));
        let answer = client.exchange(&draft, &bytes).await;
        let text = String::from_utf8_lossy(&answer);
        world.check_answer(0, &answer, || name.to_owned());
        assert!(statuses.contains(&text.get(9..12).unwrap_or_default()), "{name}: {text}");
        let requests = world.received();
        assert!(request_counts.contains(&requests.len()), "{name}: {requests:?}");
        requests.iter().for_each(|request| judge.check(request));
    }
});
