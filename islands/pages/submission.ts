// The page of a submission: follows its events until it has ended, and shows differences.
import htmx from "htmx.org";
import { showDifferences } from "../differences.ts";

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

function showProgress(judged: number, total: number): void {
  const cells = submission()?.querySelectorAll(".case") ?? [];
  if (cells.length !== total) refresh();
  cells.forEach((cell, index) => {
    cell.classList.toggle("judged", index < judged);
  });
}

function follow(id: string): void {
  const events = new EventSource(`/v1/submissions/${id}/events`);
  events.addEventListener("progress", (event) => {
    const { case: judged, of } = JSON.parse(event.data);
    showProgress(judged, of);
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
