//! Evaluates the expressions of a script statically. Values are followed through variables, fields,
//! parameters and the script's functions, and folded if all operands are known.
//!
//! Each expression is evaluated at most once. If it depends on itself, or the evaluation is too
//! deep, it is unknown. No code is run.

use std::collections::HashMap;
use std::rc::Rc;

use super::call_flow::{CallFlow, result_source};
use super::model::ModelContext;
use super::standard_library;
use super::table_leaks::TableLeaks;
use super::table_lookup::{FieldKey, FieldLocation, TableItems};
use super::tree::{
    BinaryOperator, BindingId, BindingSource, ExprId, FunctionId, ScanTree, TreeExpr,
};
use super::value::{
    ScanValue, ValueSet, apply_binary, apply_unary, combine_values, concat_values, is_instance,
    to_text, truth_value, union_values,
};

/// Maximum depth of an evaluation, for example through definitions further down in the script.
const MAX_DEPTH: usize = 40;

/// How many evaluations pass between two looks at the stop signal of a model.
const LOOK: u32 = 64;

pub(super) struct Evaluator<'a> {
    pub(super) tree: &'a ScanTree,
    pub(super) flow: &'a CallFlow,
    pub(super) table_leaks: &'a TableLeaks,
    /// The model that the script is in, if it is known.
    pub(super) context: Option<ModelContext<'a>>,
    exprs: Vec<EvaluationState>,
    bindings: HashMap<BindingId, EvaluationState>,
    pub(super) table_indexes: HashMap<ExprId, Rc<HashMap<FieldKey, Vec<ExprId>>>>,
    pub(super) table_values: HashMap<ExprId, ValueSet>,
    /// Cache of lookups by key, since one key may have many values.
    pub(super) field_values: HashMap<(ExprId, FieldKey), ValueSet>,
    pub(super) written_values: HashMap<(FieldLocation, Option<FieldKey>), ValueSet>,
    pub(super) items: HashMap<FieldLocation, Rc<TableItems>>,
    pub(super) name_values: HashMap<Rc<str>, ValueSet>,
    returns: HashMap<(FunctionId, usize), ValueSet>,
    depth: usize,
    /// The number of evaluations until the stop signal of the model is asked again.
    until_look: u32,
    is_stopped: bool,
    pub(super) unknown: ValueSet,
}

/// Methods that return instances.
pub(super) const NAVIGATION_METHODS: [&str; 17] = [
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
enum EvaluationState {
    New,
    InProgress,
    Done(ValueSet),
}

impl<'a> Evaluator<'a> {
    /// Evaluates a whole script from its first line, so that few expressions depend on ones that
    /// are still being evaluated.
    pub(super) fn new(
        tree: &'a ScanTree,
        flow: &'a CallFlow,
        tables: &'a TableLeaks,
        context: Option<ModelContext<'a>>,
    ) -> Self {
        let exprs = vec![EvaluationState::New; tree.exprs.len()];
        let unknown: ValueSet = [ScanValue::Unknown].into();
        let mut evaluator = Self {
            tree,
            flow,
            table_leaks: tables,
            context,
            exprs,
            bindings: HashMap::new(),
            table_indexes: HashMap::new(),
            table_values: HashMap::new(),
            field_values: HashMap::new(),
            written_values: HashMap::new(),
            items: HashMap::new(),
            name_values: HashMap::new(),
            returns: HashMap::new(),
            depth: 0,
            until_look: 0,
            is_stopped: false,
            unknown,
        };
        for id in tree.expr_ids() {
            evaluator.eval(id);
        }
        evaluator
    }

    /// The possible values of an expression; never empty.
    pub(super) fn eval(&mut self, id: ExprId) -> ValueSet {
        match &self.exprs[id.0 as usize] {
            EvaluationState::Done(values) => return values.clone(),
            EvaluationState::New if self.depth < MAX_DEPTH => {}
            EvaluationState::New | EvaluationState::InProgress => return self.unknown.clone(),
        }
        if self.has_to_stop() {
            return self.unknown.clone();
        }
        self.exprs[id.0 as usize] = EvaluationState::InProgress;
        self.depth += 1;
        let values = union_values(self.compute_values(id));
        self.depth -= 1;
        self.exprs[id.0 as usize] = EvaluationState::Done(values.clone());
        values
    }

    /// Whether the scan of the model has to end; what is evaluated then is unknown.
    fn has_to_stop(&mut self) -> bool {
        if let Some(context) = self.context.filter(|_| self.until_look == 0) {
            self.is_stopped = self.is_stopped || context.index.stop.is_set();
            self.until_look = LOOK;
        }
        self.until_look = self.until_look.saturating_sub(1);
        self.is_stopped
    }

    fn compute_values(&mut self, id: ExprId) -> Vec<ScanValue> {
        let tree = self.tree;
        match tree.expr(id) {
            TreeExpr::Nil => vec![ScanValue::Nil],
            TreeExpr::Bool(it) => vec![ScanValue::Bool(*it)],
            TreeExpr::Number(it) => vec![ScanValue::Number(*it)],
            TreeExpr::Text(it) => vec![ScanValue::Text(it.clone())],
            TreeExpr::Varargs => vec![ScanValue::Unknown],
            TreeExpr::Name(binding) => self.binding_values(*binding).to_vec(),
            TreeExpr::Index { base, key, .. } => self.index_values(*base, *key),
            TreeExpr::Call { callee, args, is_method } => {
                self.call_values(*callee, args, *is_method)
            }
            TreeExpr::Function(it) => vec![ScanValue::Function(*it)],
            TreeExpr::Table(_) => vec![ScanValue::Table(id)],
            TreeExpr::Binary { operator, left, right } => {
                self.binary_values(*operator, *left, *right)
            }
            TreeExpr::Unary { operator, operand } => {
                let operand = self.eval(*operand);
                operand.iter().map(|it| apply_unary(*operator, it)).collect()
            }
            TreeExpr::Choice { values, .. } => {
                values.iter().flat_map(|it| self.eval(*it).to_vec()).collect()
            }
            TreeExpr::Interpolated(parts) => {
                let mut wholes: ValueSet = [ScanValue::Text(Rc::default())].into();
                for part in parts {
                    let part = self.eval(*part);
                    wholes = union_values(combine_values(&wholes, &part, concat_values));
                }
                wholes.to_vec()
            }
        }
    }

    pub(super) fn binding_values(&mut self, id: BindingId) -> ValueSet {
        match self.bindings.get(&id) {
            Some(EvaluationState::Done(values)) => return values.clone(),
            Some(_) => return self.unknown.clone(),
            None => {}
        }
        self.bindings.insert(id, EvaluationState::InProgress);
        let binding = self.tree.binding(id);
        let mut values = Vec::new();
        if binding.is_global {
            values.push(match self.context {
                Some(context) if &*binding.name == "script" => ScanValue::ModelNode(context.script),
                _ => ScanValue::Builtin(binding.name.clone()),
            });
        }
        for definition in &binding.definitions {
            values.extend(self.definition_values(id, *definition));
        }
        if values.is_empty() {
            values.push(ScanValue::Nil);
        }
        let values = union_values(values);
        self.bindings.insert(id, EvaluationState::Done(values.clone()));
        values
    }

    fn definition_values(
        &mut self,
        binding: BindingId,
        definition: BindingSource,
    ) -> Vec<ScanValue> {
        match definition {
            BindingSource::Value(id) => self.eval(id).to_vec(),
            BindingSource::Result(id, nth) => self.result_values(id, nth),
            BindingSource::Item(list) => self.item_values(list),
            BindingSource::Key(list) => self.key_values(list),
            BindingSource::Parameter(function, nth) => {
                self.parameter_values(binding, function, nth)
            }
            BindingSource::Unknown => vec![ScanValue::Unknown],
        }
    }

    fn parameter_values(
        &mut self,
        id: BindingId,
        function: FunctionId,
        nth: usize,
    ) -> Vec<ScanValue> {
        if let Some(source) = self.flow.parameter_sources.get(&id) {
            return vec![ScanValue::Untrusted(source)];
        }
        let flow = self.flow;
        let mut values = Vec::new();
        for site in flow.sites.get(&function).into_iter().flatten() {
            match site.arguments(self.tree).get(nth) {
                Some(arg) => values.extend(self.eval(*arg).to_vec()),
                None => values.push(ScanValue::Nil),
            }
        }
        if values.is_empty() || !flow.fully_known.contains(&function) {
            values.push(ScanValue::Unknown);
        }
        values
    }

    /// The values of a further result of a call: of `pcall` the results of the function, of
    /// `unpack` the items.
    fn result_values(&mut self, id: ExprId, nth: usize) -> Vec<ScanValue> {
        let (callee, args) = match self.tree.expr(id) {
            TreeExpr::Call { callee, args, .. } => (*callee, args),
            TreeExpr::Varargs => return vec![ScanValue::Unknown],
            _ => return vec![ScanValue::Nil],
        };
        let mut values = Vec::new();
        for value in self.eval(callee).iter() {
            match value {
                ScanValue::Builtin(name) => values.extend(self.builtin_result(name, args, nth)),
                ScanValue::Function(function) => {
                    values.extend(self.return_values(*function, nth).to_vec());
                }
                ScanValue::Untrusted(source) => values.push(ScanValue::Untrusted(source)),
                _ => values.push(ScanValue::Unknown),
            }
        }
        values
    }

    fn builtin_result(&mut self, name: &str, args: &[ExprId], nth: usize) -> Vec<ScanValue> {
        match (name, args.first()) {
            ("pcall" | "ypcall", Some(function)) if nth == 1 => {
                self.call_values(*function, &args[1..], false)
            }
            ("xpcall", Some(function)) if nth == 1 => {
                self.call_values(*function, args.get(2..).unwrap_or_default(), false)
            }
            ("table.unpack" | "unpack", Some(list)) => self.item_values(*list),
            ("select", _) => {
                args.get(nth + 1).map_or_else(Vec::new, |arg| self.eval(*arg).to_vec())
            }
            _ => vec![ScanValue::Unknown],
        }
    }

    /// Whether an expression at the end of a list may return several values.
    pub(super) fn can_return_several(&mut self, id: ExprId) -> bool {
        let TreeExpr::Call { callee, is_method, .. } = self.tree.expr(id) else {
            return matches!(self.tree.expr(id), TreeExpr::Varargs);
        };
        let is_method = *is_method;
        let returns_one = |value: &ScanValue| match value {
            ScanValue::Builtin(name) => standard_library::is_single_valued(name),
            // Methods of instances are assumed to return a single value.
            _ => is_method,
        };
        !self.eval(*callee).iter().all(returns_one)
    }

    /// The possible values of the `nth` result of a function.
    fn return_values(&mut self, function: FunctionId, nth: usize) -> ValueSet {
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
                    values.extend(self.result_values(*last, nth + 1 - returned.len()));
                }
                (None, None) => values.push(ScanValue::Nil),
            }
        }
        let values = union_values(values);
        self.returns.insert(id, values.clone());
        values
    }

    pub(super) fn eval_all(&mut self, ids: &[ExprId]) -> ValueSet {
        let mut values = Vec::new();
        for id in ids {
            values.extend(self.eval(*id).to_vec());
        }
        union_values(values)
    }

    fn call_values(&mut self, callee: ExprId, args: &[ExprId], is_method: bool) -> Vec<ScanValue> {
        let tree = self.tree;
        let owner = match tree.expr(callee) {
            TreeExpr::Index { base, .. } if is_method => Some(*base),
            _ => None,
        };
        let mut values = Vec::new();
        for value in self.eval(callee).iter() {
            match value {
                ScanValue::Builtin(name) => {
                    let own = owner.filter(|_| name.starts_with("string."));
                    let all: Vec<ExprId> = own.into_iter().chain(args.iter().copied()).collect();
                    values.extend(standard_library::eval_global_call(self, name, &all));
                }
                ScanValue::Function(function) => {
                    values.extend(self.return_values(*function, 0).to_vec());
                }
                ScanValue::Untrusted(source) => values.push(ScanValue::Untrusted(source)),
                ScanValue::Member(_, name) => {
                    values.extend(self.model_method_values(owner, name, args));
                    values.extend(self.method_values(owner, name, args));
                }
                ScanValue::Nil => values.push(ScanValue::Nil),
                _ => values.push(ScanValue::Unknown),
            }
        }
        values
    }

    /// The results of a method of an instance of the model, as far as the model determines them.
    fn model_method_values(
        &mut self,
        owner: Option<ExprId>,
        name: &str,
        args: &[ExprId],
    ) -> Vec<ScanValue> {
        let (Some(context), Some(owner)) = (self.context, owner) else { return Vec::new() };
        let texts: Vec<_> =
            args.iter().map(|arg| self.eval(*arg).iter().find_map(to_text)).collect();
        let owners = self.eval(owner);
        let of_tags = args.first().filter(|_| name == "GetTags").map(|arg| self.eval(*arg));
        let nodes = |values: &ValueSet| {
            let nodes = values.iter().filter_map(|value| match value {
                ScanValue::ModelNode(at) => Some(*at),
                _ => None,
            });
            nodes.collect::<Vec<_>>()
        };
        let tags = of_tags.iter().flat_map(nodes).flat_map(|at| context.tags(at));
        let own = nodes(&owners).into_iter().flat_map(|at| context.method(at, name, &texts));
        own.chain(tags).collect()
    }

    /// The possible results of a method of an instance.
    fn method_values(
        &mut self,
        owner: Option<ExprId>,
        name: &Rc<str>,
        args: &[ExprId],
    ) -> Vec<ScanValue> {
        let owners = owner.map(|owner| self.eval(owner));
        let is_of_game =
            matches!(owners.as_deref(), Some([ScanValue::Builtin(name)]) if &**name == "game");
        let firsts = args.first().map(|arg| self.eval(*arg));
        let firsts = firsts.as_deref().unwrap_or_default();
        let is_navigation = NAVIGATION_METHODS.contains(&&**name);
        if name.ends_with("Service") || is_navigation && is_of_game {
            let service = |it: &ScanValue| match it {
                ScanValue::Text(service) => ScanValue::Service(service.clone()),
                _ => ScanValue::Service(Rc::default()),
            };
            return firsts.iter().map(service).collect();
        }
        // A value that may be an instance counts as one unless the script defines a method of this
        // name.
        let may_be_instance = |it: &ScanValue| {
            is_instance(it)
                || matches!(
                    it,
                    ScanValue::Unknown
                        | ScanValue::Incomplete
                        | ScanValue::Nil
                        | ScanValue::Imported
                )
                || matches!(
                    it,
                    ScanValue::Member(..) | ScanValue::Untrusted(_) | ScanValue::Builtin(_)
                )
        };
        if is_navigation
            && owners.as_deref().is_some_and(|owners| owners.iter().all(may_be_instance))
            && self.named_field_values(name).is_empty()
        {
            return vec![ScanValue::Instance];
        }
        let outside = firsts.iter().find(|it| matches!(it, ScanValue::Untrusted(_)));
        vec![match &**name {
            "JSONDecode" => outside.cloned().unwrap_or(ScanValue::Unknown),
            _ if standard_library::is_string_method(name) => ScanValue::Unknown,
            _ => result_source(name).map_or(ScanValue::Unknown, ScanValue::Untrusted),
        }]
    }

    fn binary_values(
        &mut self,
        operator: BinaryOperator,
        left: ExprId,
        right: ExprId,
    ) -> Vec<ScanValue> {
        let (lefts, rights) = (self.eval(left), self.eval(right));
        match operator {
            BinaryOperator::Or | BinaryOperator::And => {
                let is_or = operator == BinaryOperator::Or;
                let mut values = Vec::new();
                for left in lefts.iter() {
                    match (truth_value(left), is_or) {
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
            it if it.is_comparison() => vec![ScanValue::Unknown],
            _ => combine_values(&lefts, &rights, |left, right| apply_binary(operator, left, right)),
        }
    }
}
