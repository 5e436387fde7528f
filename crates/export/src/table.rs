//! CSV: UTF-8 without BOM, comma, LF, quotes of RFC 4180 where they are needed.

use crate::{Fault, MAX_BYTES};
use std::borrow::Cow;

/// A file with a header and one line for each row; a row is dropped once it is written.
///
/// # Errors
/// A file of more than [`MAX_BYTES`].
pub fn csv<R, const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = R>,
    cells: impl Fn(&R) -> [Cow<'_, str>; N],
) -> Result<Vec<u8>, Fault> {
    let mut written = 0;
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        let line = cells(&row).map(neutral);
        written += line.iter().map(|cell| cell.len() + 1).sum::<usize>();
        if written > MAX_BYTES {
            return Err(Fault::TooLarge);
        }
        writer.write_record(line.iter().map(|cell| cell.as_bytes()))?;
    }
    let mut file = writer.into_inner().map_err(|e| Fault::Csv(e.into_error().into()))?;
    file.shrink_to_fit();
    Ok(file)
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
            csv(["A", "B"], rows, |row: &[String; 2]| [row[0].as_str().into(), row[1].as_str().into()]);
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
    fn a_file_has_a_size_it_never_exceeds() {
        let rows =
            |n: usize| csv(["A"], (0..n).map(|_| "x".repeat(MAX_BYTES / 2)), |row| [row.as_str().into()]);
        assert!(rows(1).is_ok());
        assert!(matches!(rows(2), Err(Fault::TooLarge)));
    }
}
