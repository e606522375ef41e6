// Two texts side by side in CodeMirror, with their differences; loaded only when there are some.

import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { look } from "./look.ts";

/** Texts with more differences are compared line by line, so that the page stays responsive. */
const SCAN_LIMIT = 2000;

export interface Titled {
  title: string;
  content: string;
}

export function compare(place: HTMLElement, left: Titled, right: Titled): void {
  const shared = [
    lineNumbers(),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.lineWrapping,
    ...look(),
  ];
  const side = ({ title, content }: Titled) => ({
    doc: content,
    extensions: [
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": title }),
      ...shared,
    ],
  });
  new MergeView({
    a: side(left),
    b: side(right),
    parent: place,
    collapseUnchanged: { margin: 3, minSize: 8 },
    diffConfig: { scanLimit: SCAN_LIMIT },
  });
}
