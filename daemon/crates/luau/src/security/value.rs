//! What an expression may be worth, and how values are folded into others.

use std::rc::Rc;

use super::call_flow::{DataSource, property_source};
use super::lower_exprs;
use super::tree::{BinaryOperator, ExprId, FunctionId, UnaryOperator};

/// What an expression may be. Of several values any may come to pass.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScanValue {
    Nil,
    Bool(bool),
    Number(f64),
    /// A number that is worked out as the script runs.
    UnknownNumber,
    Text(Rc<str>),
    /// A text that begins so, and goes on in a way that is not known.
    Prefix(Rc<str>),
    Table(ExprId),
    /// The values of a list that a library made.
    List(Rc<[ScanValue]>),
    Function(FunctionId),
    /// A global of Roblox or Luau, by its name: `require`, `string.char`, `game`.
    Builtin(Rc<str>),
    /// A service; its name is empty where it does not stand in the script.
    Service(Rc<str>),
    /// A member of something, by its name.
    Member(MemberOwner, Rc<str>),
    /// An instance of the place, or several.
    Instance,
    /// What another module of the place supplies.
    Imported,
    /// What a player, a store or another program says.
    Untrusted(DataSource),
    /// Beside the other values there may be more, which the scan does not follow.
    Incomplete,
    Unknown,
}

/// What a member belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MemberOwner {
    Unknown,
    Instance,
    Imported,
    /// The service's name is empty where it does not stand in the script.
    Service(Rc<str>),
}

/// The globals that are instances.
const INSTANCE_GLOBALS: [&str; 6] = ["script", "game", "workspace", "plugin", "Game", "Workspace"];

/// Whether a value is an instance of the place, if it is anything.
pub(super) fn is_instance(value: &ScanValue) -> bool {
    match value {
        ScanValue::Instance
        | ScanValue::Service(_)
        | ScanValue::Member(MemberOwner::Instance | MemberOwner::Service(_), _) => true,
        ScanValue::Builtin(name) => INSTANCE_GLOBALS.contains(&&**name),
        ScanValue::Nil
        | ScanValue::Bool(_)
        | ScanValue::Number(_)
        | ScanValue::UnknownNumber
        | ScanValue::Text(_)
        | ScanValue::Prefix(_)
        | ScanValue::Table(_)
        | ScanValue::List(_)
        | ScanValue::Function(_)
        | ScanValue::Member(MemberOwner::Unknown | MemberOwner::Imported, _)
        | ScanValue::Imported
        | ScanValue::Untrusted(_)
        | ScanValue::Incomplete
        | ScanValue::Unknown => false,
    }
}

pub(super) type ValueSet = Rc<[ScanValue]>;

/// How many values of one expression are told apart.
pub(super) const MAX_VALUES: usize = 12;
/// Characters of a folded text.
const MAX_TEXT: usize = 500;

/// The values without doublets: first those that lead somewhere, so that others do not crowd them out.
/// Where some have no room, the last one says so.
pub(super) fn union_values(mut values: Vec<ScanValue>) -> ValueSet {
    values.sort_by_key(value_rank);
    let mut kept: Vec<ScanValue> = Vec::with_capacity(values.len().min(MAX_VALUES + 1));
    let is_unknown = values.last() == Some(&ScanValue::Unknown);
    for value in values {
        if kept.contains(&value) {
            continue;
        }
        if kept.len() == MAX_VALUES {
            kept.push(if is_unknown { ScanValue::Unknown } else { ScanValue::Incomplete });
            break;
        }
        kept.push(value);
    }
    if kept.is_empty() {
        kept.push(ScanValue::Unknown);
    }
    kept.into()
}

/// What each value makes with each of others; of more than are told apart the rest is unknown.
pub(super) fn combine_values(
    lefts: &[ScanValue],
    rights: &[ScanValue],
    combine: impl Fn(&ScanValue, &ScanValue) -> ScanValue,
) -> Vec<ScanValue> {
    let pairs = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right)));
    let mut made: Vec<ScanValue> =
        pairs.take(MAX_VALUES).map(|(left, right)| combine(left, right)).collect();
    if lefts.len() * rights.len() > MAX_VALUES {
        made.push(ScanValue::Unknown);
    }
    made
}

fn value_rank(value: &ScanValue) -> u8 {
    match value {
        ScanValue::Builtin(_) | ScanValue::Untrusted(_) => 0,
        ScanValue::Number(_) | ScanValue::UnknownNumber => 1,
        ScanValue::Service(_) | ScanValue::Member(..) | ScanValue::Function(_) => 2,
        ScanValue::Text(_) | ScanValue::Prefix(_) | ScanValue::Table(_) | ScanValue::List(_) => 3,
        ScanValue::Instance | ScanValue::Imported => 4,
        ScanValue::Bool(_) => 5,
        ScanValue::Nil => 6,
        ScanValue::Incomplete => 7,
        ScanValue::Unknown => 8,
    }
}

/// Whether a value counts as true, where that is known.
pub(super) fn truth_value(value: &ScanValue) -> Option<bool> {
    match value {
        ScanValue::Nil | ScanValue::Bool(false) => Some(false),
        ScanValue::Unknown
        | ScanValue::Incomplete
        | ScanValue::Instance
        | ScanValue::Imported
        | ScanValue::Untrusted(_)
        | ScanValue::Member(..)
        | ScanValue::Builtin(_)
        | ScanValue::Service(_) => None,
        ScanValue::Bool(true)
        | ScanValue::Number(_)
        | ScanValue::UnknownNumber
        | ScanValue::Text(_)
        | ScanValue::Prefix(_)
        | ScanValue::Table(_)
        | ScanValue::List(_)
        | ScanValue::Function(_) => Some(true),
    }
}

pub(super) fn apply_unary(operator: UnaryOperator, operand: &ScanValue) -> ScanValue {
    match operator {
        UnaryOperator::Negate => match to_number(operand) {
            Some(it) => ScanValue::Number(-it),
            None => unknown_number(operand),
        },
        UnaryOperator::Not => {
            truth_value(operand).map_or(ScanValue::Unknown, |it| ScanValue::Bool(!it))
        }
        UnaryOperator::Length => match operand {
            // Characters beyond ASCII may have been single bytes.
            ScanValue::Text(text) if text.is_ascii() => ScanValue::Number(text.len() as f64),
            _ => unknown_number(operand),
        },
    }
}

/// A number of which only its source is known.
pub(super) fn unknown_number(from: &ScanValue) -> ScanValue {
    match from {
        ScanValue::Untrusted(source) => ScanValue::Untrusted(source),
        ScanValue::Member(_, name) => {
            property_source(name).map_or(ScanValue::UnknownNumber, ScanValue::Untrusted)
        }
        _ => ScanValue::UnknownNumber,
    }
}

/// A value as arithmetic reads it.
pub(super) fn to_number(value: &ScanValue) -> Option<f64> {
    match value {
        ScanValue::Number(it) => Some(*it),
        ScanValue::Text(text) => lower_exprs::parse_number(text.trim()),
        _ => None,
    }
}

pub(super) fn apply_binary(
    operator: BinaryOperator,
    left: &ScanValue,
    right: &ScanValue,
) -> ScanValue {
    if operator == BinaryOperator::Concat {
        return concat_values(left, right);
    }
    let (Some(a), Some(b)) = (to_number(left), to_number(right)) else {
        let outside = [left, right].into_iter().find(|it| matches!(it, ScanValue::Untrusted(_)));
        return outside.map_or(ScanValue::UnknownNumber, Clone::clone);
    };
    ScanValue::Number(match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide => a / b,
        BinaryOperator::FloorDivide => (a / b).floor(),
        BinaryOperator::Modulo => a - (a / b).floor() * b,
        BinaryOperator::Power => a.powf(b),
        _ => return ScanValue::Unknown,
    })
}

/// A value as text, where it is known.
pub(super) fn to_text(value: &ScanValue) -> Option<Rc<str>> {
    match value {
        ScanValue::Text(text) => Some(text.clone()),
        // Others are written in ways that differ between versions.
        ScanValue::Number(number) if *number == 0.0 || (1e-4..1e15).contains(&number.abs()) => {
            Some(format_number(*number).into())
        }
        _ => None,
    }
}

/// A number as Luau writes it.
pub(super) fn format_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{}", number as i64)
    } else {
        format!("{number}")
    }
}

/// A text, cut where it is longer than the scan follows.
pub(super) fn truncate_text(text: &str) -> ScanValue {
    if text.len() <= MAX_TEXT {
        return ScanValue::Text(text.into());
    }
    let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    ScanValue::Prefix(text[..end].into())
}

pub(super) fn concat_values(left: &ScanValue, right: &ScanValue) -> ScanValue {
    let Some(start) = to_text(left) else {
        return match (left, right) {
            (ScanValue::Prefix(_) | ScanValue::Untrusted(_), _) => left.clone(),
            (_, ScanValue::Untrusted(source)) => ScanValue::Untrusted(source),
            _ => ScanValue::Prefix(Rc::default()),
        };
    };
    match right {
        ScanValue::Prefix(rest) => ScanValue::Prefix(
            format!("{start}{rest}").chars().take(MAX_TEXT).collect::<String>().into(),
        ),
        ScanValue::Untrusted(source) if start.is_empty() => ScanValue::Untrusted(source),
        right => match to_text(right) {
            Some(rest) => truncate_text(&format!("{start}{rest}")),
            None => ScanValue::Prefix(start),
        },
    }
}
