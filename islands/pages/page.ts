// On every page: partial updates by htmx, copy buttons, and the list of keyboard shortcuts.
import htmx from "htmx.org";
import { addCopyButtons } from "../copy.ts";
import { csrfToken } from "../server.ts";

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = (event as CustomEvent).detail;
  ctx.request.headers["X-CSRF-Token"] = csrfToken();
});
document.addEventListener("keydown", (event) => {
  const isTyping = (event.target as HTMLElement).closest(
    "input, textarea, select, [contenteditable]",
  );
  const shortcuts = document.getElementById("shortcuts") as HTMLDialogElement | null;
  if (event.key === "?" && !isTyping && !shortcuts?.open) shortcuts?.showModal();
});
addCopyButtons(document);
document.addEventListener("htmx:after:swap", () => addCopyButtons(document));

export { htmx };
