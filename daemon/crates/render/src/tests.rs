//! Tests of the renderer on unusual scenes, and of which scenes give the same picture.

use rbx_types::{CFrame, Color3uint8, Matrix3, Variant, Vector3};
use scene_schemas::Value;
use vector_place::{FileFormat, Node, Scene};

use super::*;

const SIZE: (u32, u32) = (96, 64);

fn vector([x, y, z]: [f32; 3]) -> Vector3 {
    Vector3::new(x, y, z)
}

struct Stage {
    scene: Scene,
    workspace: Node,
}

impl Stage {
    fn new() -> Self {
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        let workspace = scene.create(root, "Workspace", "Workspace");
        Self { scene, workspace }
    }

    fn part(&mut self, size: [f32; 3], at: [f32; 3]) -> Node {
        let part = self.scene.create(self.workspace, "Part", "Part");
        let size = Value::Vector3(vector(size));
        let cframe = Value::CFrame(CFrame::new(vector(at), Matrix3::identity()));
        self.scene.set_property(part, "Size", Some(&size)).unwrap();
        self.scene.set_property(part, "CFrame", Some(&cframe)).unwrap();
        part
    }

    fn solids(&self) -> SolidSet {
        gather_solids(&self.scene, self.scene.root())
    }
}

fn drawn(solids: &SolidSet) -> [Picture; 3] {
    ViewDirection::ALL
        .map(|view| draw_solids(solids, SIZE, ViewFrame::enclose_solids(&[solids], view).unwrap()))
}

#[test]
fn parts_with_invalid_geometry_are_omitted_and_reported() {
    let mut stage = Stage::new();
    stage.part([1.0; 3], [0.0; 3]);
    let alone = drawn(&stage.solids());
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e30] {
        stage.part([1.0; 3], [wrong, 0.0, 0.0]);
        stage.part([1.0, wrong, 1.0], [0.0; 3]);
    }
    let solids = stage.solids();
    assert_eq!((solids.all.len(), solids.omissions().broken), (1, 10));
    assert!(solids.omission_notes()[0].contains("10 parts"), "{:?}", solids.omission_notes());
    assert_eq!(drawn(&solids), alone);
}

#[test]
fn extreme_sizes_and_positions_are_drawn() {
    let odd = [0.0, -3.0, 1e-30, 1e-3, 1.0, 2048.0, 1e9, 1e12];
    for size in odd {
        for at in [0.0, -1e9, 1e9, 1e12, 0.1] {
            let mut stage = Stage::new();
            stage.part([size, 1.0, size], [at, 0.0, -at]);
            stage.part([2.0, size, 2.0], [0.0, at, 0.0]);
            let solids = stage.solids();
            assert_eq!(solids.omissions().broken, 0, "{size} {at}");
            drawn(&solids);
        }
    }
}

#[test]
fn invalid_rotations_are_drawn() {
    let turned = |rows: [[f32; 3]; 3]| {
        let mut stage = Stage::new();
        let part = stage.part([4.0, 2.0, 3.0], [0.0; 3]);
        let rows = rows.map(vector);
        let cframe = CFrame::new(vector([0.0; 3]), Matrix3::new(rows[0], rows[1], rows[2]));
        stage.scene.set_property(part, "CFrame", Some(&Value::CFrame(cframe))).unwrap();
        drawn(&stage.solids())
    };
    turned([[0.0; 3]; 3]);
    turned([[1.0; 3]; 3]);
    turned([[1e9, 3.0, 0.0], [0.0, 1e-9, 0.0], [5.0, 0.0, 1.0]]);
    // A mirrored box looks the same.
    let straight = turned([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    let mirrored = turned([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(mirrored, straight);
}

#[test]
fn deeply_nested_parts_are_found() {
    let mut stage = Stage::new();
    let mut at = stage.workspace;
    for _ in 0..20_000 {
        at = stage.scene.create(at, "Folder", "Deep");
    }
    stage.scene.create(at, "Part", "Part");
    assert_eq!(stage.solids().all.len(), 1);
}

#[test]
fn place_shows_its_workspace_and_model_file_shows_everything() {
    let mut stage = Stage::new();
    let root = stage.scene.root();
    let storage = stage.scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
    stage.scene.create(storage, "Part", "Hidden");
    stage.part([1.0; 3], [0.0; 3]);
    assert_eq!(stage.solids().all.len(), 1);
    assert_eq!(gather_solids(&stage.scene, storage).all.len(), 1);
    let mut model = Scene::empty(FileFormat::Xml);
    let root = model.root();
    model.create(root, "Part", "Part");
    model.create(root, "WedgePart", "Wedge");
    assert_eq!(gather_solids(&model, root).all.len(), 2);
}

#[test]
fn omitted_properties_take_their_class_defaults() {
    let mut stage = Stage::new();
    for class in ["Part", "WedgePart", "SpawnLocation"] {
        stage.scene.create(stage.workspace, class, class);
    }
    for solid in stage.solids().all {
        let class = stage.scene.class(solid.node);
        let Some(Variant::Vector3(size)) = vector_place::reflection::default_of(class, "Size")
        else {
            panic!("{class}");
        };
        assert_eq!(
            solid.half_extents(),
            [size.x, size.y, size.z].map(|side| side / 2.0),
            "{class}"
        );
        assert_eq!((solid.colour, solid.opacity), ([163, 162, 165], 255), "{class}");
    }
}

#[test]
fn ground_and_distant_parts_do_not_widen_the_view() {
    let mut stage = Stage::new();
    for at in 0..40_u8 {
        stage.part([4.0; 3], [f32::from(at % 8) * 6.0, 2.0, f32::from(at / 8) * 6.0]);
    }
    let frame =
        |stage: &Stage| ViewFrame::enclose_solids(&[&stage.solids()], ViewDirection::Top).unwrap();
    let reach = |frame: &ViewFrame| frame.extents.map(|(low, high)| high - low);
    let alone = reach(&frame(&stage));
    stage.part([2048.0, 16.0, 2048.0], [0.0, -8.0, 0.0]);
    let grounded = reach(&frame(&stage));
    assert!(grounded[0] < 1.5 * alone[0], "{grounded:?}, {alone:?}");
    stage.part([4.0; 3], [1e9, 1e9, 1e9]);
    assert_eq!(reach(&frame(&stage)), grounded);
    // Of only two parts, neither counts as a stray.
    let mut stage = Stage::new();
    stage.part([4.0; 3], [0.0; 3]);
    stage.part([4.0; 3], [1000.0, 0.0, 0.0]);
    assert_eq!(reach(&frame(&stage))[0], 1004.0);
}

#[test]
fn drawing_is_deterministic_and_shows_changes() {
    let mut stage = Stage::new();
    let part = stage.part([4.0; 3], [0.0; 3]);
    stage.part([4.0; 3], [8.0, 0.0, 0.0]);
    let before = stage.solids();
    assert_eq!(drawn(&before), drawn(&stage.solids()));
    assert_eq!(BeforeAfter::from_solids(before.clone(), stage.solids()), None, "nothing differs");
    let glass = Value::Float32(1.0);
    stage.scene.set_property(part, "Transparency", Some(&glass)).unwrap();
    let sides = BeforeAfter::from_solids(before, stage.solids()).unwrap();
    let marks = |when| sides.side_of(when).all.iter().map(|it| it.mark).collect::<Vec<_>>();
    assert_eq!(marks(ChangeSide::Before), [ChangeMark::Changed, ChangeMark::None]);
    assert_eq!(marks(ChangeSide::After), [ChangeMark::Changed, ChangeMark::None]);
    assert_eq!(
        sides.side_of(ChangeSide::After).omissions().invisible,
        0,
        "it is seen, for it changes"
    );
    let [before, after] = [ChangeSide::Before, ChangeSide::After]
        .map(|it| sides.draw_side(it, ViewDirection::Iso, SIZE));
    assert_ne!(before.unwrap(), after.unwrap());
}

#[test]
fn unchanged_parts_look_the_same_on_both_sides() {
    let mut stage = Stage::new();
    let part = stage.part([4.0; 3], [8.0, 0.0, 0.0]);
    let red = Value::Color3uint8(Color3uint8::new(255, 0, 0));
    stage.scene.set_property(part, "Color", Some(&red)).unwrap();
    let without = stage.solids();
    stage.part([4.0; 3], [0.0; 3]);
    let with = stage.solids();
    for (before, after) in [(&with, &without), (&without, &with)] {
        let sides = BeforeAfter::from_solids(before.clone(), after.clone()).unwrap();
        let [before, after] = [ChangeSide::Before, ChangeSide::After]
            .map(|it| sides.draw_side(it, ViewDirection::Front, SIZE).unwrap());
        // The added or removed part is in the middle, and the unchanged one to the left of it.
        let row = (SIZE.1 / 2 * SIZE.0) as usize;
        let differ = |at: &usize| before.points[row + at] != after.points[row + at];
        let columns: Vec<usize> = (0..SIZE.0 as usize).filter(differ).collect();
        assert!(columns.first() >= Some(&40) && columns.last() <= Some(&56), "{columns:?}");
        let rest = &before.points[row..row + 40];
        assert!(rest.iter().any(|it| *it != before.points[0]), "it is in sight");
        assert!(rest.iter().all(|[red, green, _]| red.abs_diff(*green) < 60), "it is pale");
    }
}

#[test]
fn png_holds_the_drawn_pixels() {
    let mut stage = Stage::new();
    stage.part([4.0; 3], [0.0; 3]);
    let [picture, ..] = drawn(&stage.solids());
    let bytes = picture.to_png().unwrap();
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
    let mut points = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut points).unwrap();
    assert_eq!(points, picture.points.as_flattened());
    assert_eq!((picture.join_beside(&picture).width, picture.height), (2 * SIZE.0 + 2, SIZE.1));
}
