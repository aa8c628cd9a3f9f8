//! The possible values of expressions, and how they are combined.

use std::rc::Rc;

use super::call_flow::{DataSource, property_source};
use super::lower_exprs;
use super::tree::{BinaryOperator, ExprId, FunctionId, UnaryOperator};

/// A possible value of an expression. If there are several, any of them may occur.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScanValue {
    Nil,
    Bool(bool),
    Number(f64),
    /// A number that is computed at run time.
    UnknownNumber,
    Text(Rc<str>),
    /// A text with a known beginning and an unknown rest.
    Prefix(Rc<str>),
    Table(ExprId),
    /// The items of a list that a library function returned.
    List(Rc<[ScanValue]>),
    Function(FunctionId),
    /// A global of Roblox or Luau, by its name: `require`, `string.char`, `game`.
    Builtin(Rc<str>),
    /// A service, by its name; empty if the script does not contain the name.
    Service(Rc<str>),
    /// A member, by its name.
    Member(MemberOwner, Rc<str>),
    /// One or more instances of the place.
    Instance,
    /// An instance of the model that the script is in, by its index.
    ModelNode(u32),
    /// What a module of the same model returns, by its index.
    Module(u32),
    /// A value from another module of the place.
    Imported,
    /// Data from a player, a store or another program.
    Untrusted(DataSource),
    /// There may be further values that the scan does not follow.
    Incomplete,
    Unknown,
}

/// The owner of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MemberOwner {
    Unknown,
    Instance,
    Imported,
    /// A service, by its name; empty if the script does not contain the name.
    Service(Rc<str>),
}

/// Globals that are instances.
const INSTANCE_GLOBALS: [&str; 6] = ["script", "game", "workspace", "plugin", "Game", "Workspace"];

/// Whether a value, unless it is nil, is an instance of the place.
pub(super) fn is_instance(value: &ScanValue) -> bool {
    match value {
        ScanValue::Instance
        | ScanValue::ModelNode(_)
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
        | ScanValue::Module(_)
        | ScanValue::Imported
        | ScanValue::Untrusted(_)
        | ScanValue::Incomplete
        | ScanValue::Unknown => false,
    }
}

pub(super) type ValueSet = Rc<[ScanValue]>;

/// Maximum number of distinct values per expression.
pub(super) const MAX_VALUES: usize = 12;
/// Maximum length of a folded text, in bytes.
const MAX_TEXT: usize = 500;

/// Deduplicates values, the most relevant first, so that others do not displace them. If some do
/// not fit, appends a value that says so.
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

/// Combines all pairs of values. Beyond the limit, the rest is unknown.
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
        ScanValue::ModelNode(_)
        | ScanValue::Module(_)
        | ScanValue::Instance
        | ScanValue::Imported => 4,
        ScanValue::Bool(_) => 5,
        ScanValue::Nil => 6,
        ScanValue::Incomplete => 7,
        ScanValue::Unknown => 8,
    }
}

/// Whether a value is truthy; None if unknown.
pub(super) fn truth_value(value: &ScanValue) -> Option<bool> {
    match value {
        ScanValue::Nil | ScanValue::Bool(false) => Some(false),
        ScanValue::Unknown
        | ScanValue::Incomplete
        | ScanValue::Instance
        | ScanValue::ModelNode(_)
        | ScanValue::Module(_)
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

/// An unknown number that keeps its untrusted source.
pub(super) fn unknown_number(from: &ScanValue) -> ScanValue {
    match from {
        ScanValue::Untrusted(source) => ScanValue::Untrusted(source),
        ScanValue::Member(_, name) => {
            property_source(name).map_or(ScanValue::UnknownNumber, ScanValue::Untrusted)
        }
        _ => ScanValue::UnknownNumber,
    }
}

/// Converts a value to a number as arithmetic does.
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

/// Converts a value to text; None if the text is not known.
pub(super) fn to_text(value: &ScanValue) -> Option<Rc<str>> {
    match value {
        ScanValue::Text(text) => Some(text.clone()),
        // The format of other numbers differs between versions.
        ScanValue::Number(number) if *number == 0.0 || (1e-4..1e15).contains(&number.abs()) => {
            Some(format_number(*number).into())
        }
        _ => None,
    }
}

/// Formats a number as Luau does.
pub(super) fn format_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{}", number as i64)
    } else {
        format!("{number}")
    }
}

/// A text value, cut to a prefix if it is too long.
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
