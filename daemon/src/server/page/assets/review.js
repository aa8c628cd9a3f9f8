// The page of proposals: the list, the full view of one, and decisions by mouse or keyboard.

import { call, part } from "./daemon.js";
import { approve, decide, reject } from "./decide.js";
import { carry, forget, leave, leftOut, words } from "./left.js";
import { act, elements, failed, fill, question, replaceAddress, soon, swap, toast } from "./ui.js";

const LAYOUT = "vector-layout";
const SLOW = 250;
/** For how long the next step of what was asked for is waited for, and how often it is looked for. */
const STEP = 1500;
const LOOK = 150;
/** For how long a proposal has to be seen before it can be decided upon: a second press may be meant for the one before. */
const SEEN = 350;

const FRAME = `<div class="review"><aside class="list" id="list" aria-label="Proposals that wait"></aside>
  <section class="one" id="one" aria-label="Proposal" tabindex="-1"></section></div>`;
const LOADING = `<div class="loading" role="status"><span class="spinner" aria-hidden="true"></span>Loading</div>`;
const KEYS = [
  ["j k", "the next proposal, the one before"],
  ["n p", "the next part of it, the one before"],
  ["x", "take this part, or leave it out (the space bar, too)"],
  ["a", "accept it, or only what is ticked"],
  ["r", "reject it; you can say why"],
  ["s", "skip it: it goes on waiting"],
  ["u", "texts one below the other, or side by side"],
  ["?", "these keys"],
];

let root = null;
let current = null;
let asked = null;
let isDeciding = false;
let layout = localStorage.getItem(LAYOUT) === "split" ? "split" : "unified";
/** Where there is no room for two sides. */
const narrow = matchMedia("(max-width: 760px)");
/** What was accepted here and is not done yet, with its title. */
const awaited = new Map();

export async function show(main, [wanted]) {
  if (!root?.isConnected) {
    main.replaceChildren(elements(FRAME));
    root = main.firstElementChild;
    current = null;
    await list();
  }
  const next = wanted ?? links()[0]?.dataset.seq ?? null;
  if (next === null) nothing();
  else if (next !== current) await open(next);
  mark();
  root?.querySelector("#list [aria-current]")?.scrollIntoView({ block: "nearest" });
}

export function hide() {
  asked?.abort();
  root = null;
  current = null;
}

export async function again() {
  await list();
  if (current === null) await show(root.parentElement, []);
  else await open(current, true);
}

export function told(told) {
  if (told.is_refusal && article()?.dataset.status === "withdrawn") currentSoon();
  if (told.proposal === undefined) return;
  const proposal = String(told.proposal);
  if (awaited.has(proposal)) became(proposal);
  if (!root) return;
  listSoon();
  const isOpen = /^(waiting|withdrawn)$/.test(article()?.dataset.status);
  if (isOpen && String(told.from) === current) follow(proposal);
  else if (proposal === current) currentSoon();
}

/** Goes on to what stands for the proposal that is shown, without leaving the part that is looked at. */
function follow(proposal) {
  current = proposal;
  window.history.replaceState(null, "", `#/proposals/${proposal}`);
  currentSoon();
}

/** What is open decides what can be decided upon. */
export function changed(what) {
  if (what === "places") placesSoon();
}

const one = () => root.querySelector("#one");
const article = () => root?.querySelector(".proposal");
const links = () => [...root.querySelectorAll("#list a[data-seq]")];
const seqs = () => links().map((link) => link.dataset.seq);
const isOf = (proposal) => (link) => link.dataset.seq === proposal;

/** Shows a proposal, or what there is; the way back leads to where the person came from. */
function go(proposal) {
  const hash = proposal === null ? "#/proposals" : `#/proposals/${proposal}`;
  if (location.hash === hash) return show(root.parentElement, proposal === null ? [] : [proposal]);
  replaceAddress(hash);
}

async function list() {
  const html = await part("proposals");
  if (!root) return;
  swap(root.querySelector("#list"), html);
  root.toggleAttribute("data-none", links().length === 0 && current === null);
  mark();
}

/** Lists what waits now, and shows the first of it where nothing waited. */
async function listed() {
  await list();
  if (root && current === null && links().length > 0) await show(root.parentElement, []);
}

const listSoon = soon(() => root && listed());
const currentSoon = soon(() => root && current !== null && open(current, true));
const placesSoon = soon(async () => {
  if (!root) return;
  await listed();
  if (!root) return;
  const isListed = seqs().includes(current);
  if (article() && isListed !== Boolean(one().querySelector("#accept"))) await open(current, true);
});

function mark() {
  if (!root) return;
  for (const link of links()) {
    if (link.dataset.seq === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function nothing() {
  current = null;
  one().replaceChildren();
  root.toggleAttribute("data-none", links().length === 0);
}

/** Fetches a proposal: anew, or what became of the one that is shown. */
async function open(proposal, isSame = false) {
  asked?.abort();
  const own = (asked = new AbortController());
  current = proposal;
  root.removeAttribute("data-none");
  const slow = isSame ? null : setTimeout(() => one().replaceChildren(elements(LOADING)), SLOW);
  try {
    const html = await part("proposal", { of: proposal, layout: narrow.matches ? "unified" : layout }, own.signal);
    if (!root || own !== asked) return;
    if (isSame) refresh(html);
    else renew(html);
    tick();
  } catch (error) {
    if (error.kind === "unauthorized") throw error;
    if (error.name !== "AbortError" && root) trouble(error);
  } finally {
    clearTimeout(slow);
  }
}

/** Shows what became of what is shown, and stays at the part that was gone to. */
function refresh(html) {
  const key = document.activeElement?.matches("[data-stop]") ? document.activeElement.dataset.key : null;
  swap(one(), html);
  arm();
  if (key) one().querySelector(`[data-stop][data-key="${key}"]`)?.focus({ preventScroll: true });
}

function renew(html) {
  const hadFocus = one().contains(document.activeElement) || document.activeElement === document.body;
  fill(one(), html);
  arm();
  one().scrollTop = 0;
  if (hadFocus) one().focus({ preventScroll: true });
}

/** Which proposal is before the person, and since when. */
let seen = { of: null, since: 0 };

/** Lets what is shown be decided upon, once it has been seen. */
function arm() {
  const shown = article();
  if (!shown) return;
  if (shown.dataset.of !== seen.of) seen = { of: shown.dataset.of, since: performance.now() };
  const rest = seen.since + SEEN - performance.now();
  if (rest <= 0) shown.toggleAttribute("data-seen", true);
  else setTimeout(arm, rest);
}

function trouble(error) {
  one().replaceChildren(elements(`<div class="empty"><h1></h1><p></p></div>`));
  one().querySelector("h1").textContent = error.message;
  one().querySelector("p").textContent = error.hint ?? "";
}

const boxes = () => [...one().querySelectorAll("input[data-part]")];
const parts = () => words(article().dataset.parts);
const taken = () => parts().filter((name) => !leftOut(article().dataset.of).has(name));

/** Ticks what is taken, and says on the button what would be done. */
function tick() {
  const shown = article();
  if (shown && !carry(shown.dataset)) {
    toast("Not all that you had left out is found in what was planned again.", "plain", "Look at what is ticked.");
  }
  for (const box of boxes()) box.checked = !leftOut(shown.dataset.of).has(box.dataset.part);
  const label = one().querySelector("#accept");
  if (!label) return;
  const [some, all] = [taken().length, parts().length];
  label.textContent = some === all ? "Accept" : `Accept ${some} of ${all}`;
}

addEventListener("change", ({ target }) => {
  const name = target.dataset?.part;
  if (!root?.contains(target) || name === undefined) return;
  leave(article().dataset, name, target.checked);
  tick();
});

/** A part's name as the API has it. */
function named(name) {
  const [first, second] = name.slice(1).split(".").map(Number);
  return name[0] === "c" ? { part: "command", command: first } : { part: "hunk", script: first, hunk: second };
}

/** Whether what is meant is before the person, and has been for a moment. */
const isSeen = () => current === null || (article()?.dataset.of === current && article().hasAttribute("data-seen"));

/** Where to go from here: the next that waits, or the one before. */
function beside(step) {
  const all = seqs();
  const at = all.indexOf(current);
  if (at < 0) return all[0] ?? null;
  return all[at + step] ?? null;
}

/** One answer at a time: what it changes is not known before it is there. */
async function deciding(work, isMeant = isSeen()) {
  if (isDeciding || !isMeant) return;
  isDeciding = true;
  try {
    await work();
  } catch (error) {
    if (error.kind === "stale" || error.kind === "settled") {
      listSoon();
      currentSoon();
    }
    throw error;
  } finally {
    isDeciding = false;
  }
}

/** After an answer: on with what else waits of the same task, then with what waits beside it. */
async function on(proposal) {
  const task = article()?.dataset.task;
  const its = () => links().filter((link) => link.dataset.task === task);
  const [next, at, own] = [beside(1) ?? beside(-1), seqs().indexOf(proposal), its().findIndex(isOf(proposal))];
  forget(proposal);
  if (!root) return;
  await list();
  if (root && its().length === 0) await comes(task, () => !root || current !== proposal || its().length > 0);
  if (!root || current !== proposal) return;
  // A proposal that depended on it is replanned, with another number in the same position.
  const nearest = (all, at) => all[Math.min(Math.max(at, 0), all.length - 1)];
  const beyond = seqs().includes(next) ? next : nearest(seqs(), at);
  await go(nearest(its(), own)?.dataset.seq ?? beyond ?? null);
}

/** Waits a moment for the next step of a task that is at work: who accepts a step means what it is of. */
async function comes(task, isOver) {
  for (const end = performance.now() + STEP; performance.now() < end && !isOver(); ) {
    const { state } = await call("GET", `/api/workflows/${task}`);
    if (root) await list();
    if (state !== "working") return;
    await new Promise((done) => setTimeout(done, LOOK));
  }
}

act("accept", (button) =>
  deciding(async () => {
    const of = { ...button.closest("[data-patch]").dataset };
    const chosen = taken();
    if (chosen.length < parts().length) return take(of, chosen);
    const title = article().querySelector("h1").textContent;
    awaited.set(of.seq, title);
    const decided = await approve(of).catch((error) => {
      awaited.delete(of.seq);
      throw error;
    });
    if (decided === null) awaited.delete(of.seq);
    else await on(of.seq);
  }),
);

async function take(of, chosen) {
  if (chosen.length === 0) {
    toast("Nothing of it is ticked.", "plain", "Tick what you want, or reject it.");
    return;
  }
  const decided = await decide(of, { say: "take", parts: chosen.map(named) });
  const next = String(decided.proposal);
  const view = await call("GET", `/api/proposals/${next}`);
  const { title, patch_id: patch, base, warnings } = view.proposal;
  const twice = view.needs_twice ? warnings.map((it) => it.text).join("\n") : undefined;
  forget(of.seq);
  follow(next);
  awaited.set(next, title);
  // The selected parts were seen and ticked, so only a warning requires another confirmation.
  const isDone = view.status !== "waiting" || (await approve({ seq: next, patch, base, title, twice })) !== null;
  if (isDone) return on(next);
  awaited.delete(next);
  await list();
}

act("reject", (button) =>
  deciding(async () => {
    const of = { ...button.closest("[data-patch]").dataset };
    if ((await reject(of)) !== null) await on(of.seq);
  }),
);
act("next", () => skip());
act("layout", ({ dataset }) => stand(dataset.layout));
act("keys", keys);
act("accept-additive", ({ dataset: { behind } }) =>
  deciding(async () => {
    const plain = links().filter((link) => link.hasAttribute("data-plain"));
    const sure = await question({
      title: plain.length === 1 ? "Accept 1 proposal?" : `Accept ${plain.length} proposals?`,
      text: `They only add, and there is no warning of them.${Number(behind) > 0 ? ` ${behind} more stand on others that wait, and go on waiting.` : ""}`,
      yes: "Accept",
    });
    if (sure === null) return;
    const all = plain.map((link) => link.dataset).sort((a, b) => a.seq - b.seq);
    const accepted = await acceptEach(all);
    const isGone = all.slice(0, accepted).some((of) => of.seq === current);
    await list();
    if (isGone) await go(links()[0]?.dataset.seq ?? null);
    else currentSoon();
  }, true),
);

/** Accepts one after the other, until one is refused; says how many were accepted, and why not all. */
async function acceptEach(all) {
  let accepted = 0;
  try {
    for (const of of all) {
      awaited.set(of.seq, "");
      await decide(of, { say: "approve", twice: false });
      accepted += 1;
    }
    toast(`Accepted: ${accepted}`, "good");
  } catch (error) {
    awaited.delete(all[accepted].seq);
    toast(`Accepted: ${accepted} of ${all.length}`, "plain", "The list shows those that still wait.");
    failed(error);
  }
  return accepted;
}

/** Says what became of what was accepted here. */
async function became(proposal) {
  const { status, reason } = await call("GET", `/api/proposals/${proposal}`);
  if (status === "waiting" || status === "approved") return;
  const title = awaited.get(proposal);
  if (!awaited.delete(proposal)) return;
  if (status === "failed" || status === "withdrawn") toast(`Proposal ${proposal} was not applied.`, "bad", reason ?? "");
  else if (title && status === "applied") toast("Applied", "good", title);
}

function skip() {
  const all = seqs();
  const next = all[(all.indexOf(current) + 1) % all.length];
  if (next === undefined || next === current) toast("No other proposal waits.");
  else go(next);
}

function stand(wanted) {
  layout = wanted;
  localStorage.setItem(LAYOUT, layout);
  return open(current, true);
}

function keys() {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    elements(`<form method="dialog"><h2 id="dialog-title">Keys</h2><dl class="keys"></dl>
      <div class="buttons"><button class="main" value="">Close</button></div></form>`),
  );
  const all = dialog.querySelector("dl");
  for (const [names, what] of KEYS) {
    const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
    for (const name of names.split(" ")) {
      const key = document.createElement("kbd");
      key.textContent = name;
      term.append(key);
    }
    meaning.textContent = what;
    all.append(term, meaning);
  }
  dialog.showModal();
}

const stops = () => [...one().querySelectorAll("[data-stop]")];
const stop = () => document.activeElement?.closest?.("[data-stop]");

/** Goes to the next part, or the one before. */
function step(by) {
  const all = stops();
  const at = all.indexOf(stop());
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  if (!next) return;
  next.focus({ preventScroll: true });
  const fits = () => (next.offsetHeight < one().clientHeight / 2 ? "center" : "start");
  next.scrollIntoView({ block: fits() });
  // The element may be taller than estimated before it is laid out.
  requestAnimationFrame(() => next.scrollIntoView({ block: fits() }));
}

function toggle() {
  const own = stop()?.querySelectorAll("input[data-part]") ?? [];
  const all = [...own];
  if (all.length === 0) return;
  const isTaken = !all.every((box) => box.checked);
  for (const box of all.filter((it) => it.checked !== isTaken)) box.click();
}

narrow.addEventListener("change", () => article() && currentSoon());

const press = (name) => root.querySelector(`#one [data-act="${name}"]`)?.click();

const DOES = {
  j: () => beside(1) !== null && go(beside(1)),
  k: () => beside(-1) !== null && go(beside(-1)),
  n: () => step(1),
  p: () => step(-1),
  x: toggle,
  " ": toggle,
  a: () => press("accept"),
  r: () => press("reject"),
  s: skip,
  u: () => article() && stand(layout === "split" ? "unified" : "split"),
  "?": keys,
};

/** What may go on for as long as its key is held. */
const MOVES = ["j", "k", "n", "p"];

/** Whether a key is for something else: for what is typed, a button, or the browser. */
function isTaken(event) {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return true;
  if (document.querySelector("dialog[open]")) return true;
  const isTyping = target.isContentEditable || /^(textarea|select)$/.test(target.localName);
  if (isTyping || (target.localName === "input" && target.type !== "checkbox")) return true;
  return event.key === " " && !target.hasAttribute?.("data-stop");
}

addEventListener("keydown", (event) => {
  if (!root?.isConnected || isTaken(event)) return;
  // A key that is held down must not decide.
  if (event.repeat && !MOVES.includes(event.key)) return;
  const run = Object.hasOwn(DOES, event.key) ? DOES[event.key] : null;
  if (!run) return;
  event.preventDefault();
  Promise.resolve(run()).catch(failed);
});
