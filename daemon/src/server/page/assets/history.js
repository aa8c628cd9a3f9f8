// The history page: entries selected by a filter, the full view of an entry, and reverts.

import { blob, call, part } from "./daemon.js";
import { act, elements, failed, fill, isTouched, put, question, swap, toast } from "./ui.js";

const NAMES = ["text", "path", "place", "tool", "outcome", "day"];

let root = null;
/** Changes and questions only, until the user asks for everything. */
const FIRST = { only: "changes" };
let wanted = FIRST;
/** The entry that is shown on its own. */
let single = null;

export async function show(main, [of]) {
  root = main;
  single = of ?? null;
  await (single === null ? list() : one(single));
}

/** Reloads the page, unless the user is typing. */
export async function again() {
  if (single !== null) await one(single);
  else if (!isTouched(root)) await list(() => !isTouched(root));
}

export function hide() {
  seen.disconnect();
}

/** The number of the latest request. Answers to older requests are dropped. */
let turn = 0;

async function list(isMeant = () => true) {
  const own = ++turn;
  const html = await part("history", wanted);
  if (own !== turn || !isMeant()) return;
  swap(root, html);
  watch();
}

/** Shows one entry, with links to the previous and the next one. */
async function one(of) {
  const own = ++turn;
  const html = await part("entry", { of });
  if (own !== turn) return;
  root.replaceChildren(elements(`<div class="page history"><h1></h1><div class="panel pad whole"></div></div>`));
  root.querySelector("h1").textContent = `Entry ${of}`;
  fill(root.querySelector(".whole"), html);
}

// Older entries are loaded when their button becomes visible.
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) target.click();
  },
  { rootMargin: "600px" },
);

function watch() {
  seen.disconnect();
  const older = root.querySelector("[data-act=older]");
  if (older) seen.observe(older);
}

act("older", async (button) => {
  const row = button.closest("li");
  const html = await part("older", { ...wanted, before: button.dataset.before });
  const had = document.activeElement === button;
  const fresh = elements(html);
  const first = fresh.querySelector("summary");
  row.replaceWith(fresh);
  if (had) first?.focus({ preventScroll: true });
  watch();
});

act("filter", async (form) => {
  const before = wanted;
  wanted = Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value.trim()]));
  wanted.only = form.elements.everything.checked ? "" : FIRST.only;
  await list().catch((error) => {
    wanted = before;
    throw error;
  });
});
act("unfilter", async () => {
  wanted = FIRST;
  await list();
});

addEventListener(
  "toggle",
  async ({ target }) => {
    if (target.dataset?.actOpen !== "entry" || !target.open) return;
    const box = target.querySelector(".whole");
    if (box.childElementCount > 0) return;
    try {
      swap(box, await part("entry", { of: target.dataset.of }));
    } catch (error) {
      failed(error);
    }
  },
  true,
);

act("export", async () => {
  // The export contains what the list omits for brevity.
  const query = new URLSearchParams(Object.entries({ ...wanted, only: "" }).filter(([, value]) => value));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await blob(`/api/history/export?${query}`));
  link.download = "vector-history.jsonl";
  link.click();
  URL.revokeObjectURL(link.href);
});

/** Shows a requested revert, which is a proposal like any other. */
async function went({ workflow }) {
  toast("Undo proposed. Review it.");
  location.hash = `#/now/${workflow}`;
}

act("revert", async ({ dataset }) => went(await call("POST", `/api/proposals/${dataset.back}/revert`)));
act("restore", async ({ dataset }) => {
  const text = "Vector proposes to revert everything that it applied since then, as one change. Changes by others stay.";
  if ((await question({ title: "Restore this checkpoint?", text, yes: "Propose it" })) === null) return;
  await went(await call("POST", `/api/checkpoints/${dataset.checkpoint}/restore`));
});
act("script", async (button) => {
  const { place, path, seq } = button.dataset;
  const html = await part("script", { place, path, seq });
  const box = button.closest(".whole");
  const old = box.querySelector(".script");
  const had = old?.contains(document.activeElement);
  const fresh = put(box, old, html);
  if (had) fresh.querySelector("[aria-current]")?.focus({ preventScroll: true });
  // It is below the whole entry, which may be long.
  fresh.scrollIntoView({ block: "nearest" });
});
