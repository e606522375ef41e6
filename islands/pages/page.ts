// On every page: partial updates by htmx, and copy buttons at texts that people copy.
import htmx from "htmx.org";
import { addCopyButtons } from "../copy.ts";
import { csrfToken } from "../server.ts";

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = (event as CustomEvent).detail;
  ctx.request.headers["X-CSRF-Token"] = csrfToken();
});
addCopyButtons(document);
document.addEventListener("htmx:after:swap", () => addCopyButtons(document));

export { htmx };
