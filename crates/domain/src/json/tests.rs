use super::{parse::plain_end, *};
use proptest::prelude::*;

fn strict(text: &str) -> Result<Json<'_>, JsonError> {
    parse(text.as_bytes(), &Limits::strict(16))
}

fn reason(text: &str) -> Reason {
    strict(text).unwrap_err().reason
}

#[test]
fn reads_every_kind_of_value_and_keeps_order_and_literals() {
    let text = r#" {"b":[1,-0.5e+10,true,false,null],"a":"x\u00e9\n\ud83d\ude00\/","c":{}} "#;
    let v = strict(text).unwrap();
    assert_eq!(v.get("b").unwrap().as_arr().unwrap()[1], Json::Num("-0.5e+10"));
    assert_eq!(v.get("a").unwrap().as_str(), Some("xé\n😀/"));
    let mut out = String::new();
    v.write(&mut out);
    assert_eq!(out, r#"{"b":[1,-0.5e+10,true,false,null],"a":"xé\n😀/","c":{}}"#);
}

#[test]
fn borrows_strings_without_escapes() {
    assert!(matches!(strict("\"long enough to need a word\""), Ok(Json::Str(Cow::Borrowed(_)))));
    assert!(matches!(strict(r#""a\tb""#), Ok(Json::Str(Cow::Owned(_)))));
}

#[test]
fn refuses_input_that_is_not_exactly_one_value() {
    assert_eq!(reason(""), Reason::UnexpectedEnd);
    assert_eq!(reason("  "), Reason::UnexpectedEnd);
    assert_eq!(reason("[] x"), Reason::TrailingData);
    assert_eq!(reason("[]]"), Reason::TrailingData);
    assert_eq!(reason("{{{"), Reason::Unexpected('{'));
    assert_eq!(reason("[1,]"), Reason::Unexpected(']'));
    assert_eq!(reason("{\"a\":1,}"), Reason::Unexpected('}'));
    assert_eq!(reason("{\"a\" 1}"), Reason::Unexpected('1'));
    assert_eq!(reason("[1 2]"), Reason::Unexpected('2'));
    assert_eq!(reason("nul"), Reason::UnexpectedEnd);
    assert_eq!(reason("nulé"), Reason::Unexpected('é'));
    assert_eq!(reason("[\u{feff}]"), Reason::Unexpected('\u{feff}'));
    assert_eq!(reason("\u{feff}\u{feff}[]"), Reason::Unexpected('\u{feff}'));
    assert_eq!(reason("\u{a0}[]"), Reason::Unexpected('\u{a0}'));
    assert_eq!(
        parse(b"\"\xff\"", &Limits::strict(1)).unwrap_err(),
        JsonError { reason: Reason::NotUtf8, line: 1, column: 2 }
    );
}

#[test]
fn an_error_names_its_position() {
    for (text, expected) in [
        ("[1 2]", "unexpected character '2' at line 1 column 4"),
        ("\u{feff}[1 2]", "unexpected character '2' at line 1 column 4"),
        ("{\n  \"é\": NaN}", "unexpected character 'N' at line 2 column 8"),
        ("[1,\r\n\n", "unexpected end of input at line 3 column 1"),
        ("[]\n,", "data after the value at line 2 column 1"),
    ] {
        assert_eq!(strict(text).unwrap_err().to_string(), expected, "{text:?}");
    }
    assert_eq!(strict("\u{feff}[]"), Ok(Json::Arr(Vec::new())), "a byte order mark is skipped");
}

#[test]
fn number_grammar() {
    for good in ["0", "-0", "10", "1.5", "0.0", "1e5", "1E+5", "-1.25e-07", "123456789012345678901234567890"]
    {
        assert_eq!(strict(good), Ok(Json::Num(good)));
    }
    for bad in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "-01", "1.2.3", "1e5e5", "0x10", "NaN", "1-2"] {
        assert!(strict(bad).is_err(), "{bad}");
    }
    assert_eq!(Json::Num("12").as_i64(), Some(12));
    assert_eq!(Json::Num("1.5").as_i64(), None);
    assert_eq!(Json::Num("1e999").as_f64(), None);
}

#[test]
fn strings() {
    assert_eq!(reason("\"a"), Reason::UnexpectedEnd);
    assert_eq!(reason("\"a\\"), Reason::UnexpectedEnd);
    assert_eq!(reason(r#""\x""#), Reason::BadEscape);
    assert_eq!(reason(r#""\u12""#), Reason::BadEscape);
    assert_eq!(reason(r#""\u12g4""#), Reason::BadEscape);
    assert_eq!(reason("\"a\u{1}\""), Reason::ControlCharacter);
    assert_eq!(reason("\"abcdefghijk\nl\""), Reason::ControlCharacter);
    assert_eq!(strict("\"\u{7f}\u{80}\"").unwrap().as_str(), Some("\u{7f}\u{80}"));
}

#[test]
fn halves_of_surrogate_pairs_are_replaced() {
    for (text, expected) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00x""#, "\u{fffd}x"),
        (r#""\ud800\u0041""#, "\u{fffd}A"),
        (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
        (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
    ] {
        assert_eq!(strict(text).unwrap().as_str(), Some(expected), "{text}");
    }
}

#[test]
fn a_repeated_key_is_a_fault_of_one_element() {
    let read = |text: &'static str| {
        let (value, faults) = parse_each(text.as_bytes(), &Limits::strict(4)).unwrap();
        let faults: Vec<_> = faults.into_iter().map(|(index, fault)| (index, fault.to_string())).collect();
        (value.as_arr().map(<[_]>::len), faults)
    };
    assert_eq!(read("[{},[[],{}]]"), (Some(2), vec![]));
    let twice = r#"[{"a":[{"b":1,"b":2},{"c":1,"c":2}]},3,{"d":[1,2],"e":0,"e":[]}]"#;
    let faults = ["duplicate key \"b\" at line 1 column 20", "duplicate key \"e\" at line 1 column 63"]
        .map(str::to_owned);
    assert_eq!(read(twice), (Some(3), [0, 2].into_iter().zip(faults).collect()));
    assert_eq!(read(r#"{"a":[{},{"b":1,"b":2}]}"#).1[0].0, 0, "no outermost array");
    assert_eq!(
        parse_each(br#"[{"a":1,"a":2},"#, &Limits::strict(4)).unwrap_err().reason,
        Reason::UnexpectedEnd
    );
}

#[test]
fn duplicates() {
    assert_eq!(reason(r#"{"a":1,"b":2,"\u0061":3}"#), Reason::DuplicateKey("a".into()));
    assert!(strict(r#"{"a":1,"A":2,"labels":3,"label\u017f":4}"#).is_ok());
    let mut many = String::from("{");
    for i in (0..40).rev() {
        many.push_str(&format!("\"k{}\":{i},", i % 39));
    }
    many.push_str("\"z\":0}");
    assert_eq!(reason(&many), Reason::DuplicateKey("k0".into()));
    let v = parse(many.as_bytes(), &Limits::lenient(2)).unwrap();
    assert_eq!(v.as_obj().unwrap().len(), 40);
    assert_eq!(v.as_obj().unwrap()[0], ("k0".into(), Json::Num("0")), "first place, last value");
    assert_eq!(
        parse(br#"{"a":1,"b":2,"a":3,"a":4}"#, &Limits::lenient(2)).unwrap().get("a"),
        Some(&Json::Num("4"))
    );
}

#[test]
fn the_same_string_again_is_nothing_under_one_key() {
    let limits = Limits { duplicates: Duplicates::SameStringIn("labels"), ..Limits::strict(4) };
    let read = |text: &str| parse(text.as_bytes(), &limits).map(|_| ()).map_err(|e| e.reason);
    let keys = |text: &str| {
        let text = format!("{{\"labels\":{text}}}");
        let value = parse(text.as_bytes(), &limits).map_err(|e| e.reason);
        let keys_of =
            |v: &Json<'_>| v.as_obj().unwrap().iter().map(|(k, _)| k.to_string()).collect::<Vec<_>>();
        value.map(|v| keys_of(&v.as_obj().unwrap()[0].1))
    };
    // Only in the object directly under that key.
    for (key, other) in [
        ("a", r#"{"a":"x","a":"x"}"#),
        ("a", r#"{"others":{"a":"x","a":"x"}}"#),
        ("a", r#"{"labels":"x","others":{"a":"x","a":"x"}}"#),
        ("a", r#"{"labels":[{"a":"x","a":"x"}]}"#),
        ("a", r#"{"labels":{"b":{"a":"x","a":"x"}}}"#),
        ("labels", r#"{"labels":{"a":"x"},"labels":{"a":"x"}}"#),
        ("b", r#"{"labels":{"a":"x","a":"x"},"b":"x","b":"x"}"#),
    ] {
        assert_eq!(read(other), Err(Reason::DuplicateKey(key.into())), "{other}");
    }
    assert_eq!(keys(r#"{"a":"x","b":"y","\u0061":"x","a":"\u0078"}"#).unwrap(), ["a", "b"]);
    for other in [r#"{"a":"x","a":"y"}"#, r#"{"a":"x","b":"y","a":"x","a":"z"}"#, r#"{"a":1,"a":1}"#] {
        assert_eq!(keys(other), Err(Reason::DuplicateKey("a".into())), "{other}");
    }
    for other in [r#"{"a":null,"a":null}"#, r#"{"a":{},"a":{}}"#, r#"{"a":"x","a":["x"]}"#] {
        assert_eq!(keys(other), Err(Reason::DuplicateKey("a".into())), "{other}");
    }
    let mut many = String::from("{");
    for i in (0..40).rev() {
        many.push_str(&format!("\"k{}\":\"v{}\",", i % 20, i % 20));
    }
    assert_eq!(keys(&format!("{many}\"z\":0}}")).unwrap().len(), 21);
    assert_eq!(keys(&format!("{many}\"k7\":\"v8\"}}")), Err(Reason::DuplicateKey("k7".into())));
}

#[test]
fn depth_and_size() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(strict(&nested(16)).is_ok());
    assert_eq!(reason(&nested(17)), Reason::TooDeep);
    assert_eq!(reason(&("[[],".repeat(17))), Reason::TooDeep);
    assert!(parse(nested(200_000).as_bytes(), &Limits::lenient(usize::MAX)).is_err());
    assert!(parse(nested(MAX_DEPTH).as_bytes(), &Limits::lenient(usize::MAX)).is_ok());
    let tight = Limits { max_values: 3, ..Limits::strict(4) };
    assert!(parse(b"[1,2]", &tight).is_ok());
    assert_eq!(parse(b"[1,2,3]", &tight).unwrap_err().reason, Reason::TooManyValues);
}

#[test]
fn finds_the_end_of_plain_text_at_every_position() {
    for stop in [b'"', b'\\', 0, 0x1f] {
        for n in 0..40 {
            let mut bytes = vec![b'#'; n];
            bytes.push(stop);
            bytes.extend([0xc3, 0xa9, b'!', 0x7f, 0x80, b' ', b'"']);
            assert_eq!(plain_end(&bytes, 0), n);
        }
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 24, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..24)
                .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Text made of the pieces JSON is made of, so that many are almost valid.
fn json_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "\\", "\\u", "d83d", "\\ude00", "0", "1", "-",
        ".", "e", "E+", "true", "false", "null", " ", "\n", "é", "\u{1}", "x",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn agrees_with_serde_json_on_valid_documents(v in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&v) } else { serde_json::to_string(&v) }.unwrap();
        let mut out = String::new();
        strict(&text).unwrap().write(&mut out);
        let reread: serde_json::Value = serde_json::from_str(&out).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(reread, expected);
    }

    #[test]
    fn accepts_what_serde_json_accepts(text in json_like()) {
        let parsed = parse(text.as_bytes(), &Limits::lenient(64));
        let expected = serde_json::from_str::<serde_json::Value>(&text);
        match (parsed, expected) {
            (Ok(parsed), Ok(expected)) => {
                let mut out = String::new();
                parsed.write(&mut out);
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), expected);
            }
            // A number beyond the range of a float is still a number to us, and half of a surrogate pair a character.
            (Ok(_), Err(e)) => {
                let reasons = ["out of range", "hex escape"];
                let is_expected = reasons.iter().any(|reason| e.to_string().contains(reason));
                prop_assert!(is_expected, "{} {:?}", e, text);
            }
            (Err(e), Ok(_)) => prop_assert!(false, "refused {:?}: {}", text, e),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, &Limits::strict(16));
        let _ = parse(&bytes, &Limits::lenient(128));
    }

    #[test]
    fn written_strings_read_back(s in any::<String>()) {
        let mut out = String::new();
        write_str(&mut out, &s);
        let read = strict(&out).unwrap();
        prop_assert_eq!(read.as_str(), Some(s.as_str()));
        prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), s);
    }
}
