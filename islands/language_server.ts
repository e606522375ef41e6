// Completion, errors and explanations while typing, by a language server of the judge.
import { setDiagnostics } from "@codemirror/lint";
import {
  hoverTooltips,
  LSPClient,
  type LSPClientConfig,
  serverCompletion,
  serverDiagnostics,
  signatureHelp,
  type Transport,
} from "@codemirror/lsp-client";
import type { Compartment, Extension } from "@codemirror/state";
import { EditorView, showDialog } from "@codemirror/view";
import { csrfToken } from "./server.ts";

export interface ServedDocument {
  uri: string;
  language_id: string;
}

const ROOT = "file:///code";
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 120_000;
/** A server that gets its turn only when nothing else runs may need long for its first answer. */
const TIMEOUT_MS = 60_000;
/** The judge refuses longer messages; a message contains the whole program. */
const MAX_CHARACTERS = 60_000;
/** The server was idle, or the user works in another window: the next change brings it back. */
const UNTIL_CHANGE = [1000, 4409];
/** The judge has no server for this language, or not for this user. */
const FOR_GOOD = [4400, 4401, 4403, 4404];
const ALLOWED_TAGS = new Set(
  "A B BLOCKQUOTE BR CODE DEL DIV EM H1 H2 H3 H4 H5 H6 HR I LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL".split(
    " ",
  ),
);

/** Keeps an editor connected to a language server while somebody writes in it. */
export class LanguageServerLink {
  private socket: WebSocket | undefined;
  private timer: number | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private wanted: { language: string; document: ServedDocument } | undefined;
  private told = "";

  constructor(
    private readonly view: EditorView,
    private readonly place: Compartment,
  ) {}

  /** Without a document, the language has no server. */
  use(language: string, document: ServedDocument | null): void {
    if (language === this.wanted?.language) return;
    this.leave();
    this.wanted = document ? { language, document } : undefined;
    this.pauseMs = FIRST_PAUSE_MS;
    this.connectLater();
    if (this.view.hasFocus) this.connect();
  }

  private leave(): void {
    clearTimeout(this.timer);
    const left = this.socket;
    this.socket = undefined;
    left?.close();
    this.show([]);
    this.view.dispatch(setDiagnostics(this.view.state, []));
  }

  /** Connects when somebody begins to write: people who only read need no server. */
  private connectLater(): void {
    if (!this.wanted) return;
    this.show(
      EditorView.updateListener.of(({ docChanged, focusChanged, view }) => {
        if (docChanged || (focusChanged && view.hasFocus)) {
          clearTimeout(this.timer);
          // An editor can't be changed while it tells of a change.
          this.timer = setTimeout(() => this.connect(), 0);
        }
      }),
    );
  }

  private connect(): void {
    if (!this.wanted || this.socket) return;
    if (this.view.state.doc.length > MAX_CHARACTERS) return;
    this.show([]);
    const { language, document } = this.wanted;
    const path = `/v1/language-server?language=${encodeURIComponent(language)}`;
    const socket = new WebSocket(new URL(path, location.href.replace(/^http/, "ws")), [
      "deemster.language-server",
      `deemster.csrf.${csrfToken()}`,
    ]);
    this.socket = socket;
    let isReady = false;
    const client = new LSPClient({
      ...config,
      notificationHandlers: {
        // Before the server is ready, messages are the judge's: why there is none.
        "window/showMessage": (_client, { message }: { message: string }) => {
          if (!isReady) this.tell(message);
          return true;
        },
        "window/logMessage": () => true,
      },
    });
    const transport = new SocketTransport(socket);
    socket.addEventListener("open", () => client.connect(transport));
    socket.addEventListener("close", ({ code }) => {
      if (this.socket === socket) {
        this.leave();
        this.comeBack(code);
      }
      transport.giveUp();
    });
    client.initializing.then(
      () => {
        if (this.socket !== socket) return;
        isReady = true;
        this.pauseMs = FIRST_PAUSE_MS;
        this.show(client.plugin(document.uri, document.language_id));
      },
      () => socket.close(),
    );
  }

  private comeBack(code: number): void {
    if (FOR_GOOD.includes(code)) return;
    if (UNTIL_CHANGE.includes(code)) {
      this.connectLater();
      return;
    }
    const spread = 0.5 + Math.random();
    this.timer = setTimeout(() => this.connect(), this.pauseMs * spread);
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
  }

  private show(extension: Extension): void {
    this.view.dispatch({ effects: this.place.reconfigure(extension) });
  }

  private tell(message: string): void {
    if (message === this.told) return;
    this.told = message;
    showDialog(this.view, { label: message, top: true });
  }
}

const theme = EditorView.theme({
  ".cm-lsp-documentation pre": { padding: "0", border: "0", background: "none" },
  ".cm-lsp-documentation :is(h1, h2, h3, h4)": { fontSize: "1em", margin: "2px 0" },
  ".cm-lsp-documentation hr": {
    border: "0",
    borderTop: "1px solid var(--line)",
    margin: "4px 0",
  },
});

const config: LSPClientConfig = {
  rootUri: ROOT,
  timeout: TIMEOUT_MS,
  sanitizeHTML: sanitize,
  extensions: [
    serverCompletion({ override: true }),
    hoverTooltips(),
    signatureHelp(),
    serverDiagnostics(),
    theme,
  ],
};

/** Carries messages. Requests without an answer get an empty one when the connection ends. */
class SocketTransport implements Transport {
  private readonly unanswered = new Map<number, string>();
  private readonly handlers = new Set<(message: string) => void>();

  constructor(private readonly socket: WebSocket) {
    socket.addEventListener("message", ({ data }) => this.deliver(data));
  }

  send(message: string): void {
    const sent = JSON.parse(message);
    if (sent.id !== undefined && sent.method) this.unanswered.set(sent.id, sent.method);
    // basedpyright looks for its configuration only in folders, of which the client names none.
    if (sent.method === "initialize")
      sent.params.workspaceFolders = [{ uri: ROOT, name: "code" }];
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(sent));
    else this.giveUp();
  }

  subscribe(handler: (message: string) => void): void {
    this.handlers.add(handler);
  }

  unsubscribe(handler: (message: string) => void): void {
    this.handlers.delete(handler);
  }

  giveUp(): void {
    for (const [id, method] of this.unanswered) {
      const fault = { code: -32800, message: "The connection was closed." };
      const answer = method === "initialize" ? { error: fault } : { result: null };
      this.deliver(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    }
  }

  private deliver(message: string): void {
    this.unanswered.delete(JSON.parse(message).id);
    for (const handler of this.handlers) handler(message);
  }
}

/** Explanations may quote comments of any program: only harmless tags stay, without attributes. */
function sanitize(html: string): string {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const each of [...body.querySelectorAll("*")]) {
    for (const { name } of [...each.attributes])
      if (name !== "class") each.removeAttribute(name);
    if (!ALLOWED_TAGS.has(each.tagName)) each.replaceWith(each.textContent ?? "");
  }
  return body.innerHTML;
}
