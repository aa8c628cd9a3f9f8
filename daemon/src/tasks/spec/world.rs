//! Instances as specs see them: names, classes and the tree of a snapshot, all unchanging.
//!
//! Every function that a spec calls is in `prelude.luau`, which queries this module by number.
//! Nothing here raises an error: a Rust error that a spec catches and keeps takes memory that its
//! VM does not count.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{
    FromLuaMulti, IntoLuaMulti, Lua, LuaString, MetaMethod, Result, Table, UserData,
    UserDataFields, Value,
};
use vector_place::{SceneSnapshot, SnapshotInstance, reflection};

/// The name of the instance methods in the VM's registry.
const METHODS: &str = "instance";
/// The maximum length of a path passed to `require`, in bytes.
const MAX_PATH: usize = 10_000;

/// The place of one VM.
#[derive(Debug)]
pub(super) struct SpecWorld {
    snapshot: Arc<SceneSnapshot>,
    /// Services that a place has although its file does not contain them. Their numbers follow
    /// those of the snapshot.
    services: RefCell<Vec<SnapshotInstance>>,
}

/// An instance. The prelude knows which one it is.
#[derive(Debug)]
struct SpecInstance;

impl UserData for SpecInstance {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field(MetaMethod::Type, "Instance");
        for name in ["__index", "__newindex", "__tostring"] {
            fields.add_meta_field_with(name, move |lua| {
                lua.named_registry_value::<Table>(METHODS)?.get::<Value>(name)
            });
        }
    }
}

/// Registers the methods of instances. Must be called before the first instance is created.
pub(super) fn register_methods(lua: &Lua, methods: Table) -> Result<()> {
    lua.set_named_registry_value(METHODS, methods)
}

impl SpecWorld {
    pub(super) fn new(still: Arc<SceneSnapshot>) -> Rc<Self> {
        Rc::new(Self { snapshot: still, services: RefCell::default() })
    }

    /// Registers the functions that the prelude calls.
    pub(super) fn register_natives(self: &Rc<Self>, lua: &Lua, native: &Table) -> Result<()> {
        native.set("make", lua.create_function(|lua, ()| lua.create_userdata(SpecInstance))?)?;
        self.add_native(lua, native, "name", |world, at: u32| {
            world.with_instance(at, |it| it.name.to_string())
        })?;
        self.add_native(lua, native, "class", |world, at: u32| world.class_name(at))?;
        self.add_native(lua, native, "parent", |world, at: u32| world.parent_id(at))?;
        self.add_native(lua, native, "children", |world, at: u32| world.child_ids(at))?;
        self.add_native(lua, native, "descendants", |world, at: u32| world.descendant_ids(at))?;
        self.add_native(lua, native, "full", |world, at: u32| world.full_name(at))?;
        self.add_native(lua, native, "path", |world, at: u32| {
            world.module_source(at).map_or_else(|| world.full_name(at), |(_, path)| path.to_owned())
        })?;
        self.add_native(lua, native, "child", |world, (at, name): (u32, LuaString)| {
            world.find_child(at, &name.as_bytes())
        })?;
        self.add_native(lua, native, "descendant", |world, (at, name): (u32, LuaString)| {
            world.find_descendant(at, &name.as_bytes())
        })?;
        self.add_native(lua, native, "isA", |world, (at, class): (u32, LuaString)| {
            class.to_str().is_ok_and(|class| world.is_a(at, &class))
        })?;
        self.add_native(lua, native, "service", |world, class: LuaString| {
            class.to_str().ok().and_then(|class| world.find_service(&class))
        })?;
        self.add_native(lua, native, "follow", |world, (from, path): (u32, LuaString)| {
            let path = path.to_str().ok().filter(|path| path.len() <= MAX_PATH)?;
            world.resolve_path(from, &path)
        })
    }

    fn add_native<A: FromLuaMulti + 'static, R: IntoLuaMulti + 'static>(
        self: &Rc<Self>,
        lua: &Lua,
        native: &Table,
        name: &str,
        answer: fn(&Self, A) -> R,
    ) -> Result<()> {
        let own = Rc::clone(self);
        native.set(name, lua.create_function(move |_, args: A| Ok(answer(&own, args)))?)
    }

    fn with_instance<T>(&self, at: u32, read: impl FnOnce(&SnapshotInstance) -> T) -> Option<T> {
        if let Some(instance) = self.snapshot.get(at) {
            return Some(read(instance));
        }
        self.services.borrow().get(at as usize - self.snapshot.len()).map(read)
    }

    fn child_ids(&self, at: u32) -> Vec<u32> {
        self.with_instance(at, |it| it.children.clone()).unwrap_or_default()
    }

    fn parent_id(&self, at: u32) -> Option<u32> {
        self.with_instance(at, |it| it.parent).flatten()
    }

    fn class_name(&self, at: u32) -> String {
        self.with_instance(at, |it| it.class.to_string()).unwrap_or_default()
    }

    pub(super) fn find_child(&self, at: u32, name: &[u8]) -> Option<u32> {
        let children = self.snapshot.get(at).map_or(&[][..], |it| &it.children);
        children.iter().copied().find(|at| self.is_named(*at, name))
    }

    fn is_named(&self, at: u32, name: &[u8]) -> bool {
        self.with_instance(at, |it| it.name.as_bytes() == name) == Some(true)
    }

    /// The text of a module, and its path.
    pub(super) fn module_source(&self, at: u32) -> Option<(&str, &str)> {
        let instance = self.snapshot.get(at)?;
        Some((instance.text.as_deref()?, instance.path.as_deref()?))
    }

    /// The names of an instance and its ancestors, as in `GetFullName`.
    fn full_name(&self, at: u32) -> String {
        let name = |at| self.with_instance(at, |it| it.name.to_string()).unwrap_or_default();
        let mut names = vec![name(at)];
        let mut above = self.parent_id(at).filter(|it| *it != 0);
        while let Some(at) = above {
            names.push(name(at));
            above = self.parent_id(at).filter(|it| *it != 0);
        }
        names.reverse();
        names.join(".")
    }

    fn iter_descendants(&self, at: u32) -> impl Iterator<Item = u32> {
        let reversed = |at: u32| self.child_ids(at).into_iter().rev();
        let mut open: Vec<u32> = reversed(at).collect();
        std::iter::from_fn(move || {
            let at = open.pop()?;
            open.extend(reversed(at));
            Some(at)
        })
    }

    fn descendant_ids(&self, at: u32) -> Vec<u32> {
        self.iter_descendants(at).collect()
    }

    fn find_descendant(&self, at: u32, name: &[u8]) -> Option<u32> {
        self.iter_descendants(at).find(|at| self.is_named(*at, name))
    }

    fn is_a(&self, at: u32, class: &str) -> bool {
        class == "Instance" || reflection::is_a(&self.class_name(at), class)
    }

    fn find_service(&self, class: &str) -> Option<u32> {
        let children = self.snapshot.get(0).map_or(&[][..], |it| &it.children);
        let fits = |it: &u32| self.with_instance(*it, |it| &*it.class == class) == Some(true);
        if let Some(found) = children.iter().copied().find(fits) {
            return Some(found);
        }
        let mut services = self.services.borrow_mut();
        let made = services.iter().position(|it| &*it.class == class);
        if made.is_none() && !reflection::is_service(class) {
            return None;
        }
        let index = made.unwrap_or_else(|| {
            services.push(SnapshotInstance {
                name: class.into(),
                class: class.into(),
                parent: Some(0),
                children: Vec::new(),
                text: None,
                path: None,
            });
            services.len() - 1
        });
        u32::try_from(self.snapshot.len() + index).ok()
    }

    /// Resolves a path such as `./Name`, `../Name`, `@self/Name` and `@game/Service/Name`.
    fn resolve_path(&self, from: u32, path: &str) -> Option<u32> {
        let mut steps = path.split('/');
        let mut at = match steps.next()? {
            "." => self.parent_id(from)?,
            ".." => self.parent_id(self.parent_id(from)?)?,
            "@self" => from,
            "@game" => 0,
            _ => return None,
        };
        for step in steps {
            at = match step {
                "" | "." => at,
                ".." => self.parent_id(at)?,
                name => self.find_child(at, name.as_bytes())?,
            };
        }
        Some(at)
    }
}
