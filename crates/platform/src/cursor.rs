//! Cursors: where a walk through a list goes on (spec: conventions#cursors).
//!
//! A cursor is sealed, because it has the value that the last row was sorted by, which the caller may not be shown, and
//! because it goes into a statement when it comes back. The list with its order and filters is the purpose of the seal,
//! so a cursor opens for that list only.

use crate::Platform;
use bailiwick_domain::{CursorPage, Error, Page, PageRequest, Result};
use bailiwick_store::walk::{Position, Step, WalkStep as Found};
use serde_json::json;

/// A walk at one of its pages.
#[derive(Debug)]
pub struct Walk<'a> {
    service: &'a Platform,
    purpose: String,
    number: u64,
    total: Option<u64>,
    after: Option<Position>,
}

impl<'a> Walk<'a> {
    /// From the cursor as sent, empty for the beginning. `list` names the list, its order, direction and filters.
    ///
    /// # Errors
    /// 400 for a cursor of another list, order or filter, and for everything that is no cursor.
    pub fn open(service: &'a Platform, list: &str, cursor: &str) -> Result<Walk<'a>> {
        let purpose = format!("cursor of {list}");
        if cursor.is_empty() {
            return Ok(Walk { service, purpose, number: 1, total: None, after: None });
        }
        let unknown = || Error::field("cursor", "invalid");
        let plain = service.keys.open_from_address(&purpose, cursor).map_err(|_| unknown())?;
        let plain: serde_json::Value = serde_json::from_slice(&plain).map_err(|_| unknown())?;
        let (number, total) = (plain[0].as_u64(), plain[1].as_u64());
        let (number, after) = number.zip(Position::from_json(&plain[2])).ok_or_else(unknown)?;
        Ok(Walk { service, purpose, number, total, after: Some(after) })
    }

    /// The total that was counted at the beginning; none at the beginning.
    pub const fn total(&self) -> Option<u64> {
        self.total
    }

    /// The next rows to read.
    pub fn step(&self, rows: u64) -> Step {
        Step { after: self.after.clone(), rows, bytes: None }
    }

    /// The page of the rows that were found, with the cursor of the next one.
    ///
    /// # Errors
    /// The cursor could not be sealed.
    pub fn page<T>(
        self,
        Found { rows, next }: Found<T>,
        total: u64,
        page_size: u64,
    ) -> Result<CursorPage<T>> {
        let request = PageRequest { page: self.number, page_size };
        let next_cursor = next.map(|next| {
            let plain = json!([self.number.saturating_add(1), total, next.to_json()]).to_string();
            self.service.keys.seal_for_address(&self.purpose, plain.as_bytes(), &*self.service.entropy)
        });
        Ok(CursorPage { page: Page { rows, total, request }, next_cursor: next_cursor.transpose()? })
    }
}
