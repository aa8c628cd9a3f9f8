// Mentions in a request: a menu of instances, files, proposals and more after `@` in the composer.

import { part } from "./daemon.js";
import { act, failed, fill } from "./ui.js";

const PAUSE = 120;
/** Matches the text after the last `@` before the caret. */
const TYPED = /(?:^|[\s(])@((?:file|folder):"[^"\n]*|[^\s@]*)$/;

const area = () => document.getElementById("ask-text");
const menu = () => document.getElementById("mentions");

/** Returns the text after `@` and its start; null if there is none. */
function typed() {
  const { value, selectionStart } = area();
  const found = TYPED.exec(value.slice(0, selectionStart));
  return found && { text: found[1], start: selectionStart - found[1].length - 1, end: selectionStart };
}

export function close() {
  turn += 1;
  const box = menu();
  if (!box) return;
  box.hidden = true;
  box.replaceChildren();
}

let turn = 0;
let planned = null;

function later() {
  clearTimeout(planned);
  planned = setTimeout(() => offer().catch(failed), PAUSE);
}

async function offer() {
  const now = area() && typed();
  if (!now) return close();
  const own = ++turn;
  const session = area().form.elements.session;
  if (!session) return;
  const html = await part("mentions", { session: session.value, typed: now.text });
  if (own !== turn || !menu() || !typed()) return;
  fill(menu(), html);
  menu().hidden = menu().childElementCount === 0;
}

addEventListener("input", ({ target }) => target.id === "ask-text" && later());
addEventListener("keydown", (event) => {
  const box = menu();
  if (!box || box.hidden) return;
  const all = [...box.querySelectorAll("button")];
  const at = all.indexOf(document.activeElement);
  if (at < 0 && event.target.id !== "ask-text") return;
  if (event.key === "Escape") {
    close();
    area().focus();
  } else if (event.key === "ArrowDown") all[Math.min(at + 1, all.length - 1)]?.focus();
  else if (event.key === "ArrowUp" && at >= 0) (all[at - 1] ?? area()).focus();
  else return;
  event.preventDefault();
});

/** Inserts a text, and puts the caret after it. */
function insert(text, start, end) {
  const field = area();
  field.focus();
  field.setRangeText(text, start, end, "end");
  // As if it had been typed, so that the draft is saved.
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

act("attach", async () => {
  const { value, selectionStart: at } = area();
  insert(at === 0 || /\s$/.test(value.slice(0, at)) ? "@" : " @", at, at);
  clearTimeout(planned);
  await offer();
});
act("mention", async ({ dataset }) => {
  const { start, end } = typed() ?? { start: area().selectionStart, end: area().selectionStart };
  insert(`${dataset.text} `, start, end);
  clearTimeout(planned);
  close();
});
