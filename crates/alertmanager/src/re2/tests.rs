use super::*;
use proptest::prelude::*;

fn matches(expression: &str, text: &str) -> bool {
    anchored(expression).unwrap().is_match(text)
}

fn check(expression: &str) -> Result<Regex, RegexError> {
    checked_within(expression, usize::MAX)
}

fn error(expression: &str) -> String {
    anchored(expression).unwrap_err().to_string()
}

#[test]
fn the_whole_text_must_match() {
    assert!(matches("A.*", "Abc"));
    assert!(!matches("A", "Abc"));
    assert!(!matches("b", "Abc"));
    assert!(matches("a|b", "b"));
    assert!(!matches("a|b", "ab"));
    assert!(matches("", ""));
    assert!(!matches(".*", "a\nb"), "a dot is no newline");
    assert!(matches("(?s).*", "a\nb"));
    assert!(!matches("a", "a\n"));
}

#[test]
fn means_what_re2_means() {
    for (expression, yes, no) in [
        (r"\d+", "12", "١٢"),
        (r"\w+", "ab_1", "é"),
        (r"\W", "é", "e"),
        (r"\s", "\t", "\u{b}"),
        (r"[^\d]", "x", "1"),
        (r"[\D]", "x", "1"),
        (r"a{", "a{", "a"),
        (r"a{,2}", "a{,2}", "aa"),
        (r"a{2,3}", "aaa", "a"),
        (r"a{2}?", "aa", "a"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"\Qa.b", "a.b", "axb"),
        (r"\<b\>", "<b>", "b"),
        (r"[a&&b]", "&", "c"),
        (r"[[a]", "[", "b"),
        (r"[]a]", "]", "["),
        (r"[a-]", "-", "b"),
        (r"[^]a]", "b", "]"),
        (r"[a~~b]", "~", "c"),
        (r"[[:alpha:]_]+", "ab_", "1"),
        (r"[[:^digit:]]", "x", "1"),
        (r"\pL\p{Greek}\P{Lu}", "aαb", "aab"),
        (r"\p{^Lu}", "b", "B"),
        (r"\x41\x{1F600}\101", "A😀A", "AA"),
        (r"[\x00-\x20]", " ", "a"),
        (r"(?i)abc", "ABC", "abd"),
        (r"(?i-i:a)b", "ab", "AB"),
        (r"(?P<n>a)(?<m>b)", "ab", "a"),
        (r"a#b c", "a#b c", "a#bc"),
        (r"x*?y+", "xxy", "x"),
        (r"\bab\b", "ab", "a"),
        (r"a\Bb", "ab", "a"),
        (r"()*", "", "a"),
        (r"^a$", "a", "b"),
    ] {
        assert!(matches(expression, yes), "{expression} {yes}");
        assert!(!matches(expression, no), "{expression} {no}");
    }
}

#[test]
fn error_texts() {
    for (expression, text) in [
        ("[", "missing closing ]: `[)$`"),
        ("a[b", "missing closing ]: `[b)$`"),
        ("(a", "missing closing ): `^(?:(a)$`"),
        ("a)", "unexpected ): `^(?:a))$`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("+?", "missing argument to repetition operator: `+?`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+?*", "invalid nested repetition operator: `+?*`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\pZZ\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\p{greek}", r"invalid character class range: `\p{greek}`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\xzz", r"invalid escape sequence: `\xzz`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?P<a>x)(?P<a>y)", "duplicate capture group name: `a`"),
    ] {
        assert_eq!(error(expression), format!("error parsing regexp: {text}"), "{expression}");
    }
    assert_eq!(check("[").unwrap_err().to_string(), "error parsing regexp: missing closing ]: `[`");
    assert_eq!(
        check("\\").unwrap_err().to_string(),
        "error parsing regexp: trailing backslash at end of expression: ``"
    );
    assert!(check("a)|(b").is_err(), "anchors cannot be escaped from");
    assert!(anchored("a)|(b").is_err());
}

#[test]
fn size_is_bounded() {
    assert!(anchored(r".{0,255}").is_ok());
    assert_eq!(anchored(r"(\pL{100}){100}").unwrap_err(), RegexError::TooLarge);
    assert_eq!(anchored(r"((((a{100}){100}){100}){100}){100}").unwrap_err(), RegexError::TooLarge);
    assert!(anchored(&("(".repeat(500) + &")".repeat(500))).is_err());
}

fn expression_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "é",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?P<n>",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{",
        "}",
        "{2,1}",
        "[",
        "]",
        "^",
        "$",
        "-",
        "[^",
        "\\",
        "\\d",
        "\\pL",
        "\\p{",
        "\\Q",
        "\\E",
        "\\x4",
        "[:alpha:]",
        ".",
        "&&",
        "#",
        "\\b",
        "\\B",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn escaped_text_matches_itself_alone(text in "[ -~é]{0,20}", other in "[ -~é]{0,20}") {
        let escaped: String = text
            .chars()
            .flat_map(|c| (c.is_ascii() && !c.is_ascii_alphanumeric()).then_some('\\').into_iter().chain([c]))
            .collect();
        prop_assert!(matches(&escaped, &text));
        prop_assert_eq!(matches(&escaped, &other), text == other);
        let quoted = format!(r"\Q{}\E", text.replace('\\', ""));
        prop_assert!(matches(&quoted, &text.replace('\\', "")));
    }

    #[test]
    fn what_is_read_can_be_compiled(expression in expression_like()) {
        match anchored(&expression) {
            Ok(_) => {}
            Err(RegexError::TooLarge) => {}
            Err(RegexError::Syntax(text)) => prop_assert!(!text.contains("nests"), "{expression:?}: {text}"),
        }
    }

    #[test]
    fn never_panics(expression in any::<String>()) {
        let _ = check(&expression);
    }
}

#[test]
fn a_compiled_expression_has_a_size() {
    let bytes = |expression: &str| anchored(expression).unwrap().bytes();
    assert!(bytes("critical|warning") < 8 * 1024, "{}", bytes("critical|warning"));
    assert!(bytes(r"\PL{12}") > 64 * 1024, "{}", bytes(r"\PL{12}"));
    let size = bytes("a|b+");
    assert!(anchored_within("a|b+", size).is_ok());
    assert_eq!(anchored_within("a|b+", size - 1).unwrap_err(), RegexError::TooLarge);
    assert_eq!(anchored_within("a|b+", 0).unwrap_err(), RegexError::TooLarge);
    let regex = anchored("a|b+").unwrap();
    let mut scan = regex.scan();
    assert_eq!(["a", "bb", "ab", "", "c"].map(&mut scan), [true, true, false, false, false]);
}

/// The engine changes its way when an automaton grows too large.
#[test]
fn a_scan_agrees_with_a_single_match() {
    let texts: Vec<String> =
        (0..40).map(|n| "ab".repeat(n * 40) + &"a".repeat(n % 3) + "b".repeat(n % 14).as_str()).collect();
    for expression in [r"(a|b)*a(a|b){12}", r".*[ab]{10}.*b", r"\PL{12}|(?:ab)*", r"(?:a|ab)(?:c|bcd)?.*"] {
        let regex = anchored(expression).unwrap();
        let mut scan = regex.scan();
        for text in &texts {
            assert_eq!(scan(text), regex.is_match(text), "{expression} {text}");
        }
    }
}
