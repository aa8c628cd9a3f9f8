//! Where the parts of a place are, for rays and regions.

use std::cell::RefCell;

use mlua::{Lua, Scope};
use vector_place::reflection::is_a;
use vector_place::{Node, Scene, StoredVariant};

use crate::boxes::{Bounds, BoxIndex};
use crate::engine::{Engine, EngineFile};
use crate::meter::Meter;
use crate::scene::Handles;

/// What an engine needs for rays and regions.
pub(crate) const SPACE: EngineFile = ("space", include_str!("luau/space.luau"));

/// Bytes of the voxels of a terrain without any.
const EMPTY_TERRAIN: usize = 2;

/// Opens the space of a scene. The engine reads it until the scope ends.
pub(crate) fn open_space<'scope, 'env: 'scope>(
    engine: &'env Engine,
    scope: &'scope Scope<'scope, 'env>,
    space: &'env Space<'_, '_>,
    meter: &'env Meter,
) -> mlua::Result<()> {
    let native = &engine.native;
    let set = |_: &Lua, (key, a, b, c, d, e, f): (u32, f32, f32, f32, f32, f32, f32)| {
        let bounds = Bounds { low: [a, b, c], high: [d, e, f] };
        space.with_index(|index| index.set(key, bounds));
        Ok(())
    };
    native.set("boxes_set", scope.create_function(set)?)?;
    let remove = |_: &Lua, key: u32| {
        space.with_index(|index| index.remove(key));
        Ok(())
    };
    native.set("boxes_remove", scope.create_function(remove)?)?;
    let near = |_: &Lua, (a, b, c, d, e, f): (f32, f32, f32, f32, f32, f32)| {
        let bounds = Bounds { low: [a, b, c], high: [d, e, f] };
        let found = space.with_index(|index| index.near(&bounds));
        meter.charge(found.len());
        Ok(found)
    };
    native.set("boxes_near", scope.create_function(near)?)?;
    let on_way = |_: &Lua, (a, b, c, d, e, f): (f32, f32, f32, f32, f32, f32)| {
        let found = space.with_index(|index| index.on_way([a, b, c], [d, e, f]));
        meter.charge(found.len());
        Ok(found)
    };
    native.set("boxes_on_way", scope.create_function(on_way)?)?;
    let has_terrain = |_: &Lua, ()| Ok(has_terrain(space.handles.scene));
    native.set("has_terrain", scope.create_function(has_terrain)?)
}

/// Whether a place may have terrain. Of an open place it is not known.
fn has_terrain(scene: &Scene) -> bool {
    let mut all = scene.descendants(scene.root());
    all.any(|node| {
        scene.class(node) == "Terrain"
            && (scene.is_open_in_studio()
                || match scene.stored_property(node, "SmoothGrid") {
                    Some(StoredVariant::Value(voxels)) => match &*voxels {
                        rbx_types::Variant::BinaryString(bytes) => {
                            AsRef::<[u8]>::as_ref(bytes).len() > EMPTY_TERRAIN
                        }
                        _ => false,
                    },
                    Some(StoredVariant::Reference(_)) | None => false,
                })
    })
}

/// Where the parts of a scene are.
pub(crate) struct Space<'h, 's> {
    pub(crate) handles: &'h Handles<'s>,
    /// Filled when a script first needs it.
    index: RefCell<Option<BoxIndex>>,
}

impl<'h, 's> Space<'h, 's> {
    pub(crate) fn new(handles: &'h Handles<'s>) -> Self {
        Self { handles, index: RefCell::default() }
    }

    fn with_index<T>(&self, act: impl FnOnce(&mut BoxIndex) -> T) -> T {
        act(self.index.borrow_mut().get_or_insert_with(|| index_parts(self.handles)))
    }
}

/// The boxes of the parts that the scene has in its world.
fn index_parts(handles: &Handles<'_>) -> BoxIndex {
    let scene = handles.scene;
    let mut index = BoxIndex::default();
    let is_workspace = |it: &Node| scene.class(*it) == "Workspace";
    let Some(workspace) = scene.children(scene.root()).find(is_workspace) else {
        return index;
    };
    for node in scene.descendants(workspace) {
        let class = scene.class(node);
        if class != "Terrain" && is_a(class, "BasePart") {
            index.set(handles.handle(node), part_bounds(scene, node));
        }
    }
    index
}

fn part_bounds(scene: &Scene, node: Node) -> Bounds {
    let stored = |names: &[&str]| {
        names.iter().find_map(|name| match scene.stored_property(node, name)? {
            StoredVariant::Value(value) => Some(value),
            StoredVariant::Reference(_) => None,
        })
    };
    let (at, sides) = match stored(&["CFrame"]).as_deref() {
        Some(rbx_types::Variant::CFrame(frame)) => {
            let rows = frame.orientation;
            (frame.position, [rows.x, rows.y, rows.z].map(|it| [it.x, it.y, it.z]))
        }
        _ => (rbx_types::Vector3::new(0.0, 0.0, 0.0), [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]]),
    };
    let size = match stored(&["Size", "size"]).as_deref() {
        Some(rbx_types::Variant::Vector3(size)) => [size.x, size.y, size.z],
        _ => [4.0, 1.2, 2.0],
    };
    let center = [at.x, at.y, at.z];
    let reach = sides.map(|row| {
        row.iter().zip(size).map(|(turned, size)| turned.abs() * size / 2.0).sum::<f32>()
    });
    Bounds {
        low: std::array::from_fn(|axis| center[axis] - reach[axis]),
        high: std::array::from_fn(|axis| center[axis] + reach[axis]),
    }
}
