//! From full_moon's expressions to those of the scan; see [`super::lower`].

use std::collections::HashMap;
use std::rc::Rc;

use full_moon::ast::luau::{IfExpression, InterpolatedString};
use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    BinOp, Call, Expression, Field, FunctionArgs, FunctionBody, FunctionCall, Index, Parameter,
    Prefix, Suffix, TableConstructor, UnOp, Var,
};
use full_moon::tokenizer::{StringLiteralQuoteType, TokenReference, TokenType};

use super::escapes::unescaped;
use super::lower::{Lowering, line_of, name_of};
use super::tree::{
    BindingId, Definition, Expr, ExprId, FunctionId, FunctionNode, Operator, TableField,
    UnaryOperator,
};

impl Lowering {
    pub(super) fn exprs(&mut self, exprs: &Punctuated<Expression>) -> Vec<ExprId> {
        exprs.iter().map(|it| self.expr(it)).collect()
    }

    pub(super) fn expr(&mut self, expr: &Expression) -> ExprId {
        match expr {
            Expression::BinaryOperator { lhs, binop, rhs } => {
                let (left, right) = (self.expr(lhs), self.expr(rhs));
                self.push(Expr::Binary { operator: binary(binop), left, right })
            }
            Expression::Parentheses { expression, .. }
            | Expression::TypeAssertion { expression, .. } => self.expr(expression),
            Expression::UnaryOperator { unop, expression } => {
                let operand = self.expr(expression);
                let operator = match unop {
                    UnOp::Minus(_) => UnaryOperator::Negate,
                    UnOp::Not(_) => UnaryOperator::Not,
                    _ => UnaryOperator::Length,
                };
                self.push(Expr::Unary { operator, operand })
            }
            Expression::Function(it) => {
                let (statement, line) = (self.statement, self.line);
                let id = self.function(it.body(), None);
                (self.statement, self.line) = (statement, line);
                id
            }
            Expression::FunctionCall(it) => self.call(it),
            Expression::IfExpression(it) => self.choice(it),
            Expression::InterpolatedString(it) => self.interpolated(it),
            Expression::TableConstructor(it) => self.table(it),
            Expression::Number(token) => {
                self.at(token);
                let number = number(&token.token().to_string());
                self.push(number.map_or(Expr::Varargs, Expr::Number))
            }
            Expression::String(token) => self.string(token),
            Expression::Symbol(token) => {
                self.at(token);
                self.push(match token.token().to_string().as_str() {
                    "nil" => Expr::Nil,
                    "true" => Expr::Bool(true),
                    "false" => Expr::Bool(false),
                    _ => Expr::Varargs,
                })
            }
            Expression::Var(Var::Name(name)) => self.name(name),
            Expression::Var(Var::Expression(it)) => self.chain(it.prefix(), it.suffixes()),
            _ => self.push(Expr::Varargs),
        }
    }

    /// Goes to the line of a token.
    fn at(&mut self, token: &TokenReference) {
        self.line = token.token().start_position().line() as u32;
    }

    fn name(&mut self, name: &TokenReference) -> ExprId {
        self.at(name);
        let binding = self.resolve(name_of(name));
        self.tree.bindings[binding.0 as usize].reads += 1;
        self.push(Expr::Name(binding))
    }

    fn string(&mut self, token: &TokenReference) -> ExprId {
        self.at(token);
        let text = match token.token_type() {
            TokenType::StringLiteral { literal, quote_type, .. } => match quote_type {
                StringLiteralQuoteType::Brackets => literal.as_str().into(),
                _ => unescaped(literal).plain.into(),
            },
            _ => Rc::default(),
        };
        self.push(Expr::Text(text))
    }

    pub(super) fn call(&mut self, it: &FunctionCall) -> ExprId {
        self.chain(it.prefix(), it.suffixes())
    }

    pub(super) fn chain<'a>(
        &mut self,
        prefix: &Prefix,
        suffixes: impl Iterator<Item = &'a Suffix>,
    ) -> ExprId {
        let mut id = match prefix {
            Prefix::Expression(it) => self.expr(it),
            Prefix::Name(name) => self.name(name),
            _ => self.push(Expr::Varargs),
        };
        for suffix in suffixes {
            id = match suffix {
                Suffix::Index(Index::Brackets { expression, .. }) => {
                    let key = self.expr(expression);
                    self.push(Expr::Index { base: id, key, is_written: false })
                }
                Suffix::Index(Index::Dot { name, .. }) => self.member(id, name),
                Suffix::Call(Call::AnonymousCall(args)) => {
                    let line = self.line;
                    let args = self.args(args);
                    self.line = line;
                    self.push(Expr::Call { callee: id, args, is_method: false })
                }
                Suffix::Call(Call::MethodCall(method)) => {
                    let callee = self.member(id, method.name());
                    let line = self.line;
                    let args = self.args(method.args());
                    self.line = line;
                    self.push(Expr::Call { callee, args, is_method: true })
                }
                _ => id,
            };
        }
        id
    }

    fn member(&mut self, base: ExprId, name: &TokenReference) -> ExprId {
        self.at(name);
        let key = self.push(Expr::Text(name_of(name)));
        self.push(Expr::Index { base, key, is_written: false })
    }

    fn args(&mut self, args: &FunctionArgs) -> Box<[ExprId]> {
        match args {
            FunctionArgs::Parentheses { arguments, .. } => self.exprs(arguments).into(),
            FunctionArgs::String(token) => [self.string(token)].into(),
            FunctionArgs::TableConstructor(table) => [self.table(table)].into(),
            _ => Box::default(),
        }
    }

    fn table(&mut self, it: &TableConstructor) -> ExprId {
        let line = line_of(it);
        let fields: Vec<TableField> = it
            .fields()
            .iter()
            .filter_map(|field| match field {
                Field::ExpressionKey { key, value, .. } => {
                    let key = self.expr(key);
                    let value = self.expr(value);
                    if let Some(name) = self.tree.text(key).cloned() {
                        self.tree.constructed.entry(name).or_default().push(value);
                    }
                    Some(TableField { key: Some(key), value })
                }
                Field::NameKey { key, value, .. } => {
                    self.at(key);
                    let name = name_of(key);
                    let key = self.push(Expr::Text(name.clone()));
                    let value = self.expr(value);
                    self.call_function(value, &name);
                    self.tree.constructed.entry(name).or_default().push(value);
                    Some(TableField { key: Some(key), value })
                }
                Field::NoKey(value) => Some(TableField { key: None, value: self.expr(value) }),
                _ => None,
            })
            .collect();
        self.line = line;
        self.push(Expr::Table(fields.into()))
    }

    fn choice(&mut self, it: &IfExpression) -> ExprId {
        let mut conditions = vec![self.expr(it.condition())];
        let mut values = vec![self.expr(it.if_expression())];
        for branch in it.else_if_expressions().into_iter().flatten() {
            conditions.push(self.expr(branch.condition()));
            values.push(self.expr(branch.expression()));
        }
        values.push(self.expr(it.else_expression()));
        self.push(Expr::Choice { conditions: conditions.into(), values: values.into() })
    }

    fn interpolated(&mut self, it: &InterpolatedString) -> ExprId {
        let mut parts = Vec::new();
        for segment in it.segments() {
            parts.push(self.part(&segment.literal));
            parts.push(self.expr(&segment.expression));
        }
        parts.push(self.part(it.last_string()));
        self.push(Expr::Interpolated(parts.into()))
    }

    fn part(&mut self, token: &TokenReference) -> ExprId {
        self.at(token);
        let text = match token.token_type() {
            TokenType::InterpolatedString { literal, .. } => unescaped(literal).plain.into(),
            _ => Rc::default(),
        };
        self.push(Expr::Text(text))
    }

    /// A function; `own` is the variable whose method it is, which its `self` stands for.
    pub(super) fn function(&mut self, body: &FunctionBody, own: Option<BindingId>) -> ExprId {
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
                let binding = self.declare(name);
                self.define(binding, Definition::Parameter(id, at));
                self.tree.functions[id.0 as usize].parameters.push(binding);
            }
        }
        let statement = self.statement;
        self.statements(body.block());
        self.statement = statement;
        self.scopes.pop();
        self.function = outer;
        self.line = line;
        self.push(Expr::Function(id))
    }
}

fn binary(operator: &BinOp) -> Operator {
    match operator {
        BinOp::Caret(_) => Operator::Power,
        BinOp::Percent(_) => Operator::Modulo,
        BinOp::Slash(_) => Operator::Divide,
        BinOp::Star(_) => Operator::Multiply,
        BinOp::DoubleSlash(_) => Operator::FloorDivide,
        BinOp::Minus(_) => Operator::Subtract,
        BinOp::Plus(_) => Operator::Add,
        BinOp::TwoDots(_) => Operator::Concat,
        BinOp::And(_) => Operator::And,
        BinOp::Or(_) => Operator::Or,
        BinOp::TwoEqual(_) => Operator::Equal,
        BinOp::TildeEqual(_) => Operator::NotEqual,
        BinOp::LessThan(_) => Operator::Less,
        BinOp::LessThanEqual(_) => Operator::LessOrEqual,
        BinOp::GreaterThan(_) => Operator::Greater,
        _ => Operator::GreaterOrEqual,
    }
}

/// A number as Luau reads it.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_ascii_lowercase();
    match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok().map(|it| it as f64),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok().map(|it| it as f64),
        _ => text.parse().ok(),
    }
}
