//! The two fonts: the glyph and the width of each character, with those of the machine for what they lack. There is no
//! shaping: the scripts of the fonts do not need it once accents are composed.

use super::machine::{MachineFonts, Others};
use crate::{Fault, text::unmarked};
use bailiwick_domain::visible::is_invisible;
use krilla::text::{Font, GlyphId, KrillaGlyph};
use skrifa::{FontRef, MetadataProvider, instance::LocationRef, prelude::Size};
use std::{borrow::Cow, rc::Rc};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

const REGULAR: &[u8] = include_bytes!("../../fonts/Roboto-Regular.ttf");
const MEDIUM: &[u8] = include_bytes!("../../fonts/Roboto-Medium.ttf");
/// Stands for a character that the fonts lack.
const REPLACEMENT: char = '\u{fffd}';
const ELLIPSIS: char = '…';

/// Regular and medium weight. Reading them takes about a millisecond; one for each file is enough.
#[derive(Debug)]
pub struct Faces {
    pub(super) regular: Face,
    pub(super) medium: Face,
}

impl Faces {
    /// Reads the built-in fonts.
    ///
    /// # Errors
    /// An invalid font.
    pub fn load() -> Result<Faces, Fault> {
        Ok(Faces { regular: Face::new(REGULAR, "regular")?, medium: Face::new(MEDIUM, "medium")? })
    }

    /// The faces with fonts of the machine for what the built-in ones lack.
    #[must_use]
    pub fn with(mut self, machine: impl MachineFonts + 'static) -> Faces {
        let others = Rc::new(Others::of(Box::new(machine)));
        self.regular.others = Some(Rc::clone(&others));
        self.medium.others = Some(others);
        self
    }
}

/// Glyph, and its advance width for a font size of 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) glyph: u16,
    pub(super) advance: f32,
}

/// One font.
pub(super) struct Face {
    font: Font,
    others: Option<Rc<Others>>,
    /// By code point, for the part of the first plane that the font covers; glyph 0 = none.
    slots: Vec<Slot>,
    replacement: Slot,
    ellipsis: Slot,
}

impl std::fmt::Debug for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Face")
    }
}

/// A text with its glyphs, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct ShapedText {
    pub(super) text: String,
    pub(super) glyphs: Vec<KrillaGlyph>,
    /// For each glyph the font of the machine that has it; none = the built-in one.
    fonts: Vec<Option<usize>>,
    /// For a font size of 1.
    pub(super) width: f32,
    /// Whether a character is in no font.
    pub(super) lacks: bool,
}

/// Glyphs of one font that follow each other.
pub(super) struct Part<'r> {
    pub(super) font: Font,
    pub(super) glyphs: &'r [KrillaGlyph],
    /// For a font size of 1.
    pub(super) width: f32,
}

impl Face {
    fn new(bytes: &'static [u8], name: &'static str) -> Result<Face, Fault> {
        let font = Font::new(bytes.into(), 0).ok_or(Fault::Font(name))?;
        let tables = FontRef::new(bytes).map_err(|_| Fault::Font(name))?;
        let metrics = tables.glyph_metrics(Size::unscaled(), LocationRef::default());
        let mut slots = Vec::new();
        for (point, glyph) in tables.charmap().mappings() {
            let (Ok(at), Ok(id)) = (u16::try_from(point), u16::try_from(glyph.to_u32())) else { continue };
            if slots.len() <= usize::from(at) {
                slots.resize(usize::from(at) + 1, Slot::default());
            }
            let advance = metrics.advance_width(glyph).unwrap_or_default() / font.units_per_em();
            slots[usize::from(at)] = Slot { glyph: id, advance };
        }
        let slot = |c: char| slots.get(c as usize).copied().filter(|s| s.glyph != 0);
        let replacement = slot(REPLACEMENT).ok_or(Fault::Font(name))?;
        let ellipsis = slot(ELLIPSIS).ok_or(Fault::Font(name))?;
        Ok(Face { font, others: None, slots, replacement, ellipsis })
    }

    fn slot(&self, c: char) -> Option<Slot> {
        self.slots.get(c as usize).copied().filter(|s| s.glyph != 0)
    }

    /// A text as one line: composed, without control characters.
    pub(super) fn run(&self, text: &str) -> ShapedText {
        self.shape(&self.clean(text), f32::INFINITY)
    }

    /// A text as one line, with an ellipsis at its end if it is wider than `most`.
    pub(super) fn fitted(&self, text: &str, most: f32) -> ShapedText {
        self.cut(&self.clean(text), most)
    }

    /// As [`clean`]; what the font lacks becomes what it stands for, where the font has that: `Ａ` becomes `A`.
    fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = clean(text);
        if text.chars().all(|c| self.slot(c).is_some()) {
            return text;
        }
        let mut plain = String::with_capacity(text.len());
        for c in text.chars() {
            let meant = || std::iter::once(c).nfkc();
            match self.slot(c) {
                None if meant().all(|c| self.slot(c).is_some()) => plain.extend(meant()),
                _ => plain.push(c),
            }
        }
        plain.into()
    }

    /// The glyphs of a run, by font.
    pub(super) fn parts<'r>(&'r self, run: &'r ShapedText) -> impl Iterator<Item = Part<'r>> {
        let mut from = 0;
        run.fonts.chunk_by(|one, other| one == other).map(move |fonts| {
            let glyphs = &run.glyphs[from..from + fonts.len()];
            from += fonts.len();
            let other = fonts[0].and_then(|at| self.others.as_ref()?.font(at));
            let font = other.unwrap_or_else(|| self.font.clone());
            Part { font, glyphs, width: glyphs.iter().map(|glyph| glyph.x_advance).sum() }
        })
    }

    /// The text in at most `count` lines no wider than `most`, broken at spaces if there are any.
    pub(super) fn lines(&self, text: &str, most: f32, count: usize) -> Vec<ShapedText> {
        let text = self.clean(text);
        let mut rest = text.trim();
        let mut lines = Vec::new();
        while !rest.is_empty() && lines.len() + 1 < count {
            let mut run = self.shape(rest, most);
            if run.text.len() < rest.len() {
                run.truncate(line_end(rest, run.text.len()));
                if run.text.is_empty() {
                    // Not even one letter fits; it is drawn all the same, otherwise the loop would never end.
                    run = self.shape(&rest[..rest.chars().next().map_or(0, char::len_utf8)], f32::INFINITY);
                }
            }
            rest = rest[run.text.len()..].trim_start();
            lines.push(run);
        }
        if !rest.is_empty() {
            lines.push(self.cut(rest, most));
        }
        lines
    }

    /// The longest beginning of the text that is no wider than `most`.
    fn shape(&self, text: &str, most: f32) -> ShapedText {
        let mut run = ShapedText::default();
        let mut end = text.len();
        for (at, c) in text.char_indices() {
            let own = self.slot(c).map(|slot| (None, slot));
            let other = || self.others.as_ref()?.slot(c).map(|(font, slot)| (Some(font), slot));
            let found = own.or_else(other);
            let (font, Slot { glyph, advance }) = found.unwrap_or((None, self.replacement));
            if run.width + advance > most {
                end = at;
                break;
            }
            run.lacks |= found.is_none();
            let id = GlyphId::new(u32::from(glyph));
            run.glyphs.push(KrillaGlyph::new(id, advance, 0.0, 0.0, 0.0, at..at + c.len_utf8(), None));
            run.fonts.push(font);
            run.width += advance;
        }
        text[..end].clone_into(&mut run.text);
        run
    }

    fn cut(&self, text: &str, most: f32) -> ShapedText {
        let mut run = self.shape(text, most);
        if run.text.len() < text.len() {
            let ellipsis = self.ellipsis.advance;
            let end = unmarked(text, run.fitting(most - ellipsis));
            run.truncate(text[..end].trim_end().len());
            let (from, id) = (run.text.len(), GlyphId::new(u32::from(self.ellipsis.glyph)));
            run.text.push(ELLIPSIS);
            run.glyphs.push(KrillaGlyph::new(id, ellipsis, 0.0, 0.0, 0.0, from..run.text.len(), None));
            run.fonts.push(None);
            run.width += ellipsis;
        }
        run
    }
}

/// The end of a line that has room for `fitting` bytes of the text: at the last space, else between two letters.
fn line_end(text: &str, fitting: usize) -> usize {
    if text[fitting..].starts_with(' ') {
        return text[..fitting].trim_end().len();
    }
    match text[..fitting].rfind(' ') {
        Some(space) => text[..space].trim_end().len(),
        None => unmarked(text, fitting),
    }
}

impl ShapedText {
    /// Length in bytes of the longest beginning that is no wider than this.
    fn fitting(&self, most: f32) -> usize {
        let mut width = 0.0;
        for glyph in &self.glyphs {
            width += glyph.x_advance;
            if width > most {
                return glyph.text_range.start;
            }
        }
        self.text.len()
    }

    fn truncate(&mut self, end: usize) {
        self.text.truncate(end);
        self.glyphs.retain(|glyph| glyph.text_range.end <= end);
        self.fonts.truncate(self.glyphs.len());
        self.width = self.glyphs.iter().map(|glyph| glyph.x_advance).sum();
    }
}

/// Composed, with white space and control characters as spaces and without invisible formatting characters.
fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.into();
    }
    let shown = |c: &char| !is_invisible(*c);
    let plain = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.chars().filter(shown).map(plain).collect::<String>().into()
    } else {
        text.nfc().filter(shown).map(plain).collect::<String>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_the_three_scripts_and_marks_the_rest() {
        let faces = Faces::load().unwrap();
        for face in [&faces.regular, &faces.medium] {
            let is_drawn = |c: char| face.slot(c).is_some_and(|slot| slot.glyph != face.replacement.glyph);
            assert!("AZaz09 ÀÉÎÕÜßøłřșțñçĞİ ΑΩαωάΐΰ АЯаяЁёЇїЎў №€—…“”’•".chars().all(is_drawn));
            assert!(!"日本😀א".chars().any(is_drawn));
            let run = face.run("e\u{301} 日\u{200d}\n😀");
            assert_eq!(run.text, "é 日 😀");
            assert_eq!(run.glyphs.len(), run.text.chars().count());
            assert!(run.lacks && !face.run("Ａｃｍｅ ﬁ é").lacks);
            assert_eq!(face.run("Ａｃｍｅ①").text, "Acme1");
        }
    }

    /// A machine with one font, that has two characters which the built-in faces leave out.
    struct Machine;

    impl MachineFonts for Machine {
        fn find(&self, c: char) -> Option<usize> {
            "\u{1f16a}\u{1f16b}א".contains(c).then_some(7)
        }

        fn read(&self, font: usize) -> Option<(Vec<u8>, u32)> {
            (font == 7).then(|| (REGULAR.to_vec(), 0))
        }
    }

    #[test]
    fn what_is_lacking_is_drawn_with_a_font_of_the_machine() {
        let (bare, faces) = (Faces::load().unwrap(), Faces::load().unwrap().with(Machine));
        let text = "a\u{1f16a}\u{1f16b}b";
        assert!(bare.regular.shape(text, f32::INFINITY).lacks);
        let run = faces.regular.shape(text, f32::INFINITY);
        assert!(!run.lacks && run.width > 0.0);
        assert_eq!(run.fonts, [None, Some(0), Some(0), None]);
        let parts: Vec<usize> = faces.regular.parts(&run).map(|part| part.glyphs.len()).collect();
        assert_eq!(parts, [1, 2, 1]);
        // What needs shaping is drawn by nothing here, and one that the font turns out to lack is not drawn either.
        assert!(
            faces.regular.shape("א", f32::INFINITY).lacks && faces.regular.shape("日", f32::INFINITY).lacks
        );
    }

    #[test]
    fn fits_a_width() {
        let faces = Faces::load().unwrap();
        let face = &faces.regular;
        for text in [
            "",
            "short",
            "Ωμέγα и кириллица, ещё длиннее",
            "日本語日本語日本語日本語",
            "a\u{323}\u{301}b\u{323}\u{301}c",
        ] {
            for most in [0.0, 0.7, 3.0, 9.0] {
                let run = face.fitted(text, most);
                // Only the ellipsis itself, or a single letter, may be too wide.
                assert!(run.width <= most.max(1.0), "{text} {most}: {}", run.text);
                for line in face.lines(text, most, usize::MAX) {
                    assert!(
                        line.width <= most || line.text.chars().count() == 1,
                        "{text} {most}: {}",
                        line.text
                    );
                    assert_eq!(line.glyphs.len(), line.text.chars().count());
                }
            }
        }
        assert_eq!(face.fitted("Ωμέγα", 100.0).text, "Ωμέγα");
        let most = face.run("one two ").width;
        let lines = |text: &str, count: usize| {
            face.lines(text, most, count).into_iter().map(|run| run.text).collect::<Vec<_>>()
        };
        assert_eq!(lines("one two  three\nfour", 3), ["one two", "three", "four"]);
        assert_eq!(lines("one two three four", 2), ["one two", "three f…"]);
        assert_eq!(lines(" ", 2), [""; 0]);
        let whole: String =
            face.lines(&"x".repeat(100), 4.0, usize::MAX).into_iter().map(|r| r.text).collect();
        assert_eq!(whole.len(), 100);
    }
}
