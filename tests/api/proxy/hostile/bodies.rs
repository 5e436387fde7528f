//! Bodies that the service and the router may parse differently.

use super::{Who, attacks::Attack, draft::Draft};
use std::io::Write as _;

pub(super) const ALERT: &str = r#"[{"labels":{"alertname":"A","severity":"critical"},"annotations":{"summary":"{{ .system_name }}: {{ .x }}"},"startsAt":"2026-03-04T09:00:00.123456789Z","generatorURL":"http://x/y?z=1"}]"#;
pub(super) const SILENCE: &str = r#"{"matchers":[{"name":"alertname","value":"A|B","isRegex":true},{"name":"x","value":"y","isRegex":false,"isEqual":false}],"startsAt":"2026-03-04T10:00:00Z","endsAt":"2026-03-04T12:00:00+00:30","createdBy":"me","comment":"c"}"#;

/// On every body.
pub(super) const ANY: &[Attack] = &[
    |d, dice, who| {
        let foreign = foreign(d, who);
        let tails = [" x", "[]", "{}", "null", "]", "}", ",", "// c", "\u{feff}", "\0", "1", &foreign];
        d.body.extend_from_slice(dice.pick(&tails).as_bytes());
        d.is_broken = true;
    },
    |d, dice, _| {
        let fronts: [&[u8]; 5] = [b"x", b"[", b",", b"\0", b"\xff\xfe"];
        d.body = [dice.pick(&fronts), &d.body].concat();
        d.is_broken = true;
    },
    // Bytes changed, cut, doubled, put in.
    |d, dice, _| {
        for _ in 0..=dice.below(3) {
            let index = dice.below(d.body.len());
            match dice.below(4) {
                0 => d.body[index] = dice.below(256) as u8,
                1 => d.body.truncate(index.max(1)),
                2 => d.body.extend_from_within(index..),
                _ => {
                    let (one, other) = (dice.below(256) as u8, dice.below(256) as u8);
                    d.body.splice(index..index, [b'"', one, other]);
                }
            }
        }
    },
    |d, dice, _| {
        let whole = [
            "null",
            "[null]",
            "[[]]",
            "[1]",
            "[true]",
            "{}",
            "[]",
            "\"x\"",
            "[\"x\"]",
            "[{}]",
            "[{\"labels\":null}]",
            "[{\"labels\":{}}]",
            "[{\"labels\":[]}]",
            "[{\"labels\":1}]",
            " ",
            "",
            "0",
            "-0",
            "1e999",
            "NaN",
            "Infinity",
            "'x'",
            "[,]",
            "{\"matchers\":null}",
            "{\"matchers\":[null]}",
            "{\"matchers\":[[]]}",
            "undefined",
            "nul",
            "[null,null]",
            "[{\"labels\":{\"alertname\":\"A\"}},null]",
        ];
        d.body = dice.pick(&whole).as_bytes().to_vec();
    },
    |d, dice, _| {
        let depth = 1 + dice.below(40);
        let (open, close) = if dice.once_in(2) { ("[", "]") } else { ("{\"a\":", "}") };
        let middle = if open == "[" { "" } else { "1" };
        key(d, &format!("\"x\":{}{middle}{}", open.repeat(depth), close.repeat(depth)));
    },
    |d, dice, _| {
        let numbers = [
            "1e999",
            "-1e-999",
            "123456789012345678901234567890",
            "0.1e1",
            "00",
            "+1",
            ".5",
            "1.",
            "0x10",
            "-",
            "1e",
            "NaN",
            "-Infinity",
        ];
        key(d, &format!("\"x\":{}", dice.pick(&numbers)));
    },
    |d, dice, _| {
        let odd = [
            "\\ud800",
            "\\udc00\\ud800",
            "\\u0000",
            "\\x41",
            "\\",
            "\\u12",
            "\\u{41}",
            "\t",
            "\n",
            "\\/",
            "\\ud83d\\ude00",
        ];
        key(d, &format!("\"x\":\"{}\"", dice.pick(&odd)));
    },
    |d, dice, who| {
        let foreign = foreign(d, who);
        let name = if d.body.first() == Some(&b'[') { "labels" } else { "matchers" };
        let value = foreign.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest).unwrap_or_default();
        let end = value.find([']', '}']).map_or(0, |index| index + 1);
        let folded = match dice.below(7) {
            0 => name.to_uppercase(),
            1 => name.replace('s', "\u{17f}"),
            2 => name.replace('s', "\\u017f"),
            3 => format!("{}{}", name[..1].to_uppercase(), &name[1..]),
            4 => format!("{name}\\u0000"),
            5 => format!(" {name}"),
            _ => name.chars().map(|c| char::from_u32(c as u32 + 0xfee0).unwrap_or(c)).collect(),
        };
        let value = if name == "matchers" {
            "[{\"name\":\"alertname\",\"value\":\".*\",\"isRegex\":true}]"
        } else {
            &value[..end]
        };
        key(d, &format!("\"{folded}\":{value}"));
    },
    // The same key again, plain or escaped.
    |d, dice, who| {
        let key_of = &who.identity.system_key;
        let is_list = d.body.first() == Some(&b'[');
        let pair = if is_list {
            let spelled = dice.pick(&["labels", "label\\u0073", "\\u006cabels"]);
            format!("\"{spelled}\":{{\"alertname\":\"A\",\"system_key\":\"{key_of}\"}}")
        } else {
            let spelled = dice.pick(&["matchers", "m\\u0061tchers", "comment", "id\":\"x\",\"id"]);
            format!("\"{spelled}\":[{{\"name\":\"system_key\",\"value\":\"{key_of}\",\"isRegex\":false}}]")
        };
        key(d, &pair);
        // Of alerts, the others may come to the router.
        d.is_broken |= !is_list;
    },
    |d, dice, _| {
        let text = String::from_utf8_lossy(&d.body).into_owned();
        let units = text.encode_utf16();
        d.body = match dice.below(3) {
            0 => units.flat_map(u16::to_le_bytes).collect(),
            1 => units.flat_map(u16::to_be_bytes).collect(),
            _ => text
                .replace('A', "\u{0}")
                .into_bytes()
                .into_iter()
                .map(|b| if b == 0 { 0xff } else { b })
                .collect(),
        };
    },
    // Compressed, too often, too much, or only declared as compressed.
    |d, dice, _| {
        let plain = match dice.below(6) {
            0 => [d.body.as_slice(), &b" ".repeat(200_000)].concat(),
            1 => [d.body.as_slice(), b" x"].concat(),
            _ => d.body.clone(),
        };
        d.body = gzip(&plain);
        d.line("Content-Encoding: gzip");
        match dice.below(6) {
            0 => d.body.truncate(dice.below(d.body.len())),
            1 => {
                let index = dice.below(d.body.len());
                d.body[index] ^= 0x55;
            }
            2 => d.body = gzip(&d.body),
            3 => {
                let again = gzip(&plain);
                d.body.extend_from_slice(&again);
            }
            4 => d.body.extend_from_slice(b"trailing"),
            _ => {}
        }
        d.plain = Some(plain);
    },
];

/// On bodies of alerts.
pub(super) const ALERTS: &[Attack] = &[
    |d, dice, who| {
        let (key_of, org) = (&who.identity.system_key, &who.identity.organization_id);
        let names = [
            "system_key",
            "organization_id",
            "system_id",
            "system_name",
            "system\\u005fkey",
            "SYSTEM_KEY",
            "\u{17f}ystem_key",
            " system_key",
            "system_key\\u0000",
            "organization_name",
            "organization_vat",
            "__name__",
            "",
            "a-b",
            "1a",
            "é",
        ];
        let value = if dice.once_in(2) { key_of } else { org };
        let value = match dice.below(4) {
            0 => "null".to_owned(),
            1 => "\"\"".to_owned(),
            _ => format!("\"{value}\""),
        };
        let field = dice.pick(&["labels", "annotations"]);
        body(d, &format!("\"{field}\":{{"), &format!("\"{field}\":{{\"{}\":{value},", dice.pick(&names)));
    },
    |d, dice, who| {
        let texts = [
            "{{ .system_key }}",
            "{{{{ .alertname }}}}",
            "{{ template \\\"x\\\" . }}",
            "${jndi:ldap://x}",
            "\\\",\\\"system_key\\\":\\\"x",
            "\\\\",
            "\\u2028\\u202e",
            "\\r\\nX-Scope-OrgID: x",
            "<script>",
            "a\\u0000b",
            "\\ud83d\\ude00",
            "{{ .x }}{{ .summary }}",
        ];
        let text = if dice.once_in(8) {
            "x".repeat(dice.below(20_000))
        } else {
            dice.pick(&texts).replace("KEY", &who.identity.system_key)
        };
        let field = dice.pick(&["labels", "annotations"]);
        body(d, &format!("\"{field}\":{{"), &format!("\"{field}\":{{\"y\":\"{text}\","));
    },
    |d, dice, _| {
        let times = [
            "\"\"",
            "null",
            "\"0001-01-01T00:00:00Z\"",
            "\"2026-03-04\"",
            "\"2026-13-04T00:00:00Z\"",
            "\"9999-12-31T23:59:59.999999999Z\"",
            "1",
            "\"-1\"",
            "\"2026-03-04T10:00:00.1234567890123Z\"",
            "\"2026-03-04t10:00:00z\"",
            "\"2026-03-04T10:00:00+99:99\"",
            "[]",
            "\"now\"",
            "\"1970-01-01T00:00:00Z\"",
        ];
        let name = dice.pick(&["\"endsAt\"", "\"updatedAt\"", "\"startsAt\""]);
        if name == "\"startsAt\"" {
            body(d, "\"2026-03-04T09:00:00.123456789Z\"", dice.pick(&times));
        } else {
            key(d, &format!("{name}:{}", dice.pick(&times)));
        }
    },
    |d, dice, _| {
        let addresses = [
            "javascript:alert(1)",
            "http://[",
            "",
            "//evil",
            "a b",
            "http://x/\\u0000",
            "%zz",
            "\\u202e",
            "http://x/\\\"y",
            "file:///etc/passwd",
        ];
        body(d, "http://x/y?z=1", dice.pick(&addresses));
    },
    |d, dice, _| {
        key(
            d,
            dice.pick(&[
                "\"status\":\"firing\"",
                "\"fingerprint\":\"9822ee52b31ac95f\"",
                "\"receivers\":[{\"name\":\"x\"}]",
                "\"status\":{\"state\":\"active\"}",
                "\"__proto__\":{}",
            ]),
        );
    },
    |d, dice, _| {
        let count = if dice.once_in(50) { 2001 } else { dice.below(30) };
        let element = dice.pick(&[
            "{\"labels\":{\"alertname\":\"A\"}}",
            "{}",
            "null",
            "{\"labels\":{\"alertname\":\"\"}}",
            "{\"labels\":{\"bad-name\":\"x\"}}",
        ]);
        d.body = format!("[{}{{\"labels\":{{\"alertname\":\"A\"}}}}]", format!("{element},").repeat(count))
            .into_bytes();
    },
];

/// On bodies of silences.
pub(super) const SILENCES: &[Attack] = &[
    |d, dice, who| {
        let id = &who.silence.to_string();
        let written = [
            id.clone(),
            id.to_uppercase(),
            format!("{{{id}}}"),
            format!("urn:uuid:{id}"),
            id.replace('-', ""),
            format!("{id}/../x"),
            "x".to_owned(),
            String::new(),
        ];
        key(d, &format!("\"id\":\"{}\"", written[dice.below(written.len())]));
    },
    |d, dice, who| {
        let key_of = &who.identity.system_key;
        let matchers = [
            format!("{{\"name\":\"system_key\",\"value\":\"{key_of}\",\"isRegex\":false}}"),
            "{\"name\":\"system_key\",\"value\":\".*\",\"isRegex\":true}".to_owned(),
            format!("{{\"name\":\"system_key\",\"value\":\"{key_of}\",\"isRegex\":false,\"isEqual\":false}}"),
            "{\"name\":\"SYSTEM_KEY\",\"value\":\"x\",\"isRegex\":false}".to_owned(),
            "{\"name\":\"system\\u005fkey\",\"value\":\"\",\"isRegex\":false}".to_owned(),
            "{\"name\":\"a\",\"value\":\"(\",\"isRegex\":true}".to_owned(),
            "{\"name\":\"a\",\"value\":\"(a{1,500}){1,500}\",\"isRegex\":true}".to_owned(),
            "{\"name\":\"a\",\"value\":\"b\",\"isRegex\":\"false\"}".to_owned(),
            "{\"name\":\"a\",\"value\":\"b\",\"isRegex\":false,\"isEqual\":null}".to_owned(),
            "{\"name\":\"a\",\"value\":\"b\",\"isRegex\":false,\"NAME\":\"system_key\"}".to_owned(),
            "{\"name\":\"a\",\"name\":\"system_key\",\"value\":\"b\",\"isRegex\":false}".to_owned(),
            "{\"name\":\"é\",\"value\":\"b\",\"isRegex\":false}".to_owned(),
            "{\"name\":\"a\",\"value\":\"\\\"}],\\\"x\",\"isRegex\":false}".to_owned(),
            "null".to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
        ];
        body(d, "\"matchers\":[", &format!("\"matchers\":[{},", matchers[dice.below(matchers.len())]));
    },
    |d, dice, _| {
        let name = dice.pick(&["2026-03-04T10:00:00Z", "2026-03-04T12:00:00+00:30"]);
        let times = [
            "",
            "0001-01-01T00:00:00Z",
            "2026-03-03T10:00:00Z",
            "2030-03-04T10:00:00Z",
            "now",
            "9999-12-31T23:59:59Z",
            "2026-03-04T10:00:00.5-00:59",
        ];
        body(d, name, dice.pick(&times));
    },
    |d, dice, _| {
        let field = dice.pick(&["\"me\"", "\"c\""]);
        body(
            d,
            field,
            dice.pick(&[
                "\"\"",
                "null",
                "1",
                "\"\\u0000\"",
                "\"<b>\\\"\\\\\"",
                "[]",
                "\"{{ .system_key }}\"",
                "\"\\r\\n\"",
            ]),
        );
    },
    |d, dice, _| {
        key(
            d,
            dice.pick(&[
                "\"annotations\":{\"a\":\"b\"}",
                "\"annotations\":{\"system_key\":\"x\"}",
                "\"annotations\":{\"a\":1}",
                "\"annotations\":null",
                "\"status\":{\"state\":\"active\"}",
                "\"updatedAt\":\"x\"",
            ]),
        );
    },
    |d, dice, _| {
        let many = "{\"name\":\"a\",\"value\":\"b\",\"isRegex\":false},".repeat(dice.below(60));
        body(d, "\"matchers\":[", &format!("\"matchers\":[{many}"));
    },
];

/// The text that the attacker would like the router to take for the body.
fn foreign(d: &Draft, who: &Who) -> String {
    let key_of = &who.identity.system_key;
    if d.body.first() == Some(&b'[') {
        format!("[{{\"labels\":{{\"alertname\":\"A\",\"system_key\":\"{key_of}\"}}}}]")
    } else {
        SILENCE.replace("\"alertname\"", "\"system_key\"").replace("A|B", key_of)
    }
}

/// Puts a pair in front of the first object's others.
fn key(d: &mut Draft, pair: &str) {
    if let Some(index) = d.body.iter().position(|b| *b == b'{') {
        d.body.splice(index + 1..=index, format!("{pair},").into_bytes());
    }
}

fn body(d: &mut Draft, from: &str, to: &str) {
    d.body = String::from_utf8_lossy(&d.body).replacen(from, to, 1).into_bytes();
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
