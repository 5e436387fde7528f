//! The documents as pages.

use crate::{
    documents,
    links::{address, href},
    markdown::{self, Article},
    page::Framed,
    search::{Index, SearchEntry},
    shelves::{Shelf, shelves},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::OnceLock};

/// A document.
#[derive(Debug)]
pub(crate) struct SitePage {
    name: &'static str,
    /// Its place in the order of the navigation; none if it is not named there.
    number: Option<usize>,
    framed: OnceLock<Framed>,
}

impl SitePage {
    /// The page, rendered at its first use.
    pub(crate) fn framed(&self, render: impl FnOnce() -> Framed) -> &Framed {
        self.framed.get_or_init(render)
    }
}

/// All documents.
#[derive(Debug)]
pub(crate) struct Site {
    articles: BTreeMap<&'static str, Article>,
    shelves: Vec<Shelf>,
    order: Vec<&'static str>,
    site_pages: Vec<SitePage>,
    index: OnceLock<Index>,
}

impl Site {
    pub(crate) fn new() -> Site {
        let articles: BTreeMap<_, _> =
            documents::all().map(|(name, text)| (name, markdown::render(name, text))).collect();
        let shelves = shelves(&articles);
        let order: Vec<&'static str> = shelves.iter().flat_map(|shelf| shelf.pages.iter().copied()).collect();
        let site_page = |name: &&'static str| SitePage {
            name,
            number: order.iter().position(|other| other == name),
            framed: OnceLock::new(),
        };
        let site_pages = articles.keys().map(site_page).collect();
        Site { articles, shelves, order, site_pages, index: OnceLock::new() }
    }

    /// The document at this address.
    pub(crate) fn find(&self, wanted: &str) -> Option<&SitePage> {
        self.site_pages.iter().find(|site_page| address(site_page.name) == wanted)
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.site_pages.iter().map(|site_page| address(site_page.name))
    }

    fn title<'a>(&'a self, name: &'a str) -> &'a str {
        self.articles.get(name).map_or(name, |article| &article.title)
    }

    /// The navigation, on the page of this name.
    pub(crate) fn shelves(&self, current: &str) -> Value {
        let page = |name: &&str| json!({"href": href(address(name)), "title": self.title(name), "is_current": *name == current});
        let shelf = |shelf: &Shelf| {
            let pages: Vec<Value> = shelf.pages.iter().map(page).collect();
            let is_open = shelf.pages.contains(&current);
            json!({"title": shelf.title, "pages": pages, "is_open": is_open})
        };
        self.shelves.iter().map(shelf).collect()
    }

    /// What a page is rendered from.
    pub(crate) fn context(&self, site_page: &SitePage) -> Value {
        let Some(article) = self.articles.get(site_page.name) else { return json!({}) };
        let neighbour = |number: Option<usize>| {
            let name = self.order.get(number?)?;
            Some(json!({"href": href(address(name)), "title": self.title(name)}))
        };
        let parts = article.sections.iter().filter(|section| (2..=3).contains(&section.level));
        let parts: Vec<Value> = parts
            .map(|part| json!({"level": part.level, "title": part.heading, "anchor": part.anchor}))
            .collect();
        json!({
            "title": article.title,
            "html": article.html,
            "has_title": article.sections.first().is_some_and(|first| first.level == 1),
            "parts": parts,
            "shelves": self.shelves(site_page.name),
            "before": neighbour(site_page.number.and_then(|number| number.checked_sub(1))),
            "after": neighbour(site_page.number.map(|number| number + 1)),
        })
    }

    /// The sections of all documents, in the order of the navigation.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let articles = self.order.iter().filter_map(|name| Some((*name, self.articles.get(name)?)));
            Index::new(articles.flat_map(|(name, article)| entries(name, article)).collect())
        })
    }
}

fn entries<'a>(name: &'a str, article: &'a Article) -> impl Iterator<Item = SearchEntry> + 'a {
    article.sections.iter().enumerate().map(move |(number, section)| {
        let page = href(address(name));
        let is_first = number == 0;
        SearchEntry {
            href: if is_first { page } else { format!("{page}#{}", section.anchor) },
            title: article.title.clone(),
            heading: if is_first { String::new() } else { section.heading.clone() },
            text: section.text.clone(),
            more: if is_first { name.to_owned() } else { String::new() },
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail anywhere")]

    use super::*;
    use crate::links::ROOT;

    #[test]
    fn every_document_is_on_a_shelf() {
        let site = Site::new();
        for site_page in &site.site_pages {
            assert!(site_page.number.is_some(), "docs/README.md does not name {}", site_page.name);
        }
        assert!(site.site_pages.len() > 50 && site.order.first() == Some(&"docs/README.md"));
    }

    #[test]
    fn every_link_and_every_anchor_resolves() {
        let site = Site::new();
        let mut count = 0;
        for (name, article) in &site.articles {
            for link in article.html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
                let Some(page) = (match page.strip_prefix(ROOT) {
                    Some("/openapi.json") => continue,
                    Some(own) => own.strip_prefix("/guide").map(|own| own.trim_start_matches('/').to_owned()),
                    None if page.is_empty() => Some(address(name).to_owned()),
                    None => continue,
                }) else {
                    panic!("{name}: {link}")
                };
                if page.starts_with("pictures/") {
                    continue;
                }
                count += 1;
                let site_page = site.find(&page).unwrap_or_else(|| panic!("{name}: {link}"));
                let anchors = &site.articles[site_page.name].anchors;
                assert!(anchor.is_empty() || anchors.contains(anchor), "{name}: no anchor {link}");
            }
        }
        assert!(count > 400, "{count}");
    }

    #[test]
    fn every_diagram_has_its_picture() {
        let mut wanted = Vec::new();
        for (name, text) in documents::all() {
            let diagrams = text.split("```mermaid\n").skip(1).filter_map(|rest| rest.split("```").next());
            for (number, diagram) in diagrams.enumerate() {
                let picture = documents::diagram(name, number + 1);
                let svg =
                    documents::picture(&picture).unwrap_or_else(|| panic!("no {picture}: make diagrams"));
                let diagram = diagram.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                let is_current =
                    std::str::from_utf8(svg).unwrap().contains(&format!("<desc>{diagram}</desc>"));
                assert!(is_current, "{picture} shows another text: make diagrams");
                wanted.push(picture);
            }
        }
        assert!(wanted.len() > 5, "{wanted:?}");
        for name in documents::pictures().filter(|name| name.contains("/diagram-")) {
            assert!(wanted.iter().any(|wanted| wanted == name), "{name} is of no document: make diagrams");
        }
        let page = &site_article("docs/internals/ingest.md").html;
        assert_eq!(page.matches("<img src=").count(), 2, "{page}");
        assert_eq!(page.matches("<details>").count(), page.matches("</details>").count(), "{page}");
    }

    fn site_article(name: &str) -> Article {
        Site::new().articles.remove(name).unwrap()
    }

    #[test]
    fn anchors_stand_once_in_their_page() {
        for (name, article) in Site::new().articles {
            let mut ids: Vec<&str> =
                article.html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            ids.sort_unstable();
            let all = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), all, "{name}");
            for anchor in &article.anchors {
                assert!(ids.contains(&anchor.as_str()), "{name}: {anchor}");
            }
        }
    }
}
