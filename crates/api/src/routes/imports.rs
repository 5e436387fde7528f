//! CSV import: three rows for each family.

use super::{Route, get, post};
use crate::{
    manage::imports,
    wire::imports::{ConfirmInput, ImportPreview, ImportResult},
};
use bailiwick_policy::Permission;
use std::time::Duration;

/// The rows below `base`, `/customers` for instance; `names` is the capitalised word of operation ids.
pub(super) fn rows(
    base: &str,
    names: &str,
    read: &'static [Permission],
    manage: &'static [Permission],
) -> [Route; 3] {
    let of = names.to_lowercase();
    [
        get(
            format!("{base}/import/template"),
            format!("get{names}ImportTemplate"),
            format!("File to begin an import of {of} with"),
        )
        .extra()
        .needs(read)
        .gives_file(&["text/csv"])
        .to(imports::template),
        post(
            format!("{base}/import/validate"),
            format!("validate{names}Import"),
            format!("Check a file of {of} before its import"),
        )
        .extra()
        .needs(manage)
        // 180 s for the file, then the answer (spec: conventions#limits).
        .answers_within(Duration::from_secs(210))
        .takes_file("file")
        .gives::<ImportPreview>()
        .to(imports::validate),
        post(
            format!("{base}/import/confirm"),
            format!("confirm{names}Import"),
            format!("Import the {of} of a checked file"),
        )
        .extra()
        .needs(manage)
        .answers_within(Duration::from_secs(180))
        .takes::<ConfirmInput>()
        .gives::<ImportResult>()
        .to(imports::confirm),
    ]
}
