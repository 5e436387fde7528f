//! PDF: A4 landscape, a title block, then one card for each row; cards are never split over two pages.
//!
//! Every byte is 7-bit ASCII (spec: organizations#stats; clients keep the file as text): krilla writes its streams in
//! hexadecimal, and XMP metadata, whose packet marker is not ASCII, is left out. All cards of a report have one height,
//! so the number of pages is known before the first is drawn, and a row is dropped as soon as it is.

mod card;
mod face;
mod machine;
mod page;

pub use card::{Card, Style};
pub use face::Faces;
pub use machine::{MachineFonts, coverage};

use crate::Fault;
use bailiwick_domain::Ts;
use card::Columns;
use krilla::{
    Document, SerializeSettings,
    metadata::{DateTime, Metadata},
    page::PageSettings,
};
use page::{Line, Sheet};

/// The title block.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// The listed objects, capitalised, in the plural: `Customers`.
    pub noun: &'static str,
    /// When it was made.
    pub generated: Ts,
    /// How many there are.
    pub total: usize,
    /// Every filter given, as sent.
    pub filters: Vec<(String, String)>,
    /// Name and e-mail address of the user who asked for the report.
    pub exported_by: (String, String),
}

/// A column of a card.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Share of the card's width.
    share: f32,
    is_right: bool,
}

impl Column {
    /// Text begins at its left.
    #[must_use]
    pub const fn left(share: f32) -> Column {
        Column { share, is_right: false }
    }

    /// Text ends at its right.
    #[must_use]
    pub const fn right(share: f32) -> Column {
        Column { share, is_right: true }
    }
}

/// How the cards of a report are divided.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// From the left; their shares add up to 1.
    pub columns: &'static [Column],
    /// Lines of text.
    pub lines: usize,
}

impl Cover {
    fn title(&self) -> String {
        format!("{} Export Report", self.noun)
    }

    /// Label and text of each entry of the title block.
    fn entries(&self) -> Vec<(String, String)> {
        let (name, email) = &self.exported_by;
        let mut entries = vec![
            ("Generated".to_owned(), crate::text::second(self.generated)),
            (format!("Total {}", self.noun), self.total.to_string()),
        ];
        if !self.filters.is_empty() {
            let all: Vec<String> = self.filters.iter().map(|(key, value)| format!("{key}={value}")).collect();
            entries.push(("Filters Applied".to_owned(), all.join(", ")));
        }
        entries.push(("Exported by".to_owned(), format!("{name} ({email})")));
        entries
    }

    fn metadata(&self) -> Metadata {
        let z = self.generated.to_jiff().to_zoned(jiff::tz::TimeZone::UTC);
        let part = |n: i8| u8::try_from(n).unwrap_or_default();
        let date = DateTime::new(u16::try_from(z.year()).unwrap_or_default())
            .month(part(z.month()))
            .day(part(z.day()))
            .hour(part(z.hour()))
            .minute(part(z.minute()))
            .second(part(z.second()))
            .utc_offset_hour(0);
        Metadata::new()
            .title(self.title())
            .language("en".to_owned())
            .creator("Bailiwick".to_owned())
            .producer("Bailiwick".to_owned())
            .creation_date(date)
    }
}

/// The file: `card` draws one row.
///
/// # Errors
/// None is expected with valid fonts; errors of the PDF library are passed on.
pub fn draw<R>(
    faces: &Faces,
    cover: &Cover,
    form: &Form,
    rows: impl ExactSizeIterator<Item = R>,
    card: impl Fn(&R, &mut Card),
) -> Result<Vec<u8>, Fault> {
    let settings = SerializeSettings {
        ascii_compatible: true,
        xmp_metadata: false,
        enable_tagging: false,
        ..SerializeSettings::default()
    };
    let mut document = Document::new_with(settings);
    document.set_metadata(cover.metadata());
    let mut lines = page::cover_lines(faces, cover).into_iter().peekable();
    let mut rows = rows;
    let columns = Columns::of(form);
    let mut shown = Card::default();
    let plan = page::Plan::of(lines.len(), rows.len(), columns.height);
    let size =
        PageSettings::from_wh(page::WIDTH, page::HEIGHT).ok_or_else(|| Fault::Pdf("page size".to_owned()))?;
    for number in 1..=plan.pages {
        let mut page = document.start_page_with(size.clone());
        let mut sheet = Sheet::new(faces, page.surface(), &plan, number);
        sheet.frame(cover);
        sheet.cover(&mut lines);
        while lines.peek().is_none() && sheet.has_room(columns.height) {
            let Some(row) = rows.next() else { break };
            card(&row, &mut shown);
            let corner = sheet.card(columns.height);
            shown.draw(&mut sheet, &columns, corner);
        }
        if plan.cards == 0 && number == plan.pages {
            sheet.line(&Line::note(
                faces,
                &format!("No {} found with the applied filters.", cover.noun.to_lowercase()),
            ));
        }
        sheet.note();
    }
    document.finish().map_err(|e| Fault::Pdf(e.to_string()))
}
