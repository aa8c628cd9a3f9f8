//! Instances as specs see them: names, classes and the tree of a still, and nothing that changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{
    AnyUserData, Error, Lua, MetaMethod, Result, UserData, UserDataFields, UserDataMethods,
};

use crate::core::scene::{Still, StillInstance, reflection};

/// The place of one VM.
#[derive(Debug)]
pub(super) struct World {
    still: Arc<Still>,
    /// Services that a place has though its file does not hold them, behind the still's numbers.
    services: RefCell<Vec<StillInstance>>,
    /// Each instance is one value, so that it can be compared and be a key.
    known: RefCell<HashMap<u32, AnyUserData>>,
}

/// An instance.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    world: Rc<World>,
    pub(super) at: u32,
}

impl World {
    pub(super) fn new(still: Arc<Still>) -> Rc<Self> {
        let (services, known) = (RefCell::default(), RefCell::default());
        Rc::new(Self { still, services, known })
    }

    /// The value of an instance.
    pub(super) fn value(self: &Rc<Self>, lua: &Lua, at: u32) -> Result<AnyUserData> {
        if let Some(known) = self.known.borrow().get(&at) {
            return Ok(known.clone());
        }
        let value = lua.create_userdata(Instance { world: Rc::clone(self), at })?;
        self.known.borrow_mut().insert(at, value.clone());
        Ok(value)
    }

    /// Forgets all values: they hold this, and this them.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }

    fn with<T>(&self, at: u32, read: impl FnOnce(&StillInstance) -> T) -> Option<T> {
        if let Some(instance) = self.still.get(at) {
            return Some(read(instance));
        }
        self.services.borrow().get(at as usize - self.still.len()).map(read)
    }

    fn children(&self, at: u32) -> Vec<u32> {
        self.with(at, |it| it.children.clone()).unwrap_or_default()
    }

    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        self.with(at, |it| it.parent).flatten()
    }

    fn name(&self, at: u32) -> String {
        self.with(at, |it| it.name.to_string()).unwrap_or_default()
    }

    fn class(&self, at: u32) -> String {
        self.with(at, |it| it.class.to_string()).unwrap_or_default()
    }

    pub(super) fn child(&self, at: u32, name: &str) -> Option<u32> {
        let fits = |it: &u32| self.with(*it, |it| &*it.name == name) == Some(true);
        self.children(at).into_iter().find(fits)
    }

    /// The text of a module, and its path.
    pub(super) fn module(&self, at: u32) -> Option<(&str, &str)> {
        let instance = self.still.get(at)?;
        Some((instance.text.as_deref()?, instance.path.as_deref()?))
    }

    /// The name with all names above it, as `GetFullName` says it.
    pub(super) fn full_name(&self, at: u32) -> String {
        let mut names = vec![self.name(at)];
        let mut above = self.parent(at).filter(|it| *it != 0);
        while let Some(at) = above {
            names.push(self.name(at));
            above = self.parent(at).filter(|it| *it != 0);
        }
        names.reverse();
        names.join(".")
    }

    fn descendants(&self, at: u32) -> Vec<u32> {
        let (mut all, mut open) = (Vec::new(), self.children(at));
        open.reverse();
        while let Some(at) = open.pop() {
            all.push(at);
            open.extend(self.children(at).into_iter().rev());
        }
        all
    }

    fn ancestors(&self, at: u32) -> Vec<u32> {
        std::iter::successors(self.parent(at), |at| self.parent(*at)).collect()
    }

    fn service(&self, class: &str) -> Option<u32> {
        let fits = |it: &u32| self.with(*it, |it| &*it.class == class) == Some(true);
        if let Some(found) = self.children(0).into_iter().find(fits) {
            return Some(found);
        }
        let mut services = self.services.borrow_mut();
        let made = services.iter().position(|it| &*it.class == class);
        if made.is_none() && !reflection::is_service(class) {
            return None;
        }
        let index = made.unwrap_or_else(|| {
            services.push(StillInstance {
                name: class.into(),
                class: class.into(),
                parent: Some(0),
                children: Vec::new(),
                text: None,
                path: None,
            });
            services.len() - 1
        });
        u32::try_from(self.still.len() + index).ok()
    }
}

fn wrong<T>(message: String) -> Result<T> {
    Err(Error::RuntimeError(message))
}

impl Instance {
    fn value(&self, lua: &Lua, at: Option<u32>) -> Result<Option<AnyUserData>> {
        at.map(|at| self.world.value(lua, at)).transpose()
    }

    fn values(&self, lua: &Lua, all: Vec<u32>) -> Result<Vec<AnyUserData>> {
        all.into_iter().map(|at| self.world.value(lua, at)).collect()
    }

    fn first(&self, of: Vec<u32>, fits: impl Fn(&StillInstance) -> bool) -> Option<u32> {
        of.into_iter().find(|at| self.world.with(*at, &fits) == Some(true))
    }

    fn named(&self, name: &str, recursive: bool) -> Option<u32> {
        if !recursive {
            return self.world.child(self.at, name);
        }
        self.first(self.world.descendants(self.at), |it| &*it.name == name)
    }

    fn is_a(&self, class: &str) -> bool {
        class == "Instance" || reflection::is_a(&self.world.class(self.at), class)
    }

    /// What RunService says of where the code runs: as a server in Studio that does not play.
    fn runs(&self, question: &str) -> Option<bool> {
        match question {
            _ if self.world.class(self.at) != "RunService" => None,
            "IsStudio" | "IsServer" | "IsEdit" => Some(true),
            "IsClient" | "IsRunning" | "IsRunMode" => Some(false),
            _ => None,
        }
    }

    fn index(&self, lua: &Lua, key: &str) -> Result<mlua::Value> {
        if let Some(child) = self.world.child(self.at, key) {
            return self.world.value(lua, child).map(mlua::Value::UserData);
        }
        if let Some(answer) = self.runs(key) {
            let answers = lua.create_function(move |_, ()| Ok(answer))?;
            return Ok(mlua::Value::Function(answers));
        }
        wrong(format!(
            "{key} is not a valid member of {} \"{}\" in headless tests, which know names, classes and \
             the tree",
            self.world.class(self.at),
            self.world.full_name(self.at)
        ))
    }
}

impl UserData for Instance {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_meta_field(MetaMethod::Type, "Instance");
        fields.add_field_method_get("Name", |_, this| Ok(this.world.name(this.at)));
        fields.add_field_method_get("ClassName", |_, this| Ok(this.world.class(this.at)));
        fields.add_field_method_get("Parent", |lua, this| {
            this.value(lua, this.world.parent(this.at))
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.world.name(this.at)));
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: String| this.index(lua, &key));
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |_, this, (key, _): (String, mlua::Value)| -> Result<()> {
                let name = this.world.full_name(this.at);
                wrong(format!("{name}.{key} cannot be set: headless tests change nothing"))
            },
        );
        methods.add_method("GetChildren", |lua, this, ()| {
            this.values(lua, this.world.children(this.at))
        });
        methods.add_method("GetDescendants", |lua, this, ()| {
            this.values(lua, this.world.descendants(this.at))
        });
        methods.add_method("GetFullName", |_, this, ()| Ok(this.world.full_name(this.at)));
        methods.add_method("IsA", |_, this, class: String| Ok(this.is_a(&class)));
        methods.add_method(
            "FindFirstChild",
            |lua, this, (name, recursive): (String, Option<bool>)| {
                this.value(lua, this.named(&name, recursive == Some(true)))
            },
        );
        methods.add_method("WaitForChild", |lua, this, (name, _): (String, mlua::Value)| {
            let Some(child) = this.world.child(this.at, &name) else {
                let full = this.world.full_name(this.at);
                return wrong(format!("{full} has no child {name:?}, and none will come"));
            };
            this.world.value(lua, child)
        });
        add_searches(methods);
        add_services(methods);
    }
}

fn add_searches<M: UserDataMethods<Instance>>(methods: &mut M) {
    methods.add_method("FindFirstChildOfClass", |lua, this, class: String| {
        let found = this.first(this.world.children(this.at), |it| *it.class == *class);
        this.value(lua, found)
    });
    methods.add_method("FindFirstChildWhichIsA", |lua, this, class: String| {
        let is_a = |it: &StillInstance| reflection::is_a(&it.class, &class);
        this.value(lua, this.first(this.world.children(this.at), is_a))
    });
    methods.add_method("FindFirstDescendant", |lua, this, name: String| {
        this.value(lua, this.named(&name, true))
    });
    methods.add_method("FindFirstAncestor", |lua, this, name: String| {
        let found = this.first(this.world.ancestors(this.at), |it| *it.name == *name);
        this.value(lua, found)
    });
    methods.add_method("FindFirstAncestorOfClass", |lua, this, class: String| {
        let found = this.first(this.world.ancestors(this.at), |it| *it.class == *class);
        this.value(lua, found)
    });
    methods.add_method("FindFirstAncestorWhichIsA", |lua, this, class: String| {
        let is_a = |it: &StillInstance| reflection::is_a(&it.class, &class);
        this.value(lua, this.first(this.world.ancestors(this.at), is_a))
    });
    methods.add_method("IsDescendantOf", |_, this, other: mlua::UserDataRef<Instance>| {
        Ok(this.world.ancestors(this.at).contains(&other.at))
    });
    methods.add_method("IsAncestorOf", |_, this, other: mlua::UserDataRef<Instance>| {
        Ok(this.world.ancestors(other.at).contains(&this.at))
    });
}

fn add_services<M: UserDataMethods<Instance>>(methods: &mut M) {
    methods.add_method("GetService", |lua, this, class: String| {
        let found = if this.at == 0 { this.world.service(&class) } else { None };
        let Some(service) = found else {
            return wrong(format!("'{class}' is not a valid Service name"));
        };
        this.world.value(lua, service)
    });
    methods.add_method("FindService", |lua, this, class: String| {
        let found = if this.at == 0 { this.world.service(&class) } else { None };
        this.value(lua, found)
    });
}
