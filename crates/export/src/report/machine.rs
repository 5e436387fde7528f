//! Fonts of the machine, for what the built-in ones lack. They are found by code point; what needs shaping is not drawn
//! with them, because nothing here shapes.

use super::face::Slot;
use crate::Fault;
use krilla::text::Font;
use skrifa::{
    FontRef, MetadataProvider,
    instance::LocationRef,
    prelude::Size,
    raw::{FileRef, ReadError},
};
use std::{cell::RefCell, collections::HashMap};

/// The most fonts of one report: each is read as a whole.
const MOST: usize = 8;

/// The fonts that the caller can read. Numbers name fonts and stay the same for a report.
pub trait MachineFonts {
    /// The best font that has the character.
    fn find(&self, c: char) -> Option<usize>;
    /// The file of a font, and which of the fonts in the file it is.
    fn read(&self, font: usize) -> Option<(Vec<u8>, u32)>;
}

/// For each font in a file, the first and last code points of what it draws as outlines.
///
/// # Errors
/// No font file.
pub fn coverage(file: &[u8]) -> Result<Vec<Vec<(u32, u32)>>, Fault> {
    let fonts: Vec<FontRef<'_>> = match FileRef::new(file).map_err(unreadable)? {
        FileRef::Font(font) => vec![font],
        FileRef::Collection(all) => all.iter().collect::<Result<_, ReadError>>().map_err(unreadable)?,
    };
    Ok(fonts.iter().map(ranges).collect())
}

fn unreadable(_: ReadError) -> Fault {
    Fault::Font("of the machine")
}

fn ranges(font: &FontRef<'_>) -> Vec<(u32, u32)> {
    let outlines = font.outline_glyphs();
    let drawn = |glyph| outlines.get(glyph).is_some();
    let mut points: Vec<u32> =
        font.charmap().mappings().filter(|(_, glyph)| drawn(*glyph)).map(|(point, _)| point).collect();
    points.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for point in points {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 >= point => *last = point,
            _ => ranges.push((point, point)),
        }
    }
    ranges
}

/// What one report has taken from the machine.
pub(super) struct Others {
    machine: Box<dyn MachineFonts>,
    /// `None` = nothing draws it.
    slots: RefCell<HashMap<char, Option<(usize, Slot)>>>,
    /// By number; `None` = cannot be used.
    fonts: RefCell<Vec<(usize, Option<Loaded>)>>,
}

struct Loaded {
    font: Font,
    file: Vec<u8>,
    index: u32,
}

impl Others {
    pub(super) fn of(machine: Box<dyn MachineFonts>) -> Others {
        Others { machine, slots: RefCell::default(), fonts: RefCell::default() }
    }

    /// Where the character is: a font for [`Others::font`], and its glyph.
    pub(super) fn slot(&self, c: char) -> Option<(usize, Slot)> {
        if needs_shaping(c) {
            return None;
        }
        if let Some(slot) = self.slots.borrow().get(&c) {
            return *slot;
        }
        let found = self.look_up(c);
        self.slots.borrow_mut().insert(c, found);
        found
    }

    fn look_up(&self, c: char) -> Option<(usize, Slot)> {
        let number = self.machine.find(c)?;
        let mut fonts = self.fonts.borrow_mut();
        let index = match fonts.iter().position(|(font_number, _)| *font_number == number) {
            Some(index) => index,
            None if fonts.len() == MOST => return None,
            None => {
                fonts.push((number, self.machine.read(number).and_then(load)));
                fonts.len() - 1
            }
        };
        let loaded = fonts.get(index)?.1.as_ref()?;
        let tables = FontRef::from_index(&loaded.file, loaded.index).ok()?;
        let glyph = tables.charmap().map(c)?;
        let advance = tables.glyph_metrics(Size::unscaled(), LocationRef::default()).advance_width(glyph)?;
        let id = u16::try_from(glyph.to_u32()).ok()?;
        Some((index, Slot { glyph: id, advance: advance / loaded.font.units_per_em() }))
    }

    pub(super) fn font(&self, index: usize) -> Option<Font> {
        self.fonts.borrow().get(index)?.1.as_ref().map(|loaded| loaded.font.clone())
    }
}

fn load((file, index): (Vec<u8>, u32)) -> Option<Loaded> {
    let font = Font::new(file.clone().into(), index)?;
    Some(Loaded { font, file, index })
}

/// Scripts that are written from the right, or whose letters change with their neighbours, from Hebrew to the Indic
/// scripts and those of South East Asia. Georgian, Ethiopic and the syllabics between them do not.
const fn needs_shaping(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{590}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1700}'..='\u{18af}'
        | '\u{1900}'..='\u{1cff}' | '\u{a800}'..='\u{aaff}' | '\u{abc0}'..='\u{abff}' | '\u{d7b0}'..='\u{d7ff}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{11fff}' | '\u{1e800}'..='\u{1efff}')
}
