//! Lowers full_moon's expressions to those of the scan; see [`super::lower`].

use std::collections::HashMap;
use std::rc::Rc;

use full_moon::ast::luau::{IfExpression, InterpolatedString};
use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    BinOp, Call, Expression, Field, FunctionArgs, FunctionBody, FunctionCall, Index, Parameter,
    Prefix, Suffix, TableConstructor, UnOp, Var,
};
use full_moon::tokenizer::{StringLiteralQuoteType, TokenReference, TokenType};

use super::escapes::unescape_text;
use super::lower::{TreeLowering, start_line, token_name};
use super::tree::{
    BinaryOperator, BindingId, BindingSource, ExprId, FunctionId, FunctionNode, TableField,
    TreeExpr, UnaryOperator,
};

impl TreeLowering {
    pub(super) fn lower_exprs(&mut self, exprs: &Punctuated<Expression>) -> Vec<ExprId> {
        exprs.iter().map(|it| self.lower_expr(it)).collect()
    }

    pub(super) fn lower_expr(&mut self, expr: &Expression) -> ExprId {
        match expr {
            Expression::BinaryOperator { lhs, binop, rhs } => {
                let (left, right) = (self.lower_expr(lhs), self.lower_expr(rhs));
                self.push_expr(TreeExpr::Binary { operator: binary_operator(binop), left, right })
            }
            Expression::Parentheses { expression, .. }
            | Expression::TypeAssertion { expression, .. } => self.lower_expr(expression),
            Expression::UnaryOperator { unop, expression } => {
                let operand = self.lower_expr(expression);
                let operator = match unop {
                    UnOp::Minus(_) => UnaryOperator::Negate,
                    UnOp::Not(_) => UnaryOperator::Not,
                    _ => UnaryOperator::Length,
                };
                self.push_expr(TreeExpr::Unary { operator, operand })
            }
            Expression::Function(it) => {
                let (statement, line) = (self.statement, self.line);
                let id = self.lower_function(it.body(), None);
                (self.statement, self.line) = (statement, line);
                id
            }
            Expression::FunctionCall(it) => self.lower_call(it),
            Expression::IfExpression(it) => self.lower_choice(it),
            Expression::InterpolatedString(it) => self.lower_interpolated(it),
            Expression::TableConstructor(it) => self.lower_table(it),
            Expression::Number(token) => {
                self.set_line(token);
                let number = parse_number(&token.token().to_string());
                self.push_expr(number.map_or(TreeExpr::Varargs, TreeExpr::Number))
            }
            Expression::String(token) => self.lower_string(token),
            Expression::Symbol(token) => {
                self.set_line(token);
                self.push_expr(match token.token().to_string().as_str() {
                    "nil" => TreeExpr::Nil,
                    "true" => TreeExpr::Bool(true),
                    "false" => TreeExpr::Bool(false),
                    _ => TreeExpr::Varargs,
                })
            }
            Expression::Var(Var::Name(name)) => self.lower_name(name),
            Expression::Var(Var::Expression(it)) => self.lower_chain(it.prefix(), it.suffixes()),
            _ => self.push_expr(TreeExpr::Varargs),
        }
    }

    /// Sets the current line to that of a token.
    fn set_line(&mut self, token: &TokenReference) {
        self.line = token.token().start_position().line() as u32;
    }

    fn lower_name(&mut self, name: &TokenReference) -> ExprId {
        self.set_line(name);
        let binding = self.resolve_name(token_name(name));
        self.tree.bindings[binding.0 as usize].read_count += 1;
        self.push_expr(TreeExpr::Name(binding))
    }

    fn lower_string(&mut self, token: &TokenReference) -> ExprId {
        self.set_line(token);
        let text = match token.token_type() {
            TokenType::StringLiteral { literal, quote_type, .. } => match quote_type {
                StringLiteralQuoteType::Brackets => literal.as_str().into(),
                _ => unescape_text(literal).plain.into(),
            },
            _ => Rc::default(),
        };
        self.push_expr(TreeExpr::Text(text))
    }

    pub(super) fn lower_call(&mut self, it: &FunctionCall) -> ExprId {
        self.lower_chain(it.prefix(), it.suffixes())
    }

    pub(super) fn lower_chain<'a>(
        &mut self,
        prefix: &Prefix,
        suffixes: impl Iterator<Item = &'a Suffix>,
    ) -> ExprId {
        let mut id = match prefix {
            Prefix::Expression(it) => self.lower_expr(it),
            Prefix::Name(name) => self.lower_name(name),
            _ => self.push_expr(TreeExpr::Varargs),
        };
        for suffix in suffixes {
            id = match suffix {
                Suffix::Index(Index::Brackets { expression, .. }) => {
                    let key = self.lower_expr(expression);
                    self.push_expr(TreeExpr::Index { base: id, key, is_written: false })
                }
                Suffix::Index(Index::Dot { name, .. }) => self.lower_member(id, name),
                Suffix::Call(Call::AnonymousCall(args)) => {
                    let line = self.line;
                    let args = self.lower_arguments(args);
                    self.line = line;
                    self.push_expr(TreeExpr::Call { callee: id, args, is_method: false })
                }
                Suffix::Call(Call::MethodCall(method)) => {
                    let callee = self.lower_member(id, method.name());
                    let line = self.line;
                    let args = self.lower_arguments(method.args());
                    self.line = line;
                    self.push_expr(TreeExpr::Call { callee, args, is_method: true })
                }
                _ => id,
            };
        }
        id
    }

    fn lower_member(&mut self, base: ExprId, name: &TokenReference) -> ExprId {
        self.set_line(name);
        let key = self.push_expr(TreeExpr::Text(token_name(name)));
        self.push_expr(TreeExpr::Index { base, key, is_written: false })
    }

    fn lower_arguments(&mut self, args: &FunctionArgs) -> Box<[ExprId]> {
        match args {
            FunctionArgs::Parentheses { arguments, .. } => self.lower_exprs(arguments).into(),
            FunctionArgs::String(token) => [self.lower_string(token)].into(),
            FunctionArgs::TableConstructor(table) => [self.lower_table(table)].into(),
            _ => Box::default(),
        }
    }

    fn lower_table(&mut self, it: &TableConstructor) -> ExprId {
        let line = start_line(it);
        let fields: Vec<TableField> = it
            .fields()
            .iter()
            .filter_map(|field| match field {
                Field::ExpressionKey { key, value, .. } => {
                    let key = self.lower_expr(key);
                    let value = self.lower_expr(value);
                    if let Some(name) = self.tree.literal_text(key).cloned() {
                        self.tree.constructor_fields.entry(name).or_default().push(value);
                    }
                    Some(TableField { key: Some(key), value })
                }
                Field::NameKey { key, value, .. } => {
                    self.set_line(key);
                    let name = token_name(key);
                    let key = self.push_expr(TreeExpr::Text(name.clone()));
                    let value = self.lower_expr(value);
                    self.name_function(value, &name);
                    self.tree.constructor_fields.entry(name).or_default().push(value);
                    Some(TableField { key: Some(key), value })
                }
                Field::NoKey(value) => {
                    Some(TableField { key: None, value: self.lower_expr(value) })
                }
                _ => None,
            })
            .collect();
        self.line = line;
        self.push_expr(TreeExpr::Table(fields.into()))
    }

    fn lower_choice(&mut self, it: &IfExpression) -> ExprId {
        let mut conditions = vec![self.lower_expr(it.condition())];
        let mut values = vec![self.lower_expr(it.if_expression())];
        for branch in it.else_if_expressions().into_iter().flatten() {
            conditions.push(self.lower_expr(branch.condition()));
            values.push(self.lower_expr(branch.expression()));
        }
        values.push(self.lower_expr(it.else_expression()));
        self.push_expr(TreeExpr::Choice { conditions: conditions.into(), values: values.into() })
    }

    fn lower_interpolated(&mut self, it: &InterpolatedString) -> ExprId {
        let mut parts = Vec::new();
        for segment in it.segments() {
            parts.push(self.lower_part(&segment.literal));
            parts.push(self.lower_expr(&segment.expression));
        }
        parts.push(self.lower_part(it.last_string()));
        self.push_expr(TreeExpr::Interpolated(parts.into()))
    }

    fn lower_part(&mut self, token: &TokenReference) -> ExprId {
        self.set_line(token);
        let text = match token.token_type() {
            TokenType::InterpolatedString { literal, .. } => unescape_text(literal).plain.into(),
            _ => Rc::default(),
        };
        self.push_expr(TreeExpr::Text(text))
    }

    /// Lowers a function. `own` is the variable that `self` refers to, if it is a method.
    pub(super) fn lower_function(&mut self, body: &FunctionBody, own: Option<BindingId>) -> ExprId {
        let line = self.line;
        let id = FunctionId(self.tree.functions.len() as u32);
        self.tree.functions.push(FunctionNode::default());
        let outer = self.function.replace(id);
        self.scopes.push(HashMap::new());
        if let (Some(own), Some(scope)) = (own, self.scopes.last_mut()) {
            scope.insert("self".into(), own);
        }
        for (at, parameter) in body.parameters().iter().enumerate() {
            if let Parameter::Name(name) = parameter {
                let binding = self.declare_token(name);
                self.add_definition(binding, BindingSource::Parameter(id, at));
                self.tree.functions[id.0 as usize].parameters.push(binding);
            }
        }
        let statement = self.statement;
        self.lower_statements(body.block());
        self.statement = statement;
        self.scopes.pop();
        self.function = outer;
        self.line = line;
        self.push_expr(TreeExpr::Function(id))
    }
}

fn binary_operator(operator: &BinOp) -> BinaryOperator {
    match operator {
        BinOp::Caret(_) => BinaryOperator::Power,
        BinOp::Percent(_) => BinaryOperator::Modulo,
        BinOp::Slash(_) => BinaryOperator::Divide,
        BinOp::Star(_) => BinaryOperator::Multiply,
        BinOp::DoubleSlash(_) => BinaryOperator::FloorDivide,
        BinOp::Minus(_) => BinaryOperator::Subtract,
        BinOp::Plus(_) => BinaryOperator::Add,
        BinOp::TwoDots(_) => BinaryOperator::Concat,
        BinOp::And(_) => BinaryOperator::And,
        BinOp::Or(_) => BinaryOperator::Or,
        BinOp::TwoEqual(_) => BinaryOperator::Equal,
        BinOp::TildeEqual(_) => BinaryOperator::NotEqual,
        BinOp::LessThan(_) => BinaryOperator::Less,
        BinOp::LessThanEqual(_) => BinaryOperator::LessOrEqual,
        BinOp::GreaterThan(_) => BinaryOperator::Greater,
        _ => BinaryOperator::GreaterOrEqual,
    }
}

/// Parses a number as Luau does.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok().map(|it| it as f64),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok().map(|it| it as f64),
        _ => text.parse().ok(),
    }
}
