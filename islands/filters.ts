// Keeps the filters of a list in the address while they change, without those that are empty.

const FORM = "form.filters";

function withoutEmpty(address: string): string {
  const url = new URL(address, location.href);
  const kept = [...url.searchParams].filter(([, value]) => value !== "");
  url.search = new URLSearchParams(kept).toString();
  return url.pathname + url.search;
}

export function followFilters(): void {
  document.addEventListener("htmx:before:request", (event) => {
    const { ctx } = (event as CustomEvent).detail;
    if (ctx.sourceElement.matches(FORM)) ctx.request.action = withoutEmpty(ctx.request.action);
  });
  document.addEventListener("htmx:after:request", (event) => {
    const { ctx } = (event as CustomEvent).detail;
    if (ctx.sourceElement.matches(FORM)) history.replaceState(null, "", ctx.request.action);
  });
}
