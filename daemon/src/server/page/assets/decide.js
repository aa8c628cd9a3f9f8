// Decisions on proposals. A decision names exactly what the user saw.

import { call } from "./daemon.js";
import { question } from "./ui.js";

/** Brings a decision upon what an element's data name; what stands now. */
export const decide = ({ seq, patch, base }, decision) =>
  call("POST", `/api/proposals/${seq}/decide`, { patch_id: patch, base, decision });

/** Says yes, a second time where a warning asks for it; null where the person would rather not. */
export async function approve(of) {
  const twice = of.twice !== undefined;
  if (twice) {
    const sure = await question({
      title: "Accept despite this warning?",
      about: of.title,
      text: of.twice,
      yes: "Accept anyway",
      danger: true,
    });
    if (sure === null) return null;
  }
  return decide(of, { say: "approve", twice });
}

/** Says no, and why; null where the person would rather not. */
export async function reject(of) {
  const said = await question({
    title: "Reject it?",
    about: of.title,
    text: "Nothing is changed. The requester receives your reason, if you give one.",
    field: "Why",
    yes: "Reject",
  });
  if (said === null) return null;
  const reason = said.trim();
  return decide(of, reason ? { say: "reject", reason } : { say: "reject" });
}
