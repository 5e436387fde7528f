//! Free JSON of clients whose numbers stay as they were written.
//!
//! [`Value`] keeps a number in 64 bits. A literal that it would change (`1.10`, `1e400`, one with thirty digits) is
//! kept as an object with one reserved key and the literal as a text, in memory and in both databases. [`Exact`] writes
//! it as the number that it was.

use crate::json::{self, Json, Limits, without_mark};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Number, Value, value::RawValue};

/// A noncharacter begins it, so that no client means this key.
const LITERAL: &str = "\u{fdd0}number";
/// Arrays and objects inside each other: less than what serde reads, as a literal is one more.
const DEPTH: usize = 100;

/// Reads an object, for `deserialize_with`; null is none.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Map<String, Value>>, D::Error> {
    let Some(raw) = Option::<Box<RawValue>>::deserialize(from)? else { return Ok(None) };
    let limits = Limits::lenient(DEPTH);
    match json::parse(without_mark(raw.get().as_bytes()), &limits) {
        Ok(Json::Obj(pairs)) => Ok(Some(object(pairs))),
        Ok(_) => Err(D::Error::custom("not an object")),
        Err(e) => Err(D::Error::custom(e)),
    }
}

fn object(pairs: Vec<(std::borrow::Cow<'_, str>, Json<'_>)>) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.into_owned(), value_of(value))).collect()
}

fn value_of(json: Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(is) => Value::Bool(is),
        Json::Num(literal) => number(literal),
        Json::Str(text) => Value::String(text.into_owned()),
        Json::Arr(items) => Value::Array(items.into_iter().map(value_of).collect()),
        Json::Obj(pairs) => Value::Object(object(pairs)),
    }
}

fn number(literal: &str) -> Value {
    match serde_json::from_str::<Number>(literal) {
        Ok(number) if number.to_string() == literal => Value::Number(number),
        _ => Value::Object(Map::from_iter([(LITERAL.to_owned(), Value::from(literal))])),
    }
}

/// The literal of a number that is kept as an object.
fn literal_of(object: &Map<String, Value>) -> Option<&str> {
    let literal = object.get(LITERAL).filter(|_| object.len() == 1)?.as_str()?;
    let is_number =
        matches!(json::parse(literal.as_bytes(), &Limits::strict(1)), Ok(Json::Num(n)) if n == literal);
    is_number.then_some(literal)
}

/// Written as JSON with its numbers as they came.
#[derive(Clone, Copy, Debug)]
pub struct Exact<'a>(pub &'a Value);

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => to.collect_seq(items.iter().map(Exact)),
            Value::Object(object) => match literal_of(object) {
                Some(literal) => {
                    let raw = RawValue::from_string(literal.to_owned());
                    raw.map_err(serde::ser::Error::custom)?.serialize(to)
                }
                None => write(object, to),
            },
            other => other.serialize(to),
        }
    }
}

/// Writes an object as [`Exact`] does, for `serialize_with`.
pub fn write<S: Serializer>(object: &Map<String, Value>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(object.iter().map(|(key, value)| (key, Exact(value))))
}

/// Writes an object as [`write()`] does, and null where there is none.
pub fn write_if_any<S: Serializer>(object: &Option<Map<String, Value>>, to: S) -> Result<S::Ok, S::Error> {
    match object {
        Some(object) => write(object, to),
        None => to.serialize_none(),
    }
}

/// Writes a value as [`Exact`] does, null for none, for `serialize_with`.
pub fn write_value<S: Serializer>(value: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Exact).serialize(to)
}

/// A value as compact JSON with its numbers as they came.
pub fn text(value: &Value) -> String {
    serde_json::to_string(&Exact(value)).unwrap_or_default()
}

/// The data for software that keeps numbers in 64 bits: each as near as they allow, and one beyond them as a text.
pub fn rounded(data: Map<String, Value>) -> Map<String, Value> {
    fn round(value: Value) -> Value {
        match value {
            Value::Array(items) => Value::Array(items.into_iter().map(round).collect()),
            Value::Object(object) => match literal_of(&object) {
                Some(literal) => serde_json::from_str(literal).unwrap_or_else(|_| Value::from(literal)),
                None => Value::Object(rounded(object)),
            },
            other => other,
        }
    }
    data.into_iter().map(|(key, value)| (key, round(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Body {
        #[serde(default, deserialize_with = "read", serialize_with = "write_if_any")]
        data: Option<Map<String, Value>>,
    }

    fn again(data: &str) -> Result<String, serde_json::Error> {
        let body: Body = serde_json::from_str(&format!("{{\"data\":{data}}}"))?;
        // As a database keeps it.
        let stored: Option<Map<String, Value>> = serde_json::from_str(&serde_json::to_string(&body.data)?)?;
        let written = serde_json::to_string(&Body { data: stored })?;
        Ok(written.trim_start_matches("{\"data\":").trim_end_matches('}').to_owned() + "}")
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        for number in [
            "0",
            "-0",
            "1",
            "1.0",
            "1.10",
            "-0.5",
            "1e5",
            "1E+5",
            "1e400",
            "-1e-400",
            "1e400000",
            "18446744073709551615",
            "123456789012345678901234567890",
            "0.1000000000000000055511151231257827",
        ] {
            for data in [format!("{{\"n\":{number}}}"), format!("{{\"n\":[{{\"m\":{number}}}]}}")] {
                let written = again(&data).unwrap();
                assert_eq!(written.trim_end_matches('}'), data.trim_end_matches('}'), "{number}");
            }
        }
        assert!(serde_json::from_str::<Body>("{}").unwrap().data.is_none());
        assert!(serde_json::from_str::<Body>("{\"data\":null}").unwrap().data.is_none());
        for wrong in ["[]", "\"x\"", "1e400"] {
            assert!(again(wrong).unwrap_err().is_data(), "{wrong}");
        }
    }

    #[test]
    fn the_reserved_key_writes_nothing_but_numbers() {
        for text in ["\"1,2\"", "\"\"", "\"[]\"", "1", "\" 1\"", "\"NaN\""] {
            let data = format!("{{\"n\":{{\"{LITERAL}\":{text}}}}}");
            assert_eq!(again(&data).unwrap().trim_end_matches('}'), data.trim_end_matches('}'));
        }
    }

    #[test]
    fn rounded_for_others() {
        let body: Body =
            serde_json::from_str("{\"data\":{\"a\":1.10,\"b\":[1e400],\"c\":{\"d\":1}}}").unwrap();
        let near = rounded(body.data.unwrap());
        assert_eq!(Value::Object(near), serde_json::json!({"a": 1.1, "b": ["1e400"], "c": {"d": 1}}));
    }
}
