//! Small places that hold one of everything that an edit must not lose, in all four formats.
//!
//! They are made on the fly by the rbx crates, which are also the reader and writer that Vector's
//! own is held against; nothing here knows Vector.

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{
    Attributes, BinaryString, CFrame, Color3uint8, Enum, Matrix3, Ref, SharedString, Tags, Variant,
    Vector3,
};
use rbx_xml::{DecodeOptions, DecodePropertyBehavior, EncodeOptions, EncodePropertyBehavior};

/// The four formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Rbxl,
    Rbxlx,
    Rbxm,
    Rbxmx,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rbxl, Self::Rbxlx, Self::Rbxm, Self::Rbxmx];

    /// The file's extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Rbxl => "rbxl",
            Self::Rbxlx => "rbxlx",
            Self::Rbxm => "rbxm",
            Self::Rbxmx => "rbxmx",
        }
    }

    fn is_model(self) -> bool {
        matches!(self, Self::Rbxm | Self::Rbxmx)
    }

    fn is_xml(self) -> bool {
        matches!(self, Self::Rbxlx | Self::Rbxmx)
    }
}

/// The sample place in one of the formats.
pub fn sample(format: Format) -> Vec<u8> {
    encode(&sample_place(), format)
}

/// Writes a place down. As a model it is what stands in the Workspace, without the terrain.
pub fn encode(dom: &WeakDom, format: Format) -> Vec<u8> {
    let roots = if format.is_model() { model_roots(dom) } else { dom.root().children().to_vec() };
    write(dom, &roots, format.is_xml())
}

/// Reads a place or model as the rbx crates do, unknown properties included.
pub fn decode(bytes: &[u8]) -> WeakDom {
    if bytes.starts_with(b"<roblox!") {
        return rbx_binary::from_reader(bytes).expect("a binary place is readable");
    }
    let options = DecodeOptions::new().property_behavior(DecodePropertyBehavior::ReadUnknown);
    rbx_xml::from_reader(bytes, options).expect("an XML place is readable")
}

/// A bare read and write: what becomes of a file that the rbx crates only pass through.
pub fn rewrite(bytes: &[u8]) -> Vec<u8> {
    let dom = decode(bytes);
    write(&dom, dom.root().children(), !bytes.starts_with(b"<roblox!"))
}

fn write(dom: &WeakDom, roots: &[Ref], xml: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    if xml {
        let options = EncodeOptions::new().property_behavior(EncodePropertyBehavior::WriteUnknown);
        rbx_xml::to_writer(&mut bytes, dom, roots, options).expect("an XML place is writable");
    } else {
        rbx_binary::to_writer(&mut bytes, dom, roots).expect("a binary place is writable");
    }
    bytes
}

fn model_roots(dom: &WeakDom) -> Vec<Ref> {
    let class = |node: &Ref| dom.get_by_ref(*node).map_or("", |it| it.class.as_str());
    let services = dom.root().children();
    let workspace = services.iter().find(|node| class(node) == "Workspace");
    let workspace = workspace.and_then(|node| dom.get_by_ref(*node));
    let children = workspace.map_or(&[][..], |it| it.children());
    let roots = children.iter().filter(|node| class(node) != "Terrain");
    roots.copied().collect()
}

/// A place with attributes, tags, references, shared strings, binary data, unknown properties,
/// scripts, siblings of one name, and names that need brackets in a path.
pub fn sample_place() -> WeakDom {
    let baseplate = part("Baseplate", [512.0, 4.0, 512.0], [0.0, -2.0, 0.0]);
    let target = baseplate.referent();
    let workspace = InstanceBuilder::new("Workspace")
        .with_property("Gravity", 150.0_f32)
        .with_child(terrain())
        .with_child(baseplate)
        .with_child(tower())
        .with_child(lamp())
        .with_children([mesh("Rock", 1.0), mesh("Rock", 2.0)])
        .with_child(
            InstanceBuilder::new("ObjectValue").with_name("Pointer").with_property("Value", target),
        )
        .with_child(unknown());
    let storage = InstanceBuilder::new("ReplicatedStorage").with_child(
        InstanceBuilder::new("Folder").with_name("My.Folder/1").with_child(script(
            "ModuleScript",
            "Größe",
            MODULE,
        )),
    );
    let server = InstanceBuilder::new("ServerScriptService")
        .with_child(script("Script", "Main", MAIN))
        .with_child(script("Script", "Main", "-- The other one.\n"));
    let lighting = InstanceBuilder::new("Lighting").with_property("ClockTime", 14.5_f32);
    let game =
        InstanceBuilder::new("DataModel").with_children([workspace, lighting, storage, server]);
    WeakDom::new(game)
}

const MAIN: &str = "\
local Workspace = game:GetService(\"Workspace\")

local function greet(name: string)
\tprint(`Hello, {name}`)
end

greet(\"world\")
Workspace.Gravity = 150 -- <b>&amp;</b> ]]> \u{e4}
";

const MODULE: &str = "\
local Size = {}

function Size.double(n: number): number
\treturn n * 2
end

return Size
";

fn script(class: &str, name: &str, source: &str) -> InstanceBuilder {
    InstanceBuilder::new(class).with_name(name).with_property("Source", source)
}

fn part(name: &str, size: [f32; 3], position: [f32; 3]) -> InstanceBuilder {
    let vector = |[x, y, z]: [f32; 3]| Vector3::new(x, y, z);
    InstanceBuilder::new("Part")
        .with_name(name)
        .with_property("Anchored", true)
        .with_property("Size", vector(size))
        .with_property("CFrame", CFrame::new(vector(position), Matrix3::identity()))
        .with_property("Color", Color3uint8::new(99, 95, 98))
        // SmoothPlastic
        .with_property("Material", Enum::from_u32(272))
}

/// The engine's own format is opaque; any bytes must survive.
fn terrain() -> InstanceBuilder {
    let grid: Vec<u8> = (0..=255).cycle().take(600).collect();
    InstanceBuilder::new("Terrain")
        .with_property("SmoothGrid", BinaryString::from(grid))
        .with_property("PhysicsGrid", BinaryString::from(vec![2, 3, 0, 0, 0]))
}

/// A model with a primary part, three walls of one name, and a rotated roof.
fn tower() -> InstanceBuilder {
    let base = part("Base", [20.0, 1.0, 20.0], [0.0, 0.5, 0.0]);
    let turned = Matrix3::new(
        Vector3::new(0.8, 0.0, 0.6),
        Vector3::new(0.0, 1.0, 0.0),
        Vector3::new(-0.6, 0.0, 0.8),
    );
    let roof = part("Roof", [22.0, 1.0, 22.0], [0.0, 0.0, 0.0])
        .with_property("CFrame", CFrame::new(Vector3::new(0.1, 21.3, -0.7), turned));
    let walls = [-9.5, 0.0, 9.5].map(|x| part("Wall", [1.0, 20.0, 20.0], [x, 11.0, 0.0]));
    InstanceBuilder::new("Model")
        .with_name("Tower")
        .with_property("PrimaryPart", base.referent())
        .with_child(base)
        .with_children(walls)
        .with_child(roof)
}

/// A part with attributes and tags.
fn lamp() -> InstanceBuilder {
    let attributes = Attributes::new()
        .with("Bright", true)
        .with("Watts", 60.5_f64)
        .with("Label", BinaryString::from("Größe".as_bytes().to_vec()))
        .with("Offset", Vector3::new(0.5, -1.0, 2.0));
    let mut tags = Tags::new();
    tags.push("Lamp");
    tags.push("Night only");
    part("Lamp", [1.0, 6.0, 1.0], [12.0, 3.0, 0.0])
        .with_property("Attributes", attributes)
        .with_property("Tags", tags)
        .with_child(
            InstanceBuilder::new("PointLight")
                .with_name("Light")
                .with_property("Brightness", 2.5_f32),
        )
}

/// Two of these share one shared string.
fn mesh(name: &str, scale: f32) -> InstanceBuilder {
    InstanceBuilder::new("MeshPart")
        .with_name(name)
        .with_property("Size", Vector3::new(scale, scale, scale))
        .with_property("MeshId", Variant::ContentId("rbxassetid://4711".into()))
        .with_property("PhysicalConfigData", SharedString::new(vec![7; 300]))
}

/// What no reflection database knows: a property, and a whole class.
fn unknown() -> InstanceBuilder {
    InstanceBuilder::new("Folder")
        .with_name("Future")
        .with_property("NotInvented", "yet")
        .with_child(
            InstanceBuilder::new("ClassOfTomorrow")
                .with_name("Tomorrow")
                .with_property("Level", 7_i32),
        )
}
