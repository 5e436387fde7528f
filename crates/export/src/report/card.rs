//! A card: the values of one row, in columns and lines of one height.

use super::{
    Form,
    face::{Face, Faces},
    page::{Colour, INK, INNER, MUTED, Sheet},
};
use std::ops::Range;

/// Inside the card's edges.
const PADDING_X: f32 = 14.0;
const PADDING_Y: f32 = 6.5;
/// Height of a line, and distance from its top to its base.
const LINE: f32 = 12.6;
const BASE: f32 = 9.8;
/// Between two columns.
const GUTTER: f32 = 16.0;

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Larger and heavier.
    Heading,
    /// As the rest.
    Plain,
    /// Steps back.
    Muted,
}

impl Style {
    const fn size(self) -> f32 {
        match self {
            Style::Heading => 11.0,
            Style::Plain | Style::Muted => 8.8,
        }
    }

    const fn colour(self) -> Colour {
        match self {
            Style::Heading | Style::Plain => INK,
            Style::Muted => MUTED,
        }
    }

    const fn face(self, faces: &Faces) -> &Face {
        match self {
            Style::Heading => &faces.medium,
            Style::Plain | Style::Muted => &faces.regular,
        }
    }
}

/// The content of one card. Columns and lines count from 0; text that does not fit its place ends in an ellipsis.
#[derive(Debug, Default)]
pub struct Card {
    pieces: Vec<Piece>,
    /// Of the row.
    id: String,
}

#[derive(Debug)]
struct Piece {
    columns: Range<usize>,
    lines: Range<usize>,
    style: Style,
    label: &'static str,
    text: String,
}

impl Card {
    /// The title of the row, on the first line of these columns. `id` takes its place where no font has its characters.
    pub fn heading(&mut self, columns: Range<usize>, text: impl Into<String>, id: impl ToString) {
        self.put(columns, 0..1, Style::Heading, "", text.into());
        self.id = id.to_string();
    }

    /// A text of one line.
    pub fn text(&mut self, column: usize, line: usize, style: Style, text: impl Into<String>) {
        self.put(column..column + 1, line..line + 1, style, "", text.into());
    }

    /// `label: text` on one line.
    pub fn value(&mut self, column: usize, line: usize, label: &'static str, text: impl Into<String>) {
        self.put(column..column + 1, line..line + 1, Style::Plain, label, text.into());
    }

    /// `label: text` on several lines.
    pub fn paragraph(
        &mut self,
        column: usize,
        lines: Range<usize>,
        label: &'static str,
        text: impl Into<String>,
    ) {
        self.put(column..column + 1, lines, Style::Plain, label, text.into());
    }

    fn put(
        &mut self,
        columns: Range<usize>,
        lines: Range<usize>,
        style: Style,
        label: &'static str,
        text: String,
    ) {
        self.pieces.push(Piece { columns, lines, style, label, text });
    }

    /// Draws the pieces and forgets them.
    pub(super) fn draw(&mut self, sheet: &mut Sheet<'_, '_>, columns: &Columns, (left, top): (f32, f32)) {
        for piece in self.pieces.drain(..) {
            let Some(span) = columns.span(&piece.columns) else { continue };
            let size = piece.style.size();
            let face = piece.style.face(sheet.faces);
            let label = match piece.label {
                "" => face.run(""),
                label => face.run(&format!("{label}: ")),
            };
            let indent = label.width * size;
            let room = (span.right - span.left - indent) / size;
            let base = |line: usize| top + PADDING_Y + BASE + LINE * line as f32;
            let texts = if piece.lines.len() > 1 {
                face.lines(&piece.text, room, piece.lines.len())
            } else if piece.style == Style::Heading && face.run(&piece.text).lacks {
                sheet.has_replaced();
                vec![face.fitted(&self.id, room)]
            } else {
                vec![face.fitted(&piece.text, room)]
            };
            let first = piece.lines.start;
            for (i, text) in texts.into_iter().enumerate() {
                let from = if span.is_right { span.right - indent - text.width * size } else { span.left };
                if i == 0 {
                    sheet.draw((left + from, base(first)), &label, face, size, MUTED);
                }
                let start = (left + from + indent, base(first + i));
                sheet.draw(start, &text, face, size, piece.style.colour());
            }
        }
    }
}

/// A column in points from the left edge of a card.
#[derive(Clone, Copy, Debug)]
struct ColumnSpan {
    left: f32,
    right: f32,
    is_right: bool,
}

/// The columns of every card of a report.
#[derive(Debug)]
pub(super) struct Columns {
    spans: Vec<ColumnSpan>,
    pub(super) height: f32,
}

impl Columns {
    pub(super) fn of(form: &Form) -> Columns {
        let gutters = GUTTER * form.columns.len().saturating_sub(1) as f32;
        let all = INNER - 2.0 * PADDING_X - gutters;
        let mut left = PADDING_X;
        let spans = form.columns.iter().map(|column| {
            let span = ColumnSpan { left, right: left + all * column.share, is_right: column.is_right };
            left = span.right + GUTTER;
            span
        });
        Columns { spans: spans.collect(), height: 2.0 * PADDING_Y + LINE * form.lines as f32 }
    }

    /// From the first of these columns to the last; the first one determines where text begins.
    fn span(&self, columns: &Range<usize>) -> Option<ColumnSpan> {
        let spans = self.spans.get(columns.clone())?;
        let (first, last) = (spans.first()?, spans.last()?);
        Some(ColumnSpan { right: last.right, ..*first })
    }
}
