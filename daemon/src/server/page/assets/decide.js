// Decisions on proposals. A decision names exactly what the user saw.

import { call } from "./daemon.js";
import { question } from "./ui.js";

/** Sends a decision on the proposal that an element's data name. Returns its new state. */
export const decide = ({ seq, patch, base }, decision) =>
  call("POST", `/api/proposals/${seq}/decide`, { patch_id: patch, base, decision });

/**
 * Approves a proposal, with a second confirmation if a warning requires it; null if the user cancels. With a rule,
 * also allows what it says for the rest of the task.
 */
export async function approve(of, rule) {
  const twice = of.twice !== undefined;
  if (twice) {
    const sure = await question({
      title: "Approve despite this warning?",
      about: of.title,
      text: of.twice,
      yes: "Approve anyway",
      danger: true,
    });
    if (sure === null) return null;
  }
  return decide(of, rule ? { say: "approve", twice, rule: JSON.parse(rule) } : { say: "approve", twice });
}

/** Rejects a proposal, with a reason; null if the user cancels. */
export async function reject(of) {
  const said = await question({
    title: "Reject this proposal?",
    about: of.title,
    text: "Nothing is changed. If you give a reason, the requester receives it.",
    field: "Reason (optional)",
    yes: "Reject",
  });
  if (said === null) return null;
  const reason = said.trim();
  return decide(of, reason ? { say: "reject", reason } : { say: "reject" });
}
