//! The report in Markdown.

use crate::{check::Checked, measures::Measures, options::Options, processes::Usage, run::Outcome};
use hdrhistogram::Histogram;
use std::fmt::Write;

/// So many lost things are named.
const NAMED: usize = 20;

/// What a run has shown.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub options: &'a Options,
    pub systems: usize,
    pub organizations: usize,
    pub alerting: usize,
    pub watchers: u32,
    pub measures: &'a Measures,
    pub outcome: &'a Outcome,
    pub checked: &'a [Checked],
}

impl Report<'_> {
    /// Whether nothing was lost, every search had an answer, and no answer held foreign data.
    pub(crate) fn is_good(&self) -> bool {
        let is_whole = |checked: &Checked| checked.lost.is_empty() && checked.unanswered.is_empty();
        self.checked.iter().all(is_whole) && self.measures.findings().foreign == 0
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Report { options, outcome, .. } = self;
        write!(
            text,
            "{} systems in {} organizations for {} s, seed {}, speed {}",
            self.systems, self.organizations, options.seconds, options.seed, options.speed
        )?;
        for (kind, share) in &options.shares {
            write!(text, ", share of {} {share}", kind.map_or("the others", |kind| kind.word()))?;
        }
        writeln!(
            text,
            "; {} systems with alerts, {} people, {} connections. All answers after {:.1} s; an event was at most {:.1} ms late in \
             this program.\n",
            self.alerting,
            self.watchers,
            options.connections,
            outcome.took.as_secs_f64(),
            outcome.latest.as_secs_f64() * 1000.0
        )?;
        self.write_kinds(text)?;
        self.write_errors(text)?;
        self.write_processes(text)?;
        self.write_checks(text)
    }

    /// The times count from the moment a request was due; requests that failed count too.
    fn write_kinds(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "Milliseconds from the moment a request was due to the end of its answer:\n")?;
        writeln!(
            text,
            "| Kind | due | good | good/s | p50 | p90 | p99 | p99.9 | max | p99 from sending |\n|---|---|---|---|---|---|---|---|---|---|"
        )?;
        for (kind, of) in self.measures.kinds() {
            let at = |quantile| ms(&of.since_due, quantile);
            let rate = of.good as f64 / self.outcome.took.as_secs_f64().max(1e-9);
            writeln!(
                text,
                "| {} | {} | {} | {rate:.1} | {} | {} | {} | {} | {} | {} |",
                kind.word(),
                of.due,
                of.good,
                at(0.5),
                at(0.9),
                at(0.99),
                at(0.999),
                at(1.0),
                ms(&of.since_sent, 0.99)
            )?;
        }
        writeln!(text)
    }

    fn write_errors(&self, text: &mut String) -> std::fmt::Result {
        let kinds = self.measures.kinds();
        let mut rows = Vec::new();
        for (kind, of) in &kinds {
            let unsent = (of.unsent > 0).then_some(("not sent, too far behind".to_owned(), of.unsent));
            for (what, count) in of.errors.clone().into_iter().chain(unsent) {
                rows.push(format!("| {} | {what} | {count} |", kind.word()));
            }
        }
        if rows.is_empty() {
            return writeln!(text, "No errors.\n");
        }
        writeln!(text, "| Kind | Error | Count |\n|---|---|---|\n{}\n", rows.join("\n"))
    }

    fn write_processes(&self, text: &mut String) -> std::fmt::Result {
        if self.options.processes.is_empty() {
            return Ok(());
        }
        writeln!(text, "| Process | Processor | Cores | Resident, at most |\n|---|---|---|---|")?;
        for (process, usage) in self.options.processes.iter().zip(&self.outcome.usage) {
            let Usage { processor_seconds, memory_kib } = usage;
            writeln!(
                text,
                "| {} | {processor_seconds:.1} s | {:.2} | {} MB |",
                process.name,
                processor_seconds / self.outcome.took.as_secs_f64().max(1e-9),
                memory_kib / 1024
            )?;
        }
        writeln!(text)
    }

    fn write_checks(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "| Acknowledged | Count | Systems | Looked at | Lost | Not answered | Found after |\n|---|---|---|---|---|---|---|"
        )?;
        for checked in self.checked {
            let looked = if checked.looked_at == checked.systems {
                "all".to_owned()
            } else {
                format!("{}, a sample", checked.looked_at)
            };
            writeln!(
                text,
                "| {} | {} | {} | {looked} | {} | {} | {:.1} s |",
                checked.what,
                checked.acknowledged,
                checked.systems,
                checked.lost.len(),
                checked.unanswered.len(),
                checked.took.as_secs_f64()
            )?;
        }
        let findings = self.measures.findings();
        writeln!(
            text,
            "\nAnswers with something of somebody else: {}, among {} rows of lists that were the asker's own and {} whose \
             organization the file of credentials does not name.",
            findings.foreign, findings.own_rows, findings.unknown_rows
        )?;
        for checked in self.checked {
            for (word, texts) in [("lost", &checked.lost), ("not answered", &checked.unanswered)] {
                for line in texts.iter().take(NAMED) {
                    writeln!(text, "- {word}, {}: {line}", checked.what)?;
                }
            }
        }
        for line in &findings.texts {
            writeln!(text, "- foreign: {line}")?;
        }
        Ok(())
    }
}

/// A quantile in milliseconds.
fn ms(histogram: &Histogram<u64>, quantile: f64) -> String {
    if histogram.is_empty() {
        return "–".to_owned();
    }
    let ms = histogram.value_at_quantile(quantile) as f64 / 1000.0;
    if ms < 100.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Kind;
    use clap::Parser;
    use std::time::Duration;

    #[test]
    fn the_report_tells_what_happened_and_is_good_only_without_losses() {
        let line =
            "bench-fleet --credentials c --people p --service 127.0.0.1:1 --share watch=0.5 --process web=1";
        let options = Options::try_parse_from(line.split(' ')).unwrap();
        let measures = Measures::new().unwrap();
        for n in 1..=10 {
            measures.due(Kind::Heartbeat);
            let error = (n == 10).then(|| "503".to_owned());
            measures.ended(Kind::Heartbeat, Duration::from_millis(n), Duration::from_millis(1), error);
        }
        measures.due(Kind::Watch);
        measures.unsent(Kind::Watch);
        let outcome = Outcome {
            took: Duration::from_secs(10),
            usage: vec![Usage { processor_seconds: 5.0, memory_kib: 2048 }],
            ..Outcome::default()
        };
        let whole =
            Checked { what: "inventories", acknowledged: 3, systems: 3, looked_at: 3, ..Checked::default() };
        let report = |checked: &[Checked]| {
            let report = Report {
                options: &options,
                systems: 10,
                organizations: 2,
                alerting: 1,
                watchers: 10,
                measures: &measures,
                outcome: &outcome,
                checked,
            };
            (report.is_good(), report.markdown())
        };
        let (is_good, text) = report(std::slice::from_ref(&whole));
        assert!(is_good);
        for row in [
            "10 systems in 2 organizations for 60 s, seed 1, speed 1, share of watch 0.5;",
            "| heartbeat | 10 | 9 | 0.9 | 5.0 | 9.0 | 10.0 | 10.0 | 10.0 | 1.0 |",
            "| watch | 1 | 0 | 0.0 | – | – | – | – | – | – |",
            "| heartbeat | 503 | 1 |",
            "| watch | not sent, too far behind | 1 |",
            "| web | 5.0 s | 0.50 | 2 MB |",
            "| inventories | 3 | 3 | all | 0 | 0 | 0.0 s |",
        ] {
            assert!(text.contains(row), "{row}: {text}");
        }
        let lost = Checked { lost: vec!["SYS-1: gone".to_owned()], looked_at: 1, ..whole.clone() };
        let (is_good, text) = report(&[lost]);
        assert!(
            !is_good && text.contains("- lost, inventories: SYS-1: gone") && text.contains("1, a sample")
        );
        let unanswered = Checked { unanswered: vec!["SYS-1: 503".to_owned()], ..whole.clone() };
        assert!(!report(&[unanswered]).0);
        measures.foreign("a row");
        let (is_good, text) = report(&[whole]);
        assert!(!is_good && text.contains("- foreign: a row"));
    }
}
