//! Table lookups of the [`Evaluator`]: values from the constructor, from writes through the
//! variable that holds the table, and from writes by other code.

use std::collections::HashMap;
use std::rc::Rc;

use super::call_flow::global_name;
use super::evaluator::{Evaluator, NAVIGATION_METHODS};
use super::model::ModelContext;
use super::standard_library;
use super::tree::{BindingId, ExprId, TreeExpr};
use super::value::{
    MAX_VALUES, MemberOwner, ScanValue, ValueSet, is_instance, to_text, union_values,
};

/// A key for a table lookup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FieldKey {
    Text(Rc<str>),
    Number(u64),
}

impl FieldKey {
    fn from_value(value: &ScanValue) -> Option<Self> {
        match value {
            ScanValue::Text(text) => Some(Self::Text(text.clone())),
            ScanValue::Number(number) => Some(Self::Number(number.to_bits())),
            _ => None,
        }
    }
}

/// A variable and the last name of its chain; the name is empty for the variable itself.
pub(super) type FieldLocation = (BindingId, Rc<str>);

/// The values written to a variable's table under keys that are not names.
#[derive(Debug, Default)]
pub(super) struct TableItems {
    by_key: HashMap<FieldKey, Vec<ExprId>>,
    /// The values under an unknown key or one of several.
    unknown_keys: Vec<ExprId>,
}

impl Evaluator<'_> {
    /// The list in `ipairs(list)` and similar, and whether its keys are numbers.
    fn iterated_list(&mut self, list: ExprId) -> (ExprId, bool) {
        if let TreeExpr::Call { callee, args, .. } = self.tree.expr(list)
            && let Some(first) = args.first()
            && let Some(name) = global_name(self.tree, *callee)
            && matches!(&*name, "ipairs" | "pairs" | "next")
        {
            return (*first, &*name == "ipairs");
        }
        (list, false)
    }

    /// The possible items of a list, or of one that is iterated by `ipairs` and similar.
    pub(super) fn item_values(&mut self, list: ExprId) -> Vec<ScanValue> {
        let (list, _) = self.iterated_list(list);
        let mut values = self.all_written_values(list).to_vec();
        for value in self.eval(list).iter() {
            match value {
                ScanValue::Table(id) => {
                    values.extend(self.table_values(*id).to_vec());
                    self.mark_incomplete(*id, &mut values);
                }
                ScanValue::List(items) => values.extend(items.iter().cloned()),
                ScanValue::Untrusted(source) => values.push(ScanValue::Untrusted(source)),
                ScanValue::Imported => values.push(ScanValue::Imported),
                value if is_instance(value) => values.push(ScanValue::Instance),
                ScanValue::Incomplete => values.push(ScanValue::Incomplete),
                ScanValue::Nil => {}
                _ => values.push(ScanValue::Unknown),
            }
        }
        values
    }

    /// The possible keys in a loop over a table.
    pub(super) fn key_values(&mut self, list: ExprId) -> Vec<ScanValue> {
        let (list, is_numbered) = self.iterated_list(list);
        if is_numbered {
            return vec![ScanValue::UnknownNumber];
        }
        let tree = self.tree;
        let mut values = Vec::new();
        for value in self.eval(list).iter() {
            match value {
                ScanValue::Table(id) => {
                    let TreeExpr::Table(fields) = tree.expr(*id) else { continue };
                    for field in fields {
                        match field.key {
                            Some(key) => values.extend(self.eval(key).to_vec()),
                            None => values.push(ScanValue::UnknownNumber),
                        }
                    }
                    self.mark_incomplete(*id, &mut values);
                }
                ScanValue::Untrusted(source) => values.push(ScanValue::Untrusted(source)),
                ScanValue::List(_) => values.push(ScanValue::UnknownNumber),
                value if is_instance(value) => values.push(ScanValue::UnknownNumber),
                ScanValue::Nil => {}
                _ => values.push(ScanValue::Unknown),
            }
        }
        for write in tree.item_writes(list) {
            values.extend(write.key.map_or_else(Vec::new, |key| self.eval(key).to_vec()));
        }
        values
    }

    pub(super) fn is_private_table(&self, table: ExprId) -> bool {
        self.table_leaks.is_private(table)
    }

    /// Marks that a table may hold more than the known values.
    fn mark_incomplete(&self, table: ExprId, values: &mut Vec<ScanValue>) {
        if !self.is_private_table(table) {
            values.push(ScanValue::Incomplete);
        }
    }

    /// The possible values of all fields in a table constructor.
    fn table_values(&mut self, table: ExprId) -> ValueSet {
        if let Some(known) = self.table_values.get(&table) {
            return known.clone();
        }
        // Guard against a table that contains itself.
        self.table_values.insert(table, self.unknown.clone());
        let mut values = Vec::new();
        if let TreeExpr::Table(fields) = self.tree.expr(table) {
            for field in fields {
                values.extend(self.eval(field.value).to_vec());
            }
            let last = fields.last().filter(|last| last.key.is_none());
            if last.is_some_and(|last| self.can_return_several(last.value)) {
                values.push(ScanValue::Unknown);
            }
        }
        let values = if values.is_empty() { Rc::default() } else { union_values(values) };
        self.table_values.insert(table, values.clone());
        values
    }

    pub(super) fn index_values(&mut self, base: ExprId, key: ExprId) -> Vec<ScanValue> {
        let keys = self.eval(key);
        self.lookup_keys(base, &keys)
    }

    /// The possible values of a base under any of these keys.
    pub(super) fn lookup_keys(&mut self, base: ExprId, keys: &[ScanValue]) -> Vec<ScanValue> {
        let bases = self.eval(base);
        let mut values = Vec::new();
        for key in keys {
            let written = self.written_values(base, key);
            values.extend(written.to_vec());
            for base in bases.iter() {
                // If the script writes this key, the table holds the written and the constructed
                // values, and whatever other code may write.
                if let ScanValue::Table(table) = base
                    && !written.is_empty()
                {
                    self.field_values(*table, key, &mut values);
                    self.mark_incomplete(*table, &mut values);
                } else {
                    self.lookup_member(base, key, &mut values);
                }
            }
        }
        values
    }

    fn lookup_member(&mut self, base: &ScanValue, key: &ScanValue, values: &mut Vec<ScanValue>) {
        let name = match key {
            ScanValue::Text(name) => Some(name.clone()),
            _ => None,
        };
        if let Some(context) = self.context {
            values.extend(model_member_values(context, base, key));
        }
        match (base, name) {
            (ScanValue::Untrusted(source), _) => values.push(ScanValue::Untrusted(source)),
            (ScanValue::Table(table), name) => {
                let before = values.len();
                self.field_values(*table, key, values);
                if values.len() == before {
                    values.push(name.map_or(ScanValue::Unknown, |name| {
                        ScanValue::Member(MemberOwner::Unknown, name)
                    }));
                }
                self.mark_incomplete(*table, values);
            }
            (ScanValue::List(items), _) => match key {
                ScanValue::Number(nth) if *nth >= 1.0 => {
                    values.push(items.get(*nth as usize - 1).cloned().unwrap_or(ScanValue::Nil));
                }
                _ => values.extend(items.iter().cloned().chain([ScanValue::Unknown])),
            },
            (ScanValue::Text(_) | ScanValue::Prefix(_), Some(name)) => {
                values.push(ScanValue::Builtin(format!("string.{name}").into()));
            }
            (ScanValue::Builtin(owner), Some(name)) => values.push(match &**owner {
                "_G" | "shared" => ScanValue::Builtin(name),
                "game" if name.ends_with("Service") && !NAVIGATION_METHODS.contains(&&*name) => {
                    ScanValue::Service(name)
                }
                owner if standard_library::is_library(owner) => {
                    ScanValue::Builtin(format!("{owner}.{name}").into())
                }
                _ if is_instance(base) => ScanValue::Member(MemberOwner::Instance, name),
                _ => ScanValue::Member(MemberOwner::Unknown, name),
            }),
            (ScanValue::Service(service), Some(name)) => {
                values.push(ScanValue::Member(MemberOwner::Service(service.clone()), name));
            }
            (
                ScanValue::Imported
                | ScanValue::Module(_)
                | ScanValue::Member(MemberOwner::Imported, _),
                Some(name),
            ) => {
                values.push(ScanValue::Member(MemberOwner::Imported, name));
            }
            (
                ScanValue::Imported
                | ScanValue::Module(_)
                | ScanValue::Member(MemberOwner::Imported, _),
                None,
            ) => {
                values.push(ScanValue::Imported);
            }
            (base, Some(name)) if is_instance(base) => {
                values.push(ScanValue::Member(MemberOwner::Instance, name));
            }
            (ScanValue::Incomplete, _) => values.push(ScanValue::Incomplete),
            // Indexing these fails at run time.
            (
                ScanValue::Nil
                | ScanValue::Bool(_)
                | ScanValue::Number(_)
                | ScanValue::UnknownNumber,
                _,
            ) => {
                values.push(ScanValue::Nil);
            }
            (_, Some(name)) => values.push(ScanValue::Member(MemberOwner::Unknown, name)),
            (base, None) => values.push(match key {
                ScanValue::Untrusted(source) => ScanValue::Untrusted(source),
                _ if is_instance(base) => ScanValue::Instance,
                _ => ScanValue::Unknown,
            }),
        }
    }

    /// The values written under a key through a variable; empty if there are none.
    pub(super) fn written_values(&mut self, base: ExprId, key: &ScanValue) -> ValueSet {
        let Some(place) = self.tree.field_location(base) else { return Rc::default() };
        let Some(key) = FieldKey::from_value(key) else { return self.all_written_values(base) };
        let of_name = match &key {
            FieldKey::Text(name) => self.tree.binding_writes(base, name),
            FieldKey::Number(_) => &[],
        };
        if of_name.is_empty() && !self.tree.item_writes.contains_key(&place) {
            return Rc::default();
        }
        let id = (place.clone(), Some(key.clone()));
        if let Some(known) = self.written_values.get(&id) {
            return known.clone();
        }
        self.written_values.insert(id.clone(), self.unknown.clone());
        let items = self.written_items(place);
        let known = items.by_key.get(&key).map_or(&[][..], Vec::as_slice);
        let all = of_name.iter().chain(known).chain(&items.unknown_keys).copied();
        let values = self.eval_or_empty(&all.collect::<Vec<_>>());
        self.written_values.insert(id, values.clone());
        values
    }

    /// The values written under any computed key through a variable.
    fn all_written_values(&mut self, base: ExprId) -> ValueSet {
        let Some(place) = self.tree.field_location(base) else { return Rc::default() };
        let Some(writes) = self.tree.item_writes.get(&place) else { return Rc::default() };
        let id = (place, None);
        if let Some(known) = self.written_values.get(&id) {
            return known.clone();
        }
        self.written_values.insert(id.clone(), self.unknown.clone());
        let all: Vec<ExprId> = writes.iter().map(|write| write.value).collect();
        let values = self.eval_or_empty(&all);
        self.written_values.insert(id, values.clone());
        values
    }

    fn written_items(&mut self, place: FieldLocation) -> Rc<TableItems> {
        if let Some(known) = self.items.get(&place) {
            return known.clone();
        }
        self.items.insert(place.clone(), Rc::default());
        let mut items = TableItems::default();
        for write in self.tree.item_writes.get(&place).into_iter().flatten() {
            let key = write.key.map(|key| self.eval(key));
            match key.as_deref() {
                Some([key]) if FieldKey::from_value(key).is_some() => {
                    let key = FieldKey::from_value(key).into_iter();
                    key.for_each(|key| items.by_key.entry(key).or_default().push(write.value));
                }
                _ => items.unknown_keys.push(write.value),
            }
        }
        let items = Rc::new(items);
        self.items.insert(place, items.clone());
        items
    }

    /// The values that any field of this name is assigned in the script; empty if there are none.
    pub(super) fn named_field_values(&mut self, name: &Rc<str>) -> ValueSet {
        if let Some(known) = self.name_values.get(name) {
            return known.clone();
        }
        self.name_values.insert(name.clone(), self.unknown.clone());
        let tree = self.tree;
        let written = tree.field_writes.get(name).into_iter().flatten().map(|it| it.value);
        let constructed = tree.constructor_fields.get(name).into_iter().flatten().copied();
        let values = self.eval_or_empty(&written.chain(constructed).collect::<Vec<_>>());
        self.name_values.insert(name.clone(), values.clone());
        values
    }

    /// The values of a table constructor under a key.
    fn field_values(&mut self, table: ExprId, key: &ScanValue, values: &mut Vec<ScanValue>) {
        let Some(key) = FieldKey::from_value(key) else {
            values.extend(self.table_values(table).to_vec());
            return;
        };
        let id = (table, key);
        if let Some(known) = self.field_values.get(&id) {
            values.extend(known.to_vec());
            return;
        }
        let index = self.table_index(table);
        let Some(found) = index.get(&id.1) else { return };
        self.field_values.insert(id.clone(), self.unknown.clone());
        let all = self.eval_all(found);
        self.field_values.insert(id, all.clone());
        values.extend(all.to_vec());
    }

    /// Evaluates expressions; empty if there are none.
    fn eval_or_empty(&mut self, ids: &[ExprId]) -> ValueSet {
        if ids.is_empty() { Rc::default() } else { self.eval_all(ids) }
    }

    fn table_index(&mut self, table: ExprId) -> Rc<HashMap<FieldKey, Vec<ExprId>>> {
        if let Some(known) = self.table_indexes.get(&table) {
            return known.clone();
        }
        let mut index: HashMap<FieldKey, Vec<ExprId>> = HashMap::new();
        let mut nth = 0;
        let mut others = Vec::new();
        if let TreeExpr::Table(fields) = self.tree.expr(table) {
            for field in fields {
                let keys = if let Some(key) = field.key {
                    let keys = self.eval(key);
                    let is_known = keys.iter().all(|key| FieldKey::from_value(key).is_some());
                    let known = keys.iter().filter_map(FieldKey::from_value).collect();
                    if !is_known {
                        others.push(field.value);
                    }
                    known
                } else {
                    nth += 1;
                    vec![FieldKey::Number(f64::from(nth).to_bits())]
                };
                for key in keys {
                    index.entry(key).or_default().push(field.value);
                }
            }
        }
        for values in index.values_mut() {
            values.extend(others.iter().take(MAX_VALUES));
        }
        let index = Rc::new(index);
        self.table_indexes.insert(table, index.clone());
        index
    }
}

/// What the model holds under a member of one of its instances, or what one of its modules exports.
fn model_member_values(
    context: ModelContext<'_>,
    base: &ScanValue,
    key: &ScanValue,
) -> Vec<ScanValue> {
    let name = match (base, key) {
        (ScanValue::Module(_), key) => to_text(key),
        (_, ScanValue::Text(name)) => Some(name.clone()),
        _ => None,
    };
    let Some(name) = name else { return Vec::new() };
    match base {
        ScanValue::ModelNode(at) => context.member(*at, &name),
        ScanValue::Module(at) => {
            let fields = context.exports(*at).and_then(|it| it.fields.get(&name));
            fields.cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
