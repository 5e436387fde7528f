//! Whether a file is an SVG picture, and nothing but a picture (spec: rebranding#serving).
//!
//! The whole file is read once, event by event; nothing is built from it, expanded or fetched. A file that browsers
//! would not read as XML is refused: a more lenient reader could be made to see other content than they do.

use super::{
    css::{has_script_address, is_active, is_harmless_address},
    svg_size::Copies,
};
use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesDecl, BytesRef, BytesStart, Event},
};
use std::str::from_utf8;

const SVG: &str = "http://www.w3.org/2000/svg";
const XHTML: &str = "http://www.w3.org/1999/xhtml";
/// Deepest nesting, most elements, most attributes of one element and most namespaces of one file: far more than
/// pictures need.
const DEPTH: usize = 256;
const ELEMENTS: usize = 200_000;
/// Most elements that are drawn, counting a referenced one for each reference: otherwise a few kilobytes could draw
/// billions.
const DRAWN: u64 = 1_000_000;
const ATTRIBUTES: usize = 256;
const NAMESPACES: usize = 64;

/// Elements that run code, embed content or listen to events, in any namespace.
const FORBIDDEN: [&str; 8] =
    ["script", "foreignobject", "iframe", "embed", "object", "handler", "listener", "applet"];

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Picture,
    /// An SVG that runs code, loads content or declares entities.
    Active,
    /// No SVG.
    Unreadable,
}

/// No SVG after all.
struct Unreadable;

type Step<T = ()> = Result<T, Unreadable>;

/// Looks at a file.
pub(super) fn judge(file: &[u8]) -> Verdict {
    let Ok(text) = from_utf8(file) else { return Verdict::Unreadable };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.starts_with('<') || !text.chars().all(is_character) {
        return Verdict::Unreadable;
    }
    let mut reader = Look::default();
    match reader.read(text) {
        Err(Unreadable) => Verdict::Unreadable,
        Ok(()) if reader.is_active => Verdict::Active,
        Ok(()) => Verdict::Picture,
    }
}

/// The characters that XML 1.0 allows.
const fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[derive(Default)]
struct Look {
    is_active: bool,
    /// A document type was seen: its entities are not evaluated, the file is refused.
    has_entities: bool,
    has_begun: bool,
    elements: usize,
    copies: Copies,
    /// For each open element, the number of namespaces known before it.
    open: Vec<usize>,
    /// Declared prefixes, the innermost last.
    prefixes: Vec<String>,
    /// Text of the open `style`, with its depth.
    style: Option<(usize, String)>,
}

impl Look {
    fn read(&mut self, text: &str) -> Step {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_comments = true;
        config.allow_dangling_amp = false;
        let mut is_first = true;
        loop {
            match reader.read_event().map_err(|_| Unreadable)? {
                Event::Eof => break,
                Event::Start(tag) => self.start(&tag)?,
                Event::Empty(tag) => {
                    self.start(&tag)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::Text(text) => self.text(from_utf8(&text).map_err(|_| Unreadable)?)?,
                Event::CData(text) if self.open.is_empty() => return Err(unreadable(&text)),
                Event::CData(text) => self.styled(from_utf8(&text).map_err(|_| Unreadable)?),
                Event::GeneralRef(reference) => self.reference(&reference)?,
                Event::Comment(_) => {}
                Event::Decl(declaration) if is_first => check_declaration(&declaration)?,
                Event::Decl(_) => return Err(Unreadable),
                Event::DocType(_) if self.has_begun => return Err(Unreadable),
                Event::DocType(_) => (self.is_active, self.has_entities) = (true, true),
                Event::PI(_) => self.is_active = true,
            }
            is_first = false;
        }
        let is_whole = self.has_begun && self.open.is_empty();
        if is_whole && self.copies.drawn() <= DRAWN { Ok(()) } else { Err(Unreadable) }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Step {
        self.elements += 1;
        let is_root = self.open.is_empty();
        if (is_root && self.has_begun) || self.open.len() >= DEPTH || self.elements > ELEMENTS {
            return Err(Unreadable);
        }
        self.has_begun = true;
        let name = tag.name();
        let (prefix, local) = qualified(name.as_ref())?;
        let outer_prefixes = self.prefixes.len();
        let attributes = attributes(tag, self.has_entities)?;
        let mut namespace = None;
        for (name, value) in &attributes {
            let declared = match name.as_str() {
                "xmlns" => "",
                name => match name.strip_prefix("xmlns:") {
                    Some(prefix) => prefix,
                    None => continue,
                },
            };
            if declared == prefix {
                namespace = Some(value.as_str());
            }
            // Declaring the XHTML namespace is enough, whether or not an element uses it.
            self.is_active |= value.trim() == XHTML;
            self.prefixes.push(declared.to_owned());
        }
        if self.prefixes.len() > NAMESPACES || (is_root && (local != "svg" || namespace != Some(SVG))) {
            return Err(Unreadable);
        }
        self.check_prefix(prefix)?;
        for (name, _) in &attributes {
            self.check_prefix(qualified(name.as_bytes())?.0)?;
        }
        // Elements inside a style element have no use in a picture.
        self.is_active |= self.style.is_some() || is_active_element(local, &attributes);
        self.copies.start(local, &attributes);
        self.open.push(outer_prefixes);
        if local.eq_ignore_ascii_case("style") && self.style.is_none() {
            self.style = Some((self.open.len(), String::new()));
        }
        Ok(())
    }

    fn check_prefix(&self, prefix: &str) -> Step {
        let is_known =
            matches!(prefix, "" | "xml" | "xmlns") || self.prefixes.iter().any(|declared| declared == prefix);
        if is_known { Ok(()) } else { Err(Unreadable) }
    }

    fn end(&mut self) {
        self.copies.end();
        if let Some((_, text)) = self.style.take_if(|(depth, _)| *depth == self.open.len()) {
            self.is_active |= is_active(&text);
        }
        if let Some(outer_prefixes) = self.open.pop() {
            self.prefixes.truncate(outer_prefixes);
        }
    }

    fn text(&mut self, text: &str) -> Step {
        let is_blank = text.bytes().all(|b| b.is_ascii_whitespace());
        if text.contains("]]>") || (self.open.is_empty() && !is_blank) {
            return Err(Unreadable);
        }
        self.styled(text);
        Ok(())
    }

    fn styled(&mut self, text: &str) {
        if let Some((_, style)) = &mut self.style {
            style.push_str(text);
        }
    }

    /// `&amp;`, `&#97;`: any other reference needs a document type.
    fn reference(&mut self, reference: &BytesRef<'_>) -> Step {
        if self.open.is_empty() {
            return Err(Unreadable);
        }
        if let Some(c) = reference.resolve_char_ref().map_err(|_| Unreadable)? {
            if !is_character(c) {
                return Err(Unreadable);
            }
            self.styled(c.encode_utf8(&mut [0; 4]));
            return Ok(());
        }
        let name = from_utf8(reference).map_err(|_| Unreadable)?;
        match resolve_predefined_entity(name) {
            Some(text) => self.styled(text),
            None if self.has_entities => {}
            None => return Err(Unreadable),
        }
        Ok(())
    }
}

fn unreadable<T: ?Sized>(_: &T) -> Unreadable {
    Unreadable
}

/// A browser would read a file that declares another encoding in that encoding.
fn check_declaration(declaration: &BytesDecl<'_>) -> Step {
    declaration.xml_version().map_err(|_| Unreadable)?;
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(name)) if name.eq_ignore_ascii_case(b"utf-8") => Ok(()),
        Some(_) => Err(Unreadable),
    }
}

/// Prefix (or none) and local part of a name that XML allows.
fn qualified(name: &[u8]) -> Step<(&str, &str)> {
    let name = from_utf8(name).map_err(|_| Unreadable)?;
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || !c.is_ascii())
    };
    let is_whole =
        is_name(local) && (prefix.is_empty() != name.contains(':')) && (prefix.is_empty() || is_name(prefix));
    if is_whole { Ok((prefix, local)) } else { Err(Unreadable) }
}

/// Names and values as a browser sees them.
fn attributes(tag: &BytesStart<'_>, has_entities: bool) -> Step<Vec<(String, String)>> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    // Repeated names are refused here; the bound on attributes bounds the time this takes.
    for attribute in tag.attributes().with_checks(true) {
        let attribute = attribute.map_err(|_| Unreadable)?;
        if attributes.len() == ATTRIBUTES || attribute.value.contains(&b'<') {
            return Err(Unreadable);
        }
        let name = from_utf8(attribute.key.as_ref()).map_err(|_| Unreadable)?;
        let value = match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => value.into_owned(),
            Err(_) if has_entities => String::new(),
            Err(_) => return Err(Unreadable),
        };
        if !value.chars().all(is_character) {
            return Err(Unreadable);
        }
        attributes.push((name.to_owned(), value));
    }
    Ok(attributes)
}

fn is_active_element(local: &str, attributes: &[(String, String)]) -> bool {
    let animates = local.eq_ignore_ascii_case("set") || local.to_ascii_lowercase().starts_with("animate");
    FORBIDDEN.iter().any(|name| local.eq_ignore_ascii_case(name))
        || attributes.iter().any(|(name, value)| is_active_attribute(name, value, animates))
}

fn is_active_attribute(name: &str, value: &str, animates: bool) -> bool {
    let local = local_of(name);
    let is_handler = local.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"));
    let is_link = local.eq_ignore_ascii_case("href") || local.eq_ignore_ascii_case("src");
    // A base other than the document would turn a fragment into an address elsewhere.
    let is_base = name.eq_ignore_ascii_case("xml:base");
    let aims_at_link = animates && local.eq_ignore_ascii_case("attributeName") && {
        let target = local_of(value.trim());
        ["href", "src"].iter().any(|link| target.eq_ignore_ascii_case(link))
            || target.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"))
    };
    is_handler
        || is_base
        || aims_at_link
        || (is_link && !is_harmless_address(value))
        || has_script_address(value)
        || is_active(value)
}

fn local_of(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
