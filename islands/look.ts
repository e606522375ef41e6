// How editors look: the colours and fonts of the page's style sheet, in all its schemes.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { nonce } from "./server.ts";

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--sheet)", fontSize: "0.9rem" },
  ".cm-content": { fontFamily: "var(--mono)", lineHeight: "1.5", caretColor: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line-here)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selected)" },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--sheet)",
    color: "var(--ink)",
    borderColor: "var(--line)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--sheet)",
  },
  ".cm-matchingBracket": { outline: "1px solid var(--accent)", backgroundColor: "transparent" },
  ".cm-changedText": { background: "var(--changed) !important" },
  "&.cm-merge-b .cm-changedText": { background: "var(--added) !important" },
  ".cm-collapsedLines": {
    background: "var(--code)",
    color: "var(--soft)",
    backgroundImage: "none",
  },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--part)" },
  { tag: [tags.string, tags.character, tags.regexp], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--slow)" },
  { tag: [tags.comment, tags.meta], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--wait)" },
  { tag: [tags.function(tags.variableName), tags.macroName], color: "var(--accent)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export function look(): Extension[] {
  return [theme, syntaxHighlighting(highlighting), EditorView.cspNonce.of(nonce())];
}
