// The page of current work: the places and tasks, one conversation, and the composer.

import * as attached from "./attached.js";
import * as cards from "./cards.js";
import { Failure, call, part } from "./daemon.js";
import * as estimate from "./estimate.js";
import * as mentions from "./mentions.js";
import { act, elements, failed, put, question, released, soon, swap, tell, toast } from "./ui.js";

let root = null;
let task = null;
/** The conversation that was shown most recently. */
let last = null;
/** The conversation that is being loaded, with the events that arrived meanwhile and which it may lack. */
let loading = null;

const FRAME = `<div class="now"><details class="side" id="side"><summary>Places and tasks</summary>
  <aside class="rail" id="rail" aria-label="Places and tasks"></aside></details>
  <section class="middle" aria-label="Conversation"><div class="scroll" id="scroll" tabindex="0"></div><div id="composer"></div></section></div>`;

/** Whether there is no room for the list beside the conversation, so that it becomes a menu. */
const narrow = matchMedia("(max-width: 760px)");
const fold = () => root?.querySelector("#side") && (root.querySelector("#side").open = !narrow.matches || task === null);
narrow.addEventListener("change", fold);

export async function show(main, [wanted, place]) {
  if (!root?.isConnected) {
    main.replaceChildren(elements(FRAME));
    root = main.firstElementChild;
    task = null;
    await Promise.all([rail(), composer()]);
    if (!root) return;
  }
  const tasks = [...root.querySelectorAll("#rail [data-task]")].map((it) => Number(it.dataset.task));
  if (wanted === "at") return at(place);
  const newest = tasks.length > 0 ? String(Math.max(...tasks)) : null;
  const next = wanted ?? last ?? newest;
  // The address names the shown task, also after a reload.
  if (wanted === undefined && next !== null) window.history.replaceState(null, "", `#/now/${next}`);
  // Another conversation may still be loading.
  if (next !== null && next !== (loading?.of ?? task)) await talk(next);
  else if (next === null) nothing();
  mark();
  fold();
}

/** Shows a place that was just opened: its newest conversation, with the composer set to the place. */
async function at(place) {
  const own = [...root.querySelectorAll("#rail section")].find((it) => it.dataset.session === place);
  const newest = own?.querySelector("[data-task]")?.dataset.task;
  window.history.replaceState(null, "", newest ? `#/now/${newest}` : "#/now");
  if (newest) await talk(newest);
  else nothing();
  const choice = root?.querySelector("#composer select[name=session]");
  if (choice) chooseFrom(choice, place);
  mark();
}

/** Selects a place, if it is open. */
function chooseFrom(choice, place) {
  if ([...choice.options].some((it) => it.value === place)) choice.value = place;
}

export function hide() {
  root = null;
  task = null;
  loading = null;
}

export async function again() {
  await Promise.all([rail(), composer()]);
  if (root && task !== null) await talk(task);
}

const scroll = () => root.querySelector("#scroll");

function nothing() {
  scroll().replaceChildren(
    elements(`<div class="empty"><h1>No requests yet</h1>
      <p>What you ask for here, in Studio or through MCP appears here as it happens; you decide on each change.</p></div>`),
  );
}

let listed = "";

async function rail() {
  const html = await part("rail");
  const shown = root?.querySelector("#rail");
  if (shown) await released(shown);
  const box = root?.querySelector("#rail");
  if (!box || (html === listed && box.childElementCount > 0)) return;
  const path = () => box.querySelector("#open-path");
  const { value = "", selectionStart, selectionEnd } = path() ?? {};
  swap(box, html);
  path().value = value;
  if (document.activeElement === path()) path().setSelectionRange(selectionStart, selectionEnd);
  listed = html;
  elsewhere();
  mark();
}

const HIDDEN = "vector-hidden-until";

/** Filters the tasks of other places: hides dismissed ones and those that do not match the search. */
function elsewhere() {
  const box = root?.querySelector("#elsewhere");
  if (!box) return;
  const until = Number(localStorage.getItem(HIDDEN) ?? 0);
  const words = box.querySelector("#elsewhere-search").value.trim().toLowerCase();
  let count = 0;
  for (const link of box.querySelectorAll("[data-task]")) {
    const isShown = Number(link.dataset.task) > until && link.textContent.toLowerCase().includes(words);
    link.closest("li").hidden = !isShown;
    count += isShown ? 1 : 0;
  }
  box.hidden = count === 0 && words === "";
}

addEventListener("input", ({ target }) => target.id === "elsewhere-search" && elsewhere());
act("hide-elsewhere", async (button) => {
  const all = [...button.closest("#elsewhere").querySelectorAll("[data-task]")].map((it) => Number(it.dataset.task));
  localStorage.setItem(HIDDEN, String(Math.max(...all)));
  elsewhere();
});

let composed = "";

/** The maximum length of a request, in bytes; the daemon accepts a little more, for the rest of the call. */
const LONGEST = 800_000;
/** The maximum length of a request with its files; the daemon accepts 900,000 bytes. */
const MOST_BODY = 890_000;
const DRAFT = "vector-draft";
/** The user's draft, which survives a reload. */
const drafted = () => JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}");

addEventListener("input", ({ target }) => {
  const fields = target.closest?.("form.composer")?.elements;
  if (!fields) return;
  const draft = { text: fields.text.value, interaction: fields.interaction.value };
  // A longer text cannot be sent, and there may be no room for it.
  if (draft.text.length <= LONGEST) sessionStorage.setItem(DRAFT, JSON.stringify(draft));
});

async function composer() {
  const html = await part("composer");
  const box = root?.querySelector("#composer");
  // Recreating the form would move the user's cursor in the text.
  if (!box || (html === composed && box.childElementCount > 0)) return;
  composed = html;
  const chosen = [...(box.querySelector("form")?.elements ?? [])].filter((it) => it.name);
  swap(box, html);
  const fields = box.querySelector("form").elements;
  if (chosen.length === 0) {
    const { text = "", interaction = "act" } = drafted();
    [fields.text.value, fields.interaction.value] = [text, interaction];
  }
  for (const { name, value, checked } of chosen) {
    const field = fields[name];
    if (!field || field.type === "hidden") continue;
    if (field.type === "checkbox") field.checked = checked;
    else if (field.localName !== "select" || [...field.options].some((it) => it.value === value)) field.value = value;
  }
  estimate.later();
}

function mark() {
  for (const link of root?.querySelectorAll("#rail [data-task]") ?? []) {
    if (link.dataset.task === task) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

async function talk(wanted) {
  const own = { of: wanted, told: [] };
  loading = own;
  const html = await part("talk", { of: wanted }).catch((error) => {
    if (loading === own) loading = null;
    throw error;
  });
  // Another task may have been selected since.
  if (!root || loading !== own) return;
  loading = null;
  const isOther = wanted !== task;
  task = last = wanted;
  swap(scroll(), html);
  unfold();
  scroll().scrollTop = scroll().scrollHeight;
  watch();
  const session = scroll().firstElementChild.dataset.session;
  const choice = root.querySelector("#composer select[name=session]");
  // If the task is in another place, select that place.
  if (isOther && choice) chooseFrom(choice, session);
  mark();
  for (const [it, at] of own.told) told(it, at);
}

const railSoon = soon(() => root && rail());
const composerSoon = soon(() => root && composer());

/** Handles a change of the open places or the settings. */
export function changed(what) {
  if (what === "places") railSoon();
  // The caps that it shows may have changed.
  if (what === "settings") headSoon();
  composerSoon();
}

const headSoon = soon(async () => {
  const of = task;
  if (!root || of === null) return;
  const html = await part("head", { of });
  const head = root?.querySelector("#head");
  if (head && of === task) swap(head, html);
});

/** Follows a task that continues the conversation that is shown. */
async function onward(next) {
  const html = await part("head", { of: next });
  const tasks = elements(html).firstElementChild.dataset.tasks.split(" ");
  if (tasks.includes(task)) location.hash = `#/now/${next}`;
}

export function told(told, at) {
  if (!root) return;
  cards.told(told);
  loading?.told.push([told, at]);
  if (told.lasts) railSoon();
  const own = root.querySelector(".talk");
  if (!own) {
    if (told.begins) location.hash = `#/now/${told.task}`;
    return;
  }
  if (told.begins && told.begins === own.dataset.session) onward(told.task).catch(failed);
  if (at <= Number(own.dataset.cursor) || !own.dataset.tasks.split(" ").includes(String(told.task))) return;
  const box = scroll();
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  for (const change of told.changes) apply(own, change);
  unfold();
  if (told.lasts) headSoon();
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

// Earlier parts are loaded when their button becomes visible.
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) target.click();
});

function watch() {
  seen.disconnect();
  const button = root?.querySelector("#log > [data-act=earlier]");
  if (button) seen.observe(button);
}

act("earlier", async (button) => {
  const html = await part("earlier", { of: task, before: button.dataset.before });
  if (!button.isConnected) return;
  // Keep the visible part in its position.
  const first = button.nextElementSibling;
  const was = first.getBoundingClientRect().top;
  if (document.activeElement === button) scroll().focus();
  const fresh = [...elements(html).children];
  button.replaceWith(...fresh);
  scroll().scrollTop += first.getBoundingClientRect().top - was;
  fresh.forEach(tell);
  watch();
});

/** Expands the refusals of a failed task if nothing else shows the reason. */
function unfold() {
  for (const end of scroll().querySelectorAll(".end[data-state=failed]")) {
    const before = end.previousElementSibling;
    if (before?.matches("details.call[data-state=refused]")) before.open = true;
  }
}

const keyed = (own, key) => own.querySelector(`[data-key="${CSS.escape(key)}"]`);

function apply(own, change) {
  const log = own.querySelector("#log");
  const old = change.key === undefined ? null : keyed(log, change.key);
  if (change.op === "put") put(log, old, change.html);
  else if (change.op === "drop") old?.remove();
  else if (change.op === "more") more(old ?? coming(log, change.key), change.text);
  else if (change.op === "call" && old) called(old, change);
  else if (change.op === "waits") own.querySelector("#waits").textContent = change.text;
}

function coming(log, key) {
  const article = put(log, null, `<article class="item said coming"><p class="text"></p></article>`);
  article.dataset.key = key;
  return article;
}

function more(article, text) {
  const paragraph = article.querySelector(".text");
  if (paragraph.firstChild) paragraph.firstChild.appendData(text);
  else paragraph.append(text);
}

function called(details, { state, html }) {
  details.dataset.state = state;
  if (html) details.querySelector(".result").replaceChildren(elements(html));
}

/** Sends a request to the place and in the mode that are chosen now, with the files that are being read. */
async function ask(text, more = {}, files = []) {
  const form = root.querySelector("#composer form");
  const field = form.elements.session;
  const option = field?.selectedOptions?.[0] ?? field;
  if (!option) throw new Failure("not_found", "No place is open.", "Open a place in Studio, or a file on the left.");
  if (new Blob([text]).size > LONGEST) {
    throw new Failure("invalid", "The request is too long.", "Your text is still there: make it shorter.");
  }
  const body = {
    session: option.value,
    epoch: Number(option.dataset.epoch),
    text,
    interaction: form.elements.interaction.value,
    request: crypto.randomUUID(),
    ...more,
  };
  body.attached = await files;
  if (JSON.stringify(body).length > MOST_BODY) {
    throw new Failure("invalid", "The request is too long with its files.", "Your text is still there: make it shorter, or remove a file.");
  }
  const { workflow } = await call("POST", "/api/chat", body).catch(async (error) => {
    if (error.kind === "too_many") return confirmed(body, error);
    if (error.kind !== "stale") throw error;
    composed = "";
    await composer();
    throw new Failure("stale", "The place was reopened in the meantime.", "Send the request again: your text is still there.");
  });
  if (String(workflow) !== task) location.hash = `#/now/${workflow}`;
}

/** Asks whether to send a costly request, and sends it. */
async function confirmed(body, error) {
  const sure = await question({ title: "Send this request?", text: error.message, yes: "Send it", danger: true });
  if (sure === null) throw new Failure("settled", "Nothing was sent.", "Your text is still there: ask for less, or choose another model.");
  return call("POST", "/api/chat", { ...body, confirmed: true });
}

act("ask", async (form) => {
  const area = form.elements.text;
  const text = area.value.trim();
  if (!text) return;
  await ask(text, { begins: form.elements.begins.checked, workers: form.elements.workers.checked }, attached.attachments());
  attached.clear();
  // The form may have been recreated meanwhile, with the same text.
  const now = root?.querySelector("#composer form")?.elements;
  if (now?.text.value.trim() !== text) return;
  now.text.value = "";
  mentions.close();
  estimate.later();
  now.begins.checked = false;
  now.workers.checked = false;
  sessionStorage.removeItem(DRAFT);
});
act("answer", ({ dataset }) => ask(dataset.text, dataset.interaction ? { interaction: dataset.interaction } : {}));
act("permit", async ({ dataset }) => {
  const body = { call: Number(dataset.call), answer: dataset.answer };
  await call("POST", `/api/workflows/${dataset.task}/permission`, body);
  headSoon();
});
act("revoke-rule", async ({ dataset }) => {
  await call("POST", `/api/workflows/${dataset.task}/revoke`, { rule: Number(dataset.rule) });
  headSoon();
});
act("task", async (button) => {
  await call("POST", `/api/workflows/${button.dataset.task}/${button.dataset.verb}`);
  headSoon();
  railSoon();
});
act("open", async (form) => {
  const path = form.elements.path.value.trim();
  const body = /\.rbx[lm]x?$/i.test(path) ? { place: path } : { project: path };
  const { name } = await call("POST", "/api/open", body);
  toast(`${name} is open.`);
  // The form may have been recreated meanwhile.
  for (const field of root?.querySelectorAll("#open-path") ?? []) field.value = "";
  if (root) await again();
});

addEventListener("keydown", (event) => {
  const area = event.target;
  const isSent = event.key === "Enter" && !event.shiftKey && !event.isComposing && !event.defaultPrevented;
  if (area.id === "ask-text" && isSent) {
    event.preventDefault();
    area.form.requestSubmit();
  }
});
