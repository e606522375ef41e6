// Adds a button that copies a text to each element with data-copy.
import { text } from "./texts.ts";

const SHOWN_MS = 1500;

export function addCopyButtons(within: ParentNode): void {
  for (const shown of within.querySelectorAll<HTMLElement>(
    "[data-copy]:not([data-copy=done])",
  )) {
    shown.dataset.copy = "done";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = text("Copy");
    button.addEventListener("click", async () => {
      await copy(contentOf(shown));
      button.textContent = text("Copied");
      setTimeout(() => {
        button.textContent = text("Copy");
      }, SHOWN_MS);
    });
    shown.before(button);
  }
}

/** Without messages that stand between the lines. */
function contentOf(shown: HTMLElement): string {
  const content = shown.cloneNode(true) as HTMLElement;
  for (const mark of content.querySelectorAll(".mark")) mark.remove();
  return content.textContent ?? "";
}

async function copy(content: string): Promise<void> {
  // Browsers offer the clipboard only on secure pages; a judge in a class room may have no TLS.
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(content);
    return;
  }
  const field = document.createElement("textarea");
  field.value = content;
  field.className = "skip";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
