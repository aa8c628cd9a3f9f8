//! Type checks the plugin's Luau as Luau's analysis does in its strict mode, against definitions
//! of what a plugin may use of Roblox's API.

mod completion;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use luau_analysis::diagnostics::TypeCheckLimits;
use luau_analysis::frontend::resolver::ModuleInfo;
use luau_analysis::{
    AnalysisResult, DefinitionEnvironment, FileResolver, Frontend, FrontendOptions, ModuleName,
    NullConfigResolver, SourceCode, SourceCodeType,
};
use luau_common::BString;
use luau_common::flags::LuauSolverConstraintLimit;
use luau_syntax::ast::Expression;
use vector_roblox_api::{ApiFacts, Member, TypeFacts, print_definitions};

use self::completion::complete_definitions;

/// Deprecated members that the plugin uses where nothing else serves.
const KEPT: [(&str, &str); 1] = [("DataModel", "GetObjects")];

/// The sources of a program by their paths, such as `Ui/Build.luau`.
pub type Sources = BTreeMap<String, String>;

/// What the type checker reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFinding {
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    pub message: String,
}

impl fmt::Display for TypeFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks all sources. They require each other by relative paths.
///
/// # Errors
/// The definitions are wrong, or the type checker fails.
pub fn check_types(sources: &Sources) -> Result<Vec<TypeFinding>, String> {
    // The definitions are more than the type checker takes by default. The limit is the process's.
    LuauSolverConstraintLimit.set(0);
    check(sources).map_err(|error| format!("the type checker failed: {error:?}"))?
}

fn check(sources: &Sources) -> AnalysisResult<Result<Vec<TypeFinding>, String>> {
    let files = SourceFiles { sources };
    let options = FrontendOptions { retain_full_type_graphs: true, ..FrontendOptions::default() };
    let mut frontend = Frontend::new(files, NullConfigResolver::default(), options);
    frontend.register_builtin_globals(DefinitionEnvironment::Globals)?;
    let keeps = |class: &TypeFacts, member: &Member| KEPT.contains(&(&class.name, &member.name));
    let text = print_definitions(ApiFacts::get(), keeps);
    let scope = frontend.global_scope(DefinitionEnvironment::Globals);
    let loaded = frontend.load_definition_file(scope, &text, "@roblox", false)?;
    if !loaded.success {
        let syntax = loaded.source_module.parse_errors.iter().map(|it| format!("{it:?}"));
        let mut errors: Vec<String> = syntax.collect();
        if let Some(model) = loaded.semantic_model(&frontend) {
            let module = model.module();
            errors.extend(module.errors().iter().map(|it| {
                let line = text.lines().nth(it.location.begin.line as usize).unwrap_or_default();
                format!("{}: {}", line.trim(), model.error_message(it))
            }));
        }
        return Ok(Err(format!("the definitions are wrong: {}", errors.join("; "))));
    }
    complete_definitions(&mut frontend);
    let mut findings = Vec::new();
    for path in sources.keys() {
        let name = BString::from(path.as_str());
        let checked = frontend.check(&name, None)?;
        let Some(model) = frontend.semantic_model(&name) else { continue };
        // A module's own errors; those of required modules are reported with these.
        let own = checked.errors.iter().filter(|it| it.module_name == name);
        findings.extend(own.map(|it| TypeFinding {
            path: path.clone(),
            line: it.location.begin.line + 1,
            message: model.error_message(it).to_string(),
        }));
    }
    Ok(Ok(findings))
}

struct SourceFiles<'a> {
    sources: &'a Sources,
}

impl FileResolver for SourceFiles<'_> {
    fn read_source(&mut self, name: &ModuleName) -> Option<SourceCode> {
        let text = self.sources.get(&name.to_string())?;
        Some(SourceCode { source: BString::from(text.as_str()), kind: SourceCodeType::Module })
    }

    fn resolve_module(
        &mut self,
        context: Option<&ModuleInfo>,
        expr: Expression<'_>,
        _limits: &TypeCheckLimits,
    ) -> Option<ModuleInfo> {
        let path = str::from_utf8(expr.as_string()?.value.as_bytes()).ok()?;
        let name = resolve_require(self.sources, &context?.name.to_string(), path)?;
        Some(ModuleInfo { name: BString::from(name.as_str()), optional: false })
    }
}

/// The path of a module that is required by a relative path.
fn resolve_require(sources: &Sources, requirer: &str, path: &str) -> Option<String> {
    let requirer = Path::new(requirer);
    let folder = requirer.parent()?;
    let is_init = requirer.file_name()?.to_str()?.starts_with("init.");
    let base = match path.strip_prefix("@self/") {
        Some(path) => folder.join(path),
        // A folder's `init` stands for the folder, whose siblings are one level up.
        None if is_init => folder.parent()?.join(path),
        None => folder.join(path),
    };
    let mut plain = PathBuf::new();
    for part in base.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let plain = plain.to_str()?;
    ["{}.luau", "{}/init.luau"]
        .map(|it| it.replace("{}", plain))
        .into_iter()
        .find(|it| sources.contains_key(it))
}

#[cfg(test)]
mod tests;
