//! Where the links of a document lead to in the guide.

use crate::documents;

/// Stands in rendered pages where the address of `/docs` goes, which depends on the base path that a page is asked at.
pub(crate) const ROOT: &str = "\u{e000}";

/// What becomes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A link to this address.
    Address(String),
    /// A file that is not part of the guide.
    File(String),
}

/// The address of a document below `/docs/guide`; the one of `docs/README.md` is empty.
pub(crate) fn address(document: &str) -> &str {
    let stem = document.strip_suffix(".md").unwrap_or(document);
    let stem = stem.strip_prefix("docs/").unwrap_or(stem);
    match stem.strip_suffix("README") {
        Some(directory) if directory.is_empty() || directory.ends_with('/') => {
            directory.trim_end_matches('/')
        }
        _ => stem,
    }
}

/// The link of a page with this address.
pub(crate) fn href(address: &str) -> String {
    match address {
        "" => format!("{ROOT}/guide"),
        address => format!("{ROOT}/guide/{address}"),
    }
}

/// What a link in this document leads to.
pub(crate) fn resolve(document: &str, link: &str) -> Target {
    if link.starts_with('#') || is_outside(link) {
        return Target::Address(link.to_owned());
    }
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let Some(name) = below_root(document, path) else { return Target::File(path.to_owned()) };
    let at = match fragment {
        Some(anchor) => format!("#{anchor}"),
        None => String::new(),
    };
    if documents::exists(&name) {
        Target::Address(format!("{}{at}", href(address(&name))))
    } else if name == "openapi.json" {
        Target::Address(format!("{ROOT}/openapi.json"))
    } else if documents::picture(&name).is_some() {
        Target::Address(href(address(&name)))
    } else {
        Target::File(name)
    }
}

/// Whether the link leads to another host; other schemes than these are no links.
fn is_outside(link: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// The name, from the root of the repository, of a file beside this document; none outside of the repository.
pub(crate) fn below_root(document: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_address_of_their_path() {
        for (document, wanted) in [
            ("docs/README.md", ""),
            ("docs/specification/README.md", "specification"),
            ("docs/internals/storage.md", "internals/storage"),
            ("CHANGELOG.md", "CHANGELOG"),
        ] {
            assert_eq!(address(document), wanted);
        }
    }

    #[test]
    fn links_lead_to_pages_pictures_and_other_hosts_or_are_files() {
        let address = |text: String| Target::Address(text);
        for (link, wanted) in [
            ("#here", address("#here".into())),
            ("https://example.org/x.md", address("https://example.org/x.md".into())),
            ("storage.md", address(format!("{ROOT}/guide/internals/storage"))),
            ("../security.md#keys", address(format!("{ROOT}/guide/security#keys"))),
            ("../README.md", address(format!("{ROOT}/guide"))),
            ("../../openapi.json", address(format!("{ROOT}/openapi.json"))),
            ("../pictures/home.png", address(format!("{ROOT}/guide/pictures/home.png"))),
            ("../../crates/store/src/lib.rs", Target::File("crates/store/src/lib.rs".into())),
            ("../../../../etc/passwd", Target::File("../../../../etc/passwd".into())),
            ("javascript:alert(1)", Target::File("docs/internals/javascript:alert(1)".into())),
        ] {
            assert_eq!(resolve("docs/internals/ingest.md", link), wanted, "{link}");
        }
    }
}
