// Access to the daemon: calls with the user's token, and the stream of events.

const KEY = "vector-token";
const NAME = "vector-page";

let token = localStorage.getItem(KEY);

/** What the daemon said instead of an answer: `kind` as the API has it, or `away` where nobody answered. */
export class Failure extends Error {
  constructor(kind, message, hint) {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

const away = () =>
  new Failure("away", "Vector does not answer.", "Start it with `vector serve`; this page finds it again by itself.");

export const isIn = () => token !== null;

/** What this page is called among those that are let in. */
export const name = () => localStorage.getItem(NAME);

/** Forgets the token: it opens nothing any more. */
export function leave() {
  // Another tab may have received a new token since.
  const isKept = localStorage.getItem(KEY) === token;
  token = null;
  if (!isKept) return;
  localStorage.removeItem(KEY);
  localStorage.removeItem(NAME);
}

/** Lets this page in by a code: that of its link, or the six digits. */
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

/** Calls a route; its answer as JSON. */
export async function call(method, path, body) {
  const answer = await ask(method, path, method === "GET" ? undefined : (body ?? {}));
  return answer.json();
}

/** A part of the page as HTML. */
export async function part(name, behind = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(behind).filter(([, value]) => value !== undefined && value !== ""));
  const path = query.size === 0 ? `/page/${name}` : `/page/${name}?${query}`;
  return (await ask("GET", path, undefined, signal)).text();
}

/** A file or a picture. */
export const blob = async (path, signal) => (await ask("GET", path, undefined, signal)).blob();

/**
 * What happens behind a cursor, as `[cursor, told]`, for as long as the connection holds; `[null, "places"]` and
 * `[null, "settings"]` say that these are others now.
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
