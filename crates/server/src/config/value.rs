//! Converts the text of one setting into a value, and the value into text again.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

/// The JSON and TOML type of a setting in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number, whole or not.
    Number,
    /// True or false.
    Boolean,
    /// A whole number of bytes, or a string with a unit.
    Size,
    /// A list of strings; one string with commas in the environment and in flags.
    List,
}

/// The properties of a type of setting, known without a value.
#[derive(Clone, Copy, Debug)]
pub struct ValueType {
    /// For messages and the reference: "duration", "address" …
    pub name: &'static str,
    /// How it is written in the file.
    pub form: Form,
    /// Never printed; may be given by file path under the name with `_file`.
    pub secret: bool,
    /// The only accepted words; empty = not an enumeration.
    pub choices: &'static [&'static str],
    /// Regular expression of the accepted text for the JSON schema.
    pub pattern: Option<&'static str>,
}

impl ValueType {
    /// A kind written as plain text.
    pub const fn text(name: &'static str) -> ValueType {
        ValueType { name, form: Form::Text, secret: false, choices: &[], pattern: None }
    }

    /// The message about a word that is none of the choices.
    pub fn refuse(&self) -> String {
        format!("is not one of {}", self.choices.join(", "))
    }
}

/// A type a setting can have.
pub trait Value: Sized {
    /// Its description.
    const KIND: ValueType;
    /// Parses the text; the error completes "`<text>` is not …" or stands alone, and never repeats the text.
    fn parse(text: &str) -> Result<Self, String>;
    /// The text of the value, secrets covered; `None` = not set.
    fn show(&self) -> Option<String>;
    /// The value when the setting is neither given nor has a default.
    fn absent() -> Option<Self> {
        None
    }
    /// A text that is not such a value, for the message.
    fn quoted(text: &str) -> String {
        format!("`{text}`")
    }
}

/// A type of setting whose value fills a field of another type in the settings of the use cases.
pub trait Fills<F>: Value {
    /// The value for the field.
    fn field(&self) -> F;
    /// The setting that gives the field this value; `None` if there is none.
    fn of_field(field: &F) -> Option<Self>;
}

impl<T: Value + Clone> Fills<T> for T {
    fn field(&self) -> T {
        self.clone()
    }
    fn of_field(field: &T) -> Option<T> {
        Some(field.clone())
    }
}

/// A type of setting that the use cases hold as a text.
pub trait Text: Value {
    /// The text for the use cases.
    fn text(&self) -> &str;
    /// The setting with this text.
    fn of_text(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }
}

impl<T: Text> Fills<String> for T {
    fn field(&self) -> String {
        self.text().to_owned()
    }
    fn of_field(field: &String) -> Option<T> {
        T::of_text(field)
    }
}

impl<T: Text> Fills<Option<String>> for Option<T> {
    fn field(&self) -> Option<String> {
        self.as_ref().map(T::field)
    }
    fn of_field(field: &Option<String>) -> Option<Option<T>> {
        Some(field.as_deref().and_then(T::of_text))
    }
}

impl<T: Text> Fills<Vec<String>> for Vec<T> {
    fn field(&self) -> Vec<String> {
        self.iter().map(T::field).collect()
    }
    fn of_field(field: &Vec<String>) -> Option<Vec<T>> {
        field.iter().map(|text| T::of_text(text)).collect()
    }
}

/// An enumeration in the configuration: its words and their values.
pub trait Choice: Copy + PartialEq + Sized + 'static {
    /// For messages: "router kind".
    const NAME: &'static str;
    /// The words, in the order of [`Choice::VALUES`].
    const WORDS: &'static [&'static str];
    /// The values, in the order of [`Choice::WORDS`].
    const VALUES: &'static [Self];
}

impl<T: Choice> Value for T {
    const KIND: ValueType = ValueType { choices: T::WORDS, ..ValueType::text(T::NAME) };
    fn parse(text: &str) -> Result<T, String> {
        let index = T::WORDS.iter().position(|word| *word == text);
        index.and_then(|i| T::VALUES.get(i)).copied().ok_or_else(|| Self::KIND.refuse())
    }
    fn show(&self) -> Option<String> {
        let index = T::VALUES.iter().position(|value| value == self)?;
        T::WORDS.get(index).map(ToString::to_string)
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: ValueType = T::KIND;
    fn parse(text: &str) -> Result<Self, String> {
        T::parse(text).map(Some)
    }
    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn quoted(text: &str) -> String {
        T::quoted(text)
    }
}

impl<T: Value> Value for Vec<T> {
    const KIND: ValueType = ValueType { form: Form::List, ..T::KIND };
    fn parse(text: &str) -> Result<Self, String> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items
            .map(|item| {
                T::parse(item).map_err(|why| format!("has the item {}, which {why}", T::quoted(item)))
            })
            .collect()
    }
    fn show(&self) -> Option<String> {
        Some(self.iter().filter_map(T::show).collect::<Vec<_>>().join(","))
    }
    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
    fn quoted(text: &str) -> String {
        text.split(',').map(T::quoted).collect::<Vec<_>>().join(",")
    }
}

impl Value for String {
    const KIND: ValueType = ValueType::text("text");
    fn parse(text: &str) -> Result<Self, String> {
        let bad = text.is_empty() || text.chars().any(char::is_control);
        if bad { Err("is empty or has control characters".into()) } else { Ok(text.to_owned()) }
    }
    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl Value for PathBuf {
    const KIND: ValueType = ValueType::text("path");
    fn parse(text: &str) -> Result<Self, String> {
        String::parse(text).map(PathBuf::from)
    }
    fn show(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

impl Value for u32 {
    const KIND: ValueType = ValueType { form: Form::Integer, ..ValueType::text("whole number") };
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("is not a whole number from 0 to {}", u32::MAX))
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for bool {
    const KIND: ValueType = ValueType { form: Form::Boolean, ..ValueType::text("true or false") };
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "is neither true nor false".into())
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for NonZeroU32 {
    const KIND: ValueType = ValueType { form: Form::Integer, ..ValueType::text("whole number above 0") };
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("is not a whole number from 1 to {}", u32::MAX))
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

macro_rules! numbers_fill {
    ($($field:ty),+) => {$(
        impl Fills<$field> for NonZeroU32 {
            fn field(&self) -> $field {
                self.get() as $field
            }
            fn of_field(field: &$field) -> Option<NonZeroU32> {
                u32::try_from(*field).ok().and_then(NonZeroU32::new)
            }
        }
    )+};
}
numbers_fill!(u32, u64, usize, i64);

/// Units of a duration, longest first, in nanoseconds.
const TIME_UNITS: &[(&str, u64)] = &[
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

impl Value for Duration {
    const KIND: ValueType =
        ValueType { pattern: Some(r"^([0-9]+(d|h|m|s|ms))+$"), ..ValueType::text("duration") };
    fn parse(text: &str) -> Result<Self, String> {
        nanoseconds(text)
            .filter(|nanos| *nanos > 0)
            .map(Duration::from_nanos)
            .ok_or_else(|| "is not a duration above zero like 30s, 20m, 6h, 7d or 1h30m".into())
    }
    fn show(&self) -> Option<String> {
        let mut rest = u64::try_from(self.as_nanos()).unwrap_or(u64::MAX);
        let mut text = String::new();
        for (unit, nanos) in TIME_UNITS {
            if rest >= *nanos {
                text.push_str(&format!("{}{unit}", rest / nanos));
                rest %= nanos;
            }
        }
        Some(text)
    }
}

/// A duration that may be zero, where zero turns something off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyDuration(pub Duration);

impl Value for AnyDuration {
    const KIND: ValueType = Duration::KIND;
    fn parse(text: &str) -> Result<Self, String> {
        nanoseconds(text)
            .map(|nanos| AnyDuration(Duration::from_nanos(nanos)))
            .ok_or_else(|| "is not a duration like 0s, 30s, 20m, 6h, 7d or 1h30m".into())
    }
    fn show(&self) -> Option<String> {
        if self.0.is_zero() { Some("0s".to_owned()) } else { self.0.show() }
    }
}

impl Fills<Duration> for AnyDuration {
    fn field(&self) -> Duration {
        self.0
    }
    fn of_field(field: &Duration) -> Option<AnyDuration> {
        Some(AnyDuration(*field))
    }
}

/// Sum of the parts of `1h30m`; `None` when it is not one or does not fit.
fn nanoseconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest.get(..digits)?.parse().ok()?;
        let tail = rest.get(digits..)?;
        let unit_len = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let unit = tail.get(..unit_len)?;
        let (_, nanos) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(count.checked_mul(*nanos)?)?;
        rest = tail.get(unit_len..)?;
    }
    Some(total)
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units of a size, largest first, in bytes.
const SIZE_UNITS: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl Size {
    /// As a length in memory.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Value for Size {
    const KIND: ValueType = ValueType {
        form: Form::Size,
        pattern: Some(r"^[0-9]+( ?(B|KiB|MiB|GiB))?$"),
        ..ValueType::text("size")
    };
    fn parse(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (count, unit) = text.split_at(digits);
        let unit = if unit.is_empty() { "B" } else { unit.trim_start() };
        let scale = SIZE_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let bytes = count.parse::<u64>().ok().zip(scale).and_then(|(count, scale)| count.checked_mul(scale));
        let whole = "is not a size above zero like 65536, 64 KiB or 10 MiB";
        bytes.filter(|bytes| *bytes > 0).map(Size).ok_or_else(|| whole.into())
    }
    fn show(&self) -> Option<String> {
        let fits = SIZE_UNITS.iter().find(|(_, scale)| self.0.is_multiple_of(*scale));
        fits.map(|(unit, scale)| format!("{} {unit}", self.0 / scale))
    }
}

impl Fills<usize> for Size {
    fn field(&self) -> usize {
        self.bytes()
    }
    fn of_field(field: &usize) -> Option<Size> {
        u64::try_from(*field).ok().map(Size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_add_up_and_come_back() {
        for (text, seconds, shown) in
            [("30m", 1800, "30m"), ("168h", 604_800, "7d"), ("1h30m0s", 5400, "1h30m")]
        {
            let value = Duration::parse(text).unwrap();
            assert_eq!(value, Duration::from_secs(seconds), "{text}");
            assert_eq!(value.show().unwrap(), shown);
        }
        assert_eq!(Duration::parse("250ms").unwrap(), Duration::from_millis(250));
        for text in ["", "0s", "5", "m", "-1h", "1.5h", "5 minutes", "1w", "99999999999999d"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn some_durations_may_be_zero() {
        assert_eq!(AnyDuration::parse("0s").unwrap(), AnyDuration(Duration::ZERO));
        assert_eq!(AnyDuration::parse("0s").unwrap().show().unwrap(), "0s");
        assert_eq!(AnyDuration::parse("90s").unwrap().show().unwrap(), "1m30s");
        assert!(AnyDuration::parse("0").is_err());
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(Size::parse("1 MiB").unwrap(), Size(1_048_576));
        assert_eq!(Size::parse("64KiB").unwrap(), Size(65_536));
        assert_eq!(Size::parse("128").unwrap(), Size(128));
        assert_eq!(Size(10_485_760).show().unwrap(), "10 MiB");
        assert_eq!(Size(1500).show().unwrap(), "1500 B");
        for text in ["", "0", "MiB", "1 MB", "-1", "1.5 MiB", "99999999999 GiB"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_name_the_wrong_item() {
        assert_eq!(Vec::<u32>::parse(" 1, 2 ,").unwrap(), [1, 2]);
        let why = Vec::<u32>::parse("1,x").unwrap_err();
        assert!(why.contains("`x`"), "{why}");
    }
}
