//! Evaluates a script's expressions: values are followed through variables, fields, parameters and
//! the functions of the script, and folded where all that they are made of is known.
//!
//! Each expression is evaluated once, whatever asks for it; where it hangs on itself, or on too much,
//! it is unknown. Nothing is run.

use std::collections::HashMap;
use std::rc::Rc;

use super::flow::{Flow, result_source};
use super::library;
use super::tree::{BindingId, Definition, Expr, ExprId, FunctionId, Operator, Tree};
use super::value::{MAX_VALUES, Value, Values, apply, concat, is_true, unary, union};

/// How deep an evaluation goes through what is defined further below.
const MAX_DEPTH: usize = 40;
pub(super) struct Evaluator<'a> {
    pub(super) tree: &'a Tree,
    pub(super) flow: &'a Flow,
    exprs: Vec<State>,
    bindings: HashMap<BindingId, State>,
    tables: HashMap<ExprId, Rc<HashMap<FieldKey, Vec<ExprId>>>>,
    lists: HashMap<ExprId, Values>,
    /// What was asked for by name: it may stand for many values, which are looked at once.
    fields: HashMap<(ExprId, FieldKey), Values>,
    writes: HashMap<(BindingId, Rc<str>), Values>,
    returns: HashMap<FunctionId, Values>,
    depth: usize,
    unknown: Values,
}

/// A key under which a table is looked into.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FieldKey {
    Text(Rc<str>),
    Number(u64),
}

impl FieldKey {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => Some(Self::Number(number.to_bits())),
            _ => None,
        }
    }
}

#[derive(Clone)]
enum State {
    New,
    Open,
    Done(Values),
}

impl<'a> Evaluator<'a> {
    /// Evaluates all of a script, from its first line on, so that little hangs on what is still open.
    pub(super) fn new(tree: &'a Tree, flow: &'a Flow) -> Self {
        let exprs = vec![State::New; tree.exprs.len()];
        let unknown: Values = [Value::Unknown].into();
        let mut evaluator = Self {
            tree,
            flow,
            exprs,
            bindings: HashMap::new(),
            tables: HashMap::new(),
            lists: HashMap::new(),
            fields: HashMap::new(),
            writes: HashMap::new(),
            returns: HashMap::new(),
            depth: 0,
            unknown,
        };
        for id in tree.ids() {
            evaluator.eval(id);
        }
        evaluator
    }

    /// What an expression may be; never empty.
    pub(super) fn eval(&mut self, id: ExprId) -> Values {
        match &self.exprs[id.0 as usize] {
            State::Done(values) => return values.clone(),
            State::New if self.depth < MAX_DEPTH => {}
            State::New | State::Open => return self.unknown.clone(),
        }
        self.exprs[id.0 as usize] = State::Open;
        self.depth += 1;
        let values = union(self.compute(id));
        self.depth -= 1;
        self.exprs[id.0 as usize] = State::Done(values.clone());
        values
    }

    fn compute(&mut self, id: ExprId) -> Vec<Value> {
        let tree = self.tree;
        match tree.expr(id) {
            Expr::Nil => vec![Value::Nil],
            Expr::Bool(it) => vec![Value::Bool(*it)],
            Expr::Number(it) => vec![Value::Number(*it)],
            Expr::Text(it) => vec![Value::Text(it.clone())],
            Expr::Varargs => vec![Value::Unknown],
            Expr::Name(binding) => self.binding(*binding).to_vec(),
            Expr::Index { base, key, .. } => self.index(*base, *key),
            Expr::Call { callee, args, is_method } => self.call(*callee, args, *is_method),
            Expr::Function(it) => vec![Value::Function(*it)],
            Expr::Table(_) => vec![Value::Table(id)],
            Expr::Binary { operator, left, right } => self.binary(*operator, *left, *right),
            Expr::Unary { operator, operand } => {
                let operand = self.eval(*operand);
                operand.iter().map(|it| unary(*operator, it)).collect()
            }
            Expr::Choice { values, .. } => {
                values.iter().flat_map(|it| self.eval(*it).to_vec()).collect()
            }
            Expr::Interpolated(parts) => {
                let mut whole = Value::Text(Rc::default());
                for part in parts {
                    let part = self.eval(*part);
                    whole = concat(&whole, &part[0]);
                }
                vec![whole]
            }
        }
    }

    pub(super) fn binding(&mut self, id: BindingId) -> Values {
        match self.bindings.get(&id) {
            Some(State::Done(values)) => return values.clone(),
            Some(_) => return self.unknown.clone(),
            None => {}
        }
        self.bindings.insert(id, State::Open);
        let binding = self.tree.binding(id);
        let mut values = Vec::new();
        if binding.is_global {
            values.push(Value::Builtin(binding.name.clone()));
        }
        for definition in &binding.definitions {
            values.extend(self.definition(id, *definition));
        }
        if values.is_empty() {
            values.push(Value::Nil);
        }
        let values = union(values);
        self.bindings.insert(id, State::Done(values.clone()));
        values
    }

    fn definition(&mut self, binding: BindingId, definition: Definition) -> Vec<Value> {
        match definition {
            Definition::Value(id) => self.eval(id).to_vec(),
            Definition::Result(id, nth) => self.result(id, nth),
            Definition::Item(list) => self.items(list),
            Definition::Parameter(function, nth) => self.parameter(binding, function, nth),
            Definition::Unknown => vec![Value::Unknown],
        }
    }

    fn parameter(&mut self, id: BindingId, function: FunctionId, nth: usize) -> Vec<Value> {
        if let Some(source) = self.flow.sources.get(&id) {
            return vec![Value::Outside(source)];
        }
        let flow = self.flow;
        let mut values = Vec::new();
        for site in flow.sites.get(&function).into_iter().flatten() {
            match site.args(self.tree).get(nth) {
                Some(arg) => values.extend(self.eval(*arg).to_vec()),
                None => values.push(Value::Nil),
            }
        }
        if values.is_empty() || !flow.closed.contains(&function) {
            values.push(Value::Unknown);
        }
        values
    }

    /// One of the further values of a call: of `pcall` what the function gives, of `unpack` an item.
    fn result(&mut self, id: ExprId, nth: usize) -> Vec<Value> {
        let Expr::Call { callee, args, .. } = self.tree.expr(id) else {
            return vec![Value::Unknown];
        };
        let callee = self.eval(*callee);
        match callee.first() {
            Some(Value::Builtin(name)) => match (&**name, args.first()) {
                ("pcall" | "ypcall", Some(function)) if nth == 1 => {
                    self.call(*function, &args[1..], false)
                }
                ("xpcall", Some(function)) if nth == 1 => {
                    self.call(*function, args.get(2..).unwrap_or_default(), false)
                }
                ("table.unpack" | "unpack", Some(list)) => {
                    self.items(*list).into_iter().skip(nth).take(1).collect()
                }
                ("select", _) => {
                    args.get(nth + 1).map_or_else(Vec::new, |arg| self.eval(*arg).to_vec())
                }
                _ => vec![Value::Unknown],
            },
            Some(Value::Outside(source)) => vec![Value::Outside(source)],
            _ => vec![Value::Unknown],
        }
    }

    /// What stands in a list, or in one that is gone over by `ipairs` and its like.
    pub(super) fn items(&mut self, list: ExprId) -> Vec<Value> {
        let tree = self.tree;
        if let Expr::Call { callee, args, .. } = tree.expr(list)
            && let [Value::Builtin(name)] = &*self.eval(*callee)
            && matches!(&**name, "ipairs" | "pairs" | "next")
            && let Some(list) = args.first()
        {
            return self.items(*list);
        }
        let mut values = Vec::new();
        for value in self.eval(list).iter() {
            match value {
                Value::Table(id) => values.extend(self.table_values(*id).to_vec()),
                Value::List(items) => values.extend(items.iter().cloned()),
                Value::Outside(source) => values.push(Value::Outside(source)),
                _ => values.push(Value::Unknown),
            }
        }
        values
    }

    /// All values of a table.
    fn table_values(&mut self, table: ExprId) -> Values {
        if let Some(known) = self.lists.get(&table) {
            return known.clone();
        }
        // It may hold itself.
        self.lists.insert(table, self.unknown.clone());
        let mut values = Vec::new();
        if let Expr::Table(fields) = self.tree.expr(table) {
            for field in fields {
                values.extend(self.eval(field.value).to_vec());
            }
        }
        let values = union(values);
        self.lists.insert(table, values.clone());
        values
    }

    fn index(&mut self, base: ExprId, key: ExprId) -> Vec<Value> {
        let (bases, keys) = (self.eval(base), self.eval(key));
        let mut values = Vec::new();
        for key in keys.iter() {
            if let Value::Text(name) = key {
                values.extend(self.own_values(base, name).to_vec());
            }
            for base in bases.iter() {
                self.member(base, key, &mut values);
            }
        }
        values
    }

    fn member(&mut self, base: &Value, key: &Value, values: &mut Vec<Value>) {
        let name = match key {
            Value::Text(name) => Some(name.clone()),
            _ => None,
        };
        match (base, name) {
            (Value::Outside(source), _) => values.push(Value::Outside(source)),
            (Value::Table(table), name) => {
                let before = values.len();
                self.fields(*table, key, values);
                if values.len() == before {
                    values.push(name.map_or(Value::Unknown, |name| Value::Member(None, name)));
                }
            }
            (Value::List(items), _) => match key {
                Value::Number(nth) if *nth >= 1.0 => {
                    values.push(items.get(*nth as usize - 1).cloned().unwrap_or(Value::Nil));
                }
                _ => values.push(Value::Unknown),
            },
            (Value::Text(_) | Value::Prefix(_), Some(name)) => {
                values.push(Value::Builtin(format!("string.{name}").into()));
            }
            (Value::Builtin(owner), Some(name)) => values.push(match &**owner {
                "_G" | "shared" => Value::Builtin(name),
                "game" if name.ends_with("Service") => Value::Service(name),
                owner if library::is_library(owner) => {
                    Value::Builtin(format!("{owner}.{name}").into())
                }
                _ => Value::Member(None, name),
            }),
            (Value::Service(service), Some(name)) => {
                values.push(Value::Member(Some(service.clone()), name));
            }
            (_, Some(name)) => values.push(Value::Member(None, name)),
            (_, None) => values.push(match key {
                Value::Outside(source) => Value::Outside(source),
                _ => Value::Unknown,
            }),
        }
    }

    /// The values that a field behind a variable is given; empty where it is given none.
    pub(super) fn own_values(&mut self, base: ExprId, name: &Rc<str>) -> Values {
        let writes = self.tree.own_writes(base, name);
        let Some(root) = self.tree.root(base).filter(|_| !writes.is_empty()) else {
            return Rc::default();
        };
        let key = (root, name.clone());
        if let Some(known) = self.writes.get(&key) {
            return known.clone();
        }
        self.writes.insert(key.clone(), self.unknown.clone());
        let values = self.eval_all(writes);
        self.writes.insert(key, values.clone());
        values
    }

    /// The values of a table under a key.
    pub(super) fn fields(&mut self, table: ExprId, key: &Value, values: &mut Vec<Value>) {
        let Some(key) = FieldKey::of(key) else { return };
        let id = (table, key);
        if let Some(known) = self.fields.get(&id) {
            values.extend(known.to_vec());
            return;
        }
        let index = self.table_index(table);
        let Some(found) = index.get(&id.1) else { return };
        self.fields.insert(id.clone(), self.unknown.clone());
        let all = self.eval_all(found);
        self.fields.insert(id, all.clone());
        values.extend(all.to_vec());
    }

    /// What a function may give first.
    fn return_values(&mut self, function: FunctionId) -> Values {
        if let Some(known) = self.returns.get(&function) {
            return known.clone();
        }
        self.returns.insert(function, self.unknown.clone());
        let values = self.eval_all(&self.tree.function(function).returns);
        self.returns.insert(function, values.clone());
        values
    }

    fn eval_all(&mut self, ids: &[ExprId]) -> Values {
        let mut values = Vec::new();
        for id in ids {
            values.extend(self.eval(*id).to_vec());
        }
        union(values)
    }

    fn table_index(&mut self, table: ExprId) -> Rc<HashMap<FieldKey, Vec<ExprId>>> {
        if let Some(known) = self.tables.get(&table) {
            return known.clone();
        }
        let mut index: HashMap<FieldKey, Vec<ExprId>> = HashMap::new();
        let mut nth = 0;
        if let Expr::Table(fields) = self.tree.expr(table) {
            for field in fields {
                let keys = if let Some(key) = field.key {
                    self.eval(key).iter().filter_map(FieldKey::of).collect()
                } else {
                    nth += 1;
                    vec![FieldKey::Number(f64::from(nth).to_bits())]
                };
                for key in keys {
                    index.entry(key).or_default().push(field.value);
                }
            }
        }
        let index = Rc::new(index);
        self.tables.insert(table, index.clone());
        index
    }

    fn call(&mut self, callee: ExprId, args: &[ExprId], is_method: bool) -> Vec<Value> {
        let tree = self.tree;
        let owner = match tree.expr(callee) {
            Expr::Index { base, .. } if is_method => Some(*base),
            _ => None,
        };
        let mut values = Vec::new();
        for value in self.eval(callee).iter() {
            match value {
                Value::Builtin(name) => {
                    let own = owner.filter(|_| name.starts_with("string."));
                    let all: Vec<ExprId> = own.into_iter().chain(args.iter().copied()).collect();
                    values.extend(library::call(self, name, &all));
                }
                Value::Function(function) => {
                    values.extend(self.return_values(*function).to_vec());
                }
                Value::Outside(source) => values.push(Value::Outside(source)),
                Value::Member(_, name) => {
                    let value = self.method(owner, name, args);
                    values.push(value);
                }
                _ => values.push(Value::Unknown),
            }
        }
        values
    }

    /// What a method of an instance gives.
    fn method(&mut self, owner: Option<ExprId>, name: &str, args: &[ExprId]) -> Value {
        let is_of_game = |it: &mut Self| {
            owner.is_some_and(
                |owner| matches!(&*it.eval(owner), [Value::Builtin(name)] if &**name == "game"),
            )
        };
        let first = args.first().map(|arg| self.eval(*arg));
        let first = first.as_deref().and_then(<[Value]>::first);
        match name {
            "GetService"
            | "FindService"
            | "FindFirstChild"
            | "WaitForChild"
            | "FindFirstChildOfClass"
            | "FindFirstChildWhichIsA"
                if name.ends_with("Service") || is_of_game(self) =>
            {
                Value::Service(match first {
                    Some(Value::Text(service)) => service.clone(),
                    _ => Rc::default(),
                })
            }
            "JSONDecode" => match first {
                Some(Value::Outside(source)) => Value::Outside(source),
                _ => Value::Unknown,
            },
            _ if library::is_string_method(name) => Value::Unknown,
            _ => result_source(name).map_or(Value::Unknown, Value::Outside),
        }
    }

    fn binary(&mut self, operator: Operator, left: ExprId, right: ExprId) -> Vec<Value> {
        let (lefts, rights) = (self.eval(left), self.eval(right));
        match operator {
            Operator::Or | Operator::And => {
                let is_or = operator == Operator::Or;
                let mut values = Vec::new();
                for left in lefts.iter() {
                    match (is_true(left), is_or) {
                        (Some(true), true) | (Some(false), false) => values.push(left.clone()),
                        (Some(_), _) => values.extend(rights.iter().cloned()),
                        (None, is_or) => {
                            values.extend(is_or.then(|| left.clone()));
                            values.extend(rights.iter().cloned());
                        }
                    }
                }
                values
            }
            Operator::Compare => vec![Value::Unknown],
            _ => {
                let pairs = lefts.iter().flat_map(|left| rights.iter().map(move |it| (left, it)));
                pairs.take(MAX_VALUES).map(|(left, right)| apply(operator, left, right)).collect()
            }
        }
    }
}
