//! Evaluates a script's expressions: values are followed through variables, fields, parameters and
//! the functions of the script, and folded where all that they are made of is known.
//!
//! Each expression is evaluated once, whatever asks for it; where it hangs on itself, or on too much,
//! it is unknown. Nothing is run.

use std::collections::HashMap;
use std::rc::Rc;

use super::flow::{Flow, result_source};
use super::library;
use super::lookup::{FieldKey, Items, Place};
use super::tables::Tables;
use super::tree::{BindingId, Definition, Expr, ExprId, FunctionId, Operator, Tree};
use super::value::{
    Value, Values, apply, combinations, concat, is_instance, is_true, unary, union,
};

/// How deep an evaluation goes through what is defined further below.
const MAX_DEPTH: usize = 40;
pub(super) struct Evaluator<'a> {
    pub(super) tree: &'a Tree,
    pub(super) flow: &'a Flow,
    pub(super) tables_known: &'a Tables,
    exprs: Vec<State>,
    bindings: HashMap<BindingId, State>,
    pub(super) tables: HashMap<ExprId, Rc<HashMap<FieldKey, Vec<ExprId>>>>,
    pub(super) lists: HashMap<ExprId, Values>,
    /// What was asked for by name: it may stand for many values, which are looked at once.
    pub(super) fields: HashMap<(ExprId, FieldKey), Values>,
    pub(super) writes: HashMap<(Place, Option<FieldKey>), Values>,
    pub(super) items: HashMap<Place, Rc<Items>>,
    pub(super) named: HashMap<Rc<str>, Values>,
    returns: HashMap<(FunctionId, usize), Values>,
    depth: usize,
    pub(super) unknown: Values,
}

/// Methods that give instances.
pub(super) const NAVIGATION: [&str; 17] = [
    "GetService",
    "FindService",
    "FindFirstChild",
    "FindFirstChildOfClass",
    "FindFirstChildWhichIsA",
    "FindFirstDescendant",
    "FindFirstAncestor",
    "FindFirstAncestorOfClass",
    "FindFirstAncestorWhichIsA",
    "WaitForChild",
    "GetChildren",
    "GetDescendants",
    "QueryDescendants",
    "GetTagged",
    "GetPlayers",
    "GetPlayerFromCharacter",
    "Clone",
];

#[derive(Clone)]
enum State {
    New,
    Open,
    Done(Values),
}

impl<'a> Evaluator<'a> {
    /// Evaluates all of a script, from its first line on, so that little hangs on what is still open.
    pub(super) fn new(tree: &'a Tree, flow: &'a Flow, tables: &'a Tables) -> Self {
        let exprs = vec![State::New; tree.exprs.len()];
        let unknown: Values = [Value::Unknown].into();
        let mut evaluator = Self {
            tree,
            flow,
            tables_known: tables,
            exprs,
            bindings: HashMap::new(),
            tables: HashMap::new(),
            lists: HashMap::new(),
            fields: HashMap::new(),
            writes: HashMap::new(),
            items: HashMap::new(),
            named: HashMap::new(),
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
                let mut wholes: Values = [Value::Text(Rc::default())].into();
                for part in parts {
                    let part = self.eval(*part);
                    wholes = union(combinations(&wholes, &part, concat));
                }
                wholes.to_vec()
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
            Definition::Key(list) => self.keys(list),
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
        let (callee, args) = match self.tree.expr(id) {
            Expr::Call { callee, args, .. } => (*callee, args),
            Expr::Varargs => return vec![Value::Unknown],
            _ => return vec![Value::Nil],
        };
        let mut values = Vec::new();
        for value in self.eval(callee).iter() {
            match value {
                Value::Builtin(name) => values.extend(self.builtin_result(name, args, nth)),
                Value::Function(function) => {
                    values.extend(self.return_values(*function, nth).to_vec());
                }
                Value::Outside(source) => values.push(Value::Outside(source)),
                _ => values.push(Value::Unknown),
            }
        }
        values
    }

    fn builtin_result(&mut self, name: &str, args: &[ExprId], nth: usize) -> Vec<Value> {
        match (name, args.first()) {
            ("pcall" | "ypcall", Some(function)) if nth == 1 => {
                self.call(*function, &args[1..], false)
            }
            ("xpcall", Some(function)) if nth == 1 => {
                self.call(*function, args.get(2..).unwrap_or_default(), false)
            }
            ("table.unpack" | "unpack", Some(list)) => self.items(*list),
            ("select", _) => {
                args.get(nth + 1).map_or_else(Vec::new, |arg| self.eval(*arg).to_vec())
            }
            _ => vec![Value::Unknown],
        }
    }

    /// Whether an expression at the end of a list may give more than one value.
    pub(super) fn may_give_more(&mut self, id: ExprId) -> bool {
        let Expr::Call { callee, is_method, .. } = self.tree.expr(id) else {
            return matches!(self.tree.expr(id), Expr::Varargs);
        };
        let is_method = *is_method;
        let gives_one = |value: &Value| match value {
            Value::Builtin(name) => library::gives_one(name),
            // What a method of an instance gives.
            _ => is_method,
        };
        !self.eval(*callee).iter().all(gives_one)
    }

    /// What a function may give, first or as one of the values behind.
    fn return_values(&mut self, function: FunctionId, nth: usize) -> Values {
        let id = (function, nth);
        if let Some(known) = self.returns.get(&id) {
            return known.clone();
        }
        self.returns.insert(id, self.unknown.clone());
        let mut values = Vec::new();
        for returned in &self.tree.function(function).returns {
            match (returned.get(nth), returned.last()) {
                (Some(value), _) => values.extend(self.eval(*value).to_vec()),
                (None, Some(last)) => {
                    values.extend(self.result(*last, nth + 1 - returned.len()));
                }
                (None, None) => values.push(Value::Nil),
            }
        }
        let values = union(values);
        self.returns.insert(id, values.clone());
        values
    }

    pub(super) fn eval_all(&mut self, ids: &[ExprId]) -> Values {
        let mut values = Vec::new();
        for id in ids {
            values.extend(self.eval(*id).to_vec());
        }
        union(values)
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
                    values.extend(self.return_values(*function, 0).to_vec());
                }
                Value::Outside(source) => values.push(Value::Outside(source)),
                Value::Member(_, name) => values.extend(self.method(owner, name, args)),
                Value::Nil => values.push(Value::Nil),
                _ => values.push(Value::Unknown),
            }
        }
        values
    }

    /// What a method of an instance gives.
    fn method(&mut self, owner: Option<ExprId>, name: &Rc<str>, args: &[ExprId]) -> Vec<Value> {
        let owners = owner.map(|owner| self.eval(owner));
        let is_of_game =
            matches!(owners.as_deref(), Some([Value::Builtin(name)]) if &**name == "game");
        let firsts = args.first().map(|arg| self.eval(*arg));
        let firsts = firsts.as_deref().unwrap_or_default();
        let is_navigation = NAVIGATION.contains(&&**name);
        if name.ends_with("Service") || is_navigation && is_of_game {
            let service = |it: &Value| match it {
                Value::Text(service) => Value::Service(service.clone()),
                _ => Value::Service(Rc::default()),
            };
            return firsts.iter().map(service).collect();
        }
        // What looks like an instance is one where the script gives no object a method of the name.
        let may_be_instance = |it: &Value| {
            is_instance(it)
                || matches!(it, Value::Unknown | Value::Open | Value::Nil | Value::Imported)
                || matches!(it, Value::Member(..) | Value::Outside(_) | Value::Builtin(_))
        };
        if is_navigation
            && owners.as_deref().is_some_and(|owners| owners.iter().all(may_be_instance))
            && self.named(name).is_empty()
        {
            return vec![Value::Instance];
        }
        let outside = firsts.iter().find(|it| matches!(it, Value::Outside(_)));
        vec![match &**name {
            "JSONDecode" => outside.cloned().unwrap_or(Value::Unknown),
            _ if library::is_string_method(name) => Value::Unknown,
            _ => result_source(name).map_or(Value::Unknown, Value::Outside),
        }]
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
            it if it.is_comparison() => vec![Value::Unknown],
            _ => combinations(&lefts, &rights, |left, right| apply(operator, left, right)),
        }
    }
}
