// What the user typed about a proposal and has not sent: comments, and changes by hand. A proposal is named by the data of
// its element: `seq`, `patch` and `replaces`.

import { countComments, forgetComments } from "./comments.js";
import { countEdits, forgetEdits } from "./edit.js";
import { leftOut, words } from "./left.js";
import { question } from "./ui.js";

const hasDrafts = (data) => countComments(data) + countEdits(data) > 0;

/** Whether a proposal would be approved as it is: the user has left nothing out, and not changed or commented on it. */
export const isWhole = (data) => leftOut(data.seq).size === 0 && !hasDrafts(data);

export function forgetDrafts(of) {
  forgetComments(of);
  forgetEdits(of);
}

/** Forgets what was typed about a proposal and about those that it replaced. */
export function forgetAllDrafts(data) {
  if (hasDrafts(data)) for (const of of [data.seq, ...words(data.replaces)]) forgetDrafts(of);
}

/**
 * Asks whether to decide without what the user typed and has not sent, which is then deleted, and with the parts that
 * the user left out, if they would be applied.
 */
export async function isWithoutDrafts(data, yes, parts = 0) {
  const count = (number, noun) => (number === 1 ? `your ${noun}` : `your ${number} ${noun}s`);
  const [notes, changes] = [countComments(data), countEdits(data)];
  const without = [
    notes > 0 && `sending ${count(notes, "comment")}`,
    changes > 0 && `saving ${count(changes, "change")}`,
    parts > 0 && `leaving out ${parts === 1 ? "a part" : `${parts} parts`}`,
  ];
  const named = without.filter(Boolean);
  if (named.length === 0) return true;
  const text = notes + changes > 0 ? "They are deleted." : "You left out what is not ticked in the review.";
  return (await question({ title: `${yes} without ${named.join(" and ")}?`, text, yes })) !== null;
}
