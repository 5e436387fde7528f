//! Changes to a request before it is sent: its path, query, headers and framing. The bodies are beside this.

use super::{
    Who,
    draft::{Dice, Draft, Framing},
};

/// An attack on a request. The other system is not the sender.
pub(super) type Attack = fn(&mut Draft, &mut Dice, &Who);

/// On paths: none may lead to another path of the router.
pub(super) const PATHS: &[Attack] = &[
    |d, dice, _| {
        insert(d, dice, &["/..", "/.", "/%2e%2e", "/.%2e", "/%2E%2E/", "/..;", "/%252e%252e", "/..%00"])
    },
    |d, dice, _| {
        insert(d, dice, &["/", "//", "/%2f", "/%5c", "\\", "/%252f", "%2F..%2F", ";", ";x=y", ";/../"])
    },
    |d, dice, _| {
        insert(d, dice, &["%00", "%0d%0a", "%20", "%ff", "%", "%zz", "%u0061", "\t", "é", "%e2%80%8b"])
    },
    |d, dice, _| {
        let index = super::P.len() + dice.below(d.target.len().saturating_sub(super::P.len()).max(1));
        if let Some(byte) = d.target.get_mut(index) {
            *byte =
                if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        }
    },
    |d, dice, _| {
        let index = super::P.len() + dice.below(d.target.len() - super::P.len());
        let hex = format!("%{:02x}", d.target[index]);
        d.target.splice(index..=index, hex.into_bytes());
    },
    |d, dice, _| {
        let other = dice.pick(&[
            "/api/v1/alerts",
            "/api/v2/alerts/../../v1/alerts",
            "/multitenant_alertmanager/configs",
            "/multitenant_alertmanager/status",
            "/api/v2/silence",
            "/api/v2/silences/",
            "/-/reload",
            "/-/quit",
            "/ready",
            "/config",
            "/debug/pprof",
            "/alertmanager/api/v2/status",
            "/api/v2/../../../alertmanager/configs",
            "/api/v3/alerts",
        ]);
        d.target = format!("{}{other}", super::P).into_bytes();
    },
    |d, dice, _| {
        let front = dice.pick(&[
            "http://127.0.0.1",
            "http://evil.example",
            "https://x:y@evil.example:1",
            "//evil.example",
            "",
        ]);
        d.target = [front.as_bytes(), &d.target].concat();
    },
    |d, dice, who| {
        let id = &who.silence.to_string();
        let upper = id.to_uppercase();
        let written = [
            id.clone(),
            upper,
            format!("{{{id}}}"),
            format!("urn:uuid:{id}"),
            id.replace('-', ""),
            format!("{id}/"),
            format!("{id}%2f..%2f..%2falerts"),
            format!("{id}/../../alerts"),
            format!("..%2fsilence%2f{id}"),
            format!("{id}%00"),
            format!("{id}?x=/../"),
            format!("{id}#x"),
            "*".to_owned(),
            "00000000-0000-0000-0000-000000000000".to_owned(),
        ];
        let spelling = dice.pick(&["silence", "silences"]);
        let id = &written[dice.below(written.len())];
        d.target = format!("{}/api/v2/{spelling}/{id}", super::P).into_bytes();
    },
];

fn insert(d: &mut Draft, dice: &mut Dice, what: &[&str]) {
    let index = super::P.len() + dice.below(d.target.len() + 1 - super::P.len());
    d.target.splice(index..index, dice.pick(what).bytes());
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn query(d: &mut Draft, text: &str) {
    let joint = if d.target.contains(&b'?') { '&' } else { '?' };
    d.target.extend_from_slice(format!("{joint}{text}").as_bytes());
}

/// On queries: filters only narrow.
pub(super) const QUERIES: &[Attack] = &[
    |d, dice, who| {
        let key = &who.identity.system_key;
        let org = &who.identity.organization_id;
        let all = [
            format!("system_key=\"{key}\""),
            format!("system_key=~\"{key}|.*\""),
            format!("system_key!=\"{key}\""),
            "system_key=~\".*\"".to_owned(),
            "system_key!~\"\"".to_owned(),
            "system_key=".to_owned(),
            format!("organization_id=\"{org}\""),
            format!("{{system_key=\"{key}\"}}"),
            format!("a=\"b\",system_key=\"{key}\""),
            format!("a=\"b\" or system_key=\"{key}\""),
            "a=\"b\"&filter=c".to_owned(),
            "a=\"b\\\"c\\\\\\n\"".to_owned(),
            "alertname=~\"(\"".to_owned(),
            "alertname=~\"(?i)a{1,1000}{1,1000}\"".to_owned(),
            "a=\u{0}".to_owned(),
            "é=b".to_owned(),
            "a=\u{202e}b".to_owned(),
            String::new(),
        ];
        query(d, &format!("filter={}", encoded(&all[dice.below(all.len())])));
    },
    |d, dice, who| {
        let key = &who.identity.system_key;
        let pair = encoded(&format!("system_key=\"{key}\""));
        let all = [
            format!("a;filter={pair}"),
            format!("filter%5B%5D={pair}"),
            format!("FILTER={pair}"),
            format!("filter={pair};filter={pair}"),
            format!("%66ilter={pair}"),
            format!("filter=%zz&filter={pair}"),
            format!("filter={pair}%"),
            "filter".to_owned(),
            format!("tenant={key}&X-Scope-OrgID={key}&organization_id={key}"),
            "&&&=&=x&?&#".to_owned(),
            "%00=%00".to_owned(),
        ];
        query(d, &all[dice.below(all.len())]);
    },
    |d, dice, _| {
        let name = dice.pick(&[
            "active",
            "silenced",
            "inhibited",
            "unprocessed",
            "muted",
            "expired",
            "pending",
            "receiver",
            "receiver_matchers",
        ]);
        let value = dice.pick(&[
            "",
            "true",
            "FALSE",
            "2",
            "%00",
            ".*",
            "(",
            "name%3D%22default%22",
            "%ff",
            "a%26filter%3Dx",
            "default",
        ]);
        query(d, &format!("{name}={value}"));
    },
    |d, dice, _| {
        for _ in 0..dice.below(40) {
            query(d, "filter=a%3D%22b%22");
        }
    },
    |d, dice, _| query(d, &format!("filter=a%3D{}", "x".repeat(dice.below(3000)))),
    |d, dice, _| {
        let random: String = dice.bytes(40).iter().map(|b| format!("%{b:02X}")).collect();
        query(d, &format!("filter={random}"));
    },
];

/// On headers: nothing of them goes on.
pub(super) const HEADERS: &[Attack] = &[
    |d, dice, who| {
        let org = &who.identity.organization_id;
        let own = "00000000-0000-0000-0000-000000000001";
        let value = match dice.below(6) {
            0 => org.clone(),
            1 => format!("{org}|{own}"),
            2 => String::new(),
            3 => format!("{own},{org}"),
            4 => "../..".to_owned(),
            _ => "anonymous".to_owned(),
        };
        for _ in 0..=dice.below(3) {
            let name = dice.pick(&[
                "X-Scope-OrgID",
                "x-scope-orgid",
                "X-SCOPE-ORGID",
                "X-Scope-Orgid",
                "x-sCoPe-oRgId",
                "X_Scope_OrgID",
            ]);
            let line = format!("{name}: {value}").into_bytes();
            if dice.once_in(2) { d.before.push(line) } else { d.after.push(line) }
        }
    },
    |d, dice, who| {
        d.line(format!("X-Scope-OrgID: {}", who.identity.organization_id));
        d.line(dice.pick(&[
            "Connection: X-Scope-OrgID",
            "Connection: keep-alive, x-scope-orgid",
            "Connection: Authorization",
            "Connection: Host",
        ]));
    },
    |d, dice, _| {
        d.line(dice.pick(&[
            "Host: other.example",
            "Forwarded: for=1.2.3.4;host=evil",
            "X-Forwarded-For: 10.0.0.1",
            "X-Forwarded-Host: evil",
            "X-Forwarded-Proto: https",
            "X-Forwarded-Prefix: /alertmanager",
            "X-Original-URL: /api/v1/alerts",
            "X-Rewrite-URL: /multitenant_alertmanager/configs",
            "X-HTTP-Method-Override: DELETE",
            "X-Method-Override: PUT",
            "Cookie: a=b",
            "Referer: http://evil",
            "Origin: http://evil",
            "Via: 1.1 x",
            "X-Real-IP: 1.2.3.4",
            "Proxy-Authorization: Basic eA==",
            "Proxy-Connection: keep-alive",
            "Keep-Alive: timeout=1",
            "Trailer: X-Scope-OrgID",
            "TE: trailers",
            "Range: bytes=0-1",
            "If-None-Match: *",
            "Accept-Encoding: gzip, br",
            "Max-Forwards: 0",
            "Expect: 100-continue",
            "Upgrade: h2c",
            "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
            "traceparent: 00-0-0-00",
            "User-Agent: evil",
        ]));
    },
    |d, dice, _| {
        d.line(dice.pick(&[
            "Accept: text/html",
            "Accept: application/xml;q=1",
            "Accept: */*",
            "Accept: application/yaml, application/json",
            "Accept: \u{ff}",
            "Accept:",
        ]));
    },
    |d, dice, _| {
        d.line(dice.pick(&[
            "Content-Type: text/plain",
            "Content-Type: application/x-www-form-urlencoded",
            "Content-Type: application/json; charset=utf-16",
            "Content-Type:",
            "Content-Type: application/yaml",
            "Content-Type: application/json\r\nContent-Type: text/plain",
            "Content-Type: APPLICATION/JSON",
            "Content-Type: application/json, text/plain",
            "Content-Type: multipart/form-data; boundary=x",
        ]));
    },
    |d, dice, _| {
        d.line(dice.pick(&[
            "Content-Encoding: br",
            "Content-Encoding: deflate",
            "Content-Encoding: identity",
            "Content-Encoding: gzip, gzip",
            "Content-Encoding: gzip",
            "Content-Encoding: gzip\r\nContent-Encoding: gzip",
            "Content-Encoding: x-gzip",
            "Content-Encoding:",
            "Content-Encoding: identity, gzip",
            "Content-Encoding: zstd",
        ]));
    },
    |d, dice, _| {
        let name: String =
            (0..1 + dice.below(6)).map(|_| char::from(b"abcXYZ-_.1"[dice.below(10)])).collect();
        let value: Vec<u8> = dice.bytes(30).into_iter().filter(|b| *b >= 0x20 && *b != 0x7f).collect();
        d.line([name.as_bytes(), b": ", &value].concat());
    },
    |d, dice, _| {
        let methods =
            ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "QUERY", "PROPFIND"];
        d.method = dice.pick(&methods).to_owned();
    },
];

/// On where a request ends.
pub(super) const FRAMES: &[Attack] = &[
    |d, dice, _| d.framing = Framing::Chunks(1 + dice.below(40)),
    |d, dice, _| lines(d, format!("Content-Length: {}", dice.below(d.body.len() + 1))),
    |d, dice, _| lines(d, format!("Content-Length: {}", d.body.len() + 1 + dice.below(100))),
    |d, dice, _| {
        let n = d.body.len();
        let all = [
            format!("Content-Length: {n}\r\nContent-Length: {}", n + 1),
            format!("Content-Length: {n}, {n}"),
            "Content-Length: -1".to_owned(),
            format!("Content-Length: +{n}"),
            format!("Content-Length: 0x{n:x}"),
            "Content-Length: 99999999999999999999999".to_owned(),
            format!("Content-Length : {n}"),
            format!("Content-Length: {n}\r\n Content-Length: 0"),
            String::from("X: y"),
            format!("content-length: {n}\r\nCONTENT-LENGTH: {n}"),
            "Content-Length:".to_owned(),
        ];
        lines(d, all[dice.below(all.len())].clone());
    },
    // Both lengths: one reader takes for a body what another takes for a request.
    |d, dice, who| {
        let inner = inner(dice, who);
        let all = [
            "Content-Length: 4\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 4",
            "Transfer-Encoding: xchunked\r\nContent-Length: 4",
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: identity, chunked\r\nContent-Length: 4",
            "Transfer-Encoding : chunked\r\nContent-Length: 4",
            "Transfer-Encoding:\tchunked\r\nContent-Length: 4",
            "Transfer-Encoding: Chunked\r\nTransfer-Encoding: identity",
            "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 4",
            "Transfer-Encoding: chunked;q=1",
        ];
        lines(d, dice.pick(&all).to_owned());
        d.body = [format!("{:x}\r\n", d.body.len()).as_bytes(), &d.body, b"\r\n0\r\n\r\n", &inner].concat();
    },
    |d, dice, who| {
        let inner = inner(dice, who);
        lines(d, format!("Content-Length: {}", d.body.len()));
        d.body.extend_from_slice(&inner);
    },
    |d, dice, _| {
        lines(d, "Transfer-Encoding: chunked".to_owned());
        let bad = dice.pick(&[
            "-1\r\n",
            "fffffffffffffffff\r\n",
            "5;x=\"\r\n",
            "zz\r\n",
            "5\n",
            "5\r\nabc",
            "0\r\nX-Scope-OrgID: x\r\n\r\n",
            "\r\n",
        ]);
        d.body = [bad.as_bytes(), &d.body].concat();
    },
];

/// The body has another end than the one it was made with.
fn lines(d: &mut Draft, lines: String) {
    d.framing = Framing::Lines(lines.into_bytes());
}

/// A request inside of another one: without a credential, and with a header for the router.
fn inner(dice: &mut Dice, who: &Who) -> Vec<u8> {
    let path =
        dice.pick(&["/alertmanager/api/v2/alerts", "/api/v1/alerts", "/multitenant_alertmanager/configs"]);
    let path = if dice.once_in(2) { path.to_owned() } else { format!("{}/api/v2/alerts", super::P) };
    let org = &who.identity.organization_id;
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nX-Scope-OrgID: {org}\r\nX-Request-Id: 0-smuggled\r\n\r\n")
        .into_bytes()
}
