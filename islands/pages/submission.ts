// The page of a submission: follows its events until it has ended, and shows differences.
import htmx from "htmx.org";
import { type CaseSoFar, showCase } from "../cases.ts";
import { showDifferences } from "../differences.ts";

interface Progress {
  case: number;
  of: number;
  cases?: CaseSoFar[];
}

const ENDS = ["finished", "failed", "cancelled"];
const STATES = ["queued", "running", "analyzing", "ai_evaluating", ...ENDS];
/** Several past events arrive together when the connection is made: one refresh is enough. */
const TOGETHER_MS = 50;
/** No event tells that others left the queue. */
const POSITION_MS = 3000;

let shown = submission();
let waiting: ReturnType<typeof setTimeout> | undefined;

function submission(): HTMLElement | null {
  return document.getElementById("submission");
}

function refresh(): void {
  clearTimeout(waiting);
  waiting = setTimeout(() => htmx.trigger("#submission", "refresh"), TOGETHER_MS);
}

function showProgress({ case: judged, of, cases = [] }: Progress): void {
  const strip = submission()?.querySelector<HTMLElement>(".cases");
  const cells = [...(strip?.querySelectorAll<HTMLElement>(".case") ?? [])];
  if (cells.length !== of) return refresh();
  if (cases.length === 0 && !strip?.querySelector(".name")) {
    cells.forEach((cell, index) => {
      cell.classList.toggle("judged", index < judged);
    });
  }
  const looks = JSON.parse(strip?.dataset.looks ?? "{}");
  for (const each of cases) showCase(cells[each.number - 1], each, looks[each.verdict]);
}

function follow(id: string): void {
  const events = new EventSource(`/v1/submissions/${id}/events`);
  events.addEventListener("progress", (event) => {
    showProgress(JSON.parse(event.data));
  });
  for (const state of STATES) {
    events.addEventListener(`submission.${state}`, () => {
      refresh();
      if (ENDS.includes(state)) events.close();
    });
  }
  const polling = setInterval(() => {
    if (submission()?.dataset.status === "queued") refresh();
    if (events.readyState === EventSource.CLOSED) clearInterval(polling);
  }, POSITION_MS);
}

document.addEventListener("htmx:after:swap", () => {
  shown = submission();
  if (shown) showDifferences(shown);
});
if (shown) {
  showDifferences(shown);
  if (shown.dataset.goingOn !== undefined) follow(shown.dataset.submission ?? "");
}
