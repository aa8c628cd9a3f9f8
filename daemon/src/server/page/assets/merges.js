// The page of merges with open conflicts: a choice for each, and the file once all are decided.

import { call, part } from "./daemon.js";
import { act, elements, question, swap, tell, toast } from "./ui.js";

let root = null;

export async function show(main) {
  root = main;
  swap(root, await part("merges"));
}

/** Reloads the page, unless the user is typing or has decided only some parts of a script. */
export async function again() {
  const isBegun = [...root.querySelectorAll("form[data-conflict]")].some((form) => {
    const fields = [...form.querySelectorAll("input, textarea")];
    return fields.some((it) => (it.type === "radio" ? it.checked !== it.defaultChecked : it.value !== it.defaultValue));
  });
  if (!isBegun) await show(root);
}

export function hide() {
  root = null;
}

const LINES = "edited";

/** Returns the choice in a fieldset; null if there is none. */
function chosen(fieldset) {
  const value = fieldset.querySelector("input:checked")?.value ?? null;
  return value === LINES ? { edited: fieldset.querySelector("textarea").value } : value;
}

/** A choice that needs no further input is sent immediately. */
addEventListener("change", ({ target }) => {
  const form = target.closest?.("form[data-conflict]");
  if (!form || target.type !== "radio" || target.value === LINES) return;
  const choices = [...form.querySelectorAll("fieldset")].map(chosen);
  if (choices.every((it) => it !== null)) form.requestSubmit();
});

act("decide-conflict", async (form) => {
  const choices = [...form.querySelectorAll("fieldset")].map(chosen);
  if (choices.includes(null)) return form.querySelector("fieldset:not(:has(:checked)) input").focus();
  const choice = form.querySelector(".part") ? { hunks: choices } : choices[0];
  const { merge, conflict } = form.dataset;
  await call("POST", "/api/merges/decide", { merge, conflict: Number(conflict), choice });
  // Other scripts may be partly decided.
  const fresh = elements(await part("merges"));
  for (const key of [`${merge}-head`, `${merge}-${conflict}`]) {
    const [old, found] = [root, fresh].map((it) => it?.querySelector(`[data-key="${CSS.escape(key)}"]`));
    if (!old || !found) continue;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(found);
    if (focused?.name) found.querySelector(`[name="${CSS.escape(focused.name)}"]:checked`)?.focus({ preventScroll: true });
    tell(found);
  }
});

act("decide-open", async ({ dataset: { merge, say } }) => {
  await call("POST", "/api/merges/decide", { merge, choice: say });
  await show(root);
});

const QUESTIONS = {
  overwrite: {
    title: "Overwrite the file with the merge?",
    text: "Changes to the file since the merge will be lost.",
    yes: "Overwrite",
    danger: true,
  },
  as_is: {
    title: "Keep the file as it is?",
    text: "The merge is closed. Your decisions are not written.",
    yes: "Keep the file",
    danger: true,
  },
};

act("finish-merge", async ({ dataset: { merge, say: how } }) => {
  if (QUESTIONS[how] && (await question(QUESTIONS[how])) === null) return;
  const { file, is_staged: isStaged } = await call("POST", "/api/merges/finish", { merge, how });
  const said = how === "as_is" ? "was kept as it is" : "is merged";
  toast(`${file} ${said}.${isStaged ? " It is staged; commit it with Git." : ""}`, "good");
  await show(root);
});
