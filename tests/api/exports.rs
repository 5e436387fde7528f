//! Exports: exact headers, cells and pages; the rows are those of the list (spec: users#export, organizations#stats,
//! systems#export).

mod bounds;
mod organizations;
mod systems;
mod users;

use bailiwick_testkit::{Persona, Reply, Test, parts::programs};
use std::{
    io::Write,
    process::{Command, Stdio},
};

/// The clock of the tests, as files show it.
const NOW: &str = "2026-03-04 10:00:00 UTC";

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(path).bearer(&who.token).send().await
}

/// A file with the headers it must have.
async fn file(t: &Test, who: &Persona, kind: &str, format: &str, query: &str) -> Reply {
    let path = format!("/api/{kind}/export?format={format}&{query}");
    let reply = t.get(&path).bearer(&who.token).header("accept-encoding", "gzip").send().await.expect(200);
    let media = if format.eq_ignore_ascii_case("csv") { "text/csv" } else { "application/pdf" };
    assert_eq!(reply.header("content-type"), Some(media));
    let extension = format.to_lowercase();
    let disposition = format!("attachment; filename=\"{kind}_export_2026-03-04_100000.{extension}\"");
    assert_eq!(reply.header("content-disposition"), Some(disposition.as_str()));
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
    assert_eq!((reply.header("content-encoding"), reply.header("cache-control")), (None, Some("no-store")));
    reply
}

async fn csv(t: &Test, who: &Persona, kind: &str, query: &str) -> String {
    let reply = file(t, who, kind, "csv", query).await;
    String::from_utf8(reply.body.to_vec()).expect("UTF-8")
}

/// The text of a PDF as people can copy it; first that every byte is ASCII.
async fn pdf(t: &Test, who: &Persona, kind: &str, query: &str) -> String {
    let reply = file(t, who, kind, "pdf", query).await;
    assert!(reply.body.starts_with(b"%PDF-1."));
    assert!(reply.body.is_ascii(), "7-bit bytes only");
    pages(&reply.body)
}

pub fn pages(pdf: &[u8]) -> String {
    let reader = programs::find(&["pdftotext"], "poppler-utils", &[]).expect("pdftotext");
    run(Command::new(reader).args(["-enc", "UTF-8", "-", "-"]), pdf)
}

/// The cells as Python's csv module reads them.
pub(crate) fn cells(csv: &str) -> Vec<Vec<String>> {
    const READ: &str = "import csv,io,json,sys\n\
        text = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', newline='')\n\
        print(json.dumps(list(csv.reader(text, strict=True))))";
    let python = programs::python().expect("python3");
    serde_json::from_str(&run(Command::new(python).args(["-c", READ]), csv.as_bytes())).expect("JSON")
}

/// One column of a CSV file, without its header.
pub(crate) fn column(csv: &str, name: &str) -> Vec<String> {
    let mut rows = cells(csv).into_iter();
    let index = rows.next().and_then(|header| header.iter().position(|h| h == name)).expect("the column");
    rows.map(|mut row| row.swap_remove(index)).collect()
}

fn run(command: &mut Command, input: &[u8]) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program that starts");
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("a program that ends");
    writer.join().expect("a writer").expect("all of it is read");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
