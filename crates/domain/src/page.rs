//! Paging of lists as the API defines it (spec: conventions#lists).

use crate::Keywords;

/// Order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SortDirection {
    /// Smallest first.
    #[default]
    Asc,
    /// Greatest first.
    Desc,
}

impl SortDirection {
    /// The words of `sort_direction`.
    pub const WORDS: Keywords<SortDirection> =
        Keywords::of(&[("asc", SortDirection::Asc), ("desc", SortDirection::Desc)]);

    /// SQL keyword and wire word in one.
    pub const fn as_str(self) -> &'static str {
        match self {
            SortDirection::Asc => "asc",
            SortDirection::Desc => "desc",
        }
    }

    /// Exactly `asc` or `desc`; else ascending.
    pub fn parse(s: &str) -> SortDirection {
        SortDirection::WORDS.parse(s).unwrap_or_default()
    }
}

/// A requested page, already clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// From 1.
    pub page: u64,
    /// 1 to 100 (1,000 where an operation says so).
    pub page_size: u64,
}

impl PageRequest {
    /// Largest page a client may ask for.
    pub const MAX_SIZE: u64 = 100;

    /// From the raw query values and the operation's default size.
    pub fn parse(page: Option<&str>, page_size: Option<&str>, default_size: u64) -> PageRequest {
        let number = |s: Option<&str>| s.and_then(|s| s.parse::<u64>().ok()).filter(|n| *n >= 1);
        PageRequest {
            page: number(page).unwrap_or(1),
            page_size: number(page_size).unwrap_or(default_size).min(Self::MAX_SIZE),
        }
    }

    /// Rows before this page.
    pub const fn offset(&self) -> u64 {
        (self.page - 1).saturating_mul(self.page_size)
    }
}

/// Rows of one page and how many there are in all.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// Rows, at most the page size.
    pub rows: Vec<T>,
    /// All rows that match, also past the end.
    pub total: u64,
    /// The requested page.
    pub request: PageRequest,
}

impl<T> Page<T> {
    /// This page with other rows.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { rows: self.rows.into_iter().map(f).collect(), total: self.total, request: self.request }
    }

    /// Pages in all; 0 when empty.
    pub const fn total_pages(&self) -> u64 {
        self.total.div_ceil(self.request.page_size)
    }
}

/// A page of a walk by cursors (spec: conventions#cursors).
#[derive(Clone, Debug, PartialEq)]
pub struct CursorPage<T> {
    /// The rows. The number of the page counts the steps of the walk; the total is that of its beginning.
    pub page: Page<T>,
    /// `cursor` of the next page; none at the end.
    pub next_cursor: Option<String>,
}
