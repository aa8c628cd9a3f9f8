//! Texts: decoding, encoding, and the bytes kept when one is replaced.

use std::cell::Cell;

use random_draws::{RandomDraws, check_seeds};

use super::super::text::{TextStyle, check_text, decode_text, encode_text, replace_text, style_of};
use super::reference;

/// Returns the text that rbx_xml reads from such an element; None if it refuses the file.
fn by_rbx_xml(inside: &[u8], tag: &str) -> Option<String> {
    let mut file =
        format!("<roblox version='4'><Item class='A'><Properties><{tag} name='Name'>").into_bytes();
    file.extend_from_slice(inside);
    file.extend_from_slice(format!("</{tag}></Properties></Item></roblox>").as_bytes());
    let dom = reference(&file).ok()?;
    Some(dom.get_by_ref(dom.root().children()[0]).unwrap().name.clone())
}

const RAW: &[&str] = &[
    "a",
    "bc",
    " ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\u{a0}",
    "é",
    "😀",
    "&amp;",
    "&lt;",
    "&gt;",
    "&quot;",
    "&apos;",
    "&#13;",
    "&#10;",
    "&#x20;",
    "&#32;",
    "&#x1F600;",
    "<![CDATA[",
    "<![CDATA[",
    "]]>",
    "]]>",
    "]",
    "]]",
    "<!-- x -->",
    "<!---->",
    "/",
    "=",
    "\"",
    "'",
    ";",
    "-",
    "x\ny",
    "<![CDATA[]]>",
    "<![CDATA[ ]]>",
    "<![CDATA[\r\n&amp;<Item>]]>",
    "]]]]><![CDATA[>",
];

const TEXT: &[&str] = &[
    "a",
    "b",
    " ",
    "\n",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "]]>",
    "]]",
    ">",
    "<",
    "&",
    "&amp;",
    "é",
    "😀",
    "local x = 1",
    "\n\n",
    "\u{a0}",
    "]]]]><![CDATA[>",
    "<![CDATA[",
    "-->",
    "]",
];

fn draw_text(draws: &mut RandomDraws, pieces: &[&str], limit: usize) -> String {
    (0..draws.below(limit)).map(|_| draws.pick(pieces)).collect()
}

#[test]
fn texts_are_decoded_like_rbx_xml() {
    let taken = Cell::new(0);
    check_seeds(0..30_000, |draws| {
        let inside = draw_text(draws, RAW, 9);
        let tag = draws.pick(&["string", "ProtectedString"]);
        if let Some(expected) = by_rbx_xml(inside.as_bytes(), tag) {
            assert_eq!(decode_text(inside.as_bytes()), expected, "{inside:?}");
            taken.set(taken.get() + 1);
        }
    });
    assert!(taken.get() > 10_000, "{taken:?}");
}

#[test]
fn encoded_texts_are_read_back_by_rbx_xml() {
    check_seeds(0..30_000, |draws| {
        let text = draw_text(draws, TEXT, 12);
        for style in [TextStyle::CData, TextStyle::Escaped] {
            let mut inside = Vec::new();
            encode_text(&text, style, &mut inside);
            if check_text(&text).is_ok() {
                assert_eq!(decode_text(&inside), text, "{text:?}");
                assert_eq!(by_rbx_xml(&inside, "string").as_ref(), Some(&text), "{text:?}");
            }
        }
    });
}

#[test]
fn replacing_always_yields_the_new_text() {
    check_seeds(0..100_000, |draws| {
        let inside = draw_text(draws, RAW, 14);
        let old = decode_text(inside.as_bytes()).into_owned();
        let text = match draws.below(3) {
            0 => draw_text(draws, TEXT, 12),
            _ => edited(draws, &old),
        };
        if check_text(&text).is_err() {
            return;
        }
        let new = replace_text(inside.as_bytes(), &text);
        assert_eq!(decode_text(&new), text, "{inside:?}");
        if draws.one_in(8) && by_rbx_xml(inside.as_bytes(), "string").is_some() {
            assert_eq!(by_rbx_xml(&new, "string"), Some(text), "{inside:?}");
        }
    });
}

/// Returns a text with one of its lines replaced, removed or added.
fn edited(draws: &mut RandomDraws, old: &str) -> String {
    let mut lines: Vec<String> = old.split('\n').map(str::to_owned).collect();
    let at = draws.below(lines.len());
    match draws.below(3) {
        0 => lines[at] = draw_text(draws, TEXT, 3),
        1 => lines.insert(at, draw_text(draws, TEXT, 3)),
        _ => drop(lines.remove(at)),
    }
    lines.join("\n")
}

#[test]
fn unchanged_lines_keep_their_bytes() {
    let cases: &[(&str, &str, &str)] = &[
        // Raw text, new text, new raw text.
        ("<![CDATA[a\r\nb\r\nc]]>", "a\nX\nY\nc", "<![CDATA[a\r\nX\r\nY\r\nc]]>"),
        ("<![CDATA[a\nb]]>", "a\nb\nc", "<![CDATA[a\nb\nc]]>"),
        ("<![CDATA[a\n]]>", "a\nb<\n", "<![CDATA[a\nb<\n]]>"),
        ("<![CDATA[a]]>", "", "<![CDATA[]]>"),
        ("<![CDATA[]]>", "a<b", "<![CDATA[a<b]]>"),
        ("", "a<b", "a&lt;b"),
        ("&quot;a&#34;\nb\n&#x41;", "\"a\"\nc>\nA", "&quot;a&#34;\nc&gt;\n&#x41;"),
        (
            "&apos;\n<![CDATA[a\nb\nc]]>\n&apos;",
            "'\na\nX\nc\n'",
            "&apos;\n<![CDATA[a\nX\nc]]>\n&apos;",
        ),
        ("<![CDATA[a]]]]><![CDATA[>\nb\nc]]>", "a]]>\nX\nc", "<![CDATA[a]]]]><![CDATA[>\nX\nc]]>"),
        ("<![CDATA[a\nb\nc]]>", "a\n]]>\nc", "<![CDATA[a\n]]]]><![CDATA[>\nc]]>"),
        ("<![CDATA[a\nb\nc]]>", "a\nx\r\ny\nc", "<![CDATA[a\nx]]>&#13;\ny\n<![CDATA[c]]>"),
        ("  ", " a", " a"),
    ];
    for (inside, text, expected) in cases {
        let new = replace_text(inside.as_bytes(), text);
        assert_eq!(String::from_utf8(new).unwrap(), *expected, "{inside:?}");
    }
    let new = replace_text(b"<![CDATA[a\n\xff\xfe\nb]]>", "a\n\u{fffd}\u{fffd}\nc");
    assert_eq!(new, b"<![CDATA[a\n\xff\xfe\nc]]>");
}

#[test]
fn plain_texts_are_decoded_without_copying() {
    use std::borrow::Cow::Borrowed;
    for (inside, text) in
        [("", ""), ("abc\n d ", "abc\n d "), (" \n", ""), ("<![CDATA[ <&]]>", " <&")]
    {
        let decoded = decode_text(inside.as_bytes());
        assert!(matches!(decoded, Borrowed(_)) && decoded == text, "{inside:?}");
    }
    assert_eq!(decode_text(b"&amp;&nope;&;&#0;&#xd800;&"), "&&nope;&;&#0;&#xd800;&");
    assert_eq!(style_of(b"a<![CDATA[]]>"), TextStyle::CData);
    assert_eq!(style_of(b"a"), TextStyle::Escaped);
    assert!(check_text("a\u{1}").unwrap_err().contains("U+0001"));
    assert!(check_text(" \r\n").is_err() && check_text("a\r\n \n").is_ok());
}
