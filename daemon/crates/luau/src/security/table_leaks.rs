//! Finds private tables: those that are written to only through their variable, so that their
//! content is known.
//!
//! A table that has an alias, is passed to a function or is stored in another table may be written
//! to in ways that are not followed. This module must not evaluate expressions.

use std::collections::{HashMap, HashSet};

use super::call_flow::global_name;
use super::tree::{
    BinaryOperator, BindingId, BindingSource, ExprId, ItemWrite, ScanTree, TreeExpr,
};

/// Maximum number of expressions through which a value is followed.
const MAX_STEPS: usize = 64;

/// Functions that read a table without keeping or changing it.
const READ_ONLY_FUNCTIONS: [&str; 17] = [
    "ipairs",
    "pairs",
    "next",
    "type",
    "typeof",
    "print",
    "warn",
    "tostring",
    "rawget",
    "rawlen",
    "rawequal",
    "unpack",
    "table.unpack",
    "table.concat",
    "table.find",
    "table.clone",
    "select",
];
/// Methods of instances that read a table without keeping or changing it.
const READ_ONLY_METHODS: [&str; 3] = ["RequestAsync", "CreateWebStreamClient", "JSONEncode"];

/// How far the table in a variable escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LeakLevel {
    /// The values in its fields escape.
    Fields,
    /// The table itself escapes.
    All,
}

#[derive(Debug, Default)]
pub(super) struct TableLeaks {
    private_tables: HashSet<ExprId>,
    /// The expressions in which the tables of variables escape.
    pub(super) leaks: HashMap<BindingId, Vec<ExprId>>,
}

impl TableLeaks {
    pub(super) fn from_tree(tree: &ScanTree, parents: &[Option<ExprId>]) -> Self {
        let mut holders: HashMap<ExprId, BindingId> = HashMap::new();
        for (at, binding) in tree.bindings.iter().enumerate().filter(|(_, it)| !it.is_global) {
            for definition in &binding.definitions {
                if let BindingSource::Value(value) = definition {
                    holders.insert(*value, BindingId(at as u32));
                }
            }
        }
        let mut tables = Self::default();
        let mut levels: HashMap<BindingId, LeakLevel> = HashMap::new();
        for id in tree.expr_ids() {
            let TreeExpr::Name(binding) = tree.expr(id) else { continue };
            let Some(leak) = find_leak(tree, parents, id) else { continue };
            let level = levels.entry(*binding).or_insert(leak);
            *level = leak.max(*level);
            if leak == LeakLevel::All {
                tables.leaks.entry(*binding).or_default().push(id);
            }
        }
        for id in tree.expr_ids().filter(|id| matches!(tree.expr(*id), TreeExpr::Table(_))) {
            if is_private_table(tree, parents, &holders, &levels, id) {
                tables.private_tables.insert(id);
            }
        }
        tables
    }

    pub(super) fn is_private(&self, table: ExprId) -> bool {
        self.private_tables.contains(&table)
    }
}

/// Records what library functions write to tables: `table.insert(list, value)`,
/// `rawset(table, key, value)`.
pub(super) fn add_library_writes(tree: &mut ScanTree) {
    let mut writes = Vec::new();
    for id in tree.expr_ids() {
        let TreeExpr::Call { callee, args, .. } = tree.expr(id) else { continue };
        let (Some(first), Some(value)) = (args.first(), args.last()) else { continue };
        let Some(name) = global_name(tree, *callee) else { continue };
        let (table, key, value) = match &*name {
            "table.insert" => (Some(*first), None, *value),
            "rawset" => (Some(*first), args.get(1).copied(), *value),
            "table.move" => (args.get(4).copied(), None, *first),
            _ => continue,
        };
        let place = table.and_then(|it| tree.field_location(it));
        writes.extend(place.map(|place| (place, ItemWrite { key, value })));
    }
    for (place, write) in writes {
        tree.item_writes.entry(place).or_default().push(write);
    }
}

/// Whether a call neither keeps nor changes its arguments.
fn is_read_only_call(tree: &ScanTree, callee: ExprId) -> bool {
    if global_name(tree, callee).is_some_and(|name| READ_ONLY_FUNCTIONS.contains(&&*name)) {
        return true;
    }
    match tree.expr(callee) {
        TreeExpr::Index { key, .. } => {
            tree.literal_text(*key).is_some_and(|name| READ_ONLY_METHODS.contains(&&**name))
        }
        _ => false,
    }
}

/// How far the table in a variable escapes where the variable is used; None if it does not.
fn find_leak(tree: &ScanTree, parents: &[Option<ExprId>], name: ExprId) -> Option<LeakLevel> {
    let mut child = name;
    let mut depth = 0;
    for _ in 0..MAX_STEPS {
        let reached = if depth == 0 { LeakLevel::All } else { LeakLevel::Fields };
        let Some(parent) = parents[child.0 as usize] else {
            let is_target = matches!(tree.expr(child), TreeExpr::Index { is_written: true, .. });
            // Returning a module does not count: writes by other scripts are found in those.
            let statement = tree.statement_of(child);
            let is_module = statement.is_return && statement.function.is_none();
            return (!is_target && !is_module).then_some(reached);
        };
        match tree.expr(parent) {
            TreeExpr::Index { base, .. } if *base == child => depth += 1,
            TreeExpr::Call { callee, is_method, .. } if *callee == child => {
                let own = if depth == 1 { LeakLevel::All } else { LeakLevel::Fields };
                return is_method.then_some(own);
            }
            TreeExpr::Call { callee, .. } if is_read_only_call(tree, *callee) => {
                return Some(LeakLevel::Fields);
            }
            TreeExpr::Binary { operator: BinaryOperator::And | BinaryOperator::Or, .. } => {}
            TreeExpr::Choice { values, .. } if values.contains(&child) => {}
            TreeExpr::Binary { .. }
            | TreeExpr::Unary { .. }
            | TreeExpr::Interpolated(_)
            | TreeExpr::Choice { .. } => return None,
            _ => return Some(reached),
        }
        child = parent;
    }
    Some(LeakLevel::All)
}

fn is_private_table(
    tree: &ScanTree,
    parents: &[Option<ExprId>],
    holders: &HashMap<ExprId, BindingId>,
    levels: &HashMap<BindingId, LeakLevel>,
    table: ExprId,
) -> bool {
    let mut child = table;
    let mut is_field = false;
    for _ in 0..MAX_STEPS {
        let Some(parent) = parents[child.0 as usize] else {
            let level = holders.get(&child).map(|holder| levels.get(holder));
            return match level {
                Some(None) => true,
                Some(Some(LeakLevel::Fields)) => !is_field,
                Some(Some(LeakLevel::All)) | None => false,
            };
        };
        match tree.expr(parent) {
            TreeExpr::Table(_) => is_field = true,
            TreeExpr::Binary { operator: BinaryOperator::And | BinaryOperator::Or, .. }
            | TreeExpr::Choice { .. } => {}
            TreeExpr::Call { callee, args, .. } if args.contains(&child) => {
                let name = global_name(tree, *callee);
                if name.as_deref() != Some("table.freeze") {
                    return is_read_only_call(tree, *callee);
                }
            }
            _ => return false,
        }
        child = parent;
    }
    false
}
