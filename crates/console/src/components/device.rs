//! The name that a client gives of itself, as people know the client.

/// Browsers by what their names contain; many contain those of others, so the order matters.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 6] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];
/// Characters of a name that is none of a known browser.
const OTHER_CHARS: usize = 40;

/// `Firefox · Linux`; of other clients the beginning of their name.
pub(crate) fn short(user_agent: &str) -> String {
    let name_in = |all: &[(&str, &'static str)]| {
        all.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    match (name_in(&BROWSERS), name_in(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => user_agent.chars().take(OTHER_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn browsers_are_named_as_people_know_them() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";
        assert_eq!(short(chrome), "Chrome · Linux");
        assert_eq!(short(&format!("{chrome} Edg/140.0")), "Edge · Linux");
        assert_eq!(
            short("Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"),
            "Firefox · Android"
        );
        assert_eq!(short("curl/8.14.1"), "curl/8.14.1");
        assert_eq!(short(""), "");
    }
}
