// Sends a submission until there is an answer, always with the same key: it counts once (W5).
import type { Content } from "./draft.ts";
import { Refusal, send } from "./server.ts";
import { text } from "./texts.ts";

export interface Pending extends Content {
  key: string;
}

/** Names of submissions that got no answer yet begin with it, then with account and problem. */
export const PENDING = "deemster.pending.";
const LONGEST_PAUSE_MS = 15_000;

export class Submitter {
  private isSending = false;

  constructor(
    private readonly problem: string,
    private readonly storageKey: string,
    private readonly show: (state: string) => void,
    private readonly complain: (fault: string) => void,
  ) {}

  /** Sends what an earlier visit got no answer for. */
  resume(): void {
    const found = localStorage.getItem(this.storageKey);
    if (found !== null) this.deliver(JSON.parse(found));
  }

  submit(content: Content): void {
    if (this.isSending) return;
    const pending = { ...content, key: randomKey() };
    try {
      localStorage.setItem(this.storageKey, JSON.stringify(pending));
    } catch {
      // The storage of the browser is full: it is sent again only while this page is open.
    }
    this.deliver(pending);
  }

  private async deliver(pending: Pending): Promise<void> {
    this.isSending = true;
    this.complain("");
    this.show(text("Sending…"));
    for (let pauseMs = 1000; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const accepted = await sendPending(this.problem, pending);
        localStorage.removeItem(this.storageKey);
        location.assign(`/submissions/${accepted.id}`);
        return;
      } catch (fault) {
        if (fault instanceof Refusal && !(fault.isTemporary && fault.status !== 429)) {
          localStorage.removeItem(this.storageKey);
          this.isSending = false;
          this.show("");
          this.complain(fault.message);
          return;
        }
      }
      this.show(text("No answer from the judge: your submission is sent again"));
      await connectionOr(pauseMs);
    }
  }
}

export function sendPending(problem: string, pending: Pending): Promise<{ id: string }> {
  const body = {
    problem_id: problem,
    language: pending.language,
    source_code: pending.source,
  };
  return send("POST", "/v1/submissions", body, { "Idempotency-Key": pending.key });
}

/** Browsers offer randomUUID only on secure pages. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

function connectionOr(pauseMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, pauseMs);
    addEventListener(
      "online",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
