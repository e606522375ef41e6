// Keeps what was typed: in this browser at once, and in the code session of the problem soon after (W5).
import { isTemporary, Refusal, send } from "./server.ts";
import { text } from "./texts.ts";

export interface Content {
  source: string;
  language: string;
}

interface LocalCopy extends Content {
  /** Version of the session that the copy is based on; null if there was no session. */
  version: number | null;
}

interface Session {
  session_id: string;
  version: number;
  source_code?: string;
  language: string;
}

/** Names of the local copies begin with it, then with the account and the problem. */
export const DRAFTS = "deemster.draft.";
/** Asks the pages to keep locally what was typed last. */
export const KEEP = "deemster:keep";
/** Tells the pages that the server has everything, and nothing must stay in this browser. */
export const FORGET = "deemster:forget";
const SESSIONS = "/v1/code-sessions";
const LOCAL_MS = 150;
const SAVE_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

export class Draft {
  private content: Content;
  private version: number | null;
  private session: string | null;
  private isSaved = true;
  private isSaving = false;
  private inConflict = false;
  private retries = 0;
  private localTimer: number | undefined;
  private saveTimer: number | undefined;

  constructor(
    private readonly problem: string,
    private readonly key: string,
    saved: Content & { session: string | null; version: number | null },
    private readonly show: (state: string) => void,
    private readonly showConflict: (isShown: boolean) => void,
  ) {
    this.content = { source: saved.source, language: saved.language };
    this.session = saved.session;
    this.version = saved.version;
    addEventListener("online", () => this.saveSoon(0));
    addEventListener("pagehide", () => this.keepLocally());
    addEventListener(KEEP, () => this.keepLocally());
    addEventListener(FORGET, () => this.forget());
    document.addEventListener("visibilitychange", () => this.keepLocally());
  }

  /** What an earlier visit could not save; null if there is nothing. */
  restore(): Content | null {
    const found = localStorage.getItem(this.key);
    if (found === null) return null;
    const copy: LocalCopy = JSON.parse(found);
    if (copy.source === this.content.source && copy.language === this.content.language) {
      localStorage.removeItem(this.key);
      return null;
    }
    // A save on top of another version than the copy's is a conflict, and people decide.
    this.version = this.session === null ? null : copy.version;
    this.content = { source: copy.source, language: copy.language };
    this.isSaved = false;
    this.saveSoon(0);
    return this.content;
  }

  change(content: Content): void {
    this.content = content;
    this.isSaved = false;
    this.localTimer ??= window.setTimeout(() => this.keepLocally(), LOCAL_MS);
    if (!this.inConflict) {
      this.show(text("Not saved yet"));
      this.saveSoon(SAVE_MS);
    }
  }

  async keepMine(): Promise<void> {
    this.endConflict();
    this.version = null;
    await this.save();
  }

  /** Saves one's own version first, so that the history has it, then the other one again. */
  async takeOther(): Promise<Content> {
    const other = await send<Session>("GET", `${SESSIONS}/${this.session}`);
    await this.patch(this.content);
    const content = { source: other.source_code ?? "", language: other.language };
    await this.patch(content);
    this.content = content;
    this.endConflict();
    this.settle();
    return content;
  }

  private endConflict(): void {
    this.inConflict = false;
    this.showConflict(false);
  }

  private keepLocally(): void {
    clearTimeout(this.localTimer);
    this.localTimer = undefined;
    if (this.isSaved) return;
    const copy: LocalCopy = { ...this.content, version: this.version };
    try {
      localStorage.setItem(this.key, JSON.stringify(copy));
    } catch {
      // The storage of the browser is full or switched off: only the server keeps it.
    }
  }

  private forget(): void {
    clearTimeout(this.localTimer);
    clearTimeout(this.saveTimer);
    this.isSaved = true;
  }

  private saveSoon(delayMs: number): void {
    clearTimeout(this.saveTimer);
    if (!this.isSaved && !this.inConflict) {
      this.saveTimer = window.setTimeout(() => this.save(), delayMs);
    }
  }

  private async save(): Promise<void> {
    if (this.isSaving) return;
    this.isSaving = true;
    const saving = this.content;
    try {
      if (this.session === null) await this.create(saving);
      else await this.patch(saving, this.version);
      this.retries = 0;
      if (saving === this.content) this.settle();
    } catch (fault) {
      this.complain(fault);
    } finally {
      this.isSaving = false;
      if (saving !== this.content) this.saveSoon(SAVE_MS);
    }
  }

  private async create(content: Content): Promise<void> {
    const made = await openSession(this.problem, content);
    this.session = made.session_id;
    this.version = made.version;
    if (made.source_code !== content.source) throw new Refusal(412, "");
  }

  private async patch(content: Content, expected: number | null = null): Promise<void> {
    const headers: Record<string, string> =
      expected === null ? {} : { "If-Match": `"v${expected}"` };
    const body = { source_code: content.source, language: content.language };
    const saved = await send<Session>("PATCH", `${SESSIONS}/${this.session}`, body, headers);
    this.version = saved.version;
  }

  private settle(): void {
    this.isSaved = true;
    localStorage.removeItem(this.key);
    this.show(text("Saved"));
  }

  private complain(fault: unknown): void {
    this.keepLocally();
    if (fault instanceof Refusal && fault.status === 412) {
      this.inConflict = true;
      this.showConflict(true);
      this.show("");
    } else if (isTemporary(fault)) {
      this.show(text("Not connected: your program is kept in this browser and saved later"));
      this.retries += 1;
      this.saveSoon(Math.min(1000 * 2 ** (this.retries - 1), LONGEST_RETRY_MS));
    } else {
      this.show(text("Kept only in this browser: {why}", { why: (fault as Error).message }));
    }
  }
}

/** The session of the problem, which has this content if there was none before. */
function openSession(problem: string, content: Content): Promise<Session> {
  return send<Session>("POST", SESSIONS, {
    language: content.language,
    template_code: content.source,
    problem_id: problem,
  });
}

/** Saves a local copy; what another device saved meanwhile stays in the history. */
export async function saveCopy(problem: string, copy: Content): Promise<void> {
  const session = await openSession(problem, copy);
  if (session.source_code === copy.source && session.language === copy.language) return;
  const body = { source_code: copy.source, language: copy.language };
  await send("PATCH", `${SESSIONS}/${session.session_id}`, body);
}
