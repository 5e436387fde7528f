//! A document as HTML. Raw HTML of documents is shown as text, but for anchors (`<a id="…"></a>`) and line breaks.

use crate::{
    documents,
    links::{self, Target},
    text::{anchor, escaped},
};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use std::{collections::BTreeSet, mem};

/// A document, rendered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Article {
    /// Its first heading.
    pub(crate) title: String,
    /// Its text as HTML, with [`links::ROOT`] in its addresses.
    pub(crate) html: String,
    /// The parts of the text, each from one heading to the next one.
    pub(crate) sections: Vec<Section>,
    /// Every anchor.
    pub(crate) anchors: BTreeSet<String>,
    /// Every document that it names, in its order, with the heading above that name.
    pub(crate) names: Vec<(String, String)>,
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// 1 for the title of the page.
    pub(crate) level: u8,
    /// Text of the heading.
    pub(crate) heading: String,
    /// The anchor of the heading; empty before the first one.
    pub(crate) anchor: String,
    /// The text without its form.
    pub(crate) text: String,
}

/// Renders the document of this name.
pub(crate) fn render(document: &str, text: &str) -> Article {
    let mut writer = Writer { document, ..Writer::default() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for event in without_empty_paragraphs(Parser::new_ext(text, options)) {
        writer.take(event);
    }
    writer.finish()
}

/// A short text as HTML, as descriptions of operations are.
pub(crate) fn short(text: &str) -> String {
    render("", text).html
}

/// A text without its form, to be searched.
pub(crate) fn plain(text: &str) -> String {
    let texts: Vec<String> = render("", text).sections.into_iter().map(|section| section.text).collect();
    texts.join(" ")
}

#[derive(Default)]
struct Writer<'a> {
    document: &'a str,
    article: Article,
    events: Vec<Event<'a>>,
    section: Section,
    /// Text of the heading or picture that is open.
    open: Option<String>,
    /// What follows the text of the links that are open, and where that text starts.
    after_link: Vec<(Target, usize)>,
    is_in_head: bool,
    /// An empty cell of a head is no heading.
    cell_starts: Option<usize>,
    /// Diagrams so far.
    diagrams: usize,
    is_in_diagram: bool,
}

impl<'a> Writer<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(text.clone(), Event::Text(text)),
            Event::Code(text) => self.text(text.clone(), Event::Code(text)),
            Event::Html(html) | Event::InlineHtml(html) => self.raw(&html),
            Event::SoftBreak | Event::HardBreak => {
                self.section.text.push(' ');
                self.events.push(event);
            }
            other => self.events.push(other),
        }
    }

    fn text(&mut self, text: CowStr<'a>, event: Event<'a>) {
        match &mut self.open {
            Some(open) => open.push_str(&text),
            None => self.section.text.push_str(&text),
        }
        self.events.push(event);
    }

    fn html(&mut self, html: String) {
        self.events.push(Event::Html(html.into()));
    }

    fn raw(&mut self, html: &str) {
        let id = html.trim().strip_prefix("<a id=\"").and_then(|rest| rest.split('"').next());
        let is_plain = |id: &&str| id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        match id.filter(is_plain) {
            Some(id) => {
                if self.article.anchors.insert(id.to_owned()) {
                    self.html(format!("<span id=\"{id}\"></span>"));
                }
            }
            None if matches!(html, "<br>" | "<br/>" | "<br />") => self.events.push(Event::HardBreak),
            None if html == "</a>" => {}
            None => self.events.push(Event::Text(html.to_owned().into())),
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_section();
                self.open = Some(String::new());
                // Replaced when the text of the heading is known.
                self.cell_starts = Some(self.events.len());
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.open = Some(dest_url.to_string() + "\n");
                self.cell_starts = Some(self.events.len());
            }
            Tag::CodeBlock(kind) => {
                self.section.text.push(' ');
                if matches!(kind, CodeBlockKind::Fenced(language) if &*language == "mermaid") {
                    self.diagram();
                }
                self.html("<pre tabindex=\"0\"><code>".to_owned());
            }
            Tag::Table(alignments) => {
                self.html(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">".to_owned(),
                );
                self.events.push(Event::Start(Tag::Table(alignments)));
            }
            Tag::TableHead => {
                self.is_in_head = true;
                self.events.push(Event::Start(Tag::TableHead));
            }
            Tag::TableCell => {
                self.section.text.push(' ');
                self.cell_starts = Some(self.events.len());
                self.events.push(Event::Start(Tag::TableCell));
            }
            Tag::HtmlBlock => {}
            other => {
                self.section.text.push(' ');
                self.events.push(Event::Start(other));
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Link => {
                if let Some((target, start)) = self.after_link.pop() {
                    self.end_link(&target, start);
                }
            }
            TagEnd::Image => self.picture(),
            TagEnd::CodeBlock => {
                self.html("</code></pre>\n".to_owned());
                if mem::take(&mut self.is_in_diagram) {
                    self.html("</details>\n".to_owned());
                }
            }
            TagEnd::Table => {
                self.events.push(Event::End(TagEnd::Table));
                self.html("</div>\n".to_owned());
            }
            TagEnd::TableHead => {
                self.is_in_head = false;
                self.events.push(Event::End(TagEnd::TableHead));
            }
            TagEnd::TableCell => {
                let is_empty = self.cell_starts.is_some_and(|start| start + 1 == self.events.len());
                if is_empty && self.is_in_head {
                    self.events.pop();
                    self.html("<td></td>".to_owned());
                } else {
                    self.events.push(Event::End(TagEnd::TableCell));
                }
            }
            TagEnd::HtmlBlock => {}
            other => self.events.push(Event::End(other)),
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let heading = self.open.take().unwrap_or_default();
        let start = self.cell_starts.take().unwrap_or_default();
        let inner = self.events.split_off(start.min(self.events.len()));
        let (level, is_first) = (level as u8, self.article.title.is_empty());
        if is_first {
            self.article.title.clone_from(&heading);
        }
        // The title of the page is the only one of its level.
        let shown = if level == 1 && !is_first { 2 } else { level };
        let plain = anchor(&heading, |_| false);
        // Documents put stable anchors before their headings, some of them with the same name.
        let is_named = self.article.anchors.contains(&plain) && !self.is_anchor_of_heading(&plain);
        let anchor = match is_named {
            true => plain,
            false => anchor(&heading, |taken| self.article.anchors.contains(taken)),
        };
        let id = if is_named { String::new() } else { format!(" id=\"{}\"", escaped(&anchor)) };
        self.article.anchors.insert(anchor.clone());
        self.html(format!("<h{shown}{id}>"));
        self.events.extend(inner);
        self.html(format!("</h{shown}>\n"));
        self.section = Section { level: shown, heading, anchor, text: String::new() };
    }

    fn is_anchor_of_heading(&self, anchor: &str) -> bool {
        self.article.sections.iter().any(|section| section.anchor == anchor)
    }

    fn end_section(&mut self) {
        let section = mem::take(&mut self.section);
        if !section.heading.is_empty() || !section.text.trim().is_empty() {
            self.article.sections.push(section);
        }
    }

    fn link(&mut self, link: &str) {
        if let Some(name) = links::below_root(self.document, link.split('#').next().unwrap_or_default())
            && documents::exists(&name)
        {
            self.article.names.push((self.section.heading.clone(), name));
        }
        let target = links::resolve(self.document, link);
        if let Target::Address(address) = &target {
            self.html(format!("<a href=\"{}\">", escaped(address)));
        }
        self.after_link.push((target, self.section.text.len()));
    }

    fn end_link(&mut self, target: &Target, start: usize) {
        let text = self.section.text.get(start..).unwrap_or_default();
        match target {
            Target::Address(_) => self.html("</a>".to_owned()),
            // The text names the file already.
            Target::File(name) if text.contains('/') && name.ends_with(text) => {}
            Target::File(name) => self.html(format!(" (<code>{}</code>)", escaped(name))),
        }
    }

    fn picture(&mut self) {
        let open = self.open.take().unwrap_or_default();
        let start = self.cell_starts.take().unwrap_or_default();
        self.events.truncate(start);
        let (link, alternative) = open.split_once('\n').unwrap_or((&open, ""));
        let name = links::below_root(self.document, link).unwrap_or_default();
        let alternative = escaped(alternative);
        match (documents::picture(&name), links::resolve(self.document, link)) {
            (Some(bytes), Target::Address(address)) => {
                let (width, height) = documents::size(bytes).unwrap_or_default();
                self.html(format!(
                    "<img src=\"{address}\" alt=\"{alternative}\" width=\"{width}\" height=\"{height}\" loading=\"lazy\">"
                ));
            }
            _ => self.html(alternative),
        }
    }

    /// The picture of a diagram; its text follows, to be opened.
    fn diagram(&mut self) {
        self.diagrams += 1;
        let name = documents::diagram(self.document, self.diagrams);
        let Some((width, height)) = documents::picture(&name).and_then(documents::size) else { return };
        let address = links::href(links::address(&name));
        self.html(format!(
            "<div class=\"scroll diagram\" tabindex=\"0\" role=\"group\" aria-label=\"Diagram\">\
             <a href=\"{address}\"><img src=\"{address}\" alt=\"Diagram in full size; its text follows\" width=\"{width}\" height=\"{height}\" loading=\"lazy\"></a>\
             </div>\n<details><summary>The diagram as text</summary>\n"
        ));
        self.is_in_diagram = true;
    }

    fn finish(mut self) -> Article {
        self.end_section();
        let mut html = String::new();
        html::push_html(&mut html, self.events.into_iter());
        // The page allows no styles in attributes.
        for side in ["left", "center", "right"] {
            html = html.replace(&format!(" style=\"text-align: {side}\">"), &format!(" class=\"{side}\">"));
        }
        self.article.html = html;
        self.article
    }
}

/// Without the paragraphs around anchors, which have no text.
fn without_empty_paragraphs<'a>(events: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut output: Vec<Event<'a>> = Vec::new();
    for event in events {
        let is_end = matches!(event, Event::End(TagEnd::Paragraph));
        output.push(event);
        if is_end {
            let is_html = |event: &&Event<'_>| matches!(event, Event::InlineHtml(_));
            let inner = output.iter().rev().skip(1).take_while(is_html).count();
            let start = output.len() - 2 - inner;
            if inner > 0 && matches!(output[start], Event::Start(Tag::Paragraph)) {
                output.pop();
                output.remove(start);
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render("docs/tools.md", text).html
    }

    #[test]
    fn raw_html_is_text_but_for_anchors_and_line_breaks() {
        assert_eq!(html("<a id=\"x-1\"></a>\n## X 1\n"), "<span id=\"x-1\"></span><h2>X 1</h2>\n");
        assert_eq!(html("a<br>b"), "<p>a<br />\nb</p>\n");
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<a id=\"x\" onclick=\"alert(1)\">y</a>",
            "<a id=\"x' y\">",
            "[a](javascript:alert(1))",
            "[a](data:text/html,x)",
            "![a](https://example.org/x.png)",
            "![\"><script>](pictures/none.png)",
        ] {
            let html = html(hostile);
            assert!(
                !html.contains("<script") && !html.contains("<img") && !html.contains("onclick"),
                "{html}"
            );
            assert!(!html.contains("href=\"javascript") && !html.contains("href=\"data"), "{html}");
        }
    }

    #[test]
    fn headings_have_anchors_once() {
        let article = render("docs/tools.md", "# T\n\n## Same\n\nOne.\n\n## Same\n\n`x` two\n");
        assert_eq!(article.title, "T");
        assert!(article.html.contains("<h2 id=\"same\">Same</h2>"), "{}", article.html);
        assert!(article.html.contains("<h2 id=\"same-1\">Same</h2>"), "{}", article.html);
        let texts: Vec<&str> = article.sections.iter().map(|section| section.text.trim()).collect();
        assert_eq!(texts, ["", "One.", "x two"]);
    }

    #[test]
    fn plain_texts_have_no_form() {
        let text = plain("Sets `name` of **one** [system](x.md).\n\n- first\n- second");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            "Sets name of one system. first second"
        );
        assert_eq!(plain(""), "");
    }

    #[test]
    fn tables_and_code_have_boxes_of_their_own() {
        let html = html("| | b |\n|---|---:|\n| 1 | <b> |\n\n```sh\na < b\n```\n");
        assert!(
            html.contains("role=\"group\"")
                && html.contains("<td></td><th>b</th>")
                && html.contains("<td class=\"right\">"),
            "{html}"
        );
        assert!(html.contains("&lt;b&gt;") && !html.contains("style="), "{html}");
        assert!(html.contains("<pre tabindex=\"0\"><code>a &lt; b\n</code></pre>"), "{html}");
    }

    #[test]
    fn files_outside_the_guide_are_named() {
        assert_eq!(
            html("[code](../crates/store/src/lib.rs)"),
            "<p>code (<code>crates/store/src/lib.rs</code>)</p>\n"
        );
        assert_eq!(html("[`crates/a.rs`](../crates/a.rs)"), "<p><code>crates/a.rs</code></p>\n");
        assert!(render("docs/tools.md", "[x](README.md)").html.contains("/guide\">x</a>"));
    }
}
