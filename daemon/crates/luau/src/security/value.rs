//! What an expression may be worth, and how values are folded into others.

use std::rc::Rc;

use super::flow::{Source, property_source};
use super::lower_exprs;
use super::tree::{ExprId, FunctionId, Operator, UnaryOperator};

/// What an expression may be. Of several values any may come to pass.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    /// A number that is worked out as the script runs.
    SomeNumber,
    Text(Rc<str>),
    /// A text that begins so, and goes on in a way that is not known.
    Prefix(Rc<str>),
    Table(ExprId),
    /// The values of a list that a library made.
    List(Rc<[Value]>),
    Function(FunctionId),
    /// A global of Roblox or Luau, by its name: `require`, `string.char`, `game`.
    Builtin(Rc<str>),
    /// A service; its name is empty where it does not stand in the script.
    Service(Rc<str>),
    /// A member of something, by its name.
    Member(Owner, Rc<str>),
    /// An instance of the place, or several.
    Instance,
    /// What another module of the place supplies.
    Imported,
    /// What a player, a store or another program says.
    Outside(Source),
    /// Beside the other values there may be more, which the scan does not follow.
    Open,
    Unknown,
}

/// What a member belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Owner {
    Unknown,
    Instance,
    Imported,
    /// The service's name is empty where it does not stand in the script.
    Service(Rc<str>),
}

/// The globals that are instances.
const INSTANCES: [&str; 6] = ["script", "game", "workspace", "plugin", "Game", "Workspace"];

/// Whether a value is an instance of the place, if it is anything.
pub(super) fn is_instance(value: &Value) -> bool {
    match value {
        Value::Instance
        | Value::Service(_)
        | Value::Member(Owner::Instance | Owner::Service(_), _) => true,
        Value::Builtin(name) => INSTANCES.contains(&&**name),
        Value::Nil
        | Value::Bool(_)
        | Value::Number(_)
        | Value::SomeNumber
        | Value::Text(_)
        | Value::Prefix(_)
        | Value::Table(_)
        | Value::List(_)
        | Value::Function(_)
        | Value::Member(Owner::Unknown | Owner::Imported, _)
        | Value::Imported
        | Value::Outside(_)
        | Value::Open
        | Value::Unknown => false,
    }
}

pub(super) type Values = Rc<[Value]>;

/// How many values of one expression are told apart.
pub(super) const MAX_VALUES: usize = 12;
/// Characters of a folded text.
const MAX_TEXT: usize = 500;

/// The values without doublets: first those that lead somewhere, so that others do not crowd them out.
/// Where some have no room, the last one says so.
pub(super) fn union(mut values: Vec<Value>) -> Values {
    values.sort_by_key(rank);
    let mut kept: Vec<Value> = Vec::with_capacity(values.len().min(MAX_VALUES + 1));
    let is_unknown = values.last() == Some(&Value::Unknown);
    for value in values {
        if kept.contains(&value) {
            continue;
        }
        if kept.len() == MAX_VALUES {
            kept.push(if is_unknown { Value::Unknown } else { Value::Open });
            break;
        }
        kept.push(value);
    }
    if kept.is_empty() {
        kept.push(Value::Unknown);
    }
    kept.into()
}

/// What each value makes with each of others; of more than are told apart the rest is unknown.
pub(super) fn combinations(
    lefts: &[Value],
    rights: &[Value],
    combine: impl Fn(&Value, &Value) -> Value,
) -> Vec<Value> {
    let pairs = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right)));
    let mut made: Vec<Value> =
        pairs.take(MAX_VALUES).map(|(left, right)| combine(left, right)).collect();
    if lefts.len() * rights.len() > MAX_VALUES {
        made.push(Value::Unknown);
    }
    made
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Builtin(_) | Value::Outside(_) => 0,
        Value::Number(_) | Value::SomeNumber => 1,
        Value::Service(_) | Value::Member(..) | Value::Function(_) => 2,
        Value::Text(_) | Value::Prefix(_) | Value::Table(_) | Value::List(_) => 3,
        Value::Instance | Value::Imported => 4,
        Value::Bool(_) => 5,
        Value::Nil => 6,
        Value::Open => 7,
        Value::Unknown => 8,
    }
}

/// Whether a value counts as true, where that is known.
pub(super) fn is_true(value: &Value) -> Option<bool> {
    match value {
        Value::Nil | Value::Bool(false) => Some(false),
        Value::Unknown
        | Value::Open
        | Value::Instance
        | Value::Imported
        | Value::Outside(_)
        | Value::Member(..)
        | Value::Builtin(_)
        | Value::Service(_) => None,
        Value::Bool(true)
        | Value::Number(_)
        | Value::SomeNumber
        | Value::Text(_)
        | Value::Prefix(_)
        | Value::Table(_)
        | Value::List(_)
        | Value::Function(_) => Some(true),
    }
}

pub(super) fn unary(operator: UnaryOperator, operand: &Value) -> Value {
    match operator {
        UnaryOperator::Negate => match number(operand) {
            Some(it) => Value::Number(-it),
            None => some_number(operand),
        },
        UnaryOperator::Not => is_true(operand).map_or(Value::Unknown, |it| Value::Bool(!it)),
        UnaryOperator::Length => match operand {
            // Characters beyond ASCII may have been single bytes.
            Value::Text(text) if text.is_ascii() => Value::Number(text.len() as f64),
            _ => some_number(operand),
        },
    }
}

/// A number of which only its source is known.
pub(super) fn some_number(from: &Value) -> Value {
    match from {
        Value::Outside(source) => Value::Outside(source),
        Value::Member(_, name) => property_source(name).map_or(Value::SomeNumber, Value::Outside),
        _ => Value::SomeNumber,
    }
}

/// A value as arithmetic reads it.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(it) => Some(*it),
        Value::Text(text) => lower_exprs::number(text.trim()),
        _ => None,
    }
}

pub(super) fn apply(operator: Operator, left: &Value, right: &Value) -> Value {
    if operator == Operator::Concat {
        return concat(left, right);
    }
    let (Some(a), Some(b)) = (number(left), number(right)) else {
        let outside = [left, right].into_iter().find(|it| matches!(it, Value::Outside(_)));
        return outside.map_or(Value::SomeNumber, Clone::clone);
    };
    Value::Number(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => (a / b).floor(),
        Operator::Modulo => a - (a / b).floor() * b,
        Operator::Power => a.powf(b),
        _ => return Value::Unknown,
    })
}

/// A value as text, where it is known.
pub(super) fn text(value: &Value) -> Option<Rc<str>> {
    match value {
        Value::Text(text) => Some(text.clone()),
        // Others are written in ways that differ between versions.
        Value::Number(number) if *number == 0.0 || (1e-4..1e15).contains(&number.abs()) => {
            Some(show_number(*number).into())
        }
        _ => None,
    }
}

/// A number as Luau writes it.
pub(super) fn show_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{}", number as i64)
    } else {
        format!("{number}")
    }
}

/// A text, cut where it is longer than the scan follows.
pub(super) fn bounded(text: &str) -> Value {
    if text.len() <= MAX_TEXT {
        return Value::Text(text.into());
    }
    let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Value::Prefix(text[..end].into())
}

pub(super) fn concat(left: &Value, right: &Value) -> Value {
    let Some(start) = text(left) else {
        return match (left, right) {
            (Value::Prefix(_) | Value::Outside(_), _) => left.clone(),
            (_, Value::Outside(source)) => Value::Outside(source),
            _ => Value::Prefix(Rc::default()),
        };
    };
    match right {
        Value::Prefix(rest) => Value::Prefix(
            format!("{start}{rest}").chars().take(MAX_TEXT).collect::<String>().into(),
        ),
        Value::Outside(source) if start.is_empty() => Value::Outside(source),
        right => match text(right) {
            Some(rest) => bounded(&format!("{start}{rest}")),
            None => Value::Prefix(start),
        },
    }
}
