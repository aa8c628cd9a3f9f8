//! Damage to XML files that respects their tags.

use std::ops::Range;

use random_draws::RandomDraws;

use super::{draw_range, raw};

/// A file with valid XML that Studio never writes.
pub(super) const ODD: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<!-- before -->
<roblox version="4" xmlns:xmime="http://www.w3.org/2005/05/xmlmime">
	<Meta name="ExplicitAutoJoints">true</Meta>
	<External>null</External>
	<Item class="Workspace" referent="A&amp;B">
		<Properties>
			<string name="Name">Work<![CDATA[space]]></string>
			<Ref name="PrimaryPart">P1</Ref>
			<!-- between -->
			<Ref name="CurrentCamera">nobody</Ref>
		</Properties>
		<Item class='Part' referent='P1'><Properties><string name='Name'><![CDATA[a]]]]><![CDATA[>b]]></string>
			<CoordinateFrame name="CFrame"><X>1</X><Y>2</Y><Z>3</Z><R00>1</R00><R01>0</R01><R02>0</R02><R10>0</R10><R11>1</R11><R12>0</R12><R20>0</R20><R21>0</R21><R22>1</R22></CoordinateFrame>
			<Color3uint8 name="Color3uint8">4288914085</Color3uint8>
			<int name="BrickColor">194</int>
			<token name="Material">272</token>
			<bool name="Anchored">true</bool>
			<BinaryString name="Tags">QQBC</BinaryString>
			<BinaryString name="AttributesSerialize"><![CDATA[AQAAAAEAAABhAwE=]]></BinaryString>
			<SharedString name="PhysicalConfigData">key</SharedString>
			<UniqueId name="UniqueId">44b188dace632b4702e9c68d004815fc</UniqueId>
			<PhysicalProperties name="CustomPhysicalProperties"><CustomPhysics>false</CustomPhysics></PhysicalProperties>
			<Font name="FontFace"><Family><url>rbxasset://fonts/a.json</url></Family><Weight>400</Weight><Style>Normal</Style></Font>
		</Properties></Item>
		<Item class="Part" referent="P1"/>
		<Item class="Script"><Properties><ProtectedString name="Source">print("&lt;")&#13;
</ProtectedString></Properties></Item>
		<Item class="ObjectValue" referent="12"><Properties/><Item class="Folder" referent="13"></Item></Item>
		<Item class="NumberValue" referent="14">
			<Properties>
				<double name="Value">INF</double>
				<NumberSequence name="N">0 0 0 1 1 0 </NumberSequence>
				<ColorSequence name="C">0 1 1 1 0 1 0 0 0 0 </ColorSequence>
				<UDim2 name="U"><XS>0</XS><XO>1</XO><YS>0</YS><YO>2</YO></UDim2>
				<Content name="T"><url>rbxassetid://1</url></Content>
				<Unheard name="X"><a><b/></a></Unheard>
			</Properties>
			text
		</Item>
	</Item>
	<SharedStrings>
		<SharedString md5="key">YWJj</SharedString>
		<SharedString md5="other">broken=</SharedString>
	</SharedStrings>
</roblox>
<!-- behind -->
"#;

const FRAGMENTS: &[&str] = &[
    "<",
    ">",
    "&",
    "\"",
    "]]>",
    "<![CDATA[",
    "<![CDATA[]]>",
    "<![CDATA[x]]]]><![CDATA[>]]>",
    "<!-- x -->",
    "<!--",
    "-->",
    "<?x y?>",
    "<?",
    "<!DOCTYPE a>",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&#0;",
    "&#xD800;",
    "&#x110000;",
    "&#13;",
    "&lt;",
    "&lt",
    "&bogus;",
    "&amp;amp;",
    "\0",
    "\u{feff}",
    "<Item class=\"Part\" referent=\"1\">",
    "<Item class=\"Folder\">",
    "<Item>",
    "<Item class=\"A\"/>",
    "</Item>",
    "<Properties>",
    "</Properties>",
    "<Properties/>",
    "<Properties></Properties>",
    "<string name=\"Name\">again</string>",
    "<string name=\"Name\"/>",
    "<string>",
    "</string>",
    "<Ref name=\"Value\">1</Ref>",
    "<Ref name=\"Value\">P1</Ref>",
    "<Ref name=\"Value\">28</Ref>",
    "<Content name=\"Image\"><Ref>1</Ref></Content>",
    "<int name=\"Value\"> 7 </int>",
    "<int64 name=\"Value\">9223372036854775808</int64>",
    "<float name=\"Value\">1e999</float>",
    "<BinaryString name=\"Tags\">!!!</BinaryString>",
    "<BinaryString name=\"Tags\"/>",
    "<BinaryString name=\"AttributesSerialize\">/////w==</BinaryString>",
    "<SharedString name=\"PhysicalConfigData\">none</SharedString>",
    "<SharedStrings/>",
    "<SharedStrings><SharedString md5=\"a\">YQ==</SharedString></SharedStrings>",
    "</roblox>",
    "<roblox version=\"4\">",
    "<Meta name=\"a\">b</Meta>",
    "<NumberSequence name=\"N\">0</NumberSequence>",
    "<UDim2 name=\"Size\"><XS>a</XS></UDim2>",
    "<Rect2D name=\"R\"><min/></Rect2D>",
    " ",
    "\r\n",
    "<token name=\"Material\">-1</token>",
    "<UniqueId name=\"UniqueId\">0</UniqueId>",
    "<Vector3int16 name=\"V\"><X>99999</X></Vector3int16>",
    "<Faces name=\"F\"><faces>999</faces></Faces>",
    "<BrickColor name=\"B\">77777</BrickColor>",
    "<Color3uint8 name=\"Color3uint8\">-1</Color3uint8>",
    "<OptionalCoordinateFrame name=\"W\"><CFrame/></OptionalCoordinateFrame>",
    "<Font name=\"F\"><Weight>9</Weight></Font>",
    "<SecurityCapabilities name=\"S\">x</SecurityCapabilities>",
];

/// The tags of a text: each range from a `<` to the next `>`.
fn tags(bytes: &[u8]) -> Vec<Range<usize>> {
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'<').map(|(at, _)| at);
    let end = |start: usize| bytes[start..].iter().position(|byte| *byte == b'>');
    starts.filter_map(|start| Some(start..start + end(start)? + 1)).collect()
}

/// The values of `referent` and `md5` attributes, and of references.
fn names(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (mark, end) in [
        (&b"referent=\""[..], b'"'),
        (b"md5=\"", b'"'),
        (b"\"PrimaryPart\">", b'<'),
        (b"\"Value\">", b'<'),
    ] {
        for at in 0..bytes.len().saturating_sub(mark.len()) {
            if bytes[at..].starts_with(mark) {
                let start = at + mark.len();
                let len = bytes[start..].iter().position(|byte| *byte == end);
                found.extend(len.map(|len| start..start + len));
            }
        }
    }
    found
}

pub(super) fn damage(bytes: &[u8], other: &[u8], draws: &mut RandomDraws) -> Vec<u8> {
    let mut out = bytes.to_vec();
    // Damage a large file only near one place, to be fast.
    let window = draw_range(draws, bytes.len().saturating_sub(60_000), 1).start;
    let part = &bytes[window..bytes.len().min(window + 60_000)];
    let tags: Vec<_> =
        tags(part).into_iter().map(|tag| tag.start + window..tag.end + window).collect();
    if tags.is_empty() {
        return raw(out, other, draws);
    }
    let (tag, behind) = (draws.pick(&tags), draws.pick(&tags));
    match draws.below(10) {
        0 => drop(out.drain(tag)),
        1 => {
            let again = bytes[tag].to_vec();
            out.splice(behind.end..behind.end, again);
        }
        2 => {
            // Move or delete a range from the start of one tag to the end of another.
            let range = tag.start.min(behind.start)..tag.end.max(behind.end).min(tag.start + 3_000);
            if range.start < range.end {
                let moved: Vec<u8> = out.drain(range).collect();
                let at = draws.below(out.len() + 1);
                if draws.below(2) == 0 {
                    out.splice(at..at, moved);
                }
            }
        }
        3 | 4 => {
            let at = if draws.below(2) == 0 { tag.start } else { tag.end };
            out.splice(at..at, draws.pick(FRAGMENTS).bytes());
        }
        5 => {
            let at = draw_range(draws, bytes.len(), 0).start;
            out.splice(at..at, draws.pick(FRAGMENTS).bytes());
        }
        6 | 7 => rename(&mut out, part, window, draws),
        8 => {
            let from = draw_range(draws, other.len(), 2_000);
            out.splice(tag.end..tag.end, other[from].iter().copied());
        }
        _ => nest(&mut out, tag.end, draws),
    }
    out
}

/// Replaces a name with that of another element, or with an odd one.
fn rename(out: &mut Vec<u8>, part: &[u8], window: usize, draws: &mut RandomDraws) {
    let names = names(part);
    if names.is_empty() {
        return;
    }
    let (to, from) = (draws.pick(&names), draws.pick(&names));
    let odd = [
        "",
        "null",
        "0",
        "-1",
        "28",
        "4294967295",
        "RBX000000000000000000000000FFFFFFFF",
        "&#65;",
        " a ",
    ];
    let value = match draws.below(2) {
        0 => part[from].to_vec(),
        _ => draws.pick(&odd).as_bytes().to_vec(),
    };
    out.splice(to.start + window..to.end + window, value);
}

/// Nests a few elements, closed or not.
fn nest(out: &mut Vec<u8>, at: usize, draws: &mut RandomDraws) {
    let depth = 1 + draws.below(60);
    let (open, close) = draws.pick(&[
        ("<Item class=\"Folder\">", "</Item>"),
        ("<a>", "</a>"),
        ("<Properties>", "</Properties>"),
    ]);
    let mut text = open.repeat(depth);
    if draws.below(4) > 0 {
        text.push_str(&close.repeat(depth));
    }
    out.splice(at..at, text.into_bytes());
}
