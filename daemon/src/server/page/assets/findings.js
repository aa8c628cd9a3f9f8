// Findings of reviewers: shown beside what they are about, and taken over as comments.

import { beginComment, elementOf, putBeside } from "./comments.js";
import { call } from "./daemon.js";
import { act, toast } from "./ui.js";

const subject = (item) => JSON.parse(item.dataset.on);

/** Shows the findings of the newest review beside the lines and rows of the shown proposal. */
export function showFindings() {
  const shown = document.querySelector("#one .proposal");
  for (const old of document.querySelectorAll("#one :is(.beside, .beside-row, .beside + span[hidden])")) old.remove();
  const newest = shown?.querySelector(".reviews .model-review:last-of-type");
  for (const item of newest?.querySelectorAll(".finding") ?? []) {
    const element = elementOf(shown, subject(item));
    if (!element) continue;
    const copy = document.createElement("div");
    copy.className = "beside";
    copy.dataset.severity = item.dataset.severity;
    copy.dataset.on = item.dataset.on;
    copy.append(...[...item.children].map((it) => it.cloneNode(true)));
    putBeside(element, copy, "beside-row");
  }
}

/** What reviews would cost, by proposal, as it was told last. */
const quotes = new Map();

/** Shows beside the button what a review of the shown proposal would cost. */
export async function showQuote() {
  const place = () => document.querySelector("#one [data-quote]");
  const of = place()?.dataset.quote;
  if (of === undefined) return;
  place().textContent = quotes.get(of) ?? "";
  const { estimate, text } = await call("GET", `/api/proposals/${of}/review`);
  quotes.set(of, estimate ? text : "");
  if (place()?.dataset.quote === of) place().textContent = quotes.get(of);
}

act("review", async (button) => {
  await call("POST", `/api/proposals/${button.dataset.of}/review`, {});
  toast("A model reviews the proposal", "good", "What it finds appears here. You can decide before it is done.");
});

act("adopt-finding", (button) => {
  const item = button.closest("[data-on]");
  beginComment(subject(item), item.querySelector(".text").textContent);
});
