//! The configured products that can be rebranded.

use super::value::{Value, ValueType};
use bailiwick_domain::rebranding::{Product, ProductType};

/// Longest id, in bytes: a segment of paths.
const ID_BYTES: usize = 100;
/// Longest display name, in characters.
const NAME_CHARS: usize = 255;

/// `<id>:<display name>:<type>`.
impl Value for Product {
    const KIND: ValueType = ValueType {
        pattern: Some("^[a-z0-9][a-z0-9_.-]*:[^:,]+:(application|system)$"),
        ..ValueType::text("id:display name:type")
    };
    fn parse(text: &str) -> Result<Self, String> {
        product(text).ok_or_else(|| "is not like `ns8:NS8:system`".into())
    }
    fn show(&self) -> Option<String> {
        let Product { id, display_name, product_type } = self;
        Some(format!("{id}:{display_name}:{}", product_type.as_str()))
    }
}

fn product(text: &str) -> Option<Product> {
    let mut parts = text.split(':').map(str::trim);
    let (id, display_name, word) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_id = id.bytes().next().is_some_and(plain)
        && id.bytes().all(|b| plain(b) || b"_.-".contains(&b))
        && id.len() <= ID_BYTES;
    let is_name = !display_name.is_empty()
        && display_name.chars().count() <= NAME_CHARS
        && !display_name.chars().any(char::is_control);
    if !is_id || !is_name || parts.next().is_some() {
        return None;
    }
    Some(Product {
        id: id.to_owned(),
        display_name: display_name.to_owned(),
        product_type: ProductType::parse(word)?,
    })
}
