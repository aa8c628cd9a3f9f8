//! The known scene: every shape, colors, transparency, rotated parts, and changes.

use rbx_types::{CFrame, Color3uint8, Matrix3, Vector3};
use scene_schemas::Value;
use scene_schemas::value::{EnumItem, EnumName};
use vector_place::{FileFormat, Node, Scene};
use vector_render::{
    BeforeAfter, ChangeSide, PictureOmissions, ViewDirection, ViewFrame, draw_solids, gather_solids,
};

use super::check;

const SIZE: (u32, u32) = (480, 360);

/// Rotated by 36.87 degrees around Y.
const TURNED: [[f32; 3]; 3] = [[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]];
/// Rotated by the same angle around Z.
const TILTED: [[f32; 3]; 3] = [[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]];
const STRAIGHT: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn vector([x, y, z]: [f32; 3]) -> Vector3 {
    Vector3::new(x, y, z)
}

/// A scene under construction.
pub(super) struct Stage {
    pub(super) scene: Scene,
    pub(super) workspace: Node,
}

impl Stage {
    fn new() -> Self {
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        let workspace = scene.create(root, "Workspace", "Workspace");
        Self { scene, workspace }
    }

    fn set(&mut self, node: Node, property: &str, value: &Value) {
        self.scene.set_property(node, property, Some(value)).unwrap();
    }

    fn choose(&mut self, node: Node, property: &str, enum_type: &str, item: &str) {
        let (enum_type, item) = (enum_type.to_owned(), EnumName::Name(item.to_owned()));
        self.set(node, property, &Value::EnumItem(EnumItem { enum_type, item }));
    }

    fn part(&mut self, class: &str, size: [f32; 3], at: [f32; 3], colour: [u8; 3]) -> Node {
        let part = self.scene.create(self.workspace, class, class);
        self.set(part, "Size", &Value::Vector3(vector(size)));
        self.turn(part, at, STRAIGHT);
        let [r, g, b] = colour;
        self.set(part, "Color", &Value::Color3uint8(Color3uint8::new(r, g, b)));
        part
    }

    fn turn(&mut self, part: Node, at: [f32; 3], [x, y, z]: [[f32; 3]; 3]) {
        let turned = Matrix3::new(vector(x), vector(y), vector(z));
        self.set(part, "CFrame", &Value::CFrame(CFrame::new(vector(at), turned)));
    }
}

/// All shapes on a baseplate.
pub(super) fn stage() -> Stage {
    let mut stage = Stage::new();
    let it = &mut stage;
    it.part("Part", [512.0, 4.0, 512.0], [0.0, -2.0, 0.0], [106, 127, 92]);
    it.part("SpawnLocation", [8.0, 1.0, 8.0], [-14.0, 0.5, 10.0], [163, 162, 165]);
    let shaped = |it: &mut Stage, shape, size, at, colour| {
        let part = it.part("Part", size, at, colour);
        it.choose(part, "Shape", "PartType", shape);
        part
    };
    shaped(it, "Ball", [6.0; 3], [0.0, 3.0, 8.0], [196, 40, 28]);
    shaped(it, "Cylinder", [8.0, 5.0, 5.0], [12.0, 2.5, 9.0], [245, 205, 48]);
    it.part("WedgePart", [5.0, 6.0, 8.0], [-14.0, 3.0, -4.0], [13, 105, 172]);
    it.part("CornerWedgePart", [6.0, 6.0, 6.0], [-3.0, 3.0, -4.0], [75, 151, 75]);
    it.part("TrussPart", [2.0, 12.0, 2.0], [6.0, 6.0, -4.0], [27, 42, 53]);
    let turned = it.part("Part", [8.0, 3.0, 4.0], [0.0; 3], [218, 133, 65]);
    it.turn(turned, [14.0, 1.5, -4.0], TURNED);
    let tilted = shaped(it, "Cylinder", [9.0, 2.0, 2.0], [0.0; 3], [107, 50, 124]);
    it.turn(tilted, [12.0, 8.0, 2.0], TILTED);
    let glass = it.part("Part", [10.0, 7.0, 1.0], [0.0, 3.5, 13.0], [128, 187, 219]);
    it.set(glass, "Transparency", &Value::Float32(0.6));
    let hidden = it.part("Part", [60.0, 60.0, 60.0], [0.0, 30.0, 0.0], [255, 0, 0]);
    it.set(hidden, "Transparency", &Value::Float32(1.0));
    it.part("MeshPart", [3.0, 4.0, 3.0], [-6.0, 2.0, 14.0], [202, 203, 209]);
    let head = it.part("Part", [3.0, 3.0, 3.0], [-14.0, 7.5, -12.0], [204, 142, 105]);
    let mesh = it.scene.create(head, "SpecialMesh", "Mesh");
    it.choose(mesh, "MeshType", "MeshType", "Sphere");
    it.set(mesh, "Scale", &Value::Vector3(vector([1.0, 1.5, 1.0])));
    it.scene.create(it.workspace, "Part", "As it comes");
    it.scene.create(it.workspace, "Script", "No part");
    stage
}

#[test]
fn every_shape_matches_its_reviewed_picture() {
    let Stage { scene, .. } = stage();
    let solids = gather_solids(&scene, scene.root());
    let left = PictureOmissions { has_terrain: false, invisible: 1, broken: 0, boxed: 1 };
    assert_eq!((solids.all.len(), solids.omissions()), (14, left));
    for view in ViewDirection::ALL {
        let frame = ViewFrame::enclose_solids(&[&solids], view).unwrap();
        check(&format!("shapes-{}", view.name()), &draw_solids(&solids, SIZE, frame));
    }
}

#[test]
fn highlighted_changes_match_their_reviewed_pictures() {
    let mut stage = stage();
    let before = gather_solids(&stage.scene, stage.scene.root());
    let mark = stage.scene.journal_mark();
    let child = |stage: &Stage, class: &str| {
        let found = |it: &Node| stage.scene.class(*it) == class;
        stage.scene.children(stage.workspace).find(found).unwrap()
    };
    let (wedge, truss) = (child(&stage, "WedgePart"), child(&stage, "TrussPart"));
    stage.turn(wedge, [-14.0, 3.0, -8.0], TURNED);
    stage.scene.delete(truss);
    stage.part("Part", [4.0, 4.0, 4.0], [4.0, 2.0, -6.0], [255, 255, 255]);
    // A part behind the glass and in the ground: its highlight shines through.
    stage.part("Part", [4.0, 4.0, 4.0], [0.0, -6.0, 4.0], [255, 255, 255]);
    let after = gather_solids(&stage.scene, stage.scene.root());
    stage.scene.rollback(mark);
    assert_eq!(gather_solids(&stage.scene, stage.scene.root()), before);
    let sides = BeforeAfter::from_solids(before.clone(), after).unwrap();
    for (name, when) in [("before", ChangeSide::Before), ("after", ChangeSide::After)] {
        check(name, &sides.draw_side(when, ViewDirection::Iso, SIZE).unwrap());
    }
    let both = [ChangeSide::Before, ChangeSide::After]
        .map(|it| sides.draw_side(it, ViewDirection::Top, SIZE).unwrap());
    check("both-top", &both[0].join_beside(&both[1]));
    assert_eq!(BeforeAfter::from_solids(before.clone(), before), None);
}
