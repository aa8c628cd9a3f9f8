// The parts of proposals that the user left out: kept across reloads, and carried over to replanned
// proposals.

const LEFT = "vector-left";
/** Of how many proposals it is kept. */
const KEPT = 10;

/** By proposal, the parts that are left out: by name, the mark of each; and the marks of all its parts. */
const left = new Map(stored().map(([of, { out, all }]) => [of, { out: new Map(out), all }]));

function stored() {
  return JSON.parse(sessionStorage.getItem(LEFT) ?? "[]");
}

function keep() {
  const last = [...left].slice(-KEPT).map(([of, { out, all }]) => [of, { out: [...out], all }]);
  sessionStorage.setItem(LEFT, JSON.stringify(last));
}

/** The words of what an element's data list. */
export const words = (text) => text.split(" ").filter(Boolean);

/** The parts of a proposal that are left out, by name. */
export const leftOut = (of) => left.get(of)?.out ?? new Map();

/** Leaves out a part of a proposal, or takes it. */
export function leave({ of, parts, marks }, name, isTaken) {
  const [out, all] = [leftOut(of), words(marks)];
  if (isTaken) out.delete(name);
  else out.set(name, all[words(parts).indexOf(name)]);
  left.set(of, { out, all });
  keep();
}

/** Knows nothing any more of what was left out of a proposal. */
export function forget(of) {
  if (left.delete(of)) keep();
}

/** What a part is about, whatever it does to that. */
const about = (mark) => mark.split(".")[0];

/** Leaves out of what was planned again what was left out before. Whether all of that was found. */
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
