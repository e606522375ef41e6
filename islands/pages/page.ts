// On every page: partial updates by htmx, copy buttons, and the list of keyboard shortcuts.
import htmx from "htmx.org";
import { addCopyButtons } from "../copy.ts";
import { followFilters } from "../filters.ts";
import { saveBeforeLogOut } from "../log_out.ts";
import { csrfToken } from "../server.ts";

const YEAR_S = 365 * 24 * 3600;

// An update must not close a question that is being answered, nor remove what a script drew.
htmx.config.morphSkip = "details[open], [hx-morph-skip]";
document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = (event as CustomEvent).detail;
  ctx.request.headers["X-CSRF-Token"] = csrfToken();
});
document.addEventListener("keydown", (event) => {
  const isTyping = (event.target as HTMLElement).closest(
    "input, textarea, select, [contenteditable]",
  );
  const shortcuts = document.getElementById("shortcuts") as HTMLDialogElement | null;
  if (isTyping || shortcuts?.open) return;
  if (event.key === "?") shortcuts?.showModal();
  const search = document.querySelector<HTMLElement>("input[type=search]");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  }
});
if (document.body.dataset.tellTimeZone !== undefined) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  document.cookie = `deemster_time_zone=${timeZone}; path=/; max-age=${YEAR_S}; samesite=lax`;
}
followFilters();
saveBeforeLogOut();
addCopyButtons(document);
document.addEventListener("htmx:after:swap", () => addCopyButtons(document));

export { htmx };
