//! The syntax tree of the scan: expressions in an arena, resolved names, and all values assigned to
//! each name or field in one place.
//!
//! Parentheses, casts and types are omitted. This module must not know values or what is
//! suspicious.

use std::collections::HashMap;
use std::rc::Rc;

/// An expression in the arena. Operands precede the expressions that use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ExprId(pub(super) u32);

/// A variable: local, global or a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct BindingId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FunctionId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StatementId(pub(super) u32);

#[derive(Debug)]
pub(super) struct ExprNode {
    pub(super) expr: TreeExpr,
    /// The line number, from 1.
    pub(super) line: u32,
    pub(super) statement: StatementId,
}

#[derive(Debug)]
pub(super) enum TreeExpr {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Rc<str>),
    Varargs,
    Name(BindingId),
    Index {
        base: ExprId,
        key: ExprId,
        /// Whether this is the target of an assignment.
        is_written: bool,
    },
    /// `callee(...)`. In `base:name(...)`, the callee is the index, and `base` is not an argument.
    Call {
        callee: ExprId,
        args: Box<[ExprId]>,
        is_method: bool,
    },
    Function(FunctionId),
    Table(Box<[TableField]>),
    Binary {
        operator: BinaryOperator,
        left: ExprId,
        right: ExprId,
    },
    Unary {
        operator: UnaryOperator,
        operand: ExprId,
    },
    /// `if ... then ... else`: the conditions, and the values of all branches.
    Choice {
        conditions: Box<[ExprId]>,
        values: Box<[ExprId]>,
    },
    Interpolated(Box<[ExprId]>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TableField {
    /// None for list items.
    pub(super) key: Option<ExprId>,
    pub(super) value: ExprId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Concat,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl BinaryOperator {
    pub(super) fn is_comparison(self) -> bool {
        match self {
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual => true,
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::FloorDivide
            | Self::Modulo
            | Self::Power
            | Self::Concat
            | Self::And
            | Self::Or => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum UnaryOperator {
    Negate,
    Not,
    Length,
}

/// A variable and its assigned values.
#[derive(Debug)]
pub(super) struct TreeBinding {
    pub(super) name: Rc<str>,
    pub(super) is_global: bool,
    pub(super) definitions: Vec<BindingSource>,
    pub(super) read_count: u32,
}

/// The source of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindingSource {
    Value(ExprId),
    /// A further result of a call, by its index from 0.
    Result(ExprId, usize),
    /// An item of a list, in a loop.
    Item(ExprId),
    Key(ExprId),
    Parameter(FunctionId, usize),
    /// A value that is known only at run time.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct FunctionNode {
    pub(super) parameters: Vec<BindingId>,
    /// The values of each `return`.
    pub(super) returns: Vec<Box<[ExprId]>>,
    /// The name of the function for display.
    pub(super) name: Option<Rc<str>>,
}

/// A statement with its expressions, without those of nested blocks.
#[derive(Debug, Default)]
pub(super) struct StatementNode {
    /// Targets first, then values.
    pub(super) roots: Vec<ExprId>,
    pub(super) declared_names: Vec<Rc<str>>,
    /// Whether it is a `return` of the script or of a function.
    pub(super) is_return: bool,
    /// The function whose body contains it.
    pub(super) function: Option<FunctionId>,
    /// The conditions under which it runs within its function: those of the enclosing blocks, and
    /// those of preceding statements that leave such a block.
    pub(super) conditions: Rc<[ExprId]>,
}

#[derive(Debug, Default)]
pub(super) struct ScanTree {
    pub(super) exprs: Vec<ExprNode>,
    pub(super) bindings: Vec<TreeBinding>,
    pub(super) functions: Vec<FunctionNode>,
    pub(super) statements: Vec<StatementNode>,
    /// The values assigned to fields, by field name: `a.name = value`, `function a.name()`.
    pub(super) field_writes: HashMap<Rc<str>, Vec<FieldWrite>>,
    /// The same, by root variable and field name.
    pub(super) binding_writes: HashMap<(BindingId, Rc<str>), Vec<ExprId>>,
    /// The values assigned under keys that are not names: `a[1] = value`, `a[key] = value`. By
    /// variable and the last name of its chain: `list` in `a.list[1]`.
    pub(super) item_writes: HashMap<(BindingId, Rc<str>), Vec<ItemWrite>>,
    /// The values of fields in table constructors, by field name.
    pub(super) constructor_fields: HashMap<Rc<str>, Vec<ExprId>>,
}

/// An assignment under a key that is not a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemWrite {
    pub(super) key: Option<ExprId>,
    pub(super) value: ExprId,
}

/// An assignment to a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldWrite {
    /// The root variable: `a` in `a.b.name = value`.
    pub(super) root: Option<BindingId>,
    pub(super) value: ExprId,
}

impl ScanTree {
    pub(super) fn expr(&self, id: ExprId) -> &TreeExpr {
        &self.exprs[id.0 as usize].expr
    }

    pub(super) fn node(&self, id: ExprId) -> &ExprNode {
        &self.exprs[id.0 as usize]
    }

    pub(super) fn expr_ids(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.exprs.len() as u32).map(ExprId)
    }

    pub(super) fn binding(&self, id: BindingId) -> &TreeBinding {
        &self.bindings[id.0 as usize]
    }

    pub(super) fn function(&self, id: FunctionId) -> &FunctionNode {
        &self.functions[id.0 as usize]
    }

    pub(super) fn statement_of(&self, id: ExprId) -> &StatementNode {
        &self.statements[self.node(id).statement.0 as usize]
    }

    /// The text of a string literal; None for other expressions.
    pub(super) fn literal_text(&self, id: ExprId) -> Option<&Rc<str>> {
        match self.expr(id) {
            TreeExpr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The root variable of a chain of indexes.
    pub(super) fn root_binding(&self, mut id: ExprId) -> Option<BindingId> {
        loop {
            match self.expr(id) {
                TreeExpr::Name(binding) => return Some(*binding),
                TreeExpr::Index { base, .. } => id = *base,
                _ => return None,
            }
        }
    }

    /// The values assigned to a field through a variable.
    pub(super) fn binding_writes(&self, base: ExprId, name: &Rc<str>) -> &[ExprId] {
        let root = self.root_binding(base);
        let writes = root.and_then(|root| self.binding_writes.get(&(root, name.clone())));
        writes.map_or(&[], Vec::as_slice)
    }

    /// The root variable and the last name of a chain of indexes.
    pub(super) fn field_location(&self, base: ExprId) -> Option<(BindingId, Rc<str>)> {
        let root = self.root_binding(base)?;
        let name = match self.expr(base) {
            TreeExpr::Index { key, .. } => self.literal_text(*key).cloned().unwrap_or_default(),
            _ => Rc::default(),
        };
        Some((root, name))
    }

    pub(super) fn item_writes(&self, base: ExprId) -> &[ItemWrite] {
        let writes = self.field_location(base).and_then(|place| self.item_writes.get(&place));
        writes.map_or(&[], Vec::as_slice)
    }

    /// The parent of each expression; None for roots.
    pub(super) fn parent_ids(&self) -> Vec<Option<ExprId>> {
        let mut parents = vec![None; self.exprs.len()];
        for id in self.expr_ids() {
            self.visit_operands(id, |operand| parents[operand.0 as usize] = Some(id));
        }
        parents
    }

    /// Visits the operands of an expression.
    pub(super) fn visit_operands(&self, id: ExprId, mut visit: impl FnMut(ExprId)) {
        match self.expr(id) {
            TreeExpr::Nil
            | TreeExpr::Bool(_)
            | TreeExpr::Number(_)
            | TreeExpr::Text(_)
            | TreeExpr::Varargs
            | TreeExpr::Name(_)
            | TreeExpr::Function(_) => {}
            TreeExpr::Index { base, key, .. } => {
                visit(*base);
                visit(*key);
            }
            TreeExpr::Call { callee, args, .. } => {
                visit(*callee);
                args.iter().copied().for_each(visit);
            }
            TreeExpr::Table(fields) => {
                for field in fields {
                    field.key.into_iter().for_each(&mut visit);
                    visit(field.value);
                }
            }
            TreeExpr::Binary { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
            TreeExpr::Unary { operand, .. } => visit(*operand),
            TreeExpr::Choice { conditions, values } => {
                conditions.iter().chain(values).copied().for_each(visit);
            }
            TreeExpr::Interpolated(parts) => parts.iter().copied().for_each(visit),
        }
    }
}
