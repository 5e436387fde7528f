//! CSV: UTF-8 without BOM, comma, LF, quotes of RFC 4180 where they are needed.

use crate::Fault;
use std::borrow::Cow;

/// A column: its name in the header, and the cell of a row.
pub type CsvColumn<R> = (&'static str, fn(&R) -> Cow<'_, str>);

/// A part of a file: the header if it is the first part, and one line for each row; a row is dropped once it is
/// written.
///
/// # Errors
/// The part could not be written.
pub fn csv<R>(
    columns: &[CsvColumn<R>],
    rows: impl IntoIterator<Item = R>,
    has_header: bool,
) -> Result<Vec<u8>, Fault> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    if has_header {
        writer.write_record(columns.iter().map(|(name, _)| name))?;
    }
    for row in rows {
        for (_, cell) in columns {
            writer.write_field(neutral(cell(&row)).as_bytes())?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    let mut part = writer.into_inner().map_err(|e| Fault::Csv(e.into_error().into()))?;
    part.shrink_to_fit();
    Ok(part)
}

/// The characters that start a formula: some programs treat the wide forms like the others.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// What begins a new cell for a reader with another list separator, or one that does not know quotes.
const BREAKS: [char; 4] = [';', '\t', '\r', '\n'];

/// Adds an apostrophe before each piece of a cell that a spreadsheet would read as a formula: at its beginning, and
/// behind what separates cells or rows elsewhere. Italian and German spreadsheets separate by semicolons. Blanks and
/// quotes before a formula do not keep them from reading it.
fn neutral(cell: Cow<'_, str>) -> Cow<'_, str> {
    let is_formula = |text: &str| text.trim_start_matches([' ', '"', '\u{a0}']).starts_with(FORMULA);
    let begins_so = is_formula(&cell) || cell.starts_with(&BREAKS[1..]);
    if !begins_so && !cell.match_indices(BREAKS).any(|(at, _)| is_formula(&cell[at + 1..])) {
        return cell;
    }
    let mut safe = String::with_capacity(cell.len() + 4);
    let mut rest = &*cell;
    let mut is_marked = begins_so;
    loop {
        if is_marked {
            safe.push('\'');
        }
        let Some(at) = rest.find(BREAKS) else { break };
        safe.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        is_marked = is_formula(rest);
    }
    safe.push_str(rest);
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[[&str; 2]]) -> String {
        const COLUMNS: &[CsvColumn<[String; 2]>] =
            &[("A", |row| row[0].as_str().into()), ("B", |row| row[1].as_str().into())];
        let rows = rows.iter().map(|row| row.map(str::to_owned));
        String::from_utf8(csv(COLUMNS, rows, true).unwrap()).unwrap()
    }

    #[test]
    fn quotes_and_neutralises() {
        assert_eq!(file(&[]), "A,B\n");
        assert_eq!(file(&[["a,b", "c\"d"], ["", "e\nf"]]), "A,B\n\"a,b\",\"c\"\"d\"\n,\"e\nf\"\n");
        for dangerous in ["＝1+1", "＋1", "－1", "＠x", "=1+1", "+39", "-1", "@x"] {
            assert_eq!(file(&[[dangerous, "x=y"]]), format!("A,B\n'{dangerous},x=y\n"));
        }
        assert_eq!(file(&[["\t=1", "\r=1"]]), "A,B\n'\t'=1,\"'\r'=1\"\n");
        assert_eq!(file(&[["\n=1", ""]]), "A,B\n\"'\n'=1\",\n");
        assert_eq!(file(&[["=\"a\",b", ""]]), "A,B\n\"'=\"\"a\"\",b\",\n");
        let cell = "Acme;=cmd|'/C calc'!A0;x";
        assert_eq!(file(&[[cell, ""]]), "A,B\nAcme;'=cmd|'/C calc'!A0;x,\n");
    }

    #[test]
    fn no_reader_finds_a_formula() {
        let words = ["=1", "+1", "-1", "@x", "＝1", "x", " =1", "\"=1"];
        let breaks = [";", "\t", "\n", "\r", "\r\n", ",", "; ", ";\""];
        for (word, between) in words.iter().flat_map(|word| breaks.iter().map(move |between| (word, between)))
        {
            let cell = format!("Acme{between}{word}{between}{word}");
            let written = file(&[[&cell, word]]);
            for separator in [';', '\t'] {
                for found in written.split([separator, '\r', '\n']) {
                    let found = found.trim_start_matches([' ', '"']);
                    assert!(!found.starts_with(FORMULA), "{cell:?} read with {separator:?}: {found:?}");
                }
            }
        }
        for harmless in ["a;b", "a; b=c", "x\r\ny", "1;2", "a - b"] {
            assert!(matches!(neutral(harmless.into()), Cow::Borrowed(_)), "{harmless}");
        }
    }

    #[test]
    fn parts_join_to_one_file() {
        const COLUMNS: &[CsvColumn<&str>] = &[("A", |row| (*row).into())];
        let part = |rows: &[&'static str], has_header| csv(COLUMNS, rows.to_vec(), has_header).unwrap();
        let whole = part(&["1", "=2", "3"], true);
        assert_eq!([part(&["1"], true), part(&["=2", "3"], false), part(&[], false)].concat(), whole);
    }
}
