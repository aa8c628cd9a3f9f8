//! Lowers full_moon's syntax tree to that of the scan: statements and name bindings.
//!
//! It recurses, so it must only receive texts that compile and pass [`super::super::nesting`].

use std::collections::HashMap;
use std::rc::Rc;

use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    Block, Expression, FunctionBody, FunctionDeclaration, If, LastStmt, Prefix, Stmt, Var,
};
use full_moon::node::Node;
use full_moon::tokenizer::{TokenReference, TokenType};

use super::tree::{
    BinaryOperator, BindingId, BindingSource, ExprId, ExprNode, FieldWrite, FunctionId, ItemWrite,
    ScanTree, StatementId, StatementNode, TreeBinding, TreeExpr, UnaryOperator,
};

/// Lowers the syntax tree of a script.
pub(super) fn lower_ast(ast: &full_moon::ast::Ast) -> ScanTree {
    let mut lowering = TreeLowering::default();
    lowering.begin_statement(1);
    lowering.lower_block(ast.nodes());
    lowering.tree
}

#[derive(Default)]
pub(super) struct TreeLowering {
    pub(super) tree: ScanTree,
    /// The local variables of all open blocks; the innermost one of a name is visible.
    pub(super) scopes: Vec<HashMap<Rc<str>, BindingId>>,
    globals: HashMap<Rc<str>, BindingId>,
    pub(super) statement: u32,
    pub(super) function: Option<FunctionId>,
    /// The conditions under which the current statement runs.
    pub(super) conditions: Rc<[ExprId]>,
    pub(super) line: u32,
}

impl TreeLowering {
    fn begin_statement(&mut self, line: u32) {
        self.line = line;
        self.statement = self.tree.statements.len() as u32;
        self.tree.statements.push(StatementNode {
            function: self.function,
            conditions: self.conditions.clone(),
            ..StatementNode::default()
        });
    }

    pub(super) fn push_expr(&mut self, expr: TreeExpr) -> ExprId {
        let id = ExprId(self.tree.exprs.len() as u32);
        let statement = StatementId(self.statement);
        self.tree.exprs.push(ExprNode { expr, line: self.line, statement });
        id
    }

    /// Adds a root expression to the current statement.
    fn add_root(&mut self, id: ExprId) {
        self.tree.statements[self.statement as usize].roots.push(id);
    }

    pub(super) fn declare_token(&mut self, name: &TokenReference) -> BindingId {
        self.declare_name(token_name(name))
    }

    fn declare_name(&mut self, name: Rc<str>) -> BindingId {
        let id = self.push_binding(name.clone(), false);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, id);
        }
        id
    }

    fn push_binding(&mut self, name: Rc<str>, is_global: bool) -> BindingId {
        let id = BindingId(self.tree.bindings.len() as u32);
        self.tree.bindings.push(TreeBinding {
            name,
            is_global,
            definitions: Vec::new(),
            read_count: 0,
        });
        id
    }

    pub(super) fn resolve_name(&mut self, name: Rc<str>) -> BindingId {
        if let Some(id) = self.scopes.iter().rev().find_map(|scope| scope.get(&name)) {
            return *id;
        }
        if let Some(id) = self.globals.get(&name) {
            return *id;
        }
        let id = self.push_binding(name.clone(), true);
        self.globals.insert(name, id);
        id
    }

    pub(super) fn add_definition(&mut self, binding: BindingId, definition: BindingSource) {
        self.tree.bindings[binding.0 as usize].definitions.push(definition);
    }

    fn lower_block(&mut self, block: &Block) {
        self.scopes.push(HashMap::new());
        self.lower_statements(block);
        self.scopes.pop();
    }

    fn negate(&mut self, operand: ExprId) -> ExprId {
        self.push_expr(TreeExpr::Unary { operator: UnaryOperator::Not, operand })
    }

    /// The conditions of the current statement plus `more`, without the outermost if there are too
    /// many.
    fn with_conditions(&self, more: &[ExprId]) -> Rc<[ExprId]> {
        let skip = (self.conditions.len() + more.len()).saturating_sub(MAX_CONDITIONS);
        self.conditions.iter().chain(more).copied().skip(skip).collect()
    }

    /// Lowers a block that runs under conditions.
    fn lower_conditional_block(&mut self, conditions: &[ExprId], block: &Block) {
        let all = self.with_conditions(conditions);
        let outer = std::mem::replace(&mut self.conditions, all);
        self.lower_block(block);
        self.conditions = outer;
    }

    pub(super) fn lower_statements(&mut self, block: &Block) {
        let outer = self.conditions.clone();
        self.lower_guarded_statements(block);
        self.conditions = outer;
    }

    fn lower_guarded_statements(&mut self, block: &Block) {
        for statement in block.stmts() {
            let first = self.tree.statements.len();
            self.lower_statement(statement);
            let root = self.tree.statements.get(first).and_then(|it| it.roots.first()).copied();
            let (Some(root), Some(condition)) = (root, guard_condition(statement)) else {
                continue;
            };
            // What follows runs only if this statement did not leave the block.
            let condition = match (condition, self.tree.expr(root)) {
                (GuardKind::ConditionFalse, _) => self.negate(root),
                (GuardKind::ArgumentTrue, TreeExpr::Call { args, .. }) if !args.is_empty() => {
                    args[0]
                }
                (GuardKind::ArgumentTrue, _) => continue,
            };
            self.conditions = self.with_conditions(&[condition]);
        }
        if let Some(LastStmt::Return(last)) = block.last_stmt() {
            self.begin_statement(start_line(last));
            self.tree.statements[self.statement as usize].is_return = true;
            let values = self.lower_exprs(last.returns());
            if let Some(function) = self.function
                && !values.is_empty()
            {
                self.tree.functions[function.0 as usize].returns.push(values.clone().into());
            }
            for value in values {
                self.add_root(value);
            }
        }
    }

    fn lower_statement(&mut self, statement: &Stmt) {
        self.begin_statement(start_line(statement));
        match statement {
            Stmt::Assignment(it) => {
                let targets: Vec<_> =
                    it.variables().iter().map(|it| self.lower_target(it)).collect();
                let values = self.lower_exprs(it.expressions());
                self.assign_values(&targets, &values);
            }
            Stmt::LocalAssignment(it) => self.lower_locals(it.names(), it.expressions()),
            Stmt::ConstAssignment(it) => self.lower_locals(it.names(), it.expressions()),
            Stmt::CompoundAssignment(it) => {
                let (target, value) = (self.lower_target(it.lhs()), self.lower_expr(it.rhs()));
                let before = match target {
                    AssignTarget::Name(binding) => self.push_expr(TreeExpr::Name(binding)),
                    AssignTarget::Field(id) => id,
                };
                let operator = compound_operator(it.compound_operator().token());
                let whole =
                    self.push_expr(TreeExpr::Binary { operator, left: before, right: value });
                self.assign_values(&[target], &[whole]);
            }
            Stmt::FunctionCall(it) => {
                let call = self.lower_call(it);
                self.add_root(call);
            }
            Stmt::FunctionDeclaration(it) => self.lower_function_declaration(it),
            Stmt::LocalFunction(it) => self.lower_local_function(it.name(), it.body()),
            Stmt::ConstFunction(it) => self.lower_local_function(it.name(), it.body()),
            Stmt::Do(it) => self.lower_block(it.block()),
            Stmt::If(it) => self.lower_if(it),
            Stmt::While(it) => {
                let condition = self.lower_expr(it.condition());
                self.add_root(condition);
                self.lower_conditional_block(&[condition], it.block());
            }
            Stmt::Repeat(it) => {
                self.scopes.push(HashMap::new());
                self.lower_statements(it.block());
                self.begin_statement(start_line(it.until_token()));
                let until = self.lower_expr(it.until());
                self.add_root(until);
                self.scopes.pop();
            }
            Stmt::NumericFor(it) => {
                let bounds = [Some(it.start()), Some(it.end()), it.step()];
                for bound in bounds.into_iter().flatten() {
                    let bound = self.lower_expr(bound);
                    self.add_root(bound);
                }
                self.scopes.push(HashMap::new());
                let name = self.declare_token(it.index_variable());
                self.add_definition(name, BindingSource::Unknown);
                self.lower_statements(it.block());
                self.scopes.pop();
            }
            Stmt::GenericFor(it) => self.lower_generic_for(it),
            // Type statements have no effect at run time. Unknown kinds of statements are skipped.
            _ => {}
        }
    }

    fn lower_generic_for(&mut self, it: &full_moon::ast::GenericFor) {
        let lists = self.lower_exprs(it.expressions());
        for list in &lists {
            self.add_root(*list);
        }
        self.scopes.push(HashMap::new());
        for (at, name) in it.names().iter().enumerate() {
            let name = self.declare_token(name);
            let definition = match lists[..] {
                [list] if at == 0 => BindingSource::Key(list),
                [list] if at == 1 => BindingSource::Item(list),
                // `next, list` and similar.
                [_, list, ..] if at == 0 => BindingSource::Key(list),
                [_, list, ..] if at == 1 => BindingSource::Item(list),
                _ => BindingSource::Unknown,
            };
            self.add_definition(name, definition);
        }
        self.lower_statements(it.block());
        self.scopes.pop();
    }

    fn lower_if(&mut self, it: &If) {
        let condition = self.lower_expr(it.condition());
        self.add_root(condition);
        self.lower_conditional_block(&[condition], it.block());
        let mut all = vec![self.negate(condition)];
        for branch in it.else_if().into_iter().flatten() {
            self.begin_statement(start_line(branch.condition()));
            let condition = self.lower_expr(branch.condition());
            self.add_root(condition);
            self.lower_conditional_block(&[condition], branch.block());
            all.push(self.negate(condition));
        }
        if let Some(block) = it.else_block() {
            self.lower_conditional_block(&all, block);
        }
    }

    fn lower_locals(
        &mut self,
        names: &Punctuated<TokenReference>,
        values: &Punctuated<Expression>,
    ) {
        let values = self.lower_exprs(values);
        let targets: Vec<_> = names
            .iter()
            .map(|name| {
                let binding = self.declare_token(name);
                let name = self.tree.binding(binding).name.clone();
                self.tree.statements[self.statement as usize].declared_names.push(name);
                AssignTarget::Name(binding)
            })
            .collect();
        self.assign_values(&targets, &values);
    }

    fn lower_local_function(&mut self, name: &TokenReference, body: &FunctionBody) {
        let binding = self.declare_token(name);
        let statement = self.statement;
        let value = self.lower_function(body, None);
        self.statement = statement;
        self.assign_values(&[AssignTarget::Name(binding)], &[value]);
    }

    fn lower_function_declaration(&mut self, it: &FunctionDeclaration) {
        let statement = self.statement;
        let mut names = it.name().names().iter();
        let first = names.next().map(token_name).unwrap_or_default();
        let fields: Vec<_> = names.chain(it.name().method_name()).map(token_name).collect();
        let binding = self.resolve_name(first);
        let own = it.name().method_name().map(|_| binding);
        let value = self.lower_function(it.body(), own);
        self.statement = statement;
        if fields.is_empty() {
            return self.assign_values(&[AssignTarget::Name(binding)], &[value]);
        }
        let mut target = self.push_expr(TreeExpr::Name(binding));
        let last = fields.len() - 1;
        for (at, field) in fields.into_iter().enumerate() {
            let key = self.push_expr(TreeExpr::Text(field));
            target = self.push_expr(TreeExpr::Index { base: target, key, is_written: at == last });
        }
        self.assign_values(&[AssignTarget::Field(target)], &[value]);
    }

    fn lower_target(&mut self, variable: &Var) -> AssignTarget {
        match variable {
            Var::Name(name) => {
                let binding = self.resolve_name(token_name(name));
                AssignTarget::Name(binding)
            }
            Var::Expression(it) => {
                let id = self.lower_chain(it.prefix(), it.suffixes());
                if let TreeExpr::Index { is_written, .. } = &mut self.tree.exprs[id.0 as usize].expr
                {
                    *is_written = true;
                }
                AssignTarget::Field(id)
            }
            _ => {
                let unknown = self.push_expr(TreeExpr::Varargs);
                AssignTarget::Field(unknown)
            }
        }
    }

    fn assign_values(&mut self, targets: &[AssignTarget], values: &[ExprId]) {
        for (at, target) in targets.iter().enumerate() {
            let value = values.get(at).copied();
            match *target {
                AssignTarget::Name(binding) => {
                    let last = values.last().copied();
                    let definition = match (value, last) {
                        (Some(value), _) => Some(BindingSource::Value(value)),
                        (None, Some(last)) => {
                            Some(BindingSource::Result(last, at + 1 - values.len()))
                        }
                        (None, None) => None,
                    };
                    if let Some(definition) = definition {
                        self.add_definition(binding, definition);
                    }
                    if let Some(value) = value {
                        let name = self.tree.binding(binding).name.clone();
                        self.name_function(value, &name);
                    }
                }
                AssignTarget::Field(id) => {
                    self.add_root(id);
                    let TreeExpr::Index { base, key, .. } = *self.tree.expr(id) else { continue };
                    // Further results of a call are not followed into fields.
                    let value = value.unwrap_or_else(|| self.push_expr(TreeExpr::Varargs));
                    if let Some(name) = self.tree.literal_text(key).cloned() {
                        let root = self.tree.root_binding(base);
                        self.name_function(value, &name);
                        if let Some(root) = root {
                            let own = self.tree.binding_writes.entry((root, name.clone()));
                            own.or_default().push(value);
                        }
                        let write = FieldWrite { root, value };
                        self.tree.field_writes.entry(name).or_default().push(write);
                    } else if let Some(place) = self.tree.field_location(base) {
                        let write = ItemWrite { key: Some(key), value };
                        self.tree.item_writes.entry(place).or_default().push(write);
                    }
                }
            }
        }
        for value in values {
            self.add_root(*value);
        }
    }

    /// Names a function after what it is assigned to.
    pub(super) fn name_function(&mut self, value: ExprId, name: &Rc<str>) {
        if let TreeExpr::Function(function) = *self.tree.expr(value) {
            self.tree.functions[function.0 as usize].name.get_or_insert_with(|| name.clone());
        }
    }
}

/// Maximum number of conditions per statement.
const MAX_CONDITIONS: usize = 64;

/// What a statement implies about its first expression for the statements after it.
enum GuardKind {
    /// It was false, or the block would have been left: `if x then return end`.
    ConditionFalse,
    /// Its first argument was true: `assert(x)`.
    ArgumentTrue,
}

fn guard_condition(statement: &Stmt) -> Option<GuardKind> {
    let calls = |it: &Stmt, function: &str| match it {
        Stmt::FunctionCall(call) => {
            matches!(call.prefix(), Prefix::Name(name) if &*token_name(name) == function)
        }
        _ => false,
    };
    let leaves = |block: &Block| {
        block.last_stmt().is_some() || block.stmts().last().is_some_and(|it| calls(it, "error"))
    };
    match statement {
        Stmt::If(it) => leaves(it.block()).then_some(GuardKind::ConditionFalse),
        it => calls(it, "assert").then_some(GuardKind::ArgumentTrue),
    }
}

/// The target of an assignment.
#[derive(Clone, Copy)]
enum AssignTarget {
    Name(BindingId),
    Field(ExprId),
}

pub(super) fn start_line(node: &impl Node) -> u32 {
    node.start_position().map_or(1, |start| start.line() as u32)
}

pub(super) fn token_name(token: &TokenReference) -> Rc<str> {
    match token.token_type() {
        TokenType::Identifier { identifier } => identifier.as_str().into(),
        _ => token.token().to_string().into(),
    }
}

/// The operator of a compound assignment such as `+=`.
fn compound_operator(token: &TokenReference) -> BinaryOperator {
    match token.token().to_string().as_str() {
        "+=" => BinaryOperator::Add,
        "-=" => BinaryOperator::Subtract,
        "*=" => BinaryOperator::Multiply,
        "/=" => BinaryOperator::Divide,
        "//=" => BinaryOperator::FloorDivide,
        "%=" => BinaryOperator::Modulo,
        "^=" => BinaryOperator::Power,
        "..=" => BinaryOperator::Concat,
        _ => BinaryOperator::Equal,
    }
}
