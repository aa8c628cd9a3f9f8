//! Collects from a syntax tree the members that a script calls and assigns, and the classes that it
//! names, where the instance can be followed to its origin.
//!
//! Names are not resolved by scope: a name counts only if all its declarations in the script are
//! locals with a value that can be followed, and nothing assigns to it. Classes are not known here.

use full_moon::ast::luau::{ConstAssignment, ConstFunction, TypeInfo, TypeSpecifier};
use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    Assignment, Ast, Call, CompoundAssignment, Expression, FunctionArgs, FunctionBody,
    FunctionCall, FunctionDeclaration, GenericFor, Index, LocalAssignment, LocalFunction,
    NumericFor, Parameter, Prefix, Suffix, Var, VarExpression,
};
use full_moon::tokenizer::TokenReference;
use full_moon::visitors::Visitor;
use rustc_hash::FxHashMap;

/// Maximum number of steps from the origin of an instance.
const MAX_STEPS: usize = 8;

/// The methods of `game` that return a service by its class.
const SERVICE_GETTERS: [&str; 4] = ["GetService", "FindService", "getService", "service"];

/// The range of a text in bytes.
pub(super) type ByteRange = (usize, usize);

/// An expression that may be an instance: its origin, and the steps from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstanceValue<'s> {
    pub(super) origin: InstanceOrigin<'s>,
    pub(super) steps: Vec<InstanceStep<'s>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstanceOrigin<'s> {
    /// A local or a global.
    Name(&'s str),
    /// `Instance.new` with the name of a class.
    Created(&'s str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstanceStep<'s> {
    Property(&'s str),
    /// The service of a class.
    Service(&'s str),
    /// A type annotation or a cast to a plain type name.
    Cast(&'s str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MemberUseKind {
    /// A call with a colon.
    Call,
    Assignment,
}

#[derive(Debug)]
pub(super) struct MemberUse<'s> {
    pub(super) value: InstanceValue<'s>,
    pub(super) name: &'s str,
    pub(super) range: ByteRange,
    pub(super) kind: MemberUseKind,
}

/// The name of a class in a call of `Instance.new` or `GetService`.
#[derive(Debug)]
pub(super) struct ClassUse<'s> {
    pub(super) class: &'s str,
    pub(super) range: ByteRange,
    /// The receiver of `GetService`; None for `Instance.new`.
    pub(super) receiver: Option<InstanceValue<'s>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameState {
    /// All declarations so far are in [`CollectedUses::locals`].
    Followed,
    Uncertain,
}

#[derive(Debug, Default)]
pub(super) struct CollectedUses<'s> {
    /// The names that the script declares or assigns.
    pub(super) names: FxHashMap<&'s str, NameState>,
    /// The locals with their values, in order.
    pub(super) locals: Vec<LocalValue<'s>>,
    pub(super) members: Vec<MemberUse<'s>>,
    pub(super) classes: Vec<ClassUse<'s>>,
}

#[derive(Debug)]
pub(super) struct LocalValue<'s> {
    pub(super) name: &'s str,
    pub(super) value: InstanceValue<'s>,
}

/// Collects the uses of a script from its syntax tree.
pub(super) fn collect_uses<'s>(ast: &Ast, source: &'s str) -> CollectedUses<'s> {
    let mut collector = UseCollector { source, uses: CollectedUses::default() };
    collector.visit_ast(ast);
    collector.uses
}

/// A piece of the source with its range.
#[derive(Clone, Copy)]
struct TokenPiece<'s> {
    text: &'s str,
    range: ByteRange,
}

struct UseCollector<'s> {
    source: &'s str,
    uses: CollectedUses<'s>,
}

impl<'s> InstanceValue<'s> {
    fn push_step(mut self, step: InstanceStep<'s>) -> Option<Self> {
        if self.steps.len() == MAX_STEPS {
            return None;
        }
        self.steps.push(step);
        Some(self)
    }
}

impl<'s> UseCollector<'s> {
    fn piece(&self, token: &TokenReference) -> TokenPiece<'s> {
        let token = token.token();
        let range = (token.start_position().bytes(), token.end_position().bytes());
        TokenPiece { text: self.source.get(range.0..range.1).unwrap_or_default(), range }
    }

    /// The content of a string without escapes.
    fn string_piece(&self, token: &TokenReference) -> Option<TokenPiece<'s>> {
        let TokenPiece { text, range: (start, end) } = self.piece(token);
        let quotes = match text.as_bytes() {
            [b'"', .., b'"'] | [b'\'', .., b'\''] => 1,
            [b'[', b'[', .., b']', b']'] => 2,
            _ => return None,
        };
        let text = text.get(quotes..text.len() - quotes)?;
        let is_plain = !text.contains(['\\', '\r', '\n']);
        is_plain.then_some(TokenPiece { text, range: (start + quotes, end - quotes) })
    }

    /// The first argument of a call, if it is a string without escapes.
    fn string_argument(&self, args: &FunctionArgs) -> Option<TokenPiece<'s>> {
        match args {
            FunctionArgs::String(token) => self.string_piece(token),
            FunctionArgs::Parentheses { arguments, .. } => match arguments.iter().next()? {
                Expression::String(token) => self.string_piece(token),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of a member: `.Name` or `["Name"]`.
    fn member_piece(&self, index: &Index) -> Option<TokenPiece<'s>> {
        match index {
            Index::Dot { name, .. } => Some(self.piece(name)),
            Index::Brackets { expression: Expression::String(token), .. } => {
                self.string_piece(token)
            }
            _ => None,
        }
    }

    /// The value of a name, if it may be followed. A name that is not declared so far is a global.
    fn named_value(&self, name: &'s str) -> Option<InstanceValue<'s>> {
        let may_be_followed = match self.uses.names.get(name) {
            Some(state) => *state == NameState::Followed,
            None => matches!(name, "game" | "workspace"),
        };
        let value = InstanceValue { origin: InstanceOrigin::Name(name), steps: Vec::new() };
        may_be_followed.then_some(value)
    }

    fn read_value(&mut self, expression: &Expression) -> Option<InstanceValue<'s>> {
        match expression {
            Expression::Parentheses { expression, .. } => self.read_value(expression),
            Expression::TypeAssertion { expression, type_assertion } => {
                let value = self.read_value(expression)?;
                self.cast_value(value, type_assertion.cast_to())
            }
            Expression::FunctionCall(call) => {
                let suffixes: Vec<&Suffix> = call.suffixes().collect();
                self.read_chain(call.prefix(), &suffixes, false)
            }
            Expression::Var(Var::Name(token)) => self.named_value(self.piece(token).text),
            Expression::Var(Var::Expression(chain)) => {
                let suffixes: Vec<&Suffix> = chain.suffixes().collect();
                self.read_chain(chain.prefix(), &suffixes, false)
            }
            _ => None,
        }
    }

    fn cast_value(&self, value: InstanceValue<'s>, to: &TypeInfo) -> Option<InstanceValue<'s>> {
        match to {
            TypeInfo::Basic(name) => value.push_step(InstanceStep::Cast(self.piece(name).text)),
            _ => None,
        }
    }

    /// Follows a chain of members and calls. Records what it calls and the classes that it names if
    /// `is_recorded`: the visitor sees each chain once, and this may read it several times.
    fn read_chain(
        &mut self,
        prefix: &Prefix,
        suffixes: &[&Suffix],
        is_recorded: bool,
    ) -> Option<InstanceValue<'s>> {
        let mut rest = suffixes;
        let mut value = match prefix {
            Prefix::Expression(inner) => self.read_value(inner)?,
            Prefix::Name(token) => match self.piece(token).text {
                "Instance" => {
                    let [Suffix::Index(index), Suffix::Call(Call::AnonymousCall(args)), after @ ..] =
                        suffixes
                    else {
                        return None;
                    };
                    rest = after;
                    self.member_piece(index).filter(|it| it.text == "new")?;
                    self.created_value(args, is_recorded)?
                }
                name => self.named_value(name)?,
            },
            _ => return None,
        };
        for suffix in rest {
            value = match suffix {
                Suffix::Index(index) => {
                    let name = self.member_piece(index)?.text;
                    value.push_step(InstanceStep::Property(name))?
                }
                Suffix::Call(Call::MethodCall(call)) => {
                    let name = self.piece(call.name());
                    self.read_method_call(value, name, call.args(), is_recorded)?
                }
                _ => return None,
            };
        }
        Some(value)
    }

    fn created_value(
        &mut self,
        args: &FunctionArgs,
        is_recorded: bool,
    ) -> Option<InstanceValue<'s>> {
        let TokenPiece { text: class, range } = self.string_argument(args)?;
        if is_recorded {
            self.uses.classes.push(ClassUse { class, range, receiver: None });
        }
        Some(InstanceValue { origin: InstanceOrigin::Created(class), steps: Vec::new() })
    }

    fn read_method_call(
        &mut self,
        receiver: InstanceValue<'s>,
        method: TokenPiece<'s>,
        args: &FunctionArgs,
        is_recorded: bool,
    ) -> Option<InstanceValue<'s>> {
        if is_recorded {
            self.record_use(receiver.clone(), method, MemberUseKind::Call);
        }
        if !SERVICE_GETTERS.contains(&method.text) {
            return None;
        }
        let TokenPiece { text: class, range } = self.string_argument(args)?;
        if is_recorded && method.text == "GetService" {
            self.uses.classes.push(ClassUse { class, range, receiver: Some(receiver.clone()) });
        }
        receiver.push_step(InstanceStep::Service(class))
    }

    fn record_use(
        &mut self,
        value: InstanceValue<'s>,
        member: TokenPiece<'s>,
        kind: MemberUseKind,
    ) {
        let TokenPiece { text: name, range } = member;
        self.uses.members.push(MemberUse { value, name, range, kind });
    }

    fn mark_uncertain(&mut self, token: &TokenReference) {
        let name = self.piece(token).text;
        self.uses.names.insert(name, NameState::Uncertain);
    }

    fn declare_locals<'a>(
        &mut self,
        names: &Punctuated<TokenReference>,
        types: impl Iterator<Item = Option<&'a TypeSpecifier>>,
        expressions: &Punctuated<Expression>,
    ) {
        let types: Vec<Option<&TypeSpecifier>> = types.collect();
        let mut values = Vec::new();
        for (at, _) in names.iter().enumerate() {
            let value = expressions.iter().nth(at).and_then(|it| self.read_value(it));
            values.push(match types.get(at).copied().flatten() {
                Some(given) => value.and_then(|it| self.cast_value(it, given.type_info())),
                None => value,
            });
        }
        for (token, value) in names.iter().zip(values) {
            let Some(value) = value else {
                self.mark_uncertain(token);
                continue;
            };
            let name = self.piece(token).text;
            self.uses.names.entry(name).or_insert(NameState::Followed);
            self.uses.locals.push(LocalValue { name, value });
        }
    }

    fn assign_variable(&mut self, variable: &Var) {
        match variable {
            Var::Name(token) => self.mark_uncertain(token),
            Var::Expression(chain) => {
                let suffixes: Vec<&Suffix> = chain.suffixes().collect();
                let Some((Suffix::Index(index), front)) = suffixes.split_last() else {
                    return;
                };
                let Some(member) = self.member_piece(index) else {
                    return;
                };
                if let Some(value) = self.read_chain(chain.prefix(), front, false) {
                    self.record_use(value, member, MemberUseKind::Assignment);
                }
            }
            _ => {}
        }
    }
}

impl Visitor for UseCollector<'_> {
    fn visit_function_call(&mut self, call: &FunctionCall) {
        let suffixes: Vec<&Suffix> = call.suffixes().collect();
        self.read_chain(call.prefix(), &suffixes, true);
    }

    fn visit_var_expression(&mut self, chain: &VarExpression) {
        let suffixes: Vec<&Suffix> = chain.suffixes().collect();
        self.read_chain(chain.prefix(), &suffixes, true);
    }

    fn visit_local_assignment(&mut self, local: &LocalAssignment) {
        self.declare_locals(local.names(), local.type_specifiers(), local.expressions());
    }

    fn visit_const_assignment(&mut self, local: &ConstAssignment) {
        self.declare_locals(local.names(), local.type_specifiers(), local.expressions());
    }

    fn visit_assignment(&mut self, assignment: &Assignment) {
        for variable in assignment.variables() {
            self.assign_variable(variable);
        }
    }

    fn visit_compound_assignment(&mut self, assignment: &CompoundAssignment) {
        self.assign_variable(assignment.lhs());
    }

    fn visit_function_declaration(&mut self, declaration: &FunctionDeclaration) {
        let name = declaration.name();
        if name.method_name().is_some() {
            // The body has a parameter of this name.
            self.uses.names.insert("self", NameState::Uncertain);
        }
        let tokens: Vec<&TokenReference> = name.names().iter().chain(name.method_name()).collect();
        let [first, between @ .., last] = tokens.as_slice() else {
            for token in tokens {
                self.mark_uncertain(token);
            }
            return;
        };
        let steps = between.iter().map(|it| InstanceStep::Property(self.piece(it).text));
        let value = self.named_value(self.piece(first).text);
        let value = steps.fold(value, |value, step| value?.push_step(step));
        if let Some(value) = value {
            self.record_use(value, self.piece(last), MemberUseKind::Assignment);
        }
    }

    fn visit_local_function(&mut self, function: &LocalFunction) {
        self.mark_uncertain(function.name());
    }

    fn visit_const_function(&mut self, function: &ConstFunction) {
        self.mark_uncertain(function.name());
    }

    fn visit_function_body(&mut self, body: &FunctionBody) {
        for parameter in body.parameters() {
            if let Parameter::Name(token) = parameter {
                self.mark_uncertain(token);
            }
        }
    }

    fn visit_generic_for(&mut self, generic: &GenericFor) {
        for token in generic.names() {
            self.mark_uncertain(token);
        }
    }

    fn visit_numeric_for(&mut self, numeric: &NumericFor) {
        self.mark_uncertain(numeric.index_variable());
    }
}
