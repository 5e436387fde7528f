//! The navigation: the shelves of `docs/README.md`, in its order. A page that lists others of its directory, like
//! `docs/specification/README.md`, has them below it.

use crate::markdown::Article;
use std::collections::BTreeMap;

/// The page that lists all others.
pub(crate) const START: &str = "docs/README.md";

/// Pages under one heading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    /// The heading; empty for the pages before the first one.
    pub(crate) title: String,
    /// Names of documents.
    pub(crate) pages: Vec<&'static str>,
}

/// Sorts the documents on shelves; the first shelf begins with the page that lists them.
pub(crate) fn shelves(articles: &BTreeMap<&'static str, Article>) -> Vec<Shelf> {
    let mut shelves = vec![Shelf { title: String::new(), pages: vec![START] }];
    let Some(start) = articles.get(START) else { return shelves };
    let mut put: Vec<&str> = vec![START];
    for (heading, name) in &start.names {
        let Some((name, article)) = articles.get_key_value(name.as_str()) else { continue };
        let title = if *heading == start.title { "" } else { heading };
        if shelves.last().is_some_and(|last| last.title != title) {
            shelves.push(Shelf { title: title.to_owned(), pages: Vec::new() });
        }
        let below = article.names.iter().filter(|(_, other)| is_below(name, other));
        let below =
            below.filter_map(|(_, other)| articles.get_key_value(other.as_str()).map(|(name, _)| *name));
        for page in [*name].into_iter().chain(below) {
            if !put.contains(&page) {
                put.push(page);
                if let Some(shelf) = shelves.last_mut() {
                    shelf.pages.push(page);
                }
            }
        }
    }
    shelves.retain(|shelf| !shelf.pages.is_empty());
    shelves
}

/// Whether the first document lists those of its directory, and the other one is there.
fn is_below(list: &str, other: &str) -> bool {
    let directory = list.strip_suffix("README.md");
    directory.filter(|directory| *directory != "docs/").is_some_and(|directory| other.starts_with(directory))
}
