//! Generated places of any size, with the mix of real games: mostly parts in models, one script per
//! hundred instances, and most names shared by siblings.
//!
//! The same number of instances always gives the same place. Its paths are computed here
//! independently, so that a benchmark does not prepare its input with the code that it measures.

use std::collections::HashMap;
use std::fmt::Write;

use fastrand::Rng;
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{CFrame, Color3uint8, Enum, Matrix3, Ref, Vector3};
use scene_schemas::InstancePath;

/// The number of models in one folder.
const MODELS: usize = 50;
/// The number of instances in one model, including the model.
const IN_MODEL: usize = 20;
/// One instance in this many is a script.
const SCRIPTS: usize = 100;

/// A place of `n` instances (at least 10).
pub fn generated(n: usize) -> WeakDom {
    let mut dom = WeakDom::new(InstanceBuilder::new("DataModel"));
    let game = dom.root_ref();
    let mut service = |class: &str| dom.insert(game, InstanceBuilder::new(class));
    let workspace = service("Workspace");
    let server = service("ServerScriptService");
    service("ReplicatedStorage");
    service("Lighting");
    let mut city =
        City { left: n.saturating_sub(4), rng: Rng::with_seed(1), added: 0, scripts: 0, dom };
    while city.left > 0 {
        city.district(workspace, server);
    }
    city.dom
}

/// A place under construction.
struct City {
    dom: WeakDom,
    left: usize,
    added: usize,
    scripts: usize,
    rng: Rng,
}

impl City {
    /// Adds an instance, unless the limit is reached.
    fn add(&mut self, parent: Ref, builder: InstanceBuilder) -> Option<Ref> {
        self.left = self.left.checked_sub(1)?;
        self.added += 1;
        Some(self.dom.insert(parent, builder))
    }

    fn district(&mut self, workspace: Ref, server: Ref) -> Option<()> {
        let number = self.rng.usize(..1_000_000);
        let name = format!("District {number}");
        let district = self.add(workspace, InstanceBuilder::new("Folder").with_name(name))?;
        for _ in 0..MODELS {
            let house = self.house(district)?;
            // Half of the scripts are in ServerScriptService, the others in the models.
            while self.scripts * SCRIPTS < self.added {
                let together = self.scripts.is_multiple_of(2);
                self.script(if together { server } else { house })?;
            }
        }
        Some(())
    }

    fn house(&mut self, district: Ref) -> Option<Ref> {
        let house = self.add(district, InstanceBuilder::new("Model").with_name("House"))?;
        for at in 1..IN_MODEL {
            let name = ["Part", "Part", "Wall", "Wall", "Window"][at % 5];
            let part = self.part(name);
            let part = self.add(house, part)?;
            if at == 1 {
                self.add(part, InstanceBuilder::new("PointLight"))?;
            }
        }
        Some(house)
    }

    fn part(&mut self, name: &str) -> InstanceBuilder {
        let rng = &mut self.rng;
        let mut vector = |from, to| {
            let mut number = || draw_between(rng, from, to);
            Vector3::new(number(), number(), number())
        };
        let (position, size) = (vector(-2_000.0, 2_000.0), vector(0.5, 24.0));
        let colour = Color3uint8::new(rng.u8(..), rng.u8(..), rng.u8(..));
        // Plastic, Wood, Slate, Concrete, SmoothPlastic, Neon.
        let materials = [256, 512, 800, 816, 272, 288];
        let material = materials[rng.usize(..materials.len())];
        InstanceBuilder::new("Part")
            .with_name(name)
            .with_property("Anchored", true)
            .with_property("CFrame", CFrame::new(position, Matrix3::identity()))
            .with_property("Color", colour)
            .with_property("Material", Enum::from_u32(material))
            .with_property("Size", size)
    }

    fn script(&mut self, parent: Ref) -> Option<()> {
        let (class, name) = match self.scripts % 3 {
            0 => ("Script", "Main"),
            1 => ("ModuleScript", "Module"),
            _ => ("LocalScript", "Client"),
        };
        let script = InstanceBuilder::new(class)
            .with_name(name)
            .with_property("Source", source(self.scripts));
        self.add(parent, script)?;
        self.scripts += 1;
        Some(())
    }
}

/// A script of about fifty lines that contains [`VERSION`] once.
fn source(number: usize) -> String {
    let mut text = format!("--!strict\nlocal {VERSION} = {number}\n\nlocal steps = {{}}\n\n");
    for step in 0..15 {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "steps[{step}] = function(x: number): number\n\treturn x * {} + {step}\nend",
            number % 97 + step
        );
    }
    text.push_str("\nreturn steps\n");
    text
}

/// A name that occurs exactly once in every generated script.
pub const VERSION: &str = "VERSION";

/// The canonical paths of all instances of a class, in tree order.
pub fn paths(dom: &WeakDom, class: &str) -> Vec<InstancePath> {
    let mut found = Vec::new();
    let mut open = vec![(dom.root_ref(), InstancePath::root())];
    while let Some((node, path)) = open.pop() {
        let Some(instance) = dom.get_by_ref(node) else {
            continue;
        };
        if instance.class.as_str() == class {
            found.push(path.clone());
        }
        open.extend(children(dom, instance.children(), &path).into_iter().rev());
    }
    found
}

fn children(dom: &WeakDom, nodes: &[Ref], path: &InstancePath) -> Vec<(Ref, InstancePath)> {
    let name = |node: &Ref| dom.get_by_ref(*node).map_or("", |it| it.name.as_str());
    let mut total = HashMap::<_, u32>::new();
    for node in nodes {
        *total.entry(name(node)).or_default() += 1;
    }
    let mut seen = HashMap::<_, u32>::new();
    let path_of = |node: &Ref| {
        let name = name(node);
        let n = seen.entry(name).or_default();
        *n += 1;
        (*node, path.child(name, (total[name] > 1).then_some(*n)))
    };
    nodes.iter().map(path_of).collect()
}

/// The number of instances in a place.
pub fn count(dom: &WeakDom) -> usize {
    dom.descendants().count() - 1
}

/// A number in steps of a hundredth, as people place things.
fn draw_between(rng: &mut Rng, from: f32, to: f32) -> f32 {
    let steps = ((to - from) * 100.0) as usize;
    from + rng.usize(..steps) as f32 / 100.0
}
