use super::*;
use proptest::prelude::*;

fn parse(query: &str) -> Result<AlertsQuery, Reject> {
    AlertsQuery::parse(query, &Limits::default())
}

fn refused(query: &str) -> String {
    let refusal = parse(query).unwrap_err();
    assert_eq!(refusal.status, 400);
    refusal.render()
}

#[test]
fn flags() {
    let q = parse("").unwrap();
    assert!(q.active && q.silenced && q.inhibited && q.unprocessed && q.muted);
    for yes in ["true", "1", "YES", "Ok", "y", "on", "selected", "checked", "T", "enabled", ""] {
        assert!(parse(&format!("active={yes}")).unwrap().active, "{yes}");
    }
    for no in ["false", "0", "maybe", "truee", "%20true", "ſelected"] {
        assert!(!parse(&format!("active={no}")).unwrap().active, "{no}");
    }
    assert!(parse("active=false&active=true").unwrap().active, "the last one counts");
    assert!(!parse("active=true&a=b&active=0").unwrap().active);
    assert!(parse("ACTIVE=false").unwrap().active);
    let s = SilencesQuery::parse("expired=false&pending=0&active=", &Limits::default()).unwrap();
    assert!(s.active && !s.expired && !s.pending);
}

#[test]
fn filters_are_rebuilt_and_the_own_system_is_always_added() {
    let q = parse("filter=alertname%3D~%22A.%2A%22&x=1&filter=a+%21%3D+b").unwrap();
    assert_eq!(
        q.upstream("NETH-1"),
        "filter=alertname%3D~%22A.%2A%22&filter=a%21%3D%22b%22&filter=system_key%3D%22NETH-1%22"
    );
    assert_eq!(parse("").unwrap().upstream("K"), "filter=system_key%3D%22K%22");
    let s = SilencesQuery::parse("filter=a%3D~b&expired=false", &Limits::default()).unwrap();
    assert_eq!(s.upstream("K"), "filter=a%3D~%22b%22&filter=system_key%3D%22K%22");
}

#[test]
fn filters_that_are_too_long_are_not_sent() {
    let long = vec![format!("filter=a%3D{}", "(".repeat(1000)); 30].join("&");
    let q = parse(&long).unwrap();
    assert_eq!((q.filters.len(), q.upstream("K").as_str()), (30, "filter=system_key%3D%22K%22"));
    let s = SilencesQuery::parse(&long, &Limits::default()).unwrap();
    assert_eq!((s.filters.len(), s.upstream("K").as_str()), (30, "filter=system_key%3D%22K%22"));
}

#[test]
fn only_the_ampersand_separates() {
    let q = parse("a;b=c&filter=system_key%3D%22NETH-2%22").unwrap();
    assert_eq!(q.filters.len(), 1);
    assert_eq!(parse("active=true;filter=x").unwrap().filters.len(), 0);
    assert_eq!(parse("filter=a%3Db;c").unwrap().filters[0].matcher().value, "b;c");
    assert_eq!(parse("filter=a%3Db%zz&filter=%").unwrap().filters.len(), 0, "broken escapes are dropped");
}

#[test]
fn bad_filters() {
    assert_eq!(refused("filter=bad-%21%21"), "\"bad matcher format: bad-!!\"\n");
    assert_eq!(refused("filter="), "\"bad matcher format: \"\n");
    assert_eq!(
        refused("filter=%7Bsystem_key%3D%22NETH-2%22%7D"),
        "\"bad matcher format: {system_key=\\\"NETH-2\\\"}\"\n"
    );
    assert_eq!(refused("filter=a%3D%ff"), "\"matcher value not valid UTF-8: \u{fffd}\"\n");
    assert_eq!(refused("filter=a%3D~%5B"), "\"error parsing regexp: missing closing ]: `[)$`\"\n");
    let limit = "\"filter exceeds the size limit\"\n";
    assert_eq!(refused(&vec!["filter=a%3Db"; 33].join("&")), limit);
    assert!(parse(&vec!["filter=a%3Db"; 32].join("&")).is_ok());
    assert_eq!(refused(&format!("filter=a%3D{}", "b".repeat(1023))), limit);
    assert_eq!(refused("filter=a%3D~(%5CpL{200}){200}"), limit);
    assert!(SilencesQuery::parse("filter=a%3D~%5B", &Limits::default()).is_err());
}

#[test]
fn receivers() {
    for (query, wanted) in [
        ("", true),
        ("receiver=", true),
        ("receiver=def.*", true),
        ("receiver=def", false),
        ("receiver=nope&receiver=default", true),
        ("receiver_matchers=name%3D%22default%22", true),
        ("receiver_matchers=name%3D%22x%22", false),
        ("receiver_matchers=team%3D%22%22", true),
        ("receiver_matchers=name%3D~d.%2A&receiver_matchers=name%21%3Ddefault", false),
    ] {
        assert_eq!(parse(query).unwrap().wants_receiver("default"), wanted, "{query}");
    }
    assert_eq!(
        refused("receiver=%5B"),
        "\"failed to parse receiver param: error parsing regexp: missing closing ]: `[)$`\"\n"
    );
    assert_eq!(
        receivers_query("receiver_matchers=name%3Ddefault&filter=%5B", "default", &Limits::default()),
        Ok(true)
    );
    assert_eq!(receivers_query("receiver_matchers=name%3Dx", "default", &Limits::default()), Ok(false));
    assert!(receivers_query("receiver_matchers=name", "default", &Limits::default()).is_err());
}

proptest! {
    #[test]
    fn never_panics(query in "\\PC{0,60}", tail in "[a-z=&%+~0-9;]{0,60}") {
        let _ = parse(&query);
        let _ = parse(&format!("filter=a%3D{tail}&receiver={tail}"));
    }

    /// For any request, the rebuilt query parses, keeps the filters and ends with the calling system.
    #[test]
    fn rebuilt_queries_read_back(values in prop::collection::vec(any::<String>(), 0..5), key in "[A-Z0-9-]{1,12}") {
        let mut query = String::new();
        for value in &values {
            query.push_str("&filter=");
            encode(&mut query, &Matcher::equal("a", value.clone()).to_string());
        }
        let again = parse(&parse(&query).unwrap().upstream(&key)).unwrap();
        let expected: Vec<Matcher> = values
            .into_iter()
            .map(|v| Matcher::equal("a", v))
            .chain([Matcher::equal("system_key", key)])
            .collect();
        prop_assert_eq!(again.filters.iter().map(|f| f.matcher().clone()).collect::<Vec<_>>(), expected);
    }
}
