// The editor of programs, over the plain text field; loaded only on pages where people write.
import { indentWithTab } from "@codemirror/commands";
import { indentUnit, StreamLanguage, type StreamParser } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { Compartment, type Extension, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { basicSetup } from "codemirror";
import type { LanguageServerLink } from "./language_server.ts";
import { languages } from "./languages.ts";
import { look } from "./look.ts";
import { text } from "./texts.ts";

type Mode = () => Promise<Extension>;

async function legacy(parser: Promise<StreamParser<unknown>>): Promise<Extension> {
  return StreamLanguage.define(await parser);
}

const cpp: Mode = async () => (await import("@codemirror/lang-cpp")).cpp();
const python: Mode = async () => (await import("@codemirror/lang-python")).python();
const clike = () => import("@codemirror/legacy-modes/mode/clike");

const MODES: Record<string, Mode> = {
  bash: () => legacy(import("@codemirror/legacy-modes/mode/shell").then((all) => all.shell)),
  c: cpp,
  cpp,
  cpp17: cpp,
  cpp23: cpp,
  csharp: () => legacy(clike().then((all) => all.csharp)),
  d: () => legacy(import("@codemirror/legacy-modes/mode/d").then((all) => all.d)),
  fortran: () =>
    legacy(import("@codemirror/legacy-modes/mode/fortran").then((all) => all.fortran)),
  go: async () => [(await import("@codemirror/lang-go")).go(), indentUnit.of("\t")],
  haskell: () =>
    legacy(import("@codemirror/legacy-modes/mode/haskell").then((all) => all.haskell)),
  java: async () => (await import("@codemirror/lang-java")).java(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript(),
  kotlin: () => legacy(clike().then((all) => all.kotlin)),
  lisp: () =>
    legacy(import("@codemirror/legacy-modes/mode/commonlisp").then((all) => all.commonLisp)),
  lua: () => legacy(import("@codemirror/legacy-modes/mode/lua").then((all) => all.lua)),
  objectivec: () => legacy(clike().then((all) => all.objectiveC)),
  ocaml: () => legacy(import("@codemirror/legacy-modes/mode/mllike").then((all) => all.oCaml)),
  pascal: () =>
    legacy(import("@codemirror/legacy-modes/mode/pascal").then((all) => all.pascal)),
  perl: () => legacy(import("@codemirror/legacy-modes/mode/perl").then((all) => all.perl)),
  pypy3: python,
  python3: python,
  r: () => legacy(import("@codemirror/legacy-modes/mode/r").then((all) => all.r)),
  ruby: () => legacy(import("@codemirror/legacy-modes/mode/ruby").then((all) => all.ruby)),
  rust: async () => (await import("@codemirror/lang-rust")).rust(),
  scala: () => legacy(clike().then((all) => all.scala)),
  sql: () => legacy(import("@codemirror/legacy-modes/mode/sql").then((all) => all.sqlite)),
  tcl: () => legacy(import("@codemirror/legacy-modes/mode/tcl").then((all) => all.tcl)),
  typescript: async () =>
    (await import("@codemirror/lang-javascript")).javascript({ typescript: true }),
};

export interface Message {
  line: number;
  text: string;
}

export class Editor {
  private readonly mode = new Compartment();
  private readonly server = new Compartment();
  private link: LanguageServerLink | undefined;
  private readonly view: EditorView;
  /** Only what people type counts as a change. */
  private isReplacing = false;

  constructor(field: HTMLTextAreaElement, onRun: () => void, onSubmit: () => void) {
    const handled = (action: () => void) => () => {
      action();
      return true;
    };
    const keys = [
      { key: "Mod-Enter", run: handled(onRun) },
      { key: "Shift-Mod-Enter", run: handled(onSubmit) },
      indentWithTab,
    ];
    this.view = new EditorView({
      doc: field.value,
      extensions: [
        Prec.high(keymap.of(keys)),
        basicSetup,
        indentUnit.of("    "),
        this.mode.of([]),
        this.server.of([]),
        look(),
        EditorView.contentAttributes.of({
          "aria-label": text("Your solution"),
          "aria-description": text("Escape, then Tab leaves the editor"),
        }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || this.isReplacing) return;
          field.value = update.state.doc.toString();
          field.dispatchEvent(new Event("input"));
        }),
      ],
    });
    field.hidden = true;
    field.after(this.view.dom);
  }

  set source(source: string) {
    if (source === this.view.state.doc.toString()) return;
    this.isReplacing = true;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: source },
    });
    this.isReplacing = false;
  }

  async useLanguage(language: string): Promise<void> {
    const mode = (await MODES[language]?.()) ?? [];
    this.view.dispatch({ effects: this.mode.reconfigure(mode) });
    this.useServer(language).catch(() => undefined); // the editor works without one
  }

  /** What talks to language servers is loaded only if the judge runs them. */
  private async useServer(language: string): Promise<void> {
    const all = await languages();
    const served = all.find((each) => each.id === language)?.language_server ?? null;
    if (!served && !this.link) return;
    const { LanguageServerLink } = await import("./language_server.ts");
    this.link ??= new LanguageServerLink(this.view, this.server);
    this.link.use(language, served);
  }

  /** Marks the lines that messages of a compiler are about; an empty list removes the marks. */
  mark(messages: Message[]): void {
    const { doc } = this.view.state;
    const marks: Diagnostic[] = messages
      .filter((each) => each.line >= 1 && each.line <= doc.lines)
      .map((each) => {
        const { from, to } = doc.line(each.line);
        return { from, to, severity: "error", message: each.text };
      });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  focus(): void {
    this.view.focus();
  }
}
