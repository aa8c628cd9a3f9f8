// The editor for scripts on the page: CodeMirror with Luau, findings of the daemon, and its names.
//
// It is bundled into ../assets/editor.js with `npm ci && npm run build`, because the page loads nothing from elsewhere.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, lintGutter, linter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

const words = (text) => new Set(text.split(" "));
const KEYWORDS = words("and break continue do else elseif end export for function if in local not or repeat return then type until while");
const CONSTANTS = words("true false nil");
const GLOBALS = words(
  "BrickColor CFrame Color3 ColorSequence ColorSequenceKeypoint DateTime Enum Font Instance NumberRange NumberSequence " +
    "NumberSequenceKeypoint OverlapParams PhysicalProperties Random Ray RaycastParams Rect Region3 TweenInfo UDim UDim2 Vector2 " +
    "Vector3 _G _VERSION assert bit32 buffer coroutine debug error game getmetatable ipairs math next os pairs pcall plugin print " +
    "rawequal rawget rawlen rawset require script select self setmetatable shared string table task tick time tonumber tostring " +
    "type typeof unpack utf8 vector warn workspace xpcall",
);

/** Reads the rest of a long string or comment, whose end has this many `=`. */
function readLong(stream, state) {
  const end = `]${"=".repeat(state.long.level)}]`;
  const { style } = state.long;
  if (stream.skipTo(end)) {
    stream.match(end);
    state.long = null;
  } else {
    stream.skipToEnd();
  }
  return style;
}

function readQuoted(stream, quote) {
  for (let next = stream.next(); next !== undefined && next !== quote; next = stream.next()) {
    if (next === "\\") stream.next();
  }
  return "string";
}

const luau = StreamLanguage.define({
  name: "luau",
  startState: () => ({ long: null, last: "" }),
  token(stream, state) {
    if (state.long) return readLong(stream, state);
    if (stream.eatSpace()) return null;
    const long = stream.match(/^(--)?\[(=*)\[/);
    if (long) {
      state.long = { level: long[2].length, style: long[1] ? "comment" : "string" };
      return readLong(stream, state);
    }
    if (stream.match("--")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^(0[xX][\da-fA-F_]+|0[bB][01_]+|(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)([eE][+-]?\d+)?)/)) return "number";
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (!word) {
      const next = stream.next();
      state.last = next;
      return /["'`]/.test(next) ? readQuoted(stream, next) : null;
    }
    const isMember = state.last === "." || state.last === ":";
    state.last = "";
    if (!isMember && KEYWORDS.has(word[0])) return "keyword";
    if (!isMember && CONSTANTS.has(word[0])) return "atom";
    if (!isMember && GLOBALS.has(word[0])) return "namespace";
    return stream.match(/^\s*["'({]/, false) ? "variableName.function" : null;
  },
  languageData: {
    commentTokens: { line: "--", block: { open: "--[[", close: "]]" } },
    closeBrackets: { brackets: ["(", "[", "{", "'", '"', "`"] },
  },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-k)" },
  { tag: tags.string, color: "var(--code-s)" },
  { tag: tags.comment, color: "var(--code-c)" },
  { tag: [tags.number, tags.atom], color: "var(--code-n)" },
  { tag: tags.namespace, color: "var(--code-g)" },
  { tag: tags.function(tags.variableName), color: "var(--code-f)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--raised)", fontSize: "12.5px", maxHeight: "70vh" },
  "&.cm-focused": { outline: "2px solid var(--main)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--dim)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--main) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--main) 28%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--main) 25%, transparent)", color: "inherit" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--warn) 25%, transparent)" },
  ".cm-panels, .cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "14em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--main)", color: "var(--on-main, white)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.8", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", fontSize: "13px" },
  // The page loads no images, as which CodeMirror has these.
  ".cm-lint-marker": { width: "9px", height: "9px", margin: "5px 2px", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: "''", backgroundColor: "var(--bad)" },
  ".cm-lint-marker-warning": { content: "''", backgroundColor: "var(--warn)", borderRadius: "1px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textDecorationSkipInk: "none" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)", textDecorationSkipInk: "none" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--sunken)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--line)",
  },
});

/** Converts a line and a column in characters, from 1, to a position in the document. */
function position(doc, line, column) {
  if (line > doc.lines) return doc.length;
  const { from, text } = doc.line(line);
  return from + [...text].slice(0, column - 1).join("").length;
}

function diagnostic(doc, { is_error: isError, line, column, end_line: endLine, end_column: endColumn, message, code }) {
  const from = position(doc, line, column);
  const to = Math.max(from, position(doc, endLine, endColumn));
  return { from, to, severity: isError ? "error" : "warning", message, source: code };
}

const TYPES = {
  keyword: "keyword",
  local: "variable",
  global: "namespace",
  class: "class",
  enum: "enum",
  enum_item: "constant",
  property: "property",
  method: "method",
  event: "interface",
};

/** Asks for the names that can follow. */
const names = (complete) => async (context) => {
  const { state, pos } = context;
  const { number, from: start, text } = state.doc.lineAt(pos);
  const before = text.slice(0, pos - start);
  const isWanted = context.explicit || /[\w.:"']$/.test(before);
  if (!isWanted) return null;
  const found = await complete({ text: state.doc.toString(), line: number, column: [...before].length + 1 });
  if (context.aborted || found === null || found.names.length === 0) return null;
  const options = found.names.map(({ name, kind, detail }) => ({ label: name, type: TYPES[kind], detail }));
  return { from: position(state.doc, number, found.from), options, validFor: /^\w*$/ };
};

/**
 * Opens an editor on a text in an element. `check` returns the findings in a text, and `complete` the names at a position
 * of it; both may return null. `changed` is called after each change, `save` for Ctrl+S, and `leave` for Escape.
 */
export function openEditor(host, { text, label, check, complete, changed, save, leave }) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const run = (work) => () => {
    work();
    return true;
  };
  const findings = async ({ state }) => {
    const found = await check(state.sliceDoc());
    return (found?.findings ?? []).map((it) => diagnostic(state.doc, it));
  };
  const tab = /^\t/m.test(text) || !/^ {2,}/m.test(text) ? "\t" : /^ {4}/m.test(text) ? "    " : "  ";
  const view = new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [
      // What the text has is kept: the daemon tells a script by each of its bytes.
      EditorState.lineSeparator.of(/\r\n/.test(text) && !/(^|[^\r])\n/.test(text) ? "\r\n" : "\n"),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
      EditorView.clipboardInputFilter.of((pasted, { lineBreak }) => pasted.replace(/\r\n?|\n/g, lineBreak)),
      EditorView.lineWrapping,
      EditorView.updateListener.of((update) => update.docChanged && changed(update.state.sliceDoc())),
      indentUnit.of(tab),
      EditorState.tabSize.of(4),
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      highlightSpecialChars(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      bracketMatching(),
      closeBrackets(),
      search({ top: true }),
      luau,
      syntaxHighlighting(colors),
      linter(findings, { delay: 300 }),
      autocompletion({ override: [names(complete)], icons: false }),
      keymap.of([
        { key: "Mod-s", run: run(save), preventDefault: true },
        { key: "Mod-Enter", run: run(save), preventDefault: true },
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...searchKeymap,
        ...lintKeymap,
        { key: "Escape", run: run(leave) },
        ...defaultKeymap,
        ...historyKeymap,
        indentWithTab,
      ]),
      theme,
    ],
  });
  // The page must not take keys that are typed here for its own.
  host.addEventListener("keydown", (event) => event.stopPropagation());
  forceLinting(view);
  return view;
}
