// The small steps of tasks, which are approved together: which are ticked, and which can be approved.

import { isWhole } from "./drafts.js";
import { words } from "./left.js";

const UNTICKED = "vector-unticked";
/** The maximum number of unticked steps that are remembered. */
const KEPT = 200;
/** How long a step must be listed before it can be approved, so that a press cannot take one that has just come, in ms. */
const LISTED = 700;

/** The steps that the user took out of their groups. */
const unticked = new Set(JSON.parse(sessionStorage.getItem(UNTICKED) ?? "[]"));
/** When each step was first listed. */
const listed = new Map();

let planned = null;

const keep = () => sessionStorage.setItem(UNTICKED, JSON.stringify([...unticked].slice(-KEPT)));

/** Takes a step out of its group, or puts it back. */
export function setTicked(proposal, isTicked) {
  if (isTicked) unticked.delete(proposal);
  else unticked.add(proposal);
  keep();
}

/** Keeps a step out of its group when it is replanned under a new number. */
export function carryStep(from, to) {
  if (unticked.delete(from)) setTicked(to, false);
}

/** Shows which steps are ticked, and how many each button would approve. */
export function tickSteps(root) {
  const boxes = [...root.querySelectorAll("[data-step]")];
  const steps = new Set(boxes.map((box) => box.dataset.step));
  for (const step of listed.keys()) if (!steps.has(step)) listed.delete(step);
  const out = new Set();
  // A step is listed after those on which it was planned.
  for (const box of boxes) {
    const { step, after } = box.dataset;
    if (!listed.has(step)) listed.set(step, performance.now());
    const isOwn = !isWhole(box.closest("li").querySelector("a.pick").dataset);
    box.disabled = isOwn || words(after).some((it) => out.has(it));
    box.title = isOwn ? "You left out, changed or commented on a part: decide on it by itself" : box.disabled ? "It depends on a step that is not ticked" : "";
    box.checked = !box.disabled && !unticked.has(step);
    if (!box.checked) out.add(step);
  }
  for (const button of root.querySelectorAll("[data-act=approve-steps]")) {
    const count = takenSteps(button).size;
    button.textContent = count === 1 ? "Approve 1 step" : `Approve ${count} steps`;
    button.disabled = count === 0;
  }
  clearTimeout(planned);
  const isNew = [...listed.values()].some((since) => performance.now() - since < LISTED);
  if (isNew) planned = setTimeout(() => root.isConnected && tickSteps(root), LISTED);
}

/** Returns the ticked steps of a button's group that have been listed long enough to have been seen. */
export function takenSteps(button) {
  const boxes = [...button.closest(".asks").querySelectorAll("[data-step]:checked")].map(({ dataset }) => dataset);
  const isSeen = ({ step }) => performance.now() - listed.get(step) >= LISTED;
  return new Set(boxes.filter(isSeen).map(({ step }) => step));
}
