//! Calls as they take place, including those made through `pcall`, `task.spawn` and similar.

use super::call_flow::forwarding_offsets;
use super::evaluator::Evaluator;
use super::tree::{ExprId, ScanTree, TreeExpr};
use super::value::{ScanValue, ValueSet};

/// A call with the possible values of its callee.
#[derive(Debug, Clone)]
pub(super) struct LogicalCall {
    /// The call expression as written.
    pub(super) at: ExprId,
    pub(super) callee: ExprId,
    pub(super) callee_values: ValueSet,
    pub(super) args: Vec<ExprId>,
    /// Whether the call uses a colon, so that the owner is not among the arguments.
    pub(super) is_method: bool,
}

impl LogicalCall {
    /// The arguments of a method without the instance that it is called on.
    pub(super) fn method_args(&self) -> &[ExprId] {
        let skip = usize::from(!self.is_method);
        self.args.get(skip..).unwrap_or_default()
    }
}

/// Maximum number of functions through which a call is forwarded.
const MAX_FORWARDED: usize = 4;

/// Collects all calls of a script.
pub(super) fn collect_calls(tree: &ScanTree, evaluator: &mut Evaluator<'_>) -> Vec<LogicalCall> {
    let mut calls = Vec::new();
    for at in tree.expr_ids() {
        let TreeExpr::Call { callee, args, is_method } = tree.expr(at) else { continue };
        let mut callee = *callee;
        let mut args: Vec<ExprId> = args.to_vec();
        let mut is_method = *is_method;
        for _ in 0..MAX_FORWARDED {
            let values = evaluator.eval(callee);
            let call = LogicalCall {
                at,
                callee,
                callee_values: values.clone(),
                args: args.clone(),
                is_method,
            };
            calls.push(call);
            let through = values.iter().find_map(|value| match value {
                ScanValue::Builtin(name) if &**name != "select" => forwarding_offsets(name),
                _ => None,
            });
            let Some((function, skip)) = through else { break };
            let Some(next) = args.get(function) else { break };
            callee = *next;
            args = args.get(skip..).unwrap_or_default().to_vec();
            is_method = false;
        }
    }
    calls
}
