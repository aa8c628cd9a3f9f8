//! From full_moon's syntax tree to the one of the scan: statements, and what names are bound to.
//!
//! Only texts that compile, and that [`super::super::nesting`] lets pass, may come here: it recurses.

use std::collections::HashMap;
use std::rc::Rc;

use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    Block, Expression, FunctionBody, FunctionDeclaration, If, LastStmt, Prefix, Stmt, Var,
};
use full_moon::node::Node;
use full_moon::tokenizer::{TokenReference, TokenType};

use super::tree::{
    Binding, BindingId, Definition, Expr, ExprId, ExprNode, FieldWrite, FunctionId, ItemWrite,
    Operator, StatementId, StatementNode, Tree, UnaryOperator,
};

/// The tree of a script.
pub(super) fn lower(ast: &full_moon::ast::Ast) -> Tree {
    let mut lowering = Lowering::default();
    lowering.begin(1);
    lowering.block(ast.nodes());
    lowering.tree
}

#[derive(Default)]
pub(super) struct Lowering {
    pub(super) tree: Tree,
    /// The local variables of all open blocks; the last of a name is the one that is meant.
    pub(super) scopes: Vec<HashMap<Rc<str>, BindingId>>,
    globals: HashMap<Rc<str>, BindingId>,
    pub(super) statement: u32,
    pub(super) function: Option<FunctionId>,
    /// Those under which the current statement runs.
    pub(super) conditions: Rc<[ExprId]>,
    pub(super) line: u32,
}

impl Lowering {
    /// Begins a statement.
    fn begin(&mut self, line: u32) {
        self.line = line;
        self.statement = self.tree.statements.len() as u32;
        self.tree.statements.push(StatementNode {
            function: self.function,
            conditions: self.conditions.clone(),
            ..StatementNode::default()
        });
    }

    pub(super) fn push(&mut self, expr: Expr) -> ExprId {
        let id = ExprId(self.tree.exprs.len() as u32);
        let statement = StatementId(self.statement);
        self.tree.exprs.push(ExprNode { expr, line: self.line, statement });
        id
    }

    /// Notes what stands in the current statement itself.
    fn root(&mut self, id: ExprId) {
        self.tree.statements[self.statement as usize].roots.push(id);
    }

    pub(super) fn declare(&mut self, name: &TokenReference) -> BindingId {
        self.declare_name(name_of(name))
    }

    fn declare_name(&mut self, name: Rc<str>) -> BindingId {
        let id = self.bind(name.clone(), false);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, id);
        }
        id
    }

    fn bind(&mut self, name: Rc<str>, is_global: bool) -> BindingId {
        let id = BindingId(self.tree.bindings.len() as u32);
        self.tree.bindings.push(Binding { name, is_global, definitions: Vec::new(), reads: 0 });
        id
    }

    pub(super) fn resolve(&mut self, name: Rc<str>) -> BindingId {
        if let Some(id) = self.scopes.iter().rev().find_map(|scope| scope.get(&name)) {
            return *id;
        }
        if let Some(id) = self.globals.get(&name) {
            return *id;
        }
        let id = self.bind(name.clone(), true);
        self.globals.insert(name, id);
        id
    }

    pub(super) fn define(&mut self, binding: BindingId, definition: Definition) {
        self.tree.bindings[binding.0 as usize].definitions.push(definition);
    }

    fn block(&mut self, block: &Block) {
        self.scopes.push(HashMap::new());
        self.statements(block);
        self.scopes.pop();
    }

    /// `not condition`.
    fn negated(&mut self, operand: ExprId) -> ExprId {
        self.push(Expr::Unary { operator: UnaryOperator::Not, operand })
    }

    /// The conditions of the current statement and these, without the outermost where they are many.
    fn with_conditions(&self, more: &[ExprId]) -> Rc<[ExprId]> {
        let skip = (self.conditions.len() + more.len()).saturating_sub(MAX_CONDITIONS);
        self.conditions.iter().chain(more).copied().skip(skip).collect()
    }

    /// The same under conditions.
    fn block_under(&mut self, conditions: &[ExprId], block: &Block) {
        let all = self.with_conditions(conditions);
        let outer = std::mem::replace(&mut self.conditions, all);
        self.block(block);
        self.conditions = outer;
    }

    pub(super) fn statements(&mut self, block: &Block) {
        let outer = self.conditions.clone();
        self.guarded(block);
        self.conditions = outer;
    }

    fn guarded(&mut self, block: &Block) {
        for statement in block.stmts() {
            let first = self.tree.statements.len();
            self.stmt(statement);
            let root = self.tree.statements.get(first).and_then(|it| it.roots.first()).copied();
            let (Some(root), Some(condition)) = (root, kept_condition(statement)) else { continue };
            // What follows runs only where this statement did not leave the block.
            let condition = match (condition, self.tree.expr(root)) {
                (Kept::Not, _) => self.negated(root),
                (Kept::Argument, Expr::Call { args, .. }) if !args.is_empty() => args[0],
                (Kept::Argument, _) => continue,
            };
            self.conditions = self.with_conditions(&[condition]);
        }
        if let Some(LastStmt::Return(last)) = block.last_stmt() {
            self.begin(line_of(last));
            self.tree.statements[self.statement as usize].is_return = true;
            let values = self.exprs(last.returns());
            if let Some(function) = self.function
                && !values.is_empty()
            {
                self.tree.functions[function.0 as usize].returns.push(values.clone().into());
            }
            for value in values {
                self.root(value);
            }
        }
    }

    fn stmt(&mut self, statement: &Stmt) {
        self.begin(line_of(statement));
        match statement {
            Stmt::Assignment(it) => {
                let targets: Vec<_> = it.variables().iter().map(|it| self.target(it)).collect();
                let values = self.exprs(it.expressions());
                self.assign(&targets, &values);
            }
            Stmt::LocalAssignment(it) => self.locals(it.names(), it.expressions()),
            Stmt::ConstAssignment(it) => self.locals(it.names(), it.expressions()),
            Stmt::CompoundAssignment(it) => {
                let (target, value) = (self.target(it.lhs()), self.expr(it.rhs()));
                let before = match target {
                    Target::Name(binding) => self.push(Expr::Name(binding)),
                    Target::Field(id) => id,
                };
                let operator = compound(it.compound_operator().token());
                let whole = self.push(Expr::Binary { operator, left: before, right: value });
                self.assign(&[target], &[whole]);
            }
            Stmt::FunctionCall(it) => {
                let call = self.call(it);
                self.root(call);
            }
            Stmt::FunctionDeclaration(it) => self.function_declaration(it),
            Stmt::LocalFunction(it) => self.local_function(it.name(), it.body()),
            Stmt::ConstFunction(it) => self.local_function(it.name(), it.body()),
            Stmt::Do(it) => self.block(it.block()),
            Stmt::If(it) => self.condition(it),
            Stmt::While(it) => {
                let condition = self.expr(it.condition());
                self.root(condition);
                self.block_under(&[condition], it.block());
            }
            Stmt::Repeat(it) => {
                self.scopes.push(HashMap::new());
                self.statements(it.block());
                self.begin(line_of(it.until_token()));
                let until = self.expr(it.until());
                self.root(until);
                self.scopes.pop();
            }
            Stmt::NumericFor(it) => {
                let bounds = [Some(it.start()), Some(it.end()), it.step()];
                for bound in bounds.into_iter().flatten() {
                    let bound = self.expr(bound);
                    self.root(bound);
                }
                self.scopes.push(HashMap::new());
                let name = self.declare(it.index_variable());
                self.define(name, Definition::Unknown);
                self.statements(it.block());
                self.scopes.pop();
            }
            Stmt::GenericFor(it) => self.generic_for(it),
            // Types do nothing; what is new in the parser is read by it only.
            _ => {}
        }
    }

    fn generic_for(&mut self, it: &full_moon::ast::GenericFor) {
        let lists = self.exprs(it.expressions());
        for list in &lists {
            self.root(*list);
        }
        self.scopes.push(HashMap::new());
        for (at, name) in it.names().iter().enumerate() {
            let name = self.declare(name);
            let definition = match lists[..] {
                [list] if at == 0 => Definition::Key(list),
                [list] if at == 1 => Definition::Item(list),
                // `next, list` and the like.
                [_, list, ..] if at == 0 => Definition::Key(list),
                [_, list, ..] if at == 1 => Definition::Item(list),
                _ => Definition::Unknown,
            };
            self.define(name, definition);
        }
        self.statements(it.block());
        self.scopes.pop();
    }

    fn condition(&mut self, it: &If) {
        let condition = self.expr(it.condition());
        self.root(condition);
        self.block_under(&[condition], it.block());
        let mut all = vec![self.negated(condition)];
        for branch in it.else_if().into_iter().flatten() {
            self.begin(line_of(branch.condition()));
            let condition = self.expr(branch.condition());
            self.root(condition);
            self.block_under(&[condition], branch.block());
            all.push(self.negated(condition));
        }
        if let Some(block) = it.else_block() {
            self.block_under(&all, block);
        }
    }

    fn locals(&mut self, names: &Punctuated<TokenReference>, values: &Punctuated<Expression>) {
        let values = self.exprs(values);
        let targets: Vec<_> = names
            .iter()
            .map(|name| {
                let binding = self.declare(name);
                let name = self.tree.binding(binding).name.clone();
                self.tree.statements[self.statement as usize].names.push(name);
                Target::Name(binding)
            })
            .collect();
        self.assign(&targets, &values);
    }

    fn local_function(&mut self, name: &TokenReference, body: &FunctionBody) {
        let binding = self.declare(name);
        let statement = self.statement;
        let value = self.function(body, None);
        self.statement = statement;
        self.assign(&[Target::Name(binding)], &[value]);
    }

    fn function_declaration(&mut self, it: &FunctionDeclaration) {
        let statement = self.statement;
        let mut names = it.name().names().iter();
        let first = names.next().map(name_of).unwrap_or_default();
        let fields: Vec<_> = names.chain(it.name().method_name()).map(name_of).collect();
        let binding = self.resolve(first);
        let own = it.name().method_name().map(|_| binding);
        let value = self.function(it.body(), own);
        self.statement = statement;
        if fields.is_empty() {
            return self.assign(&[Target::Name(binding)], &[value]);
        }
        let mut target = self.push(Expr::Name(binding));
        let last = fields.len() - 1;
        for (at, field) in fields.into_iter().enumerate() {
            let key = self.push(Expr::Text(field));
            target = self.push(Expr::Index { base: target, key, is_written: at == last });
        }
        self.assign(&[Target::Field(target)], &[value]);
    }

    fn target(&mut self, variable: &Var) -> Target {
        match variable {
            Var::Name(name) => {
                let binding = self.resolve(name_of(name));
                Target::Name(binding)
            }
            Var::Expression(it) => {
                let id = self.chain(it.prefix(), it.suffixes());
                if let Expr::Index { is_written, .. } = &mut self.tree.exprs[id.0 as usize].expr {
                    *is_written = true;
                }
                Target::Field(id)
            }
            _ => {
                let unknown = self.push(Expr::Varargs);
                Target::Field(unknown)
            }
        }
    }

    fn assign(&mut self, targets: &[Target], values: &[ExprId]) {
        for (at, target) in targets.iter().enumerate() {
            let value = values.get(at).copied();
            match *target {
                Target::Name(binding) => {
                    let last = values.last().copied();
                    let definition = match (value, last) {
                        (Some(value), _) => Some(Definition::Value(value)),
                        (None, Some(last)) => Some(Definition::Result(last, at + 1 - values.len())),
                        (None, None) => None,
                    };
                    if let Some(definition) = definition {
                        self.define(binding, definition);
                    }
                    if let Some(value) = value {
                        let name = self.tree.binding(binding).name.clone();
                        self.call_function(value, &name);
                    }
                }
                Target::Field(id) => {
                    self.root(id);
                    let Expr::Index { base, key, .. } = *self.tree.expr(id) else { continue };
                    // What a call gives behind its first value is not followed into fields.
                    let value = value.unwrap_or_else(|| self.push(Expr::Varargs));
                    if let Some(name) = self.tree.text(key).cloned() {
                        let root = self.tree.root(base);
                        self.call_function(value, &name);
                        if let Some(root) = root {
                            let own = self.tree.own_writes.entry((root, name.clone()));
                            own.or_default().push(value);
                        }
                        let write = FieldWrite { root, value };
                        self.tree.field_writes.entry(name).or_default().push(write);
                    } else if let Some(place) = self.tree.place(base) {
                        let write = ItemWrite { key: Some(key), value };
                        self.tree.item_writes.entry(place).or_default().push(write);
                    }
                }
            }
        }
        for value in values {
            self.root(*value);
        }
    }

    /// Names a function by what it is assigned to.
    pub(super) fn call_function(&mut self, value: ExprId, name: &Rc<str>) {
        if let Expr::Function(function) = *self.tree.expr(value) {
            self.tree.functions[function.0 as usize].name.get_or_insert_with(|| name.clone());
        }
    }
}

/// Conditions that one statement is kept with.
const MAX_CONDITIONS: usize = 64;

/// What is known of a statement's first expression where the next statement runs.
enum Kept {
    /// It was false, or the block would have been left: `if x then return end`.
    Not,
    /// Its first argument was true: `assert(x)`.
    Argument,
}

fn kept_condition(statement: &Stmt) -> Option<Kept> {
    let calls = |it: &Stmt, function: &str| match it {
        Stmt::FunctionCall(call) => {
            matches!(call.prefix(), Prefix::Name(name) if &*name_of(name) == function)
        }
        _ => false,
    };
    let leaves = |block: &Block| {
        block.last_stmt().is_some() || block.stmts().last().is_some_and(|it| calls(it, "error"))
    };
    match statement {
        Stmt::If(it) => leaves(it.block()).then_some(Kept::Not),
        it => calls(it, "assert").then_some(Kept::Argument),
    }
}

/// What is assigned to.
#[derive(Clone, Copy)]
enum Target {
    Name(BindingId),
    Field(ExprId),
}

pub(super) fn line_of(node: &impl Node) -> u32 {
    node.start_position().map_or(1, |start| start.line() as u32)
}

pub(super) fn name_of(token: &TokenReference) -> Rc<str> {
    match token.token_type() {
        TokenType::Identifier { identifier } => identifier.as_str().into(),
        _ => token.token().to_string().into(),
    }
}

/// The operator of `+=` and its like.
fn compound(token: &TokenReference) -> Operator {
    match token.token().to_string().as_str() {
        "+=" => Operator::Add,
        "-=" => Operator::Subtract,
        "*=" => Operator::Multiply,
        "/=" => Operator::Divide,
        "//=" => Operator::FloorDivide,
        "%=" => Operator::Modulo,
        "^=" => Operator::Power,
        "..=" => Operator::Concat,
        _ => Operator::Equal,
    }
}
