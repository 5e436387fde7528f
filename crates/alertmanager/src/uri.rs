//! The texts that senders may give as the address that produced an alert.

/// Whether this is an absolute or a relative URI. It is as lenient as senders expect: spaces and characters beyond
/// ASCII are allowed in the path, but escapes, scheme, host and port must be valid.
pub(crate) fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if let Some(after) = rest.strip_prefix("//") {
        let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        return is_authority(authority) && escapes_are_whole(path);
    }
    let opaque = scheme && !rest.starts_with('/');
    let colon_first = !scheme && rest.split('/').next().is_some_and(|segment| segment.contains(':'));
    opaque || (!colon_first && escapes_are_whole(rest))
}

/// Whether there is a scheme, and the text after it; `None` when the text begins with a colon.
fn split_scheme(text: &str) -> Option<(bool, &str)> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((true, &text[i + 1..])),
            _ => break,
        }
    }
    Some((false, text))
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user_ok = user.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b));
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((address, after)) => (address, after),
            None => return false,
        },
        None => host.split_at(host.rfind(':').unwrap_or(host.len())),
    };
    let port_ok =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    let name_ok = name
        .bytes()
        .all(|b| !b.is_ascii() || b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%<>\"".contains(&b));
    user_ok && port_ok && name_ok && escapes_are_whole(user) && escapes_are_whole(name)
}

/// Whether every percent sign begins two hex digits.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let b = after.as_bytes();
        b.len() >= 2 && b[0].is_ascii_hexdigit() && b[1].is_ascii_hexdigit()
    })
}

#[cfg(test)]
mod tests {
    use super::is_uri;

    #[test]
    fn uris() {
        for good in [
            "http://x/y",
            "http://prometheus:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
            "https://user:pw@[::1]:8080/a b",
            "/vmalert/alert?x=1",
            "vmalert/alert?group_id=1",
            "?x=1",
            "//host/path",
            "mailto:a@b",
            "http://münchen.example/é",
            "http://x/y?q=%zz",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "::not a url",
            ":x",
            "a b:c",
            "1:2",
            "http://x/%zz",
            "http://a b/",
            "http://x:port/",
            "http://[::1",
            "http://x/\n",
            "\u{7f}",
            "http://x/%4",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }
}
