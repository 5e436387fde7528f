//! Pictures, and files that only look like some.

use super::{Verdict, judge};

const OPEN: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">"#;

fn with(content: &str) -> String {
    format!("{OPEN}{content}</svg>")
}

fn all(verdict: Verdict, files: &[&str]) {
    for file in files {
        assert_eq!(judge(file.as_bytes()), verdict, "{file}");
    }
}

fn all_with(verdict: Verdict, contents: &[&str]) {
    for content in contents {
        assert_eq!(judge(with(content).as_bytes()), verdict, "{content}");
    }
}

#[test]
fn pictures() {
    all(
        Verdict::Picture,
        &[
            r#"<svg xmlns="http://www.w3.org/2000/svg"/>"#,
            "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<!-- made by hand -->\n\
             <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><path d='M 0 0 L 1 1'/></svg>\n",
            r#"<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:g><s:rect width="1"/></s:g></s:svg>"#,
        ],
    );
    all_with(
        Verdict::Picture,
        &[
            "<title>A &amp; B &#169; &#x41;</title><desc><![CDATA[ a < b ]]></desc>",
            "<defs><linearGradient id='a'/></defs><rect fill='url(#a)' style='stroke: url( \"#a\" )'/>",
            "<style>.a { fill: red; mask: url(#m) } @media print { .a { fill: blue } }</style><g class='a'/>",
            "<style><![CDATA[ .a > .b { fill: red } ]]></style>",
            "<use xlink:href='#a'/><use href=' #a'/><a href='#top'><text>on</text></a>",
            "<image href='data:image/png;base64,iVBORw0KGgo='/><image xlink:href='data:image/jpeg,x'/>",
            "<animate attributeName='opacity' from='0' to='1' dur='1s'/><set attributeName='fill' to='red'/>",
            "<text font-family='Open Sans'>javascript is a word, url(x) too</text>",
            "<g xmlns:inkscape='http://www.inkscape.org/namespaces/inkscape' inkscape:label='one'/>",
        ],
    );
}

#[test]
fn whatever_runs_or_loads_is_active() {
    all_with(
        Verdict::Active,
        &[
            "<script>alert(1)</script>",
            "<SCRIPT/>",
            "<x:script xmlns:x='http://www.w3.org/2000/svg'/>",
            "<foreignObject/>",
            "<h:iframe xmlns:h='urn:x'/>",
            "<embed/>",
            "<object/>",
            "<handler type='application/ecmascript'>1</handler>",
            "<g onload='x'/>",
            "<g ONCLICK='x'/>",
            "<g xmlns:ev='urn:ev' ev:onload='x'/>",
            "<b:body xmlns:b='http://www.w3.org/1999/xhtml'/>",
            "<a href='https://example.org/'/>",
            "<a xlink:href='javascript:alert(1)'/>",
            "<a xlink:href='java&#x73;cript:alert(1)'/>",
            "<a xlink:href='java&#10;script:alert(1)'/>",
            "<a xmlns:q='http://www.w3.org/1999/xlink' q:href='//example.org/x'/>",
            "<use href='other.svg#a'/>",
            "<use href=''/>",
            "<image href='data:image/svg+xml;base64,PHN2Zy8+'/>",
            "<image href='data:text/html,x'/>",
            "<image src='x.png'/>",
            "<feImage href='http://example.org/'/>",
            "<rect fill='url(http://example.org/#a)'/>",
            "<rect style='fill:u\\72l(http://example.org/)'/>",
            "<rect style='background: URL(\"x\")'/>",
            "<style>@import 'x';</style>",
            "<style>@im<![CDATA[port]]> 'x';</style>",
            "<style>@im<!-- -->port 'x';</style>",
            "<style>@&#105;mport 'x';</style>",
            "<style>a { fill: url(//example.org/) }</style>",
            "<style>a { fill: \\75\r\nrl(//example.org/) }</style>",
            "<style>@\\69&#13;&#10;mport 'x'</style>",
            "<rect style='fill:\\75&#13;&#10;rl(http://example.org/)'/>",
            "<rect fill='ur\\&#xd;&#xa;l(http://example.org/)'/>",
            "<style>@im<g/>port 'x'</style>",
            "<x:style xmlns:x='urn:any'>@import 'x'</x:style>",
            "<g xml:base='https://example.org/'><use href='#a'/></g>",
            "<a><set attributeName='href' to='#a'/></a>",
            "<a><animate attributeName=' xlink:href' values='a;b'/></a>",
            "<animate attributeName='fill' values='javascript:x'/>",
            "<?xml-stylesheet href='x.css'?>",
            "<?php 1 ?>",
        ],
    );
    all(
        Verdict::Active,
        &[
            &format!("<!DOCTYPE svg>{}", with("")),
            &format!("<!DOCTYPE svg [<!ENTITY a 'b'>]>{}", with("<text>&a;</text>")),
            &format!("<!DOCTYPE svg [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>{}", with("<g class='&a;'/>")),
            &format!("<?xml version='1.0'?><?xml-stylesheet href='x'?>{}", with("")),
            r#"<svg xmlns="http://www.w3.org/2000/svg" onload="x"/>"#,
        ],
    );
}

/// Ten levels of entities that each refer ten times to the one before: they are never expanded.
#[test]
fn entities_are_not_expanded() {
    let mut subset = String::from("<!ENTITY a0 'lol'>");
    for n in 1..20 {
        let below = format!("&a{};", n - 1).repeat(10);
        subset.push_str(&format!("<!ENTITY a{n} '{below}'>"));
    }
    let file = format!("<!DOCTYPE svg [{subset}]>{}", with("<text>&a19;</text><g class='&a19;'/>"));
    assert_eq!(judge(file.as_bytes()), Verdict::Active);
}

#[test]
fn what_a_browser_would_not_read_is_no_svg() {
    all(
        Verdict::Unreadable,
        &[
            "",
            "   ",
            "plain text",
            "<svg/>",
            "<svg xmlns='urn:x'/>",
            "<html xmlns='http://www.w3.org/2000/svg'/>",
            "<g><svg xmlns='http://www.w3.org/2000/svg'/></g>",
            "<s:svg xmlns='http://www.w3.org/2000/svg'/>",
            "<s:svg xmlns:s='http://www.w3.org/2000/svg'/><s:svg xmlns:s='http://www.w3.org/2000/svg'/>",
            " <?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>",
            "<?xml version='1.0' encoding='UTF-7'?><svg xmlns='http://www.w3.org/2000/svg'/>",
            "<?xml version='1.0' encoding='ISO-2022-JP'?><svg xmlns='http://www.w3.org/2000/svg'/>",
            "<svg xmlns='http://www.w3.org/2000/svg'/>text",
            "<svg xmlns='http://www.w3.org/2000/svg'/><![CDATA[x]]>",
            "<svg xmlns='http://www.w3.org/2000/svg'>",
            "<svg xmlns='http://www.w3.org/2000/svg'></g>",
            "<svg xmlns='http://www.w3.org/2000/svg'/><!DOCTYPE svg>",
        ],
    );
    all_with(
        Verdict::Unreadable,
        &[
            "<g>",
            "</g>",
            "<g></b>",
            "<g a='1' a='2'/>",
            "<g a=1/>",
            "<g a='<'/>",
            "<x:g/>",
            "<g y:a='1'/>",
            "<1g/>",
            "<g><!-- a -- b --></g>",
            "<g>&unknown;</g>",
            "<g a='&unknown;'/>",
            "<g>&#0;</g>",
            "<g>&#8;</g>",
            "<g>a & b</g>",
            "<g>]]></g>",
            "<g>\u{1}</g>",
            "<script",
        ],
    );
    assert_eq!(judge(&[0xff, 0xfe, b'<', 0]), Verdict::Unreadable);
    assert_eq!(judge(with("<g>\u{e9}</g>").as_bytes()), Verdict::Picture);
    assert_eq!(judge(b"<svg xmlns='http://www.w3.org/2000/svg'>\xe9</svg>"), Verdict::Unreadable);
}

#[test]
fn nesting_and_numbers_have_bounds() {
    let nested = |n: usize| with(&format!("{}{}", "<g>".repeat(n), "</g>".repeat(n)));
    assert_eq!(judge(nested(255).as_bytes()), Verdict::Picture);
    assert_eq!(judge(nested(256).as_bytes()), Verdict::Unreadable);
    assert_eq!(judge(nested(700_000).as_bytes()), Verdict::Unreadable);
    assert_eq!(judge(with(&"<g>".repeat(1_000_000)).as_bytes()), Verdict::Unreadable);
    let many = |n: usize| with(&format!("<g {}/>", (0..n).map(|i| format!("a{i}='' ")).collect::<String>()));
    assert_eq!(judge(many(256).as_bytes()), Verdict::Picture);
    assert_eq!(judge(many(200_000).as_bytes()), Verdict::Unreadable);
    let spaces = (0..100).map(|i| format!("<g xmlns:a{i}='urn:x'>")).collect::<String>();
    assert_eq!(judge(with(&format!("{spaces}{}", "</g>".repeat(100))).as_bytes()), Verdict::Unreadable);
    assert_eq!(judge(with(&"<g/>".repeat(200_000)).as_bytes()), Verdict::Unreadable);
}

#[test]
fn few_elements_do_not_draw_billions() {
    let levels = |n: usize| {
        let level = |i: usize| {
            let below = format!("<use href='#g{}'/>", i.wrapping_sub(1));
            format!("<g id='g{i}'>{}</g>", if i == 0 { "<rect/>".into() } else { below.repeat(10) })
        };
        with(&(0..n).map(level).collect::<String>())
    };
    assert_eq!(judge(levels(5).as_bytes()), Verdict::Picture);
    assert_eq!(judge(levels(12).as_bytes()), Verdict::Unreadable);
}
