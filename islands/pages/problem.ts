// The page of a problem: editor, autosave, runs on one's own input, and submitting.
import { type Content, DRAFTS, Draft } from "../draft.ts";
import type { Editor } from "../editor.ts";
import { languages } from "../languages.ts";
import { follow, type RunView, start, stop } from "../run.ts";
import { PENDING, Submitter } from "../submit.ts";
import type { TerminalView } from "../terminal.ts";
import { text } from "../texts.ts";

const MAX_SHOWN = 200_000;
const YEAR_S = 365 * 24 * 3600;

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const form = element<HTMLFormElement>("solution");
const field = element<HTMLTextAreaElement>("source");
const chosen = form.elements.namedItem("language") as HTMLSelectElement;
const problem = form.dataset.problem ?? "";
const owner = `${document.body.dataset.account}.${problem}`;
let editor: Editor | undefined;
let terminal: TerminalView | undefined;
let running: string | undefined;

function content(): Content {
  return { source: field.value, language: chosen.value };
}

// --- what was typed ---

const draft = new Draft(
  problem,
  `${DRAFTS}${owner}`,
  {
    ...content(),
    session: form.dataset.session ?? null,
    version: form.dataset.version ? Number(form.dataset.version) : null,
  },
  (state) => {
    element("saved").textContent = state;
  },
  (isShown) => {
    element("conflict").hidden = !isShown;
  },
);

function use(wanted: Content): void {
  chosen.value = wanted.language;
  setSource(wanted.source);
  editor?.useLanguage(wanted.language);
}

function setSource(source: string): void {
  field.value = source;
  if (editor) editor.source = source;
}

async function openEditor(): Promise<void> {
  const loaded = await import("../editor.ts");
  editor = new loaded.Editor(field, runOnInput, submit);
  await editor.useLanguage(chosen.value);
}

// --- templates and files ---

let changes = 0;

/** Tells assistive technology that the program may still be replaced by a template. */
async function busy(change: Promise<unknown>): Promise<void> {
  changes += 1;
  form.ariaBusy = "true";
  await change.catch(() => undefined);
  changes -= 1;
  form.ariaBusy = String(changes > 0);
}

/** A program that was not changed since it was a template is replaced by another template. */
async function useTemplate(isAsked: boolean): Promise<void> {
  const all = await languages();
  const isTemplate = all.some((each) => each.template.trim() === field.value.trim());
  const template = all.find((each) => each.id === chosen.value)?.template;
  if (template === undefined) return;
  if (isAsked || isTemplate || field.value.trim() === "") {
    setSource(template);
    if (isAsked) draft.change(content());
  }
}

async function openFile(file: File | undefined): Promise<void> {
  if (!file) return;
  setSource(await file.text());
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1);
  const fitting = (await languages()).filter((each) => each.extensions.includes(ending));
  const offered = fitting.filter((each) => chosen.querySelector(`[value="${each.id}"]`));
  if (offered[0] && !offered.some((each) => each.id === chosen.value)) {
    chosen.value = offered[0].id;
    await editor?.useLanguage(chosen.value);
  }
  draft.change(content());
}

// --- running ---

const shown = element("output").querySelector("pre") as HTMLPreElement;
const view: RunView = {
  show: (state) => {
    element("run-state").textContent = state;
  },
  write: (chunk, isError) => {
    if ((shown.textContent?.length ?? 0) > MAX_SHOWN) return;
    const part = document.createElement("span");
    part.className = isError ? "stderr" : "";
    part.textContent = chunk;
    shown.append(part);
  },
  clear: () => shown.replaceChildren(),
  mark: (messages) => editor?.mark(messages),
};

/** `expected` is the output of the sample on which the program runs. */
async function run(inTerminal: boolean, expected?: string): Promise<void> {
  if (running !== undefined) return;
  element("output").hidden = inTerminal;
  element("expected").hidden = expected === undefined;
  (element("expected").querySelector("pre") as HTMLPreElement).textContent = expected ?? "";
  element("terminal").hidden = !inTerminal;
  element("stop").hidden = false;
  element(inTerminal ? "terminal" : "output").scrollIntoView({ block: "nearest" });
  view.clear();
  view.show(text("Sending…"));
  try {
    if (inTerminal && !terminal) {
      const { TerminalView } = await import("../terminal.ts");
      terminal = new TerminalView(element("terminal"));
    }
    const stdin = element<HTMLTextAreaElement>("stdin").value;
    const size = terminal?.size ?? {};
    running = await start(content(), inTerminal ? { io: "terminal", ...size } : { stdin });
    if (inTerminal) await terminal?.follow(running, view);
    else {
      await follow(running, view);
      if (expected !== undefined) compareWithSample(expected);
      if (shown.textContent === "") showNothing();
    }
  } catch (fault) {
    view.show((fault as Error).message);
  } finally {
    running = undefined;
    element("stop").hidden = true;
  }
}

/** Only a hint: the checker of the problem may allow other output, too. */
function compareWithSample(expected: string): void {
  const written = [...shown.querySelectorAll("span:not(.stderr)")];
  const words = (output: string): string => output.trim().split(/\s+/).join(" ");
  const isSame = words(written.map((each) => each.textContent).join("")) === words(expected);
  const told = isSame
    ? text("The output is that of the sample")
    : text("The output differs from the sample");
  element("run-state").append(` · ${told}`);
}

function showNothing(): void {
  view.write(text("no output"), false);
  (shown.firstElementChild as HTMLElement).className = "nothing";
}

function runOnInput(): void {
  run(false);
}

// --- submitting ---

const submitter = new Submitter(
  problem,
  `${PENDING}${owner}`,
  (state) => {
    element<HTMLButtonElement>("submit").disabled = state !== "";
    element("sending").textContent = state;
  },
  (fault) => {
    const place = element("fault");
    place.replaceChildren();
    if (!fault) return;
    const shownFault = document.createElement("p");
    shownFault.className = "fault";
    shownFault.role = "alert";
    shownFault.textContent = fault;
    place.append(shownFault);
  },
);

function submit(): void {
  if (field.value.trim() !== "") submitter.submit(content());
}

// --- events ---

field.addEventListener("input", () => draft.change(content()));
chosen.addEventListener("change", async () => {
  document.cookie = `deemster_solves_in=${chosen.value}; path=/; max-age=${YEAR_S}; samesite=lax`;
  element<HTMLAnchorElement>("language-help")?.setAttribute(
    "href",
    `/languages#${chosen.value}`,
  );
  const marked = Promise.resolve(editor?.useLanguage(chosen.value));
  await busy(marked.then(() => useTemplate(false)));
  draft.change(content());
});
form.noValidate = true;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
element("run-input").addEventListener("click", runOnInput);
element("run-terminal").addEventListener("click", () => run(true));
element("stop").addEventListener("click", () => {
  if (running !== undefined) stop(running).catch((fault) => view.show(fault.message));
});
element("keep-mine").addEventListener("click", () => draft.keepMine());
element("take-other").addEventListener("click", async () => use(await draft.takeOther()));
element("use-template").addEventListener("click", () => useTemplate(true));
element("open-file").addEventListener("change", (event) => {
  openFile((event.target as HTMLInputElement).files?.[0]);
});
for (const button of document.querySelectorAll<HTMLElement>("[data-sample]")) {
  button.addEventListener("click", () => {
    const sample = (name: string): string =>
      document.querySelectorAll(`[data-sample-${name}]`)[Number(button.dataset.sample)]
        ?.textContent ?? "";
    if (running === undefined) element<HTMLTextAreaElement>("stdin").value = sample("input");
    run(false, sample("output"));
  });
}
form.addEventListener("dragover", (event) => event.preventDefault());
form.addEventListener(
  "drop",
  (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    event.stopPropagation();
    openFile(event.dataTransfer.files[0]);
  },
  { capture: true },
);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented)
    return;
  event.preventDefault();
  if (event.shiftKey) submit();
  else runOnInput();
});

for (const hidden of form.querySelectorAll<HTMLElement>(".tools [hidden]"))
  hidden.hidden = false;
element("run").hidden = false;
const formulas = [...document.querySelectorAll<HTMLElement>("code.tex")];
if (formulas.length > 0)
  import("../formulas.ts").then(({ showFormulas }) => showFormulas(formulas));
const restored = draft.restore();
if (restored) use(restored);
submitter.resume();
busy(openEditor().then(() => useTemplate(false)));
