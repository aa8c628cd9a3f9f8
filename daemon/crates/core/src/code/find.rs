//! Definitions and references of a name, within one script and through requires.
//!
//! Local variables are resolved exactly, and members of a module through all scripts that require
//! it. Results of calls and values passed on in variables are not followed. A member of such a
//! value is reported as an uncertain hit, because it may belong to something else.

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};
use vector_luau::DefinitionKind;
use vector_luau::index::{self, BindingKind, ByteSpan, NameRoot, NameUse, ScriptNames, UseKind};
use vector_place::{Node, Scene};

use super::CodeIndex;

/// The referent of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Symbol {
    /// A local variable or parameter of a script, by its binding number.
    Local(Node, u32),
    /// A member of a module's return value.
    Member(Node, Box<str>),
    /// A member of a table in a local variable of a script.
    Field(Node, u32, Box<str>),
    /// A type of a script.
    Type(Node, Box<str>),
    Global(Box<str>),
    /// A member of an unknown value.
    Loose(Box<str>),
    /// A module, at the point of its require.
    Module(Node),
    /// A member of a method's `self`. It is uncertain, because `self` may be of another class with
    /// a member of that name.
    Own(Box<Symbol>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDefinition {
    pub node: Node,
    /// The name at its definition.
    pub name: Box<str>,
    /// The kind, if it is a function or a type.
    pub kind: Option<DefinitionKind>,
    pub span: ByteSpan,
    pub name_span: ByteSpan,
    /// Whether it is surely the requested symbol, and not just one with the same name.
    pub is_certain: bool,
}

/// A place where a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceHit {
    pub node: Node,
    pub span: ByteSpan,
    /// Whether it surely refers to the requested symbol.
    pub is_certain: bool,
    /// Whether this is a definition.
    pub is_definition: bool,
}

/// A script being searched.
struct ScriptLookup<'a> {
    index: &'a CodeIndex,
    node: Node,
    text: &'a str,
    names: ScriptNames,
    /// The variables declared with table constructors, by table number.
    holders: FxHashMap<u32, u32>,
}

impl<'a> ScriptLookup<'a> {
    fn new(index: &'a CodeIndex, node: Node, text: &'a str) -> Self {
        let names = index::read_names(text);
        let mut holders = FxHashMap::default();
        for (number, binding) in (0..).zip(&names.bindings) {
            if let Some(table) = binding.table {
                holders.entry(table).or_insert(number);
            }
        }
        Self { index, node, text, names, holders }
    }

    fn required_module(&self, require: u32) -> Option<Node> {
        let module = self.index.resolved_requires(self.node).get(require as usize)?;
        module.as_ref().ok().map(|module| self.index.reexported_module(*module))
    }

    /// Returns the symbol of a member of a root.
    fn member_symbol(&self, root: NameRoot, name: &str) -> Symbol {
        let loose = || Symbol::Loose(name.into());
        let module = |require| match self.required_module(require) {
            Some(module) => Symbol::Member(module, name.into()),
            None => loose(),
        };
        match root {
            NameRoot::Nothing | NameRoot::Global(_) => loose(),
            NameRoot::Require(require) => module(require),
            NameRoot::Binding(number) => {
                let binding = &self.names.bindings[number as usize];
                match (binding.kind, binding.require) {
                    (BindingKind::SelfParameter(Some(of)), _) if of != number => {
                        self.member_symbol(NameRoot::Binding(of), name)
                    }
                    (
                        BindingKind::SelfParameter(_)
                        | BindingKind::Parameter
                        | BindingKind::LoopVariable,
                        _,
                    ) => loose(),
                    (_, Some(require)) => module(require),
                    _ if binding.is_mixed => loose(),
                    _ if self.names.returned_binding == Some(number) => {
                        Symbol::Member(self.node, name.into())
                    }
                    _ if binding.table.is_none() => loose(),
                    _ => Symbol::Field(self.node, number, name.into()),
                }
            }
        }
    }

    fn key_symbol(&self, table: u32, name: &str) -> Symbol {
        let returned = self.names.returned_binding;
        let holds = |number: u32| self.names.bindings[number as usize].table == Some(table);
        if self.names.returned_table == Some(table) || returned.is_some_and(holds) {
            return Symbol::Member(self.node, name.into());
        }
        match self.holders.get(&table) {
            Some(number) => Symbol::Field(self.node, *number, name.into()),
            None => Symbol::Loose(name.into()),
        }
    }

    /// Returns the symbol of a name at its position.
    fn symbol_of_use(&self, it: &NameUse) -> Symbol {
        let name = unquote_name(it.span.text_in(self.text));
        match it.kind {
            UseKind::Declaration(number) | UseKind::Reference(number) => {
                Symbol::Local(self.node, number)
            }
            UseKind::Global => Symbol::Global(name.into()),
            UseKind::Member(root, 1) => self.member_symbol(root, name),
            UseKind::Member(..) => Symbol::Loose(name.into()),
            UseKind::Key(table) => self.key_symbol(table, name),
            UseKind::Type | UseKind::TypeDeclaration => Symbol::Type(self.node, name.into()),
            UseKind::ImportedType(root) => match self.member_symbol(root, name) {
                Symbol::Member(module, name) => Symbol::Type(module, name),
                _ => Symbol::Loose(name.into()),
            },
        }
    }

    /// Whether this is a member of a method's `self`. The caller of the method may pass an object
    /// of another class.
    fn is_own(&self, it: &NameUse) -> bool {
        matches!(it.kind, UseKind::Member(NameRoot::Binding(number), _)
            if matches!(self.names.bindings[number as usize].kind, BindingKind::SelfParameter(_)))
    }

    /// Returns None if a name cannot be the symbol; otherwise, whether it surely is.
    fn match_certainty(&self, it: &NameUse, symbol: &Symbol) -> Option<bool> {
        let here = self.symbol_of_use(it);
        if here == *symbol {
            return Some(!self.is_own(it) && !matches!(symbol, Symbol::Loose(_)));
        }
        match (symbol, here) {
            (Symbol::Member(_, name) | Symbol::Field(_, _, name), Symbol::Loose(other)) => {
                let is_member = matches!(it.kind, UseKind::Member(..));
                (is_member && *name == other).then_some(false)
            }
            (Symbol::Loose(name), Symbol::Member(_, other) | Symbol::Field(_, _, other)) => {
                (*name == other).then_some(false)
            }
            _ => None,
        }
    }

    fn collect_hits(&self, symbol: &Symbol, hits: &mut Vec<ReferenceHit>) {
        let defined: FxHashSet<ByteSpan> = match self.index.script_at(self.node) {
            Some(script) => script.definitions.iter().map(|it| it.name_span).collect(),
            None => FxHashSet::default(),
        };
        for it in &self.names.uses {
            let Some(is_certain) = self.match_certainty(it, symbol) else { continue };
            let declares = matches!(
                it.kind,
                UseKind::Declaration(_) | UseKind::TypeDeclaration | UseKind::Key(_)
            );
            let is_definition = declares || defined.contains(&it.span);
            hits.push(ReferenceHit { node: self.node, span: it.span, is_certain, is_definition });
        }
    }
}

/// Strips the quotes of a string from a name.
fn unquote_name(name: &str) -> &str {
    name.trim_matches(['"', '\'', '`'])
}

/// Returns the symbol at a byte of a script; None if there is no name at that byte.
pub fn symbol_at(index: &CodeIndex, scene: &Scene, node: Node, byte: u32) -> Option<Symbol> {
    let text = scene.script_text(node)?;
    let script = ScriptLookup::new(index, node, &text);
    let is_in = |span: ByteSpan| span.start <= byte && byte < span.end;
    let require = script.names.requires.iter().position(|it| is_in(it.span));
    if let Some(Some(Ok(module))) = require.map(|number| index.resolved_requires(node).get(number))
    {
        return Some(Symbol::Module(*module));
    }
    let it = script.names.name_at(byte)?;
    Some(match script.symbol_of_use(it) {
        symbol @ Symbol::Loose(_) => symbol,
        symbol if script.is_own(it) => Symbol::Own(Box::new(symbol)),
        symbol => symbol,
    })
}

/// Finds the definitions of a symbol, the most certain first.
pub fn find_definitions(index: &CodeIndex, scene: &Scene, symbol: &Symbol) -> Vec<FoundDefinition> {
    match symbol {
        Symbol::Local(node, number) => find_in_script(index, scene, *node, |script| {
            let binding = script.names.bindings.get(*number as usize)?;
            Some(binding.span)
        }),
        Symbol::Field(node, ..) => find_in_script(index, scene, *node, |script| {
            let mut uses = script.names.uses.iter();
            uses.find(|it| script.match_certainty(it, symbol) == Some(true)).map(|it| it.span)
        }),
        Symbol::Member(module, name) => {
            let script = index.script_at(*module);
            let member = script.and_then(|it| it.members.iter().find(|it| it.name == *name));
            member.map(|it| definition_at(index, *module, it.name_span, name)).into_iter().collect()
        }
        Symbol::Type(node, name) => {
            let script = index.script_at(*node);
            let types = script.into_iter().flat_map(|it| &it.definitions);
            let called = index::display_name(name);
            let mut types =
                types.filter(|it| it.kind == DefinitionKind::Type && *it.name == called);
            types.next().map(|it| indexed_definition(*node, it)).into_iter().collect()
        }
        Symbol::Global(name) => {
            let called = index::display_name(name);
            let all = index.definitions().filter(|(_, it)| *it.name == called);
            let functions = all.filter(|(_, it)| it.kind == DefinitionKind::Function);
            functions.map(|(node, it)| mark_uncertain(indexed_definition(node, it))).collect()
        }
        Symbol::Loose(name) => {
            let is_called = |it: &index::IndexedDefinition| {
                it.last_name() == &**name && it.name.len() > name.len()
            };
            let all = index.definitions().filter(|(_, it)| is_called(it));
            all.map(|(node, it)| mark_uncertain(indexed_definition(node, it))).collect()
        }
        Symbol::Module(node) => {
            let name = scene.name(*node).into();
            let (span, kind) = (ByteSpan::default(), None);
            vec![FoundDefinition {
                node: *node,
                name,
                kind,
                span,
                name_span: span,
                is_certain: true,
            }]
        }
        Symbol::Own(symbol) => {
            find_definitions(index, scene, symbol).into_iter().map(mark_uncertain).collect()
        }
    }
}

fn mark_uncertain(found: FoundDefinition) -> FoundDefinition {
    FoundDefinition { is_certain: false, ..found }
}

fn find_in_script(
    index: &CodeIndex,
    scene: &Scene,
    node: Node,
    find: impl FnOnce(&ScriptLookup<'_>) -> Option<ByteSpan>,
) -> Vec<FoundDefinition> {
    let Some(text) = scene.script_text(node) else {
        return Vec::new();
    };
    let script = ScriptLookup::new(index, node, &text);
    let span = find(&script);
    span.map(|span| definition_at(index, node, span, unquote_name(span.text_in(&text))))
        .into_iter()
        .collect()
}

/// Returns the definition with its name at a span; a variable or field if no indexed definition has
/// it.
fn definition_at(index: &CodeIndex, node: Node, named: ByteSpan, name: &str) -> FoundDefinition {
    let definitions = index.script_at(node).map(|it| &it.definitions);
    let defined = definitions.and_then(|all| all.iter().find(|it| it.name_span == named));
    match defined {
        Some(it) => indexed_definition(node, it),
        None => unindexed_definition(node, named, name),
    }
}

fn indexed_definition(node: Node, it: &index::IndexedDefinition) -> FoundDefinition {
    let (name, kind) = (it.name.clone(), Some(it.kind));
    FoundDefinition { node, name, kind, span: it.span, name_span: it.name_span, is_certain: true }
}

fn unindexed_definition(node: Node, named: ByteSpan, name: &str) -> FoundDefinition {
    let name = index::display_name(name).into();
    FoundDefinition { node, name, kind: None, span: named, name_span: named, is_certain: true }
}

/// Finds the definitions of a name such as `open`, `Shop.open` or `Shop:buy`. A module's name
/// stands for its return value. Exported definitions come first.
pub fn definitions_named(index: &CodeIndex, scene: &Scene, name: &str) -> Vec<FoundDefinition> {
    let called = index::display_name(name);
    let wanted = called.replace(':', ".");
    let (owner, last) = wanted.rsplit_once('.').unwrap_or(("", &wanted));
    let owner = owner.rsplit('.').next().unwrap_or_default();
    let mut all: Vec<(bool, FoundDefinition)> = Vec::new();
    for node in index.script_nodes() {
        let Some(script) = index.script_at(*node) else { continue };
        let is_owner = !owner.is_empty() && scene.name(*node) == owner;
        for it in &script.definitions {
            let is_it = *it.name == called
                || it.last_name() == last
                    && (owner.is_empty()
                        || is_owner && it.is_exported
                        || it.name.replace(':', ".") == wanted);
            if is_it {
                all.push((it.is_exported, indexed_definition(*node, it)));
            }
        }
        // Member names are unique, so at most one matches.
        let mut members = script.members.iter().filter(|it| &*it.name == last);
        let is_known = |named: ByteSpan| script.definitions.iter().any(|it| it.name_span == named);
        let member = members.next().filter(|_| owner.is_empty() || is_owner);
        if let Some(it) = member.filter(|it| !is_known(it.name_span)) {
            all.push((true, unindexed_definition(*node, it.name_span, last)));
        }
    }
    all.sort_by_key(|(exported, _)| !exported);
    all.into_iter().map(|(_, found)| found).collect()
}

/// Finds the references to a symbol, including its definitions, script by script.
pub fn find_references(index: &CodeIndex, scene: &Scene, symbol: &Symbol) -> Vec<ReferenceHit> {
    let (name, nodes): (Option<&str>, Vec<Node>) = match symbol {
        Symbol::Local(node, _) => (None, vec![*node]),
        Symbol::Member(module, name) | Symbol::Type(module, name) => {
            (Some(name), module_users(index, *module))
        }
        // A value in a variable could reach requiring scripts, but such uses are not searched.
        Symbol::Field(node, _, name) => (Some(name), vec![*node]),
        Symbol::Global(name) | Symbol::Loose(name) => (Some(name), index.script_nodes().to_vec()),
        Symbol::Module(module) => return require_sites(index, *module),
        Symbol::Own(symbol) => {
            let mut hits = find_references(index, scene, symbol);
            for hit in &mut hits {
                hit.is_certain = false;
            }
            return hits;
        }
    };
    let finder = name.map(memmem::Finder::new);
    let mut hits = Vec::new();
    for node in nodes {
        let text = scene.script_text(node).unwrap_or_default();
        if finder.as_ref().is_none_or(|it| it.find(text.as_bytes()).is_some()) {
            ScriptLookup::new(index, node, &text).collect_hits(symbol, &mut hits);
        }
    }
    hits
}

/// Returns a module and all scripts that require it, directly or through modules that re-export it,
/// in tree order.
fn module_users(index: &CodeIndex, module: Node) -> Vec<Node> {
    let mut all: Vec<Node> = reexporters(index, module);
    let direct: Vec<Node> = all.iter().flat_map(|it| index.required_by(*it)).copied().collect();
    all.truncate(1);
    all.extend(direct);
    let wanted: FxHashSet<Node> = all.into_iter().collect();
    index.script_nodes().iter().copied().filter(|it| wanted.contains(it)).collect()
}

/// Returns a module and the modules that only re-export it.
fn reexporters(index: &CodeIndex, module: Node) -> Vec<Node> {
    let mut all = vec![module];
    let mut known = FxHashSet::default();
    let mut at = 0;
    while at < all.len() {
        let passing = index.required_by(all[at]).iter();
        let passing =
            passing.filter(|it| **it != module && index.reexported_module(**it) == module);
        let new: Vec<Node> = passing.copied().filter(|it| known.insert(*it)).collect();
        all.extend(new);
        at += 1;
    }
    all
}

/// Returns the requires of a module.
fn require_sites(index: &CodeIndex, module: Node) -> Vec<ReferenceHit> {
    let mut hits = Vec::new();
    for node in index.required_by(module) {
        let Some(script) = index.script_at(*node) else { continue };
        for (require, resolved) in script.requires.iter().zip(index.resolved_requires(*node)) {
            if *resolved == Ok(module) {
                let (span, is_certain) = (require.span, true);
                hits.push(ReferenceHit { node: *node, span, is_certain, is_definition: false });
            }
        }
    }
    hits
}
