// Shows formulas that the server could not convert, such as those with macros; loaded only if there are some.
import katex from "katex";

const MAX_CHARACTERS = 2_000;
const MAX_FORMULAS = 200;

/** A formula that KaTeX does not understand either stays as its TeX source. */
export function showFormulas(sources: HTMLElement[]): void {
  // A macro that one formula defines is known in the next ones.
  const macros = {};
  for (const source of sources.slice(0, MAX_FORMULAS)) {
    const tex = source.textContent ?? "";
    if (tex.length > MAX_CHARACTERS) continue;
    const shown = document.createElement("span");
    try {
      katex.render(tex, shown, {
        displayMode: source.dataset.display !== undefined,
        globalGroup: true,
        macros,
        output: "mathml",
      });
    } catch {
      continue;
    }
    source.replaceWith(shown);
  }
}
