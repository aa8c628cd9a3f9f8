// The parts of proposals that the user left out: kept across reloads, and carried over to replanned
// proposals.

const LEFT = "vector-left";
/** The maximum number of proposals that are remembered. */
const KEPT = 10;

/** For each proposal, the marks of the parts that are left out, by name, and the marks of all its parts. */
const left = new Map(stored().map(([of, { out, all }]) => [of, { out: new Map(out), all }]));

function stored() {
  return JSON.parse(sessionStorage.getItem(LEFT) ?? "[]");
}

function keep() {
  const last = [...left].slice(-KEPT).map(([of, { out, all }]) => [of, { out: [...out], all }]);
  sessionStorage.setItem(LEFT, JSON.stringify(last));
}

/** Splits a list in an element's data. */
export const words = (text) => text.split(" ").filter(Boolean);

/** Returns the parts of a proposal that are left out, by name. */
export const leftOut = (of) => left.get(of)?.out ?? new Map();

/** Leaves out a part of a proposal, or includes it again. */
export function leave({ of, parts, marks }, name, isTaken) {
  const [out, all] = [leftOut(of), words(marks)];
  if (isTaken) out.delete(name);
  // An instance of a command over many has no mark, so it is not found after the proposal was replanned.
  else out.set(name, all[words(parts).indexOf(name)] ?? name);
  left.set(of, { out, all });
  keep();
}

/** Forgets which parts of a proposal were left out. */
export function forget(of) {
  if (left.delete(of)) keep();
}

/** The subject of a part, without its change. */
const about = (mark) => mark.split(".")[0];

/** Carries over the parts that were left out to a replanned proposal. Returns whether all were found. */
export function carry({ of, parts, replaces, marks, status }) {
  // A daemon with another ledger has other proposals with these numbers.
  if (marks && left.has(of) && left.get(of).all.join(" ") !== marks) forget(of);
  const before = words(replaces).find((it) => left.has(it));
  const [names, now] = [words(parts), words(marks)];
  if (before === undefined || status !== "waiting" || now.length === 0) return true;
  const { out: lost, all } = left.get(before);
  const out = new Set(lost.values());
  const kept = new Set(now.filter((mark) => out.delete(mark)));
  // A part that now makes another change to something that was left out was not chosen by the user.
  const [subjects, known] = [new Set([...out].map(about)), new Set(all)];
  const isOut = (mark) => kept.has(mark) || (subjects.has(about(mark)) && !known.has(mark));
  left.delete(before);
  left.set(of, { out: new Map(now.map((mark, at) => [names[at], mark]).filter(([, mark]) => isOut(mark))), all: now });
  keep();
  return out.size === 0;
}
