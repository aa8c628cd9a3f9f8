// Comments on the parts of a proposal: drafts beside what they are about, kept until they are sent.

import { words } from "./left.js";
import { act, elements } from "./ui.js";

const KEY = "vector-comments";
/** The maximum number of proposals whose drafts are kept. */
const KEPT = 20;

/** The drafts of each proposal, with its patch id, because another ledger has other proposals of these numbers. */
const stored = () => JSON.parse(localStorage.getItem(KEY) ?? "{}");
/** The key of a proposal. Keys that are numbers would be sorted by them, and not by time. */
const keyOf = (of) => `p${of}`;
const keep = (all) => localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-KEPT))));

/** Returns the drafts of a proposal. Those of one that it replaced when it was replanned are carried over. */
function drafts({ of, patchId, replaces }) {
  const all = stored();
  if (all[keyOf(of)]?.patch === patchId) return all[keyOf(of)].drafts;
  const before = replaces.split(" ").find((it) => all[keyOf(it)]);
  const own = before === undefined ? [] : all[keyOf(before)].drafts;
  delete all[keyOf(of)];
  if (before !== undefined) {
    delete all[keyOf(before)];
    all[keyOf(of)] = { patch: patchId, drafts: own };
    if (focused?.of === before) focused.of = of;
  }
  keep(all);
  return own;
}

function store({ of, patchId }, drafts) {
  const all = stored();
  delete all[keyOf(of)];
  if (drafts.length > 0) all[keyOf(of)] = { patch: patchId, drafts };
  keep(all);
}

/** Forgets the drafts of a proposal. */
export function forgetComments(of) {
  const all = stored();
  delete all[keyOf(of)];
  keep(all);
}

/** Returns how many comments on a proposal, or on one that it replaced, were typed and not sent. */
export function countComments({ seq, patch, replaces }) {
  const all = stored();
  const isOwn = all[keyOf(seq)]?.patch === patch;
  const holder = isOwn ? seq : words(replaces).find((it) => all[keyOf(it)]);
  return (all[keyOf(holder)]?.drafts ?? []).filter(({ text }) => text.trim() !== "").length;
}

/** Returns the comments on a proposal that have a text, as the daemon takes them. */
export const comments = (data) => drafts(data).filter(({ text }) => text.trim() !== "");

const article = () => document.querySelector("#one .proposal[data-status=waiting]:has(.decision [data-act=comment])");

/** Returns what a line is: its script, its side and its number. */
function subjectOfLine(line) {
  const path = JSON.parse(line.closest(".script").dataset.path);
  const number = Number(line.dataset.n.trim().split(/\s+/).pop());
  const cells = [...line.parentElement.children].filter((it) => !it.matches(".draft, .beside, [hidden]"));
  const isLeft = line.closest(".p") !== null && cells.indexOf(line) % 2 === 0;
  const side = line.localName === "del" || (line.localName === "div" && isLeft) ? "before" : "after";
  return { kind: "line", path, side, line: number };
}

/** Returns what a row of the table is about. */
function subjectOfRow(row) {
  const path = JSON.parse(row.closest("tbody").dataset.path);
  const { property } = row.dataset;
  return property === undefined ? { kind: "instance", path } : { kind: "instance", path, property: JSON.parse(property) };
}

const LINE = ".hunk .lines [data-n]";
const ROW = "tbody[data-path] tr:is(.who, [data-property])";
const subjectOf = (element) => (element.matches(ROW) ? subjectOfRow(element) : subjectOfLine(element));
const isSame = (one, other) =>
  ["kind", "path", "side", "line", "property"].every((field) => one[field] === other[field]);

/** Returns the element that a comment is about; null for the whole proposal, or if it is not shown. */
export function elementOf(shown, on) {
  if (on.kind === "proposal") return null;
  const wanted = on.kind === "line" ? LINE : ROW;
  return [...shown.querySelectorAll(wanted)].find((it) => isSame(subjectOf(it), on)) ?? null;
}

function label(on) {
  if (on.kind === "line") return `Line ${on.line}${on.side === "before" ? ", before the change" : ""}`;
  if (on.kind === "instance") return on.property ?? "This instance";
  return "The whole proposal";
}

/** The draft with the focus, and the selection in it, to restore them after the proposal was rendered again. */
let focused = null;

function form(draft, at) {
  const box = elements(`<div class="draft" role="group"><label></label>
    <textarea rows="2" maxlength="5000" placeholder="What should be different?"></textarea>
    <button class="plain" type="button" data-act="drop-comment">Delete</button></div>`).firstElementChild;
  box.dataset.at = at;
  const text = box.querySelector("textarea");
  text.id = `comment-${at}`;
  text.value = draft.text;
  box.querySelector("label").htmlFor = text.id;
  box.querySelector("label").textContent = label(draft.on);
  return box;
}

/** Puts a draft beside what it is about. */
function place(shown, draft, at) {
  const box = form(draft, at);
  const element = elementOf(shown, draft.on);
  if (element === null) shown.querySelector(".decision").before(box);
  else putBeside(element, box, "draft-row");
}

/** Puts a box below a line or a row. A row's box is in a row of its own with the given class. */
export function putBeside(element, box, rowClass) {
  if (element.localName === "tr") {
    const row = document.createElement("tr");
    row.className = rowClass;
    row.append(document.createElement("td"));
    row.firstElementChild.colSpan = 3;
    row.firstElementChild.append(box);
    element.after(row);
  } else {
    // Side by side, a row has two cells.
    const cells = [...element.parentElement.children];
    const isLeft = element.closest(".p") !== null && cells.indexOf(element) % 2 === 0;
    const last = isLeft ? element.nextElementSibling : element;
    last.after(box);
    if (element.closest(".p")) box.after(Object.assign(document.createElement("span"), { hidden: true }));
  }
}

/** Shows the drafts of the shown proposal, and how many comments would be sent. */
export function showComments() {
  const shown = article();
  for (const old of document.querySelectorAll("#one :is(.draft, .draft-row, .draft + span[hidden])")) old.remove();
  if (!shown) return;
  drafts(shown.dataset).forEach((draft, at) => place(shown, draft, at));
  count(shown);
  const field = focused?.of === shown.dataset.of ? shown.querySelector(`#comment-${focused.at}`) : null;
  if (!field || document.activeElement?.matches("textarea")) return;
  field.focus({ preventScroll: true });
  field.setSelectionRange(focused.start, focused.end);
}

function count(shown) {
  const number = comments(shown.dataset).length;
  const button = shown.querySelector("[data-act=request-changes]");
  button.hidden = number === 0;
  button.querySelector("span").textContent = number === 1 ? "Send 1 comment" : `Send ${number} comments`;
}

/** Begins a comment, or goes to the one that is there. A text is added to it, once. */
export function beginComment(on, text = "") {
  const shown = article();
  if (!shown) return;
  const all = drafts(shown.dataset);
  let at = all.findIndex((it) => isSame(it.on, on));
  if (at < 0) at = all.push({ on, text: "" }) - 1;
  if (!all[at].text.includes(text)) all[at].text = [all[at].text, text].filter((it) => it !== "").join("\n");
  store(shown.dataset, all);
  focused = null;
  showComments();
  const field = shown.querySelector(`#comment-${at}`);
  field.focus({ preventScroll: true });
  field.scrollIntoView({ block: "nearest" });
}

/** Begins a comment on the focused part: on the first changed line of a hunk, on an instance, or on the whole. */
export function commentHere(stop) {
  const line = stop?.querySelector(".lines ins[data-n]") ?? stop?.querySelector(".lines del[data-n]");
  const row = stop?.matches("tbody[data-path]") ? stop.querySelector("tr.who") : null;
  beginComment(line || row ? subjectOf(line ?? row) : { kind: "proposal" });
}

function change(field, run) {
  const shown = article();
  if (!shown) return;
  const all = drafts(shown.dataset);
  run(all, Number(field.closest(".draft").dataset.at));
  store(shown.dataset, all);
  count(shown);
}

function drop(field) {
  change(field, (all, at) => all.splice(at, 1));
  focused = null;
  showComments();
  document.querySelector("#one")?.focus({ preventScroll: true });
}

/** Remembers where the cursor is. */
function remember({ target }) {
  if (!target.matches?.(".draft textarea")) return;
  const { selectionStart: start, selectionEnd: end } = target;
  focused = { of: article()?.dataset.of, at: Number(target.closest(".draft").dataset.at), start, end };
}

addEventListener("input", (event) => {
  if (!event.target.matches?.(".draft textarea")) return;
  change(event.target, (all, at) => (all[at].text = event.target.value));
  remember(event);
});
for (const name of ["focusin", "keyup", "pointerup"]) addEventListener(name, remember);
addEventListener("focusout", ({ target }) => {
  // The focus of an element that is removed may be restored.
  if (target.matches?.(".draft textarea")) setTimeout(() => target.isConnected && target !== document.activeElement && (focused = null));
});
addEventListener("keydown", (event) => {
  const { target } = event;
  if (!target.matches?.(".draft textarea")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    article()?.querySelector("[data-act=request-changes]:not([hidden])")?.click();
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (target.value.trim() === "") drop(target);
    else document.querySelector("#one").focus({ preventScroll: true });
  } else if (event.altKey && /^Arrow(Up|Down)$/.test(event.key)) {
    event.preventDefault();
    move(target, event.key === "ArrowUp" ? -1 : 1);
  }
});

/** Moves a comment to the next line above or below. */
function move(field, by) {
  const shown = article();
  const at = Number(field.closest(".draft").dataset.at);
  const draft = drafts(shown.dataset)[at];
  const line = draft.on.kind === "line" ? elementOf(shown, draft.on) : null;
  if (!line) return;
  const lines = [...line.closest(".script").querySelectorAll(LINE)];
  const next = lines[lines.indexOf(line) + by];
  if (!next) return;
  change(field, (all) => (all[at].on = subjectOf(next)));
  showComments();
  shown.querySelector(`#comment-${at}`)?.focus({ preventScroll: true });
}

/** The button that begins a comment on the line or row that the pointer is on. */
const here = elements(`<button class="comment-here" type="button" data-act="comment-here" tabindex="-1" aria-label="Comment" title="Comment"></button>`)
  .firstElementChild;

addEventListener("pointerover", ({ target }) => {
  const on = target.closest?.(`${LINE}, ${ROW}`);
  if (!on || !article()?.contains(on)) return here.remove();
  const box = on.localName === "tr" ? on.querySelector("th") : on;
  if (here.parentElement !== box) box.append(here);
});

act("comment-here", (button) => beginComment(subjectOf(button.closest(`${LINE}, ${ROW}`))));
act("drop-comment", (button) => drop(button));
