//! The outline of a script: its definitions and their lines, to read one function instead of a
//! file.
//!
//! The syntax tree is built on demand and discarded. It takes about 200 bytes for each byte of the
//! source.

use std::collections::HashMap;

use full_moon::LuaVersion;
use full_moon::ast::luau::{ConstAssignment, ConstFunction, TypeDeclaration, TypeFunction};
use full_moon::ast::punctuated::Punctuated;
use full_moon::ast::{
    Assignment, Block, Call, Expression, Field, FunctionArgs, FunctionCall, FunctionDeclaration,
    Index, LocalAssignment, LocalFunction, Prefix, Suffix, TableConstructor, Var,
};
use full_moon::node::Node;
use full_moon::tokenizer::TokenReference;
use full_moon::visitors::Visitor;
use thiserror::Error;

use super::finding::LineIndex;
use super::nesting::{self, ParsePurpose, StackSize, UnfitReason};
use super::{CompileDiagnostic, compile_errors};

/// A named definition in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineDefinition {
    /// The name as written in the script: `spawn`, `Shop.open`, `Shop:buy`. A function in a table
    /// is named after the variable or field that holds the table, if there is one.
    pub name: String,
    pub kind: DefinitionKind,
    /// The first line, from 1.
    pub line: u32,
    pub end_line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DefinitionKind {
    /// A function in a table, or a global function.
    Function,
    /// A function in a local variable.
    LocalFunction,
    /// A function declared with a colon.
    Method,
    /// A type, exported or not, or a type function.
    Type,
    /// A local variable in the outermost block that holds a table or the result of `require`.
    Local,
}

/// The reason a script has no outline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OutlineError {
    #[error("The script does not compile, so it has no outline: {0}. Read its text instead.")]
    DoesNotCompile(CompileDiagnostic),
    /// The script compiles, but the parser does not know its syntax.
    #[error(
        "The script compiles, but the parser that makes outlines does not know its syntax yet: {0}. Read its text instead."
    )]
    NotParsed(CompileDiagnostic),
    /// The recursive parser could overflow its stack.
    #[error(
        "The script is nested too deeply for the parser that makes outlines. Read its text instead."
    )]
    TooDeep,
}

/// The definitions of a script at all levels, ordered by line.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack. On a small stack,
/// nesting that Luau still accepts would crash the process.
///
/// # Errors
/// The reason there is no outline.
pub fn outline_script(source: &str) -> Result<Vec<OutlineDefinition>, OutlineError> {
    if let Some(diagnostic) = compile_errors(source).into_iter().next() {
        return Err(OutlineError::DoesNotCompile(diagnostic));
    }
    nesting::check_nesting(source, ParsePurpose::Outline, StackSize::Large).map_err(|unfit| {
        match unfit {
            UnfitReason::TooDeep | UnfitReason::TooManyNames => OutlineError::TooDeep,
            UnfitReason::UnknownSyntax(at, _) => {
                let (line, column) = LineIndex::from_text(source).line_column(at);
                let message = "unknown token".to_owned();
                OutlineError::NotParsed(CompileDiagnostic { line, column: Some(column), message })
            }
        }
    })?;
    let parsed = full_moon::parse_fallible(source, LuaVersion::luau());
    if let Some(error) = parsed.errors().first() {
        let (start, _) = error.range();
        return Err(OutlineError::NotParsed(CompileDiagnostic {
            line: start.line() as u32,
            column: Some(start.character() as u32),
            message: error.error_message().into_owned(),
        }));
    }
    let mut found = OutlineCollector::default();
    found.visit_ast(parsed.ast());
    found.definitions.sort_by_key(|definition| definition.line);
    Ok(found.definitions)
}

#[derive(Default)]
struct OutlineCollector {
    definitions: Vec<OutlineDefinition>,
    /// The names of tables by their start byte. A table is visited after the statement or table
    /// that names it.
    table_names: HashMap<usize, String>,
    /// Number of open blocks; 1 in the outermost.
    block_depth: usize,
}

impl OutlineCollector {
    fn add_definition(&mut self, name: String, kind: DefinitionKind, node: &dyn Node) {
        // The parser's end position of a table type excludes the closing brace.
        let end = node.tokens().filter_map(Node::end_position).max();
        let (Some(start), Some(end)) = (node.start_position(), end) else {
            return;
        };
        let (line, end_line) = (start.line() as u32, end.line() as u32);
        self.definitions.push(OutlineDefinition { name, kind, line, end_line });
    }

    /// Handles a value that is given a name: a function becomes a definition, a table passes the
    /// name on to its fields.
    fn bind_value(
        &mut self,
        name: String,
        value: &Expression,
        kind: DefinitionKind,
        node: &dyn Node,
    ) {
        match strip_parentheses(value) {
            Expression::Function(_) => self.add_definition(name, kind, node),
            Expression::TableConstructor(table) => {
                if let Some(start) = table.start_position() {
                    self.table_names.insert(start.bytes(), name);
                }
            }
            _ => {}
        }
    }

    fn add_locals(
        &mut self,
        names: &Punctuated<TokenReference>,
        values: &Punctuated<Expression>,
        node: &dyn Node,
    ) {
        for (name, value) in names.iter().zip(values) {
            let name = name.token().to_string();
            let is_local = match strip_parentheses(value) {
                Expression::TableConstructor(_) => true,
                Expression::FunctionCall(call) => is_require(call),
                _ => false,
            };
            if is_local && self.block_depth == 1 {
                self.add_definition(name.clone(), DefinitionKind::Local, node);
            }
            self.bind_value(name, value, DefinitionKind::LocalFunction, node);
        }
    }
}

impl Visitor for OutlineCollector {
    fn visit_block(&mut self, _: &Block) {
        self.block_depth += 1;
    }

    fn visit_block_end(&mut self, _: &Block) {
        self.block_depth -= 1;
    }

    fn visit_function_declaration(&mut self, node: &FunctionDeclaration) {
        let names = node.name().names().iter().map(|name| name.token().to_string());
        let name = names.collect::<Vec<_>>().join(".");
        match node.name().method_name() {
            Some(method) => {
                self.add_definition(
                    format!("{name}:{}", method.token()),
                    DefinitionKind::Method,
                    node,
                );
            }
            None => self.add_definition(name, DefinitionKind::Function, node),
        }
    }

    fn visit_local_function(&mut self, node: &LocalFunction) {
        self.add_definition(node.name().token().to_string(), DefinitionKind::LocalFunction, node);
    }

    fn visit_const_function(&mut self, node: &ConstFunction) {
        self.add_definition(node.name().token().to_string(), DefinitionKind::LocalFunction, node);
    }

    fn visit_local_assignment(&mut self, node: &LocalAssignment) {
        self.add_locals(node.names(), node.expressions(), node);
    }

    fn visit_const_assignment(&mut self, node: &ConstAssignment) {
        self.add_locals(node.names(), node.expressions(), node);
    }

    fn visit_assignment(&mut self, node: &Assignment) {
        for (variable, value) in node.variables().iter().zip(node.expressions()) {
            if let Some(name) = variable_name(variable) {
                self.bind_value(name, value, DefinitionKind::Function, node);
            }
        }
    }

    fn visit_table_constructor(&mut self, node: &TableConstructor) {
        let table = node.start_position().and_then(|start| self.table_names.remove(&start.bytes()));
        for field in node.fields() {
            if let Field::NameKey { key, value, .. } = field {
                let key = key.token();
                let name = match &table {
                    Some(table) => format!("{table}.{key}"),
                    None => key.to_string(),
                };
                self.bind_value(name, value, DefinitionKind::Function, field);
            }
        }
    }

    fn visit_type_declaration(&mut self, node: &TypeDeclaration) {
        self.add_definition(node.type_name().token().to_string(), DefinitionKind::Type, node);
    }

    fn visit_type_function(&mut self, node: &TypeFunction) {
        self.add_definition(node.function_name().token().to_string(), DefinitionKind::Type, node);
    }
}

fn strip_parentheses(value: &Expression) -> &Expression {
    match value {
        Expression::Parentheses { expression, .. }
        | Expression::TypeAssertion { expression, .. } => strip_parentheses(expression),
        other => other,
    }
}

fn is_require(call: &FunctionCall) -> bool {
    let is_named =
        matches!(call.prefix(), Prefix::Name(name) if name.token().to_string() == "require");
    let mut suffixes = call.suffixes();
    let is_called = matches!(
        suffixes.next(),
        Some(Suffix::Call(Call::AnonymousCall(
            FunctionArgs::Parentheses { .. } | FunctionArgs::String(_),
        )))
    );
    is_named && is_called && suffixes.next().is_none()
}

/// The text of `a.b["c"]` without comments and white space; None if it begins with the result of a
/// call.
fn variable_name(variable: &Var) -> Option<String> {
    match variable {
        Var::Name(name) => Some(name.token().to_string()),
        Var::Expression(expression) => {
            let Prefix::Name(name) = expression.prefix() else {
                return None;
            };
            let mut text = name.token().to_string();
            for suffix in expression.suffixes() {
                match suffix {
                    Suffix::Index(Index::Dot { name, .. }) => {
                        text.push('.');
                        text.push_str(&name.token().to_string());
                    }
                    Suffix::Index(Index::Brackets { expression, .. }) => {
                        text.push('[');
                        text.push_str(expression.to_string().trim());
                        text.push(']');
                    }
                    _ => return None,
                }
            }
            Some(text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found: Vec<_> = outline_script(source)
            .unwrap()
            .into_iter()
            .map(|d| format!("{:?} {} {}-{}", d.kind, d.name, d.line, d.end_line))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_functions_of_all_forms() {
        check("", &[]);
        check(
            "function a()\nend\nlocal function b() end\r\nlocal c = function()\n\nend\n",
            &["Function a 1-2", "LocalFunction b 3-3", "LocalFunction c 4-6"],
        );
        check(
            "local M = {}\nfunction M.a.b()\nend\nfunction M:c() end\nM.d = function() end\nM['e'] = (function() end) :: any\n",
            &[
                "Local M 1-1",
                "Function M.a.b 2-3",
                "Method M:c 4-4",
                "Function M.d 5-5",
                "Function M['e'] 6-6",
            ],
        );
        check("x().y = function() end", &[]);
    }

    #[test]
    fn functions_in_tables_are_named_after_the_table() {
        check(
            "local M = {\n\ta = function()\n\tend,\n\tb = { c = function() end },\n}\nreturn { d = function() end }",
            &["Local M 1-5", "Function M.a 2-3", "Function M.b.c 4-4", "Function d 6-6"],
        );
    }

    #[test]
    fn finds_nested_functions() {
        check(
            "x:Connect(function()\n\tlocal function a()\n\t\tlocal t = {}\n\t\tfunction t.b() end\n\tend\nend)",
            &["LocalFunction a 2-5", "Function t.b 4-4"],
        );
    }

    #[test]
    fn finds_types_and_modules() {
        check(
            "local a = require(script.A)\nlocal b = f(1)\nexport type C = {\n\td: number,\n}\ntype E<T> = T?\n",
            &["Local a 1-1", "Type C 3-5", "Type E 6-6"],
        );
        check(
            "local s = [[\n\n]]\nlocal t = '😀'\nlocal function a() end",
            &["LocalFunction a 5-5"],
        );
    }

    #[test]
    fn scripts_that_do_not_compile_are_refused() {
        let error = outline_script("local x = 1\nlocal = 2").unwrap_err().to_string();
        assert!(error.contains("no outline: line 2: Expected identifier"), "{error}");
    }

    #[test]
    fn syntax_unknown_to_the_parser_gives_not_parsed() {
        let error = outline_script("@[native, checked]\nlocal function a() end").unwrap_err();
        assert!(matches!(error, OutlineError::NotParsed(_)), "{error}");
    }

    #[test]
    fn deep_valid_code_is_parsed_on_a_large_stack() {
        let source = format!("{}local function a() end {}", "do ".repeat(190), "end ".repeat(190));
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let found = thread.spawn(move || outline_script(&source)).unwrap().join().unwrap();
        assert_eq!(found.unwrap().len(), 1);
    }
}
