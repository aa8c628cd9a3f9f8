//! Identifies the code of a finding by a hash of its statement and the values it depends on.
//!
//! Layout, comments, quotes and parentheses are ignored, so that moved or formatted code keeps its
//! hash. If a value that the statement uses changes, so does the hash.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::table_leaks::TableLeaks;
use super::tree::{BindingId, BindingSource, ExprId, ScanTree, StatementId, TreeExpr};

/// Maximum number of variables and fields followed per statement.
const MAX_DEPENDENCIES: usize = 64;

pub(super) fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A dependency of a hash: a variable, or a value assigned to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum HashDependency {
    Binding(BindingId),
    Field(ExprId),
    /// A statement in which a table escapes, so that other code may write to it.
    Leak(ExprId),
}

/// A hash and its dependencies.
type DependencyHash = (u64, Rc<[HashDependency]>);

pub(super) struct StatementHashes<'a> {
    tree: &'a ScanTree,
    statements: HashMap<StatementId, u64>,
    dependency_hashes: HashMap<HashDependency, DependencyHash>,
    /// The values assigned to fields of a local variable, unless a field holds a function.
    fields: HashMap<BindingId, Vec<(u64, ExprId)>>,
    tables: &'a TableLeaks,
    /// For each value, the variable that it is assigned to.
    aliases: HashMap<ExprId, BindingId>,
}

impl<'a> StatementHashes<'a> {
    pub(super) fn new(tree: &'a ScanTree, tables: &'a TableLeaks) -> Self {
        let mut fields: HashMap<BindingId, Vec<(u64, ExprId)>> = HashMap::new();
        let mut classes: HashSet<BindingId> = HashSet::new();
        for (name, writes) in &tree.field_writes {
            for write in writes {
                let Some(root) = write.root else { continue };
                if matches!(tree.expr(write.value), TreeExpr::Function(_)) {
                    classes.insert(root);
                }
                fields.entry(root).or_default().push((hash_text(name), write.value));
            }
        }
        fields.retain(|root, _| !classes.contains(root) && !tree.binding(*root).is_global);
        for values in fields.values_mut() {
            values.sort_unstable_by_key(|(_, value)| *value);
        }
        let mut aliases = HashMap::new();
        for (at, binding) in tree.bindings.iter().enumerate() {
            for definition in &binding.definitions {
                if let BindingSource::Value(value) = definition {
                    aliases.insert(*value, BindingId(at as u32));
                }
            }
        }
        let (statements, dependency_hashes) = (HashMap::new(), HashMap::new());
        Self { tree, statements, dependency_hashes, fields, tables, aliases }
    }

    /// The hash of the statement that contains an expression.
    pub(super) fn statement_hash(&mut self, at: ExprId) -> u64 {
        let id = self.tree.node(at).statement;
        if let Some(known) = self.statements.get(&id) {
            return *known;
        }
        let statement = self.tree.statement_of(at);
        let mut hasher = DefaultHasher::new();
        let mut open = Vec::new();
        statement.declared_names.hash(&mut hasher);
        for root in statement.roots.iter().chain(&*statement.conditions) {
            self.hash_expr(*root, &mut hasher, &mut open);
        }
        let mut seen = HashSet::new();
        while let Some(next) = open.pop() {
            if seen.len() == MAX_DEPENDENCIES || !seen.insert(next) {
                continue;
            }
            let (hash, dependencies) = self.hash_dependency(next);
            hash.hash(&mut hasher);
            open.extend(dependencies.iter().copied());
        }
        let hash = hasher.finish();
        self.statements.insert(id, hash);
        hash
    }

    fn hash_dependency(&mut self, of: HashDependency) -> DependencyHash {
        if let Some(known) = self.dependency_hashes.get(&of) {
            return known.clone();
        }
        let mut hasher = DefaultHasher::new();
        let mut open = Vec::new();
        match of {
            HashDependency::Binding(id) => self.hash_binding(id, &mut hasher, &mut open),
            HashDependency::Field(value) => self.hash_expr(value, &mut hasher, &mut open),
            HashDependency::Leak(at) => {
                for root in &self.tree.statement_of(at).roots {
                    self.hash_expr(*root, &mut hasher, &mut open);
                }
                if let Some(alias) = self.aliases.get(&at) {
                    open.push(HashDependency::Binding(*alias));
                }
            }
        }
        // Deduplicate and limit the dependencies, because many statements may share them.
        let mut seen = HashSet::new();
        open.retain(|it| seen.len() < MAX_DEPENDENCIES && seen.insert(*it));
        let part = (hasher.finish(), open.into());
        self.dependency_hashes.insert(of, part.clone());
        part
    }

    fn hash_binding(
        &self,
        id: BindingId,
        hasher: &mut DefaultHasher,
        open: &mut Vec<HashDependency>,
    ) {
        for definition in &self.tree.binding(id).definitions {
            match definition {
                BindingSource::Value(value)
                | BindingSource::Item(value)
                | BindingSource::Key(value) => {
                    self.hash_expr(*value, hasher, open);
                }
                BindingSource::Result(value, nth) => {
                    nth.hash(hasher);
                    self.hash_expr(*value, hasher, open);
                }
                BindingSource::Parameter(_, nth) => nth.hash(hasher),
                BindingSource::Unknown => 0_u8.hash(hasher),
            }
        }
        let is_table = |it: &BindingSource| match it {
            BindingSource::Value(value) => matches!(self.tree.expr(*value), TreeExpr::Table(_)),
            _ => false,
        };
        if self.tree.binding(id).definitions.iter().any(is_table) {
            let leaks = self.tables.leaks.get(&id).into_iter().flatten().take(MAX_DEPENDENCIES);
            open.extend(leaks.map(|at| HashDependency::Leak(*at)));
        }
        for (name, value) in self.fields.get(&id).into_iter().flatten() {
            name.hash(hasher);
            self.hash_expr(*value, hasher, open);
        }
    }

    /// Adds the values assigned to a field as dependencies.
    fn add_field_dependencies(&self, base: ExprId, key: ExprId, open: &mut Vec<HashDependency>) {
        let items = self.tree.item_writes(base).iter().take(MAX_DEPENDENCIES);
        for write in items {
            open.extend(write.key.into_iter().chain([write.value]).map(HashDependency::Field));
        }
        let Some(name) = self.tree.literal_text(key) else { return };
        let writes = self.tree.binding_writes(base, name).iter().take(MAX_DEPENDENCIES);
        open.extend(writes.map(|value| HashDependency::Field(*value)));
    }

    /// Hashes an expression and collects its dependencies. Of a function only the returned values
    /// count.
    fn hash_expr(&self, id: ExprId, hasher: &mut DefaultHasher, open: &mut Vec<HashDependency>) {
        let expr = self.tree.expr(id);
        std::mem::discriminant(expr).hash(hasher);
        match expr {
            TreeExpr::Bool(it) => it.hash(hasher),
            TreeExpr::Number(it) => it.to_bits().hash(hasher),
            TreeExpr::Text(it) => it.hash(hasher),
            TreeExpr::Name(binding) => {
                self.tree.binding(*binding).name.hash(hasher);
                open.push(HashDependency::Binding(*binding));
            }
            TreeExpr::Binary { operator, .. } => operator.hash(hasher),
            TreeExpr::Unary { operator, .. } => operator.hash(hasher),
            TreeExpr::Call { args, is_method, .. } => (args.len(), is_method).hash(hasher),
            TreeExpr::Table(fields) => {
                fields.iter().for_each(|field| field.key.is_some().hash(hasher));
            }
            TreeExpr::Function(function) => {
                let function = self.tree.function(*function);
                function.parameters.len().hash(hasher);
                for values in &function.returns {
                    values.iter().for_each(|it| self.hash_expr(*it, hasher, open));
                }
            }
            TreeExpr::Index { base, key, .. } => self.add_field_dependencies(*base, *key, open),
            TreeExpr::Nil
            | TreeExpr::Varargs
            | TreeExpr::Choice { .. }
            | TreeExpr::Interpolated(_) => {}
        }
        self.tree.visit_operands(id, |operand| self.hash_expr(operand, hasher, open));
    }
}
