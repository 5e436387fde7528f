//! CSV: UTF-8 without BOM, comma, LF, quotes of RFC 4180 where they are needed.

use crate::Fault;
use std::borrow::Cow;

/// A part of a file: the header if there is one, and one line for each row; a row is dropped once it is written.
///
/// # Errors
/// The part could not be written.
pub fn csv<R, const N: usize>(
    header: Option<[&str; N]>,
    rows: impl IntoIterator<Item = R>,
    cells: impl Fn(&R) -> [Cow<'_, str>; N],
) -> Result<Vec<u8>, Fault> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    if let Some(header) = header {
        writer.write_record(header)?;
    }
    for row in rows {
        writer.write_record(cells(&row).map(neutral).iter().map(|cell| cell.as_bytes()))?;
    }
    let mut part = writer.into_inner().map_err(|e| Fault::Csv(e.into_error().into()))?;
    part.shrink_to_fit();
    Ok(part)
}

/// The characters that start a formula: some programs treat the wide forms like the others.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Adds an apostrophe before a cell that a spreadsheet would read as a formula.
fn neutral(cell: Cow<'_, str>) -> Cow<'_, str> {
    if cell.starts_with(FORMULA) { format!("'{cell}").into() } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[[&str; 2]]) -> String {
        let rows = rows.iter().map(|row| row.map(str::to_owned));
        let file =
            csv(Some(["A", "B"]), rows, |row: &[String; 2]| [row[0].as_str().into(), row[1].as_str().into()]);
        String::from_utf8(file.unwrap()).unwrap()
    }

    #[test]
    fn quotes_and_neutralises() {
        assert_eq!(file(&[]), "A,B\n");
        assert_eq!(file(&[["a,b", "c\"d"], ["", "e\nf"]]), "A,B\n\"a,b\",\"c\"\"d\"\n,\"e\nf\"\n");
        for dangerous in ["＝1+1", "＋1", "－1", "＠x", "=1+1", "+39", "-1", "@x"] {
            assert_eq!(file(&[[dangerous, "x=y"]]), format!("A,B\n'{dangerous},x=y\n"));
        }
        assert_eq!(file(&[["\t=1", "\r=1"]]), "A,B\n'\t=1,\"'\r=1\"\n");
        assert_eq!(file(&[["\n=1", ""]]), "A,B\n\"'\n=1\",\n");
        assert_eq!(file(&[["=\"a\",b", ""]]), "A,B\n\"'=\"\"a\"\",b\",\n");
    }

    #[test]
    fn parts_join_to_one_file() {
        let part = |header, rows: &[&str]| {
            csv(header, rows.to_vec(), |row: &&str| [(*row).to_owned().into()]).unwrap()
        };
        let whole = part(Some(["A"]), &["1", "=2", "3"]);
        assert_eq!([part(Some(["A"]), &["1"]), part(None, &["=2", "3"]), part(None, &[])].concat(), whole);
    }
}
