// The page of proposals: the list, the full view of one, and decisions by mouse or keyboard.

import { commentHere, comments, showComments } from "./comments.js";
import { showFindings, showQuote } from "./findings.js";
import { call, part } from "./daemon.js";
import { approve, decide, reject } from "./decide.js";
import { forgetDrafts, isWhole, isWithoutDrafts } from "./drafts.js";
import { editDecision, editHere, save, showEdits } from "./edit.js";
import { carry, forget, leave, leftOut, words } from "./left.js";
import { carryStep, setTicked, takenSteps, tickSteps } from "./steps.js";
import { act, elements, failed, fill, question, replaceAddress, soon, swap, toast } from "./ui.js";

const LAYOUT = "vector-layout";
const SLOW = 250;
/** How long to wait for the next step of a task, and how often to check, in ms. */
const STEP = 1500;
const LOOK = 150;
/** How long a proposal must be visible before it can be decided, so that a double press cannot hit it, in ms. */
const SEEN = 350;

const FRAME = `<div class="review"><aside class="list" id="list" aria-label="Pending proposals"></aside>
  <section class="one" id="one" aria-label="Proposal" tabindex="-1"></section></div>`;
const LOADING = `<div class="loading" role="status"><span class="spinner" aria-hidden="true"></span>Loading</div>`;
const KEYS = [
  ["j k", "next proposal, previous proposal"],
  ["n p", "next part, previous part"],
  ["x", "include or leave out this part (also the space bar)"],
  ["a", "approve the proposal, or only the selected parts"],
  ["r", "reject the proposal; you can give a reason"],
  ["c", "comment on this part, or on the whole proposal; Alt and an arrow key move a comment to another line"],
  ["e", "edit the script or value of this part"],
  ["s", "skip the proposal: it stays pending"],
  ["u", "switch between unified and split diff"],
  ["?", "show these keys"],
];

let root = null;
let current = null;
let asked = null;
let isDeciding = false;
let layout = localStorage.getItem(LAYOUT) === "split" ? "split" : "unified";
/** Whether there is no room for a split diff. */
const narrow = matchMedia("(max-width: 760px)");
/** The proposals that were approved here and are not applied yet, with their titles. */
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
  if (told.from !== undefined) carryStep(String(told.from), proposal);
  if (!root) return;
  listSoon();
  const isOpen = /^(waiting|withdrawn)$/.test(article()?.dataset.status);
  if (isOpen && String(told.from) === current) follow(proposal);
  else if (proposal === current) currentSoon();
}

/** Switches to the proposal that replaces the one shown, and keeps the current part. */
function follow(proposal) {
  current = proposal;
  window.history.replaceState(null, "", `#/proposals/${proposal}`);
  currentSoon();
}

/** Handles a change of the open places, which determine what can be decided. */
export function changed(what) {
  if (what === "places") placesSoon();
}

const one = () => root.querySelector("#one");
const article = () => root?.querySelector(".proposal");
const links = () => [...root.querySelectorAll("#list a[data-seq]")];
const seqs = () => links().map((link) => link.dataset.seq);
const isOf = (proposal) => (link) => link.dataset.seq === proposal;

/** Shows a proposal, or the list, without a new history entry. */
function go(proposal) {
  const hash = proposal === null ? "#/proposals" : `#/proposals/${proposal}`;
  if (location.hash === hash) return show(root.parentElement, proposal === null ? [] : [proposal]);
  replaceAddress(hash);
}

async function list() {
  const html = await part("proposals");
  if (!root) return;
  swap(root.querySelector("#list"), html);
  tickSteps(root);
  root.toggleAttribute("data-none", links().length === 0 && current === null);
  mark();
}

/** Lists the pending proposals, and shows the first one if none was shown. */
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
  if (article() && isListed !== Boolean(one().querySelector("#approve"))) await open(current, true);
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

/** Fetches a proposal, or the new state of the one that is shown. */
async function open(proposal, isSame = false) {
  asked?.abort();
  const own = (asked = new AbortController());
  current = proposal;
  root.removeAttribute("data-none");
  const slow = isSame ? null : setTimeout(() => one().replaceChildren(elements(LOADING)), SLOW);
  try {
    const again = isSame ? { again: "1" } : {};
    const html = await part("proposal", { of: proposal, layout: narrow.matches ? "unified" : layout, ...again }, own.signal);
    if (!root || own !== asked) return;
    const wasWaiting = isSame && article()?.dataset.status === "waiting";
    if (isSame) refresh(html);
    else renew(html);
    const { status, successor } = article()?.dataset ?? {};
    // It was replanned while this page was not connected.
    if (wasWaiting && status === "withdrawn" && successor !== undefined) return follow(successor);
    tick();
  // Without the price, which is an aside, the button works all the same.
  showQuote().catch(() => {});
  } catch (error) {
    if (error.kind === "unauthorized") throw error;
    if (error.name !== "AbortError" && root) trouble(error);
  } finally {
    clearTimeout(slow);
  }
}

/** The HTML of the shown proposal, as it was rendered. */
let rendered = "";

/** Updates the shown proposal, and keeps the current part. */
function refresh(html) {
  // What one types is not disturbed without a reason.
  if (html === rendered && article()) return;
  rendered = html;
  const key = document.activeElement?.matches("[data-stop]") ? document.activeElement.dataset.key : null;
  swap(one(), html);
  arm();
  if (key) one().querySelector(`[data-stop][data-key="${key}"]`)?.focus({ preventScroll: true });
}

function renew(html) {
  rendered = html;
  const hadFocus = one().contains(document.activeElement) || document.activeElement === document.body;
  fill(one(), html);
  arm();
  one().scrollTop = 0;
  if (hadFocus) one().focus({ preventScroll: true });
}

/** The visible proposal, and since when it is visible. */
let seen = { of: null, since: 0 };

/** Allows a decision on the shown proposal once it has been visible long enough. */
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
/** Returns the positions of the instances that are left out of a command over many, by its name. */
const membersOut = (name) =>
  [...leftOut(article().dataset.of).keys()]
    .filter((it) => it.startsWith(`m${name.slice(1)}.`))
    .map((it) => Number(it.split(".")[1]));

/** Returns how many instances and other parts are taken, and how many there are. */
function counts() {
  const sizes = words(article().dataset.sizes).map(Number);
  const [all, chosen] = [parts(), new Set(taken())];
  const size = (name, at) => (chosen.has(name) ? sizes[at] - membersOut(name).length : 0);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  return [sum(all.map(size)), sum(sizes)];
}

/** Updates the checkboxes of the parts, and the label of the button. */
function tick() {
  const shown = article();
  if (shown && !carry(shown.dataset)) {
    toast("Some parts that you left out were not found in the replanned proposal.", "plain", "Check the selected parts.");
  }
  const out = leftOut(shown?.dataset.of);
  for (const box of boxes()) {
    box.checked = !out.has(box.dataset.part) && !out.has(box.dataset.within);
    box.disabled = out.has(box.dataset.within);
  }
  showFindings();
  showComments();
  showEdits();
  tickSteps(root);
  const label = one().querySelector("#approve");
  if (!label) return;
  const [some, all] = counts();
  // A part is a new proposal, which gets its own review.
  const isUnreviewed = shown.hasAttribute("data-unreviewed");
  for (const button of one().querySelectorAll("[data-act=approve]")) button.disabled = isUnreviewed && some === all;
  label.textContent = some === all ? "Approve" : `${isUnreviewed ? "Keep" : "Approve"} ${some} of ${all}`;
}

addEventListener("change", ({ target }) => {
  const name = target.dataset?.part;
  if (!root?.contains(target) || name === undefined) return;
  leave(article().dataset, name, target.checked);
  tick();
});

/** Returns a part's name in the API. */
function named(name) {
  const [first, second] = name.slice(1).split(".").map(Number);
  if (name[0] === "h") return { part: "hunk", script: first, hunk: second };
  return { part: "command", command: first, except: membersOut(name) };
}

/** Whether the current proposal has been visible long enough to be decided. */
const isSeen = () => current === null || (article()?.dataset.of === current && article().hasAttribute("data-seen"));

/** Returns the next or the previous pending proposal. */
function beside(step) {
  const all = seqs();
  const at = all.indexOf(current);
  if (at < 0) return all[0] ?? null;
  return all[at + step] ?? null;
}

/** Runs one decision at a time, because its effect is not known before the answer. */
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

/** After a decision, shows the next pending proposal of the same task, or else the next in the list. */
async function on(proposal) {
  const task = article()?.dataset.task;
  const its = () => links().filter((link) => link.dataset.task === task);
  const [next, at, own] = [beside(1) ?? beside(-1), seqs().indexOf(proposal), its().findIndex(isOf(proposal))];
  forget(proposal);
  forgetDrafts(proposal);
  if (!root) return;
  await list();
  if (root && its().length === 0) await comes(task, () => !root || current !== proposal || its().length > 0);
  if (!root || current !== proposal) return;
  // A proposal that depended on it is replanned, with another number in the same position.
  const nearest = (all, at) => all[Math.min(Math.max(at, 0), all.length - 1)];
  const beyond = seqs().includes(next) ? next : nearest(seqs(), at);
  await go(nearest(its(), own)?.dataset.seq ?? beyond ?? null);
}

/** Waits briefly for the next proposal of a task that is still running. */
async function comes(task, isOver) {
  for (const end = performance.now() + STEP; performance.now() < end && !isOver(); ) {
    const { state } = await call("GET", `/api/workflows/${task}`);
    if (root) await list();
    if (state !== "working") return;
    await new Promise((done) => setTimeout(done, LOOK));
  }
}

/** Returns what names the shown proposal. */
function shownData() {
  const { of, patchId, replaces } = article().dataset;
  return { seq: of, patch: patchId, replaces };
}

act("approve", (button) =>
  deciding(async () => {
    if (!(await isWithoutDrafts(shownData(), "Approve"))) return;
    const of = { ...button.closest("[data-patch]").dataset };
    const [some, all] = counts();
    const { rule } = button.dataset;
    if (some < all) return take(of, some === 0 ? [] : taken(), rule);
    const title = article().querySelector("h1").textContent;
    awaited.set(of.seq, title);
    const decided = await approve(of, rule).catch((error) => {
      awaited.delete(of.seq);
      throw error;
    });
    if (decided === null) awaited.delete(of.seq);
    else await on(of.seq);
  }),
);

async function take(of, chosen, rule) {
  if (chosen.length === 0) {
    toast("No part is selected.", "plain", "Select the parts you want, or reject the proposal.");
    return;
  }
  const decided = await decide(of, { say: "take", parts: chosen.map(named) });
  const next = String(decided.proposal);
  const view = await call("GET", `/api/proposals/${next}`);
  const { title, patch_id: patch, base, warnings } = view.proposal;
  const twice = view.needs_twice ? warnings.map((it) => it.text).join("\n") : undefined;
  forget(of.seq);
  forgetDrafts(of.seq);
  follow(next);
  if (view.unreviewed) {
    toast("The selected parts are a proposal of their own", "plain", view.unreviewed);
    return list();
  }
  awaited.set(next, title);
  // The selected parts were seen and ticked, so only a warning requires another confirmation.
  const isDone = view.status !== "waiting" || (await approve({ seq: next, patch, base, title, twice }, rule)) !== null;
  if (isDone) return on(next);
  awaited.delete(next);
  await list();
}

act("reject", (button) =>
  deciding(async () => {
    if (!(await isWithoutDrafts(shownData(), "Reject"))) return;
    const of = { ...button.closest("[data-patch]").dataset };
    if ((await reject(of)) !== null) await on(of.seq);
  }),
);
act("comment", () => commentHere(null));
act("request-changes", (button) =>
  deciding(async () => {
    const of = { ...button.closest("[data-patch]").dataset };
    const sent = comments(article().dataset).map(({ on, text }) => ({ on, text: text.trim() }));
    await decide(of, { say: "request_changes", comments: sent });
    toast(sent.length === 1 ? "Sent 1 comment" : `Sent ${sent.length} comments`, "good", "The new version appears here.");
    await on(of.seq);
  }),
);
act("save-edits", (button) =>
  deciding(async () => {
    const of = { ...button.closest("[data-patch]").dataset };
    const { saved, decision } = editDecision();
    const { proposal } = await save(of.seq, saved, () => decide(of, decision));
    toast("Saved as a new version", "good", "Read it, then decide on it.");
    if (root && current === of.seq) follow(String(proposal));
  }),
);
act("keep-script", (button) =>
  deciding(async () => {
    if (!(await isWithoutDrafts(shownData(), "Keep"))) return;
    const of = { ...article().querySelector(".decision [data-patch]").dataset };
    // The first script that is kept begins in a sandbox.
    const sandbox = article().querySelector("[data-act=sandbox]")?.checked ?? true;
    const { proposal } = await decide(of, { say: "keep", scripts: [Number(button.dataset.script)], sandbox });
    toast("The script is kept in a new version", "good", "Read it, then decide on it.");
    if (root && current === of.seq) follow(String(proposal));
  }),
);
act("sandbox", (box) => {
  // The new version shows the choice; in this one, the click does not change the box.
  const sandbox = box.checked;
  return deciding(async () => {
    if (!(await isWithoutDrafts(shownData(), sandbox ? "Sandbox" : "Lift the sandbox"))) return;
    const of = { ...article().querySelector(".decision [data-patch]").dataset };
    const { proposal } = await decide(of, { say: "keep", scripts: [], sandbox });
    toast(sandbox ? "Kept scripts run in a sandbox in a new version" : "The new version has no sandbox", "good", "Read it, then decide on it.");
    if (root && current === of.seq) follow(String(proposal));
  });
});
act("more-rows", async (button) => {
  const { command, from } = button.dataset;
  const rows = elements(await part("rows", { of: article().dataset.of, command, from }));
  button.closest("tbody").replaceWith(rows);
  tick();
});
act("next", () => skip());
act("layout", ({ dataset }) => stand(dataset.layout));
act("keys", keys);
act("approve-additive", ({ dataset: { behind } }) =>
  deciding(async () => {
    const plain = links().filter((link) => link.hasAttribute("data-plain") && isWhole(link.dataset));
    const sure = await question({
      title: plain.length === 1 ? "Approve 1 proposal?" : `Approve ${plain.length} proposals?`,
      text: `They only add, and have no warnings.${Number(behind) > 0 ? ` ${behind} more depend on other pending proposals and stay pending.` : ""}`,
      yes: "Approve",
    });
    if (sure === null) return;
    await approveTogether(plain);
  }, true),
);
act("approve-steps", (button) =>
  deciding(async () => {
    const taken = takenSteps(button);
    await approveTogether(links().filter(({ dataset }) => taken.has(dataset.seq)));
  }, true),
);

/** Approves the proposals of these links, and shows another one if the shown one is gone. */
async function approveTogether(chosen) {
  const all = chosen.map((link) => link.dataset).sort((a, b) => a.seq - b.seq);
  const approved = await approveEach(all);
  const isGone = all.slice(0, approved).some((of) => of.seq === current);
  await list();
  if (isGone) await go(links()[0]?.dataset.seq ?? null);
  else currentSoon();
}

addEventListener("change", ({ target }) => {
  const step = target.dataset?.step;
  if (!step || !root) return;
  setTicked(step, target.checked);
  tickSteps(root);
});

/** Approves proposals one after the other until one is refused. Reports how many were approved, and why not all. */
async function approveEach(all) {
  let approved = 0;
  try {
    for (const of of all) {
      awaited.set(of.seq, "");
      await decide(of, { say: "approve", twice: false });
      approved += 1;
    }
    toast(`Approved: ${approved}`, "good");
  } catch (error) {
    awaited.delete(all[approved].seq);
    toast(`Approved ${approved} of ${all.length}`, "plain", "The list shows those that are still pending.");
    failed(error);
  }
  return approved;
}

/** Reports the outcome of a proposal that was approved here. */
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
  if (next === undefined || next === current) toast("No other proposal is pending.");
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

/** Goes to the next or the previous part. */
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
  a: () => press("approve"),
  r: () => press("reject"),
  c: () => commentHere(stop()),
  e: () => editHere(stop()),
  s: skip,
  u: () => article() && stand(layout === "split" ? "unified" : "split"),
  "?": keys,
};

/** Keys that repeat while they are held down. */
const MOVES = ["j", "k", "n", "p"];

/** Whether a key belongs to a text field, a button or the browser. */
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
