// The page of the Creator Store: a search, a grid of its results, and their insertion.

import { call, part } from "./daemon.js";
import { act, elements, swap, tell, toast } from "./ui.js";

let root = null;
/** The search that is shown. */
let wanted = { text: "", kind: "model", only: "" };
/** The number of the latest search. Answers to older ones are dropped. */
let turn = 0;

export async function show(main) {
  root = main;
  await search();
}

async function search() {
  const own = ++turn;
  const html = await part("store", wanted);
  if (own === turn) swap(root, html);
}

act("search-store", async (form) => {
  const before = wanted;
  const { text, kind, any } = form.elements;
  wanted = { text: text.value.trim(), kind: kind.value, only: any.checked ? "any" : "" };
  await search().catch((error) => {
    wanted = before;
    throw error;
  });
});

act("more-assets", async (button) => {
  const own = turn;
  const html = await part("store-rows", { ...wanted, next: button.dataset.next });
  if (own !== turn) return;
  const row = button.closest("li");
  const fresh = [...elements(html).children];
  row.replaceWith(...fresh);
  fresh.forEach(tell);
  fresh[0]?.querySelector("button")?.focus({ preventScroll: true });
});

/** Shows the request, whose proposal is decided like any other. */
act("insert-asset", async ({ dataset }) => {
  const place = root.querySelector("[name=place]");
  // A place may have been opened since the first results.
  if (!place) return search();
  const { workflow } = await call("POST", `/api/sessions/${encodeURIComponent(place.value)}/assets`, { asset: Number(dataset.asset) });
  toast("The asset is being loaded", "good", "What it contains is shown before it is inserted.");
  location.hash = `#/now/${workflow}`;
});
