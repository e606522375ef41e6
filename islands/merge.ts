// Two texts side by side in CodeMirror, with their differences; loaded only when there are some.

import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { look } from "./look.ts";

/** Texts with more differences are compared line by line, so that the page stays responsive. */
const SCAN_LIMIT = 2000;

export function compare(place: HTMLElement, left: string, right: string): void {
  const extensions = [
    lineNumbers(),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ tabindex: "0" }),
    EditorView.lineWrapping,
    ...look(),
  ];
  new MergeView({
    a: { doc: left, extensions },
    b: { doc: right, extensions },
    parent: place,
    collapseUnchanged: { margin: 3, minSize: 8 },
    diffConfig: { scanLimit: SCAN_LIMIT },
  });
}
