// What the user typed about a proposal and has not sent: comments, and changes by hand.

import { countComments, forgetComments } from "./comments.js";
import { countEdits, forgetEdits } from "./edit.js";
import { question } from "./ui.js";

/** Whether the user has typed comments on a proposal or changes of it. */
export const hasDrafts = (of) => countComments(of) + countEdits(of) > 0;

export function forgetDrafts(of) {
  forgetComments(of);
  forgetEdits(of);
}

/** Asks whether to decide without the comments and changes that are not sent, which are then deleted. */
export async function isWithoutDrafts(of, yes) {
  const count = (number, noun) => (number === 1 ? `your ${noun}` : `your ${number} ${noun}s`);
  const [notes, changes] = [countComments(of), countEdits(of)];
  const without = [notes > 0 && `sending ${count(notes, "comment")}`, changes > 0 && `saving ${count(changes, "change")}`];
  const named = without.filter(Boolean);
  if (named.length === 0) return true;
  const text = "They are deleted.";
  return (await question({ title: `${yes} without ${named.join(" and ")}?`, text, yes })) !== null;
}
