// Access to the daemon: calls with the user's token, and the stream of events.

const KEY = "vector-token";
const NAME = "vector-page";

let token = localStorage.getItem(KEY);

/** An error from the daemon. `kind` is the API's error kind, or `away` if the daemon did not answer. */
export class Failure extends Error {
  constructor(kind, message, hint) {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

const away = () =>
  new Failure("away", "Vector does not answer.", "Start it with `vector serve`; this page then reconnects automatically.");

export const isIn = () => token !== null;

/** The name of this page in the list of granted access. */
export const name = () => localStorage.getItem(NAME);

/** Forgets the token, because it is no longer valid. */
export function leave() {
  // Another tab may have received a new token since.
  const isKept = localStorage.getItem(KEY) === token;
  token = null;
  if (!isKept) return;
  localStorage.removeItem(KEY);
  localStorage.removeItem(NAME);
}

/** Gets a token for a code: the one in the page's link, or the six digits. */
export async function enter(code) {
  const answer = await ask("POST", "/api/page", { code });
  const entered = await answer.json();
  token = entered.token;
  localStorage.setItem(KEY, token);
  localStorage.setItem(NAME, entered.name);
}

async function ask(method, path, body, signal) {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? undefined : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: sent, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw away();
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  if (said === null) throw new Failure("internal", `Vector answered ${answer.status}.`, "Reload the page.");
  throw new Failure(said.kind, said.message, said.hint);
}

/** Calls a route and returns its answer as JSON. */
export async function call(method, path, body, signal = undefined) {
  const answer = await ask(method, path, method === "GET" ? undefined : (body ?? {}), signal);
  return answer.json();
}

/** Fetches a part of the page as HTML. */
export async function part(name, behind = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(behind).filter(([, value]) => value !== undefined && value !== ""));
  const path = query.size === 0 ? `/page/${name}` : `/page/${name}?${query}`;
  return (await ask("GET", path, undefined, signal)).text();
}

/** Fetches a file or a picture. */
export const blob = async (path, signal) => (await ask("GET", path, undefined, signal)).blob();

/**
 * Yields the events after a cursor, as `[cursor, event]`, while the connection lasts; `[null, "places"]`,
 * `[null, "settings"]` and `[null, "verifies"]` report that these have changed.
 */
export async function* stream(cursor, opened, signal) {
  const at = cursor === null ? "" : `?cursor=${cursor}`;
  const answer = await ask("GET", `/page/stream${at}`, undefined, signal);
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    const all = [];
    for (const block of blocks) {
      const lines = block.split("\n");
      const said = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (said("event")) all.push([null, said("event")]);
      else if (said("id") && said("data")) all.push([said("id"), JSON.parse(said("data"))]);
    }
    if (all.length > 0) yield all;
  }
}
