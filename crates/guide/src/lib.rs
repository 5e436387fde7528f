//! The documents of the repository and the reference of the interface as pages with a navigation and a search. It knows
//! texts alone: no request, no storage.
//!
//! [`documents`] has what the repository has, [`markdown`] renders it, [`shelves`] sorts it, [`mod@reference`] makes
//! pages of the OpenAPI document, [`search`] finds sections and operations, and [`page`] puts it all into templates. A
//! page of the guide is a file in `docs/`, named in `docs/README.md`; nothing else is to be done for it.

mod assets;
mod documents;
mod links;
mod markdown;
mod page;
mod reference;
pub mod search;
mod shelves;
mod site;
mod text;

pub use assets::Asset;
pub use page::{At, Page};

use assets::{Assets, hash};
use page::Templates;
use reference::Reference;
use search::Query;
use serde_json::{Value, json};
use site::Site;
use text::encoded;

/// What the pages say of the service that shows them.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Whether there is a console.
    pub has_console: bool,
    /// Where people sign in, if they can sign in here.
    pub sign_in: Option<SignIn>,
}

/// Where people sign in for the reference.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The issuer; below it is its discovery document.
    pub issuer: String,
    pub client_id: String,
}

/// Characters that stand in rendered pages where something goes that depends on the request.
const PLACEHOLDERS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{e00f}';

/// A picture of a document.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The file.
    pub bytes: &'static [u8],
    /// Whether it is an SVG file; the others are PNG files.
    pub is_svg: bool,
    /// Tells its states apart; to be quoted.
    pub tag: String,
}

/// All pages.
#[derive(Debug)]
pub struct Guide {
    site: Site,
    reference: Reference,
    assets: Assets,
    templates: Templates,
}

impl Guide {
    /// The pages for this OpenAPI document. `style`: the stylesheet that they share with other pages.
    pub fn new(document: Value, style: &str, about: &About) -> Guide {
        let assets = Assets::new(style);
        let templates = Templates::new(about, &assets);
        Guide { site: Site::new(), reference: Reference::new(document), assets, templates }
    }

    /// A stylesheet or script by its name.
    pub fn asset(&self, name: &str) -> Option<&Asset> {
        self.assets.find(name)
    }

    /// A picture of a document by its name.
    pub fn picture(&self, name: &str) -> Option<Picture> {
        let bytes = documents::picture(&format!("docs/pictures/{name}"))?;
        Some(Picture { bytes, is_svg: documents::is_svg(bytes), tag: hash(bytes) })
    }

    /// A document by its address.
    pub fn page(&self, address: &str, at: &At<'_>) -> Option<Page> {
        let page = self.site.find(address)?;
        Some(page.framed(|| self.templates.render("document.html", self.site.context(page))).at(at))
    }

    /// In place of a page that does not exist.
    pub fn missing(&self, at: &At<'_>) -> Page {
        let context = json!({"shelves": self.site.shelves("")});
        self.templates.render("missing.html", context).at(at)
    }

    /// What is found in documents and operations.
    pub fn search(&self, text: &str, at: &At<'_>) -> Page {
        let query = Query::read(text);
        let (pages, operations) = (self.site.index().find(&query), self.reference.index().find(&query));
        // A few operations follow the pages; the reference has a search of its own for all of them.
        let found_operations = operations.iter().take(search::MOST / 5);
        let found_operations: Vec<_> =
            found_operations.filter_map(|number| self.reference.index().show(*number, &query)).collect();
        let left = search::MOST - found_operations.len();
        let found_pages = pages.iter().take(left);
        let found_pages: Vec<_> =
            found_pages.filter_map(|number| self.site.index().show(*number, &query)).collect();
        let context = json!({
            "shelves": self.site.shelves(""),
            "q": shown(text),
            "encoded": encoded(&shown(text)),
            "pages": found_pages,
            "page_count": pages.len(),
            "operations": found_operations,
            "operation_count": operations.len(),
        });
        self.templates.render("search.html", context).at(at)
    }

    /// The list of operations; those that have all words of the text, if there is one.
    pub fn operations(&self, text: &str, at: &At<'_>) -> Page {
        let mut context = self.reference.list(text);
        context["q"] = json!(shown(text));
        context["encoded"] = json!(encoded(&shown(text)));
        self.templates.render("operations.html", context).at(at)
    }

    /// An operation by its id.
    pub fn operation(&self, id: &str, at: &At<'_>) -> Option<Page> {
        Some(self.templates.render("operation.html", self.reference.operation(id)?).at(at))
    }

    /// Where the provider sends people who have signed in for the reference.
    pub fn signed_in(&self, at: &At<'_>) -> Page {
        self.templates.render("signed_in.html", json!({})).at(at)
    }

    /// The addresses of all documents, for tests.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.site.addresses()
    }
}

/// A query as it is shown again, without characters that stand for something else in rendered pages.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !PLACEHOLDERS.contains(c)).take(search::QUERY_CHARS).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;
    use std::collections::BTreeSet;

    /// Addresses that a page leads to, on this host.
    fn links(page: &str) -> Vec<String> {
        let targets = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        targets.filter(|target| target.starts_with("/at/docs")).map(str::to_owned).collect()
    }

    #[test]
    fn a_query_stays_a_text() {
        let guide = Guide::new(json!({}), "", &About::default());
        let at = At { root: "/docs", base: "", theme: "dark" };
        let pages = |query: &str| [guide.search(query, &at).html, guide.operations(query, &at).html];
        for placeholder in PLACEHOLDERS {
            assert_eq!(pages(&format!("a{placeholder} onfocus=a")), pages("a onfocus=a"));
        }
        for page in pages("a\" onfocus=a") {
            assert!(page.contains("a&quot; onfocus=a") && !page.contains("a\" onfocus=a"), "{page}");
        }
    }

    #[test]
    fn every_page_is_rendered_and_leads_to_pages() {
        let document: Value = serde_json::from_str(include_str!("../../../openapi.json")).unwrap();
        let guide = Guide::new(document, "", &About { has_console: true, sign_in: None });
        let at = At { root: "/at/docs", base: "/at", theme: "dark" };
        let operations = guide.operations("", &at).html;
        let ids = operations.split("/operations/").skip(1).filter_map(|rest| rest.split('"').next());
        let ids: BTreeSet<&str> = ids.collect();
        let addresses: BTreeSet<&str> = guide.addresses().collect();
        let mut pages: Vec<String> = ids.iter().map(|id| guide.operation(id, &at).unwrap().html).collect();
        assert!(pages.len() > 200, "{}", pages.len());
        pages.extend(guide.addresses().map(|address| guide.page(address, &at).unwrap().html));
        pages.extend(["", "backup", "<script>", "createSystem"].map(|text| guide.search(text, &at).html));
        pages
            .extend(["systems", "no such thing", "\"><script>"].map(|text| guide.operations(text, &at).html));
        pages.extend([operations.clone(), guide.missing(&at).html, guide.signed_in(&at).html]);
        for page in &pages {
            assert!(page.starts_with("<!doctype html>") && page.contains("data-theme=\"dark\""), "{page}");
            assert!(
                page.contains("<h1") && !page.contains("<script>") && !page.contains(" style="),
                "{page}"
            );
            assert!(page.chars().all(|c| !PLACEHOLDERS.contains(&c)), "{page}");
            for link in links(page) {
                let path = link.split(['#', '?']).next().unwrap_or_default().trim_start_matches("/at/docs");
                let exists = match path.trim_start_matches('/').split_once('/') {
                    Some(("guide", "search")) => true,
                    Some(("guide", name)) if name.starts_with("pictures/") => {
                        guide.picture(name.trim_start_matches("pictures/")).is_some()
                    }
                    Some(("guide", address)) => addresses.contains(address),
                    Some(("assets", name)) => guide.asset(name).is_some(),
                    Some(("operations", id)) => ids.contains(id),
                    _ => ["", "/guide", "/openapi.json"].contains(&path),
                };
                assert!(exists, "{link}");
            }
        }
    }
}
