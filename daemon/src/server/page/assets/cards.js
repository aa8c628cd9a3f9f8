// Cards of proposals: loaded when they become visible, and again when their proposals change.

import { part } from "./daemon.js";
import { approve, reject } from "./decide.js";
import { forgetAllDrafts, isWithoutDrafts } from "./drafts.js";
import { leftOut } from "./left.js";
import { act, failed, onShown, swap } from "./ui.js";

const AHEAD = "400px";

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      fill(target).catch(failed);
    }
  },
  { rootMargin: AHEAD },
);

onShown((root) => {
  const own = root.matches("[data-proposal]:not([data-shown])") ? [root] : [];
  for (const card of [...own, ...root.querySelectorAll("[data-proposal]:not([data-shown])")]) seen.observe(card);
});

/** The latest request of each card that is still loading. Answers to older requests are dropped. */
const requests = new Map();
let requested = 0;

async function fill(card) {
  card.dataset.shown = "";
  const own = ++requested;
  requests.set(card, own);
  const isNewest = () => requests.get(card) === own;
  try {
    const html = await part("card", { of: card.dataset.proposal });
    if (isNewest()) show(card, html);
  } finally {
    if (isNewest()) requests.delete(card);
  }
}

function show(card, html) {
  const box = card.closest(".scroll");
  const isAtEnd = box && box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  swap(card, html);
  card.dataset.status = card.querySelector(".state").dataset.state;
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

/** Updates all cards of a proposal and of the proposal that it replaces. */
export function told({ proposal, from, is_refusal }) {
  // The refusal of its call is part of a withdrawn card's reason. A card that is being loaded may
  // have only the first part.
  const shown = is_refusal ? document.querySelectorAll("[data-proposal][data-shown]") : [];
  for (const card of shown) {
    if (card.dataset.status === "withdrawn" || requests.has(card)) fill(card).catch(failed);
  }
  for (const it of [proposal, from]) {
    if (it === undefined) continue;
    for (const card of document.querySelectorAll(`[data-proposal="${it}"][data-shown]`)) fill(card).catch(failed);
  }
}

act("decide", async (button) => {
  const bar = button.closest("[data-patch]");
  try {
    const data = { ...bar.dataset };
    const isApproval = button.dataset.say === "approve";
    const parts = isApproval ? leftOut(data.seq).size : 0;
    if (!(await isWithoutDrafts(data, isApproval ? "Approve" : "Reject", parts))) return;
    const decided = await (isApproval ? approve(data, button.dataset.rule) : reject(data));
    if (decided !== null) forgetAllDrafts(data);
  } finally {
    told({ proposal: bar.dataset.seq });
  }
});
