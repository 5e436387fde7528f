//! Pictures of numbers over time: SVG made here, with a table behind each for people who cannot see it.

use serde::Serialize;
use std::fmt::Write;

/// The coordinates of a picture: 100 steps wide, 40 high.
const WIDTH: f64 = 100.0;
const HEIGHT: f64 = 40.0;
/// Room above the highest and below the lowest point.
const MARGIN: f64 = 3.0;

/// A line over days.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    /// Points of the line.
    line: String,
    /// The line closed at the bottom.
    area: String,
    /// Days and numbers, for the table.
    rows: Vec<(String, u64)>,
    first_day: String,
    last_day: String,
    low: u64,
    high: u64,
}

/// How a number has changed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Delta {
    /// `up`, `down` or `same`.
    way: &'static str,
    by: u64,
}

impl Delta {
    /// From one number to another.
    pub(crate) fn of(before: u64, now: u64) -> Delta {
        let way = match now.cmp(&before) {
            std::cmp::Ordering::Greater => "up",
            std::cmp::Ordering::Less => "down",
            std::cmp::Ordering::Equal => "same",
        };
        Delta { way, by: now.abs_diff(before) }
    }
}

impl Chart {
    /// Of days (`YYYY-MM-DD`) and their numbers; none for fewer than two.
    pub(crate) fn of(rows: Vec<(String, u64)>) -> Option<Chart> {
        let (first_day, last_day) = (rows.first()?.0.clone(), rows.last()?.0.clone());
        if rows.len() < 2 {
            return None;
        }
        let (low, high) = (rows.iter().map(|r| r.1).min()?, rows.iter().map(|r| r.1).max()?);
        let line = line(&rows, low, high);
        let area = format!("0,{HEIGHT} {line} {WIDTH},{HEIGHT}");
        Some(Chart { line, area, rows, first_day, last_day, low, high })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more")]
fn line(rows: &[(String, u64)], low: u64, high: u64) -> String {
    let step = WIDTH / (rows.len().max(2) - 1) as f64;
    let span = (high - low).max(1) as f64;
    let mut points = String::new();
    for (at, (_, number)) in rows.iter().enumerate() {
        let share = if high == low { 0.0 } else { (number - low) as f64 / span };
        let y = HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN);
        // Writing to a text cannot fail.
        let _ = write!(points, "{}{:.2},{y:.2}", if at == 0 { "" } else { " " }, at as f64 * step);
    }
    points
}

/// One bar of a table of bars.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bar {
    label: String,
    number: u64,
    /// Of the longest bar, in steps of 100.
    length: String,
    /// Word of a severity that gives the colour; empty for none.
    colour: &'static str,
    /// Where its label leads.
    pub(crate) href: Option<String>,
}

impl Bar {
    /// A bar with its number.
    pub(crate) const fn of(label: String, number: u64) -> Bar {
        Bar { label, number, length: String::new(), colour: "", href: None }
    }

    /// The bar in the colour of a severity.
    pub(crate) fn coloured(mut self, severity: &'static str) -> Bar {
        self.colour = severity;
        self
    }
}

/// Bars as long as their numbers ask, the greatest across the whole picture; none where all numbers are 0.
#[expect(clippy::cast_precision_loss, reason = "a picture needs no more")]
pub(crate) fn bars(mut all: Vec<Bar>) -> Vec<Bar> {
    let most = all.iter().map(|bar| bar.number).max().unwrap_or(0);
    if most == 0 {
        return Vec::new();
    }
    for bar in &mut all {
        bar.length = format!("{:.2}", bar.number as f64 / most as f64 * WIDTH);
    }
    all
}

/// A row of numbers that add up: its parts are `(label, address, number)`, the greatest first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StackedBar {
    pub(crate) label: String,
    pub(crate) href: String,
    pub(crate) number: u64,
    pub(crate) parts: Vec<(String, Option<String>, u64)>,
}

/// A bar as it is drawn.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DrawnBar {
    label: String,
    href: String,
    number: u64,
    pieces: Vec<Piece>,
}

/// A piece of a bar; small ones at its end are one piece.
#[derive(Clone, Debug, Serialize)]
struct Piece {
    /// None for the small ones together.
    label: Option<String>,
    number: u64,
    x: String,
    width: String,
    opacity: &'static str,
}

/// How strong the pieces of a bar are, from the first one on; the last is that of all further ones.
const OPACITIES: [&str; 5] = ["1", "0.75", "0.55", "0.4", "0.25"];

/// Bars side by side, the longest of which fills the width.
pub(crate) fn stacked_bars<'b>(rows: impl Iterator<Item = &'b StackedBar> + Clone) -> Vec<DrawnBar> {
    let most = rows.clone().map(|bar| bar.number).max().unwrap_or(0).max(1);
    rows.map(|bar| drawn(bar, most)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more")]
fn drawn(bar: &StackedBar, most: u64) -> DrawnBar {
    let whole = OPACITIES.len() - 1;
    let own = bar.parts.iter().take(whole).map(|(label, _, number)| (Some(label.clone()), *number));
    let rest: u64 = bar.parts.iter().skip(whole).map(|part| part.2).sum();
    let parts = own.chain((rest > 0).then_some((None, rest)));
    let mut before = 0;
    let piece = |((label, number), opacity): ((Option<String>, u64), &&'static str)| {
        let x_of = |n: u64| n as f64 * WIDTH / most as f64;
        let piece = Piece {
            label,
            number,
            x: format!("{:.3}", x_of(before)),
            width: format!("{:.3}", x_of(number)),
            opacity,
        };
        before += number;
        piece
    };
    let pieces = parts.zip(&OPACITIES).map(piece).collect();
    DrawnBar { label: bar.label.clone(), href: bar.href.clone(), number: bar.number, pieces }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;

    #[test]
    fn the_greatest_bar_fills_the_picture() {
        let made = |numbers: &[u64]| bars(numbers.iter().map(|n| Bar::of(String::new(), *n)).collect());
        let lengths: Vec<String> = made(&[5, 0, 20]).into_iter().map(|bar| bar.length).collect();
        assert_eq!(lengths, ["25.00", "0.00", "100.00"]);
        assert!(made(&[0, 0]).is_empty() && made(&[]).is_empty());
    }

    #[test]
    fn lines_stay_inside_their_picture() {
        let rows = |numbers: &[u64]| numbers.iter().map(|n| ("2026-03-04".to_owned(), *n)).collect();
        assert_eq!(Chart::of(rows(&[0, 10])).unwrap().line, "0.00,37.00 100.00,3.00");
        assert_eq!(Chart::of(rows(&[7, 7])).unwrap().line, "0.00,37.00 100.00,37.00");
        assert!(Chart::of(rows(&[1])).is_none() && Chart::of(Vec::new()).is_none());
        assert_eq!((Delta::of(3, 9).way, Delta::of(9, 3).by), ("up", 6));
    }

    #[test]
    fn the_small_parts_of_a_bar_are_one_piece() {
        let part = |number: u64| (number.to_string(), None, number);
        let bar = |parts: &[u64]| StackedBar {
            label: String::new(),
            href: String::new(),
            number: parts.iter().sum(),
            parts: parts.iter().map(|n| part(*n)).collect(),
        };
        let drawn = stacked_bars([bar(&[10, 5, 2, 1, 1, 1]), bar(&[5])].iter());
        let pieces: Vec<_> = drawn[0].pieces.iter().map(|p| (p.label.as_deref(), p.number, &*p.x)).collect();
        assert_eq!(pieces[0], (Some("10"), 10, "0.000"));
        assert_eq!((pieces.len(), pieces[4]), (5, (None, 2, "90.000")));
        assert_eq!(drawn[1].pieces[0].width, "25.000");
        assert!(stacked_bars([].iter()).is_empty());
    }
}
