//! A script's syntax tree in the form that the scan reads: expressions in an arena, names resolved
//! to what they are bound to, and all values that a name or a field is given in one place.
//!
//! Parentheses, casts and types are gone. Types, values and what is suspicious are not known here.

use std::collections::HashMap;
use std::rc::Rc;

/// An expression of the arena. Operands stand before what is made of them.
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
        /// Whether a value is assigned to it here.
        is_written: bool,
    },
    /// `callee(...)`; of `base:name(...)` the callee is the index, and the arguments leave out `base`.
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
    /// None for the values of a list.
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

/// A variable, and what it is given.
#[derive(Debug)]
pub(super) struct TreeBinding {
    pub(super) name: Rc<str>,
    pub(super) is_global: bool,
    pub(super) definitions: Vec<BindingSource>,
    /// How often it is read.
    pub(super) read_count: u32,
}

/// What gives a variable a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindingSource {
    Value(ExprId),
    /// One of the values behind the first that a call gives, counted from 0.
    Result(ExprId, usize),
    /// The items of a list, in a loop.
    Item(ExprId),
    Key(ExprId),
    Parameter(FunctionId, usize),
    /// Something that only the running script knows.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct FunctionNode {
    pub(super) parameters: Vec<BindingId>,
    /// The values of each `return`.
    pub(super) returns: Vec<Box<[ExprId]>>,
    /// What the function is called, for people.
    pub(super) name: Option<Rc<str>>,
}

/// A statement with the expressions that stand in it, without those of the blocks within.
#[derive(Debug, Default)]
pub(super) struct StatementNode {
    /// Targets first, then values.
    pub(super) roots: Vec<ExprId>,
    /// The names that it declares.
    pub(super) declared_names: Vec<Rc<str>>,
    /// Whether it gives back what the script, or a function of it, returns.
    pub(super) is_return: bool,
    /// The function in whose body it stands.
    pub(super) function: Option<FunctionId>,
    /// The conditions under which it runs, as far as the function around it says them: those of the
    /// blocks around it, and those of statements before it that leave such a block.
    pub(super) conditions: Rc<[ExprId]>,
}

#[derive(Debug, Default)]
pub(super) struct ScanTree {
    pub(super) exprs: Vec<ExprNode>,
    pub(super) bindings: Vec<TreeBinding>,
    pub(super) functions: Vec<FunctionNode>,
    pub(super) statements: Vec<StatementNode>,
    /// What is assigned to fields, by the field's name: `a.name = value`, `function a.name()`.
    pub(super) field_writes: HashMap<Rc<str>, Vec<FieldWrite>>,
    /// The same, by the variable in front as well.
    pub(super) binding_writes: HashMap<(BindingId, Rc<str>), Vec<ExprId>>,
    /// What is assigned under keys that are no names: `a[1] = value`, `a[key] = value`.
    /// By the variable, and by the last name behind it: `list` of `a.list[1]`.
    pub(super) item_writes: HashMap<(BindingId, Rc<str>), Vec<ItemWrite>>,
    /// The values that constructors of tables give to fields, by the field's name.
    pub(super) constructor_fields: HashMap<Rc<str>, Vec<ExprId>>,
}

/// An assignment under a key that is no name.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemWrite {
    pub(super) key: Option<ExprId>,
    pub(super) value: ExprId,
}

/// An assignment to a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldWrite {
    /// The variable in front: `a` of `a.b.name = value`.
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

    /// The text of a literal.
    pub(super) fn literal_text(&self, id: ExprId) -> Option<&Rc<str>> {
        match self.expr(id) {
            TreeExpr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The variable in front of a chain of indexes.
    pub(super) fn root_binding(&self, mut id: ExprId) -> Option<BindingId> {
        loop {
            match self.expr(id) {
                TreeExpr::Name(binding) => return Some(*binding),
                TreeExpr::Index { base, .. } => id = *base,
                _ => return None,
            }
        }
    }

    /// The values that a field behind a variable is given.
    pub(super) fn binding_writes(&self, base: ExprId, name: &Rc<str>) -> &[ExprId] {
        let root = self.root_binding(base);
        let writes = root.and_then(|root| self.binding_writes.get(&(root, name.clone())));
        writes.map_or(&[], Vec::as_slice)
    }

    /// The variable and the last name of a chain of indexes.
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

    /// The expression that each is an operand of.
    pub(super) fn parent_ids(&self) -> Vec<Option<ExprId>> {
        let mut parents = vec![None; self.exprs.len()];
        for id in self.expr_ids() {
            self.visit_operands(id, |operand| parents[operand.0 as usize] = Some(id));
        }
        parents
    }

    /// The expressions that an expression is made of.
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
