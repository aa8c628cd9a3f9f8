// The estimate of a request while it is typed: one line below the text.

import { call } from "./daemon.js";

/** How long to wait after the last key, in ms. */
const PAUSE = 350;
/** A longer text is estimated when it is sent. */
const LONGEST = 20_000;

const line = () => document.getElementById("estimate");

let planned = null;
/** Cancels the estimate that is being made. */
let current = null;

/** Estimates the request in the form, a moment after the last change. */
export function later() {
  clearTimeout(planned);
  current?.abort();
  planned = setTimeout(refresh, PAUSE);
}

async function refresh() {
  const form = document.querySelector("form.composer");
  const field = form?.elements.session;
  const option = field?.selectedOptions?.[0] ?? field;
  const text = form?.elements.text.value.trim() ?? "";
  if (!line()) return;
  if (!option || text === "" || text.length > LONGEST) return show(null);
  current = new AbortController();
  const { signal } = current;
  const body = { session: option.value, epoch: Number(option.dataset.epoch), text, interaction: form.elements.interaction.value, workers: form.elements.workers?.checked ?? false };
  try {
    const estimate = await call("POST", `/api/sessions/${encodeURIComponent(option.value)}/estimate`, body, signal);
    if (!signal.aborted) show(estimate);
  } catch {
    // Whatever is wrong is said when the request is sent.
    if (!signal.aborted) show(null);
  }
}

function show(estimate) {
  const shown = line();
  if (!shown) return;
  shown.textContent = estimate?.line ?? "";
  shown.title = [...(estimate?.reasons ?? []), ...(estimate?.assumptions ?? []).map((it) => `Assumes: ${it}`)].join("\n");
  shown.classList.toggle("costly", estimate?.needs_confirmation ?? false);
}

addEventListener("input", ({ target }) => target.closest?.("form.composer") && later());
