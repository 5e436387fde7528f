//! A reader of CSV files (spec: imports-and-exports#imports): RFC 4180, lenient where programs are careless, within
//! bounds.
//!
//! The header determines the separator: a comma, a semicolon (spreadsheets of most European languages) or a tab; a line
//! `sep=` before it, which Excel writes, does so too. A row without content is a blank line. A quote inside an unquoted
//! cell is an ordinary character. A quoted cell must end where a cell ends: one that does not would silently swallow
//! rows. Columns and rows beyond the limits are counted, never kept.

use bailiwick_domain::{Error, Result};
use std::borrow::Cow;

/// Most data rows of a file.
pub const MAX_ROWS: usize = 1000;
/// Most header cells that are read; a file with more is refused.
const MAX_HEADERS: usize = 64;
/// Unexpected columns that are named in the answer, and characters of each name.
const NAMED_COLUMNS: usize = 10;
const NAMED_CHARS: usize = 40;

/// The data rows, their cells trimmed and in the order of `columns`, whatever the order in the file.
///
/// # Errors
/// 400 with the text of the first structural error, in the order of the specification's table.
pub fn read(bytes: &[u8], columns: &[&str]) -> Result<Vec<Vec<String>>> {
    Ok(read_lines(bytes, columns, MAX_ROWS)?.into_iter().map(|(_, cells)| cells).collect())
}

/// A data row with the line of the file where it begins.
pub type Line = (usize, Vec<String>);

/// Like [`read`], with the line of each row and another limit of rows.
///
/// # Errors
/// Those of [`read`].
pub fn read_lines(bytes: &[u8], columns: &[&str], most: usize) -> Result<Vec<Line>> {
    let text = decode(bytes);
    if text.trim().is_empty() {
        return Err(Error::bad_request("file is empty"));
    }
    let mut records = Records::of(&text);
    let header = records.next(MAX_HEADERS)?.unwrap_or_default();
    let (rows, count, fault) = data(&mut records, columns.len(), header.count, most);
    if count == 0 && fault.is_none() {
        return Err(Error::bad_request("file contains only headers, no data rows"));
    }
    if count > most {
        let text = format!("too many rows ({count}). maximum allowed: {most}");
        return Err(Error::bad_request(text));
    }
    let places = places(&header, columns)?;
    match fault {
        Some(fault) => Err(fault),
        None => Ok(rows.into_iter().map(|(line, row)| (line, arrange(row, &places))).collect()),
    }
}

/// UTF-8 with or without a byte order mark, or UTF-16 with one; anything else is taken as Windows-1252, in which every
/// file is text.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return wide(rest, u16::from_be_bytes),
        _ => {}
    }
    let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(unmarked) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(unmarked.iter().map(|b| windows_1252(*b)).collect()),
    }
}

/// Windows-1252 from 0x80 to 0x9f; elsewhere it is Latin-1. The five bytes without a meaning stay control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    let special = usize::from(byte).checked_sub(0x80).and_then(|at| WINDOWS_1252.get(at));
    special.copied().unwrap_or(char::from(byte))
}

/// The kept rows, the number of all rows, and the error that stopped the reading.
fn data(
    records: &mut Records<'_>,
    keep: usize,
    cells: usize,
    most: usize,
) -> (Vec<Line>, usize, Option<Error>) {
    let (mut rows, mut count, mut fault) = (Vec::new(), 0, None);
    loop {
        match records.next(keep) {
            Ok(None) => return (rows, count, fault),
            Err(error) => return (rows, count, fault.or(Some(error))),
            Ok(Some(record)) => {
                count += 1;
                if record.count != cells && fault.is_none() {
                    let (line, n) = (record.line, record.count);
                    fault = Some(invalid(format!("line {line} has {n} cells instead of {cells}")));
                }
                if count <= most {
                    rows.push((record.line, record.cells));
                }
            }
        }
    }
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::bad_request(format!("invalid CSV format: {reason}"))
}

/// For each of `columns` its place in the file.
fn places(header: &Record, columns: &[&str]) -> Result<Vec<usize>> {
    let names: Vec<String> = header.cells.iter().map(|name| name.trim().to_lowercase()).collect();
    let position = |column: &&str| names.iter().position(|name| name == column);
    let missing: Vec<&str> = columns.iter().copied().filter(|c| position(c).is_none()).collect();
    let is_extra = |(n, name): &(usize, &String)| {
        position(&name.as_str()) != Some(*n) || !columns.contains(&name.as_str())
    };
    let extra: Vec<&String> = names.iter().enumerate().filter(is_extra).map(|(_, name)| name).collect();
    let beyond = header.count - header.cells.len();
    if missing.is_empty() && extra.is_empty() && beyond == 0 {
        return Ok(columns.iter().filter_map(position).collect());
    }
    let mut wrong = Vec::new();
    if !missing.is_empty() {
        wrong.push(format!("missing columns: {}", missing.join(", ")));
    }
    if !extra.is_empty() || beyond > 0 {
        let cut = |name: &&String| name.chars().take(NAMED_CHARS).collect::<String>();
        let mut unexpected: Vec<String> = extra.iter().take(NAMED_COLUMNS).map(cut).collect();
        match extra.len().saturating_sub(NAMED_COLUMNS) + beyond {
            0 => {}
            more => unexpected.push(format!("and {more} more")),
        }
        wrong.push(format!("unexpected columns: {}", unexpected.join(", ")));
    }
    let text = format!("invalid CSV headers: {}. expected: {}", wrong.join("; "), columns.join(", "));
    Err(Error::bad_request(text))
}

fn arrange(mut row: Vec<String>, places: &[usize]) -> Vec<String> {
    let mut cell = |index: &usize| row.get_mut(*index).map(std::mem::take).unwrap_or_default();
    places.iter().map(|index| cell(index).trim().to_owned()).collect()
}

/// A line of cells; a quoted cell may go over several lines of the file.
#[derive(Debug, Default, PartialEq)]
struct Record {
    /// The first ones.
    cells: Vec<String>,
    /// All there are.
    count: usize,
    /// Where it begins.
    line: usize,
}

struct Records<'a> {
    rest: &'a str,
    line: usize,
    separator: char,
}

/// What may separate the cells; the first is the default.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// The end of a cell.
#[derive(PartialEq)]
enum End {
    Cell,
    Record,
}

impl<'a> Records<'a> {
    fn of(text: &'a str) -> Records<'a> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let declared = first.trim_end_matches('\r').trim_matches('"').strip_prefix("sep=");
        let declared = SEPARATORS.into_iter().find(|s| declared.is_some_and(|text| text.chars().eq([*s])));
        match declared {
            Some(separator) => Records { rest, line: 2, separator },
            None => Records { rest: text, line: 1, separator: separator(text) },
        }
    }

    /// The next line that is not blank, with its first `keep` cells.
    fn next(&mut self, keep: usize) -> Result<Option<Record>> {
        while !self.rest.is_empty() {
            let mut record = Record { cells: Vec::new(), count: 0, line: self.line };
            let mut is_blank = true;
            loop {
                let (cell, end) = self.cell()?;
                is_blank &= cell.trim().is_empty();
                if record.count < keep {
                    record.cells.push(cell.into_owned());
                }
                record.count += 1;
                if end == End::Record {
                    break;
                }
            }
            if !is_blank {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn cell(&mut self) -> Result<(Cow<'a, str>, End)> {
        if let Some(quoted) = self.rest.trim_start_matches(' ').strip_prefix('"') {
            return self.quoted(quoted);
        }
        let stop = self.rest.find([self.separator, '\n', '\r']).unwrap_or(self.rest.len());
        let (cell, rest) = self.rest.split_at(stop);
        self.rest = rest;
        let end = self.end().unwrap_or(End::Record);
        Ok((Cow::Borrowed(cell), end))
    }

    /// `text` begins behind the opening quote.
    fn quoted(&mut self, text: &'a str) -> Result<(Cow<'a, str>, End)> {
        let began = self.line;
        let mut from = 0;
        loop {
            let quote = text[from..].find('"').map(|at| from + at);
            let Some(quote) = quote else {
                return Err(invalid(format!("the quoted cell that begins on line {began} does not end")));
            };
            if text[quote + 1..].starts_with('"') {
                from = quote + 2;
                continue;
            }
            let cell = &text[..quote];
            self.line += cell.matches('\n').count();
            self.rest = text[quote + 1..].trim_start_matches(' ');
            let line = self.line;
            let end = self.end().ok_or_else(|| {
                invalid(format!("line {line}: a quote inside a quoted cell must be doubled"))
            })?;
            let cell =
                if cell.contains('"') { Cow::Owned(cell.replace("\"\"", "\"")) } else { Cow::Borrowed(cell) };
            return Ok((cell, end));
        }
    }

    /// Consumes the separator or the line end; none when another character follows.
    fn end(&mut self) -> Option<End> {
        if let Some(rest) = self.rest.strip_prefix(self.separator) {
            self.rest = rest;
            return Some(End::Cell);
        }
        let line_end = ["\r\n", "\n", "\r"].into_iter().find_map(|end| self.rest.strip_prefix(end));
        if let Some(rest) = line_end {
            self.rest = rest;
            self.line += 1;
            return Some(End::Record);
        }
        self.rest.is_empty().then_some(End::Record)
    }
}

/// The separator that the first line with content has most of, outside of quotes.
fn separator(text: &str) -> char {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let plain: String = header.split('"').step_by(2).collect();
    let count = |separator: &char| plain.matches(*separator).count();
    // Of equally many, the last is taken.
    SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(SEPARATORS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: impl AsRef<[u8]>) -> Vec<Vec<String>> {
        read(file.as_ref(), &["a", "b"]).unwrap()
    }

    fn fault(file: impl AsRef<[u8]>) -> String {
        match read(file.as_ref(), &["a", "b"]) {
            Err(Error::BadRequest { message, .. }) => message.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn cells() {
        assert_eq!(rows("a,b\n1,2"), [["1", "2"]]);
        assert_eq!(rows("\u{feff} B ,A\r\n1,2\r\n"), [["2", "1"]]);
        assert_eq!(rows("a,b\r1, 2 \r\r\n , \n"), [["1", "2"]]);
        assert_eq!(rows("a,b\n1, \"x,\"\"y\" \n,,,\n\"\", \n  \"3\",4\n"), [["1", "x,\"y"], ["3", "4"]]);
        assert_eq!(rows("a,b\n\"x,\"\"y\"\"\nz\",\"\"\n"), [["x,\"y\"\nz", ""]]);
        // A quote that does not open a cell is a character.
        assert_eq!(
            rows("a,b\nLa \"Bottega\" srl, \"x\"\n5\",\"6\"\n"),
            [["La \"Bottega\" srl", "x"], ["5\"", "6"]]
        );
        assert_eq!(rows("a,b\n=1+1,@x\n"), [["=1+1", "@x"]]);
        assert_eq!(rows("a,b\nx\0y,\u{1f600}\n"), [["x\0y", "\u{1f600}"]]);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_windows_1252() {
        assert_eq!(
            rows(b"a,b\nSociet\xe0 dell\x92Acqua,\x80 \x96 \x9f\n"),
            [["Società dell’Acqua", "€ – Ÿ"]]
        );
        assert_eq!(rows(b"a,b\n\x81\xff,\x7f\n"), [["\u{81}ÿ", "\u{7f}"]]);
        assert_eq!(rows("a,b\nCaffè,€\n"), [["Caffè", "€"]]);
    }

    #[test]
    fn utf_16_with_its_mark() {
        let text = "a\tb\nCaffè\t€\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for file in [[&b"\xff\xfe"[..], &little].concat(), [&b"\xfe\xff"[..], &big, b"\0"].concat()] {
            assert_eq!(rows(file), [["Caffè", "€"]]);
        }
    }

    #[test]
    fn the_header_determines_the_separator() {
        for file in [
            "a,b\n1;2,3\n",
            "a;b\n1\t2;3\n;\n",
            "A;B\r\n1;3\r\n;;\r\n",
            "sep=;\r\na;b\r\n1,2;3\r\n",
            "\"sep=\t\"\na\tb\n1;\t3\n",
            "\u{feff}sep=,\na,b\n1,3\n",
            "b\ta\n3\t1\n\t\t\t\n",
            "\"a\";b\n\"1;2\"; \"3\"\n",
        ] {
            let read = rows(file);
            assert_eq!((read.len(), &read[0][1][..]), (1, "3"), "{file}");
        }
        let lines = read_lines(b"sep=;\na;b\n;\n1;2\n", &["a", "b"], 9).unwrap();
        assert_eq!(lines, [(4, vec!["1".to_owned(), "2".to_owned()])]);
        // A cell with that text is a header like any other.
        assert!(fault("sep=x\n1").starts_with("invalid CSV headers: missing columns: a, b"));
    }

    #[test]
    fn structure() {
        for empty in ["", "\u{feff}", " \r\n\t\n"] {
            assert_eq!(fault(empty), "file is empty");
        }
        assert_eq!(fault("a,b\n\n  \n"), "file contains only headers, no data rows");
        assert_eq!(fault("x\n"), "file contains only headers, no data rows");
        let wrong = |text: &str| format!("invalid CSV headers: {text}. expected: a, b");
        assert_eq!(fault("a\n1"), wrong("missing columns: b"));
        assert_eq!(fault("a,C,b,b\n1"), wrong("unexpected columns: c, b"));
        assert_eq!(fault("a,\n1"), wrong("missing columns: b; unexpected columns: "));
        assert_eq!(fault("a|b\n1|2"), wrong("missing columns: a, b; unexpected columns: a|b"));
        let many: Vec<String> = (0..100).map(|n| format!("{n:0>50}")).collect();
        let text = fault(format!("a,b,{}\n1", many.join(",")));
        assert!(text.contains(", and 90 more. expected") && text.len() < 600, "{text}");
        let cells = "invalid CSV format: line 4 has 3 cells instead of 2";
        assert_eq!(fault("a,b\n\"1\n\",2\n3,4,5\n6\n"), cells);
        let open = "invalid CSV format: the quoted cell that begins on line 3 does not end";
        assert_eq!(fault("a,b\n1,2\n3,\"4\n5,6\n"), open);
        let stray = "invalid CSV format: line 2: a quote inside a quoted cell must be doubled";
        assert_eq!(fault("a,b\n\"1\"2,3\n"), stray);
    }

    #[test]
    fn rows_are_counted_to_the_end() {
        let file = |n: usize| format!("a,b\n{}", "1,2\n".repeat(n));
        assert_eq!(rows(file(MAX_ROWS)).len(), MAX_ROWS);
        assert_eq!(fault(file(123_456)), "too many rows (123456). maximum allowed: 1000");
        // Also when the columns are wrong.
        assert_eq!(
            fault(format!("x\n{}", "1\n".repeat(1001))),
            "too many rows (1001). maximum allowed: 1000"
        );
    }

    #[test]
    fn anything_is_read_in_one_pass() {
        let mut files: Vec<Vec<u8>> = [&b","[..], b"\"", b"\n", b",\n", b"\"\"", b"x", b"\0", b"\xff", b"\r"]
            .iter()
            .map(|piece| piece.repeat((1 << 18) / piece.len()))
            .collect();
        let headed: Vec<Vec<u8>> = files.iter().map(|file| [b"a,b\n1,", &file[..]].concat()).collect();
        files.extend(headed);
        for file in files {
            drop(read(&file, &["a", "b"]));
        }
    }
}
