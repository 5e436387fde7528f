//! A page: measures, title block, running header and footer, and where the next card goes.

use super::{
    Cover, Faces,
    face::{Face, ShapedText},
};
use krilla::{
    color::rgb,
    geom::{PathBuilder, Point, Rect},
    num::NormalizedF32,
    paint::{Fill, FillRule},
    surface::Surface,
};
use std::iter::Peekable;

/// A4 landscape, in points.
pub(super) const WIDTH: f32 = 841.89;
pub(super) const HEIGHT: f32 = 595.28;
const MARGIN: f32 = 42.0;
/// Between the margins.
pub(super) const INNER: f32 = WIDTH - 2.0 * MARGIN;
/// Top of the cards on a page without title block, and the lower edge of the content.
const TOP: f32 = 56.0;
const BOTTOM: f32 = HEIGHT - 47.0;
/// Top of the entries of the title block on the first page.
const ENTRIES: f32 = 92.0;
const ENTRY: f32 = 15.0;
/// Space between the title block and the first card.
const AFTER_COVER: f32 = 14.0;
/// Between two cards.
const GAP: f32 = 6.0;
const TITLE_SIZE: f32 = 22.0;
const ENTRY_SIZE: f32 = 9.5;
const SMALL: f32 = 8.0;

/// What a page says that lacks something.
const LACKING: &str = "Ids and \u{fffd} stand for names and characters that are in none of the fonts here.";

/// Red, green, blue.
pub(super) type Colour = (u8, u8, u8);
pub(super) const INK: Colour = (0x1f, 0x29, 0x33);
pub(super) const MUTED: Colour = (0x66, 0x72, 0x80);
const ACCENT: Colour = (0x1d, 0x6f, 0xa5);
const RULE: Colour = (0xd5, 0xdb, 0xe1);
const PAPER: Colour = (0xf4, 0xf6, 0xf8);
/// Width of the coloured edge of a card.
const EDGE: f32 = 2.5;

/// A line of the title block: a label and its text, or the rest of it.
#[derive(Debug)]
pub(super) struct Line {
    label: ShapedText,
    text: ShapedText,
    indent: f32,
}

impl Line {
    /// A line without label.
    pub(super) fn note(faces: &Faces, text: &str) -> Line {
        let text = faces.regular.fitted(text, INNER / ENTRY_SIZE);
        Line { label: ShapedText::default(), text, indent: 0.0 }
    }
}

/// The title block in lines that fit the page; no text is left out.
pub(super) fn cover_lines(faces: &Faces, cover: &Cover) -> Vec<Line> {
    let mut lines = Vec::new();
    for (label, text) in cover.entries() {
        let mut label = faces.regular.run(&format!("{label}: "));
        let indent = label.width * ENTRY_SIZE;
        for text in faces.regular.lines(&text, (INNER - indent) / ENTRY_SIZE, usize::MAX) {
            lines.push(Line { label: std::mem::take(&mut label), text, indent });
        }
    }
    lines
}

/// How many pages there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) pages: usize,
    /// Rows.
    pub(super) cards: usize,
}

impl Plan {
    /// Goes the way that the drawing goes.
    pub(super) fn of(lines: usize, cards: usize, height: f32) -> Plan {
        let (mut pages, mut y) = (1, ENTRIES);
        let mut add = |height: f32, gap: f32, before: f32| {
            y += before;
            if y + height > BOTTOM {
                (pages, y) = (pages + 1, TOP);
            }
            y += height + gap;
        };
        for _ in 0..lines {
            add(ENTRY, 0.0, 0.0);
        }
        if cards == 0 {
            add(ENTRY, 0.0, AFTER_COVER);
        }
        for card in 0..cards {
            add(height, GAP, if card == 0 { AFTER_COVER } else { 0.0 });
        }
        Plan { pages, cards }
    }
}

/// One page while it is drawn.
pub(super) struct Sheet<'f, 'p> {
    pub(super) faces: &'f Faces,
    surface: Surface<'p>,
    number: usize,
    pages: usize,
    /// Top of the next card.
    y: f32,
    colour: Option<Colour>,
    /// Whether something on the page is in no font.
    lacks: bool,
}

impl<'f, 'p> Sheet<'f, 'p> {
    pub(super) fn new(faces: &'f Faces, surface: Surface<'p>, plan: &Plan, number: usize) -> Sheet<'f, 'p> {
        let y = if number == 1 { ENTRIES } else { TOP };
        Sheet { faces, surface, number, pages: plan.pages, y, colour: None, lacks: false }
    }

    /// Title or running header, and footer.
    pub(super) fn frame(&mut self, cover: &Cover) {
        let faces = self.faces;
        let title = cover.title();
        if self.number == 1 {
            self.draw((MARGIN - 1.0, 62.0), &faces.medium.run(&title), &faces.medium, TITLE_SIZE, INK);
            self.fill((MARGIN, 74.0, 40.0, 2.5), ACCENT);
        } else {
            self.draw((MARGIN, 38.0), &faces.medium.run(&title), &faces.medium, SMALL, MUTED);
            self.fill((MARGIN, 45.0, INNER, 0.6), RULE);
        }
        let made = faces.regular.run(&crate::text::second(cover.generated));
        let page = faces.regular.run(&format!("Page {} of {}", self.number, self.pages));
        let foot = HEIGHT - 24.0;
        self.fill((MARGIN, foot - 13.0, INNER, 0.6), RULE);
        self.draw((MARGIN, foot), &made, &faces.regular, SMALL, MUTED);
        self.draw((MARGIN + INNER - page.width * SMALL, foot), &page, &faces.regular, SMALL, MUTED);
    }

    /// The foot note of a page that lacks something.
    pub(super) fn note(&mut self) {
        if self.lacks {
            let faces = self.faces;
            let note = faces.regular.run(LACKING);
            let left = MARGIN + (INNER - note.width * SMALL) / 2.0;
            self.draw((left, HEIGHT - 24.0), &note, &faces.regular, SMALL, MUTED);
        }
    }

    /// Notes that an id stands for a text that is in no font.
    pub(super) const fn has_replaced(&mut self) {
        self.lacks = true;
    }

    /// Draws as much of the title block as fits on the page.
    pub(super) fn cover(&mut self, lines: &mut Peekable<impl Iterator<Item = Line>>) {
        while lines.peek().is_some() && self.has_room(ENTRY) {
            if let Some(line) = lines.next() {
                self.line(&line);
            }
            if lines.peek().is_none() {
                self.y += AFTER_COVER;
            }
        }
    }

    /// One line.
    pub(super) fn line(&mut self, line: &Line) {
        let faces = self.faces;
        let (face, base) = (&faces.regular, self.y + 11.0);
        self.draw((MARGIN, base), &line.label, face, ENTRY_SIZE, MUTED);
        self.draw((MARGIN + line.indent, base), &line.text, face, ENTRY_SIZE, INK);
        self.y += ENTRY;
    }

    /// Whether something of this height still fits.
    pub(super) fn has_room(&self, height: f32) -> bool {
        self.y + height <= BOTTOM
    }

    /// Draws the background of the next card; returns its upper left corner.
    pub(super) fn card(&mut self, height: f32) -> (f32, f32) {
        let top = self.y;
        self.fill((MARGIN, top, INNER, height), PAPER);
        self.fill((MARGIN, top, EDGE, height), ACCENT);
        self.y += height + GAP;
        (MARGIN, top)
    }

    fn paint(&mut self, colour: Colour) {
        if self.colour != Some(colour) {
            self.colour = Some(colour);
            let (r, g, b) = colour;
            let paint = rgb::Color::new(r, g, b).into();
            let fill = Fill { paint, opacity: NormalizedF32::ONE, rule: FillRule::NonZero };
            self.surface.set_fill(Some(fill));
        }
    }

    fn fill(&mut self, (x, y, width, height): (f32, f32, f32, f32), colour: Colour) {
        let mut path = PathBuilder::new();
        if let Some(area) = Rect::from_xywh(x, y, width, height) {
            path.push_rect(area);
        }
        if let Some(path) = path.finish() {
            self.paint(colour);
            self.surface.draw_path(&path);
        }
    }

    pub(super) fn draw(
        &mut self,
        (x, y): (f32, f32),
        run: &ShapedText,
        face: &Face,
        size: f32,
        colour: Colour,
    ) {
        if !run.glyphs.is_empty() {
            self.paint(colour);
            let mut from = x;
            for part in face.parts(run) {
                let origin = Point::from_xy(from, y);
                self.surface.draw_glyphs(origin, part.glyphs, part.font, &run.text, size, false);
                from += part.width * size;
            }
            self.lacks |= run.lacks;
        }
    }
}
