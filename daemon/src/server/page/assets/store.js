// The page of the Creator Store: a search, a grid of its results, and their insertion.

import { call, Failure, part } from "./daemon.js";
import { act, elements, failed, fill, soon, swap, tell, toast } from "./ui.js";

let root = null;
/** The search that is shown. */
let wanted = { text: "", kind: "model", only: "" };
/** The chosen place, and the parents that were typed, by place: they outlive a search and a visit of another page. */
let place = null;
const parents = new Map();
/** The number of the latest search. Answers to older ones are dropped. */
let turn = 0;

export async function show(main) {
  root = main;
  await search();
}

async function search() {
  const own = ++turn;
  const html = await part("store", wanted);
  if (own !== turn) return;
  swap(root, html);
  restoreTarget();
  paint(root).catch(failed);
}

/** Shows the thumbnails that the daemon has already. The others are loaded when they come into view. */
async function paint(within) {
  const images = new Map([...within.querySelectorAll("[data-state=loading] > img[data-thumbnail]:not([data-picture])")].map((it) => [it.dataset.thumbnail, it]));
  if (images.size === 0) return;
  const known = elements(await part("thumbnails", { text: [...images.keys()].join(",") }));
  for (const { value, dataset } of known.children) {
    const bytes = Uint8Array.from(atob(dataset.bytes), (letter) => letter.charCodeAt(0));
    const url = URL.createObjectURL(new Blob([bytes], { type: dataset.type }));
    const image = images.get(value);
    image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
    image.src = url;
    image.closest("figure").dataset.state = "there";
    images.delete(value);
  }
  for (const [asset, image] of images) image.dataset.picture = `/api/assets/${asset}/thumbnail`;
  tell(within);
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
  (fresh[0]?.querySelector("button") ?? root.querySelector(".store [name=text]")).focus({ preventScroll: true });
  await paint(root.querySelector(".assets"));
});

const target = (name) => root?.querySelector(`.target [name=${name}]`);

/** The parent for a place unless another one was typed. */
const usual = (field) => field.selectedOptions?.[0].dataset.parent;

function showParent() {
  const field = target("place");
  target("parent").value = parents.get(field.value) ?? usual(field) ?? target("parent").value;
}

/** Shows the place and the parent that were chosen before. */
function restoreTarget() {
  const field = target("place");
  if (!field) return;
  if ([...(field.options ?? [])].some(({ value }) => value === place)) field.value = place;
  showParent();
}

addEventListener("change", ({ target: field }) => {
  if (field !== target("place")) return;
  place = field.value;
  showParent();
  target("parent").list.replaceChildren();
});

const suggestLater = soon(suggest);

addEventListener("input", ({ target: field }) => {
  if (field !== target("parent")) return;
  parents.set(target("place").value, field.value);
  suggestLater();
});

/** Suggests paths of instances that fit what is typed. */
async function suggest() {
  const field = target("parent");
  const typed = field?.value.trim();
  if (!typed) return;
  const html = await part("parents", { session: target("place").value, typed });
  if (field.isConnected && field.value.trim() === typed) fill(field.list, html);
}

/** Shows the request, whose proposal is decided like any other. */
act("insert-asset", async ({ dataset }) => {
  const into = target("place");
  // A place may have been opened since the first results.
  if (!into) return search();
  const parent = target("parent").value.trim();
  const asset = Number(dataset.asset);
  if (!Number.isSafeInteger(asset)) {
    throw new Failure("large", `The page cannot hold the id ${dataset.asset}.`, `Insert it with \`vector assets insert PLACE ${dataset.asset}\`.`);
  }
  const request = { asset, ...(parent && { parent }) };
  const { workflow } = await call("POST", `/api/sessions/${encodeURIComponent(into.value)}/assets`, request);
  toast("The asset is being loaded", "good", "What it contains is shown before it is inserted.");
  location.hash = `#/now/${workflow}`;
});
