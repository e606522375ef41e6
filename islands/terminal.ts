// A terminal for programs that ask questions, over the WebSocket of an execution (E7).
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import styles from "@xterm/xterm/css/xterm.css";
import { type Result, type RunView, showResult } from "./run.ts";
import { csrfToken, nonce } from "./server.ts";
import { text } from "./texts.ts";

const LOST = [1012, 1013, 1005, 1006];
const AGAIN_MS = 1000;
let hasStyles = false;

export class TerminalView {
  private readonly terminal: Terminal;
  private readonly fit = new FitAddon();
  private socket: WebSocket | undefined;
  private last = "";

  constructor(place: HTMLElement) {
    addStyles();
    this.terminal = new Terminal({
      convertEol: false,
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      fontFamily: colour("--mono"),
      fontSize: 14,
      screenReaderMode: true,
      theme: theme(),
    });
    this.terminal.loadAddon(this.fit);
    this.terminal.open(place);
    this.fit.fit();
    this.terminal.onData((typed) => this.type(new TextEncoder().encode(typed)));
    this.terminal.onResize(({ rows, cols }) => this.tell({ rows, columns: cols }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.terminal.options.theme = theme();
    });
    new ResizeObserver(() => this.fit.fit()).observe(place);
  }

  get size(): { rows: number; columns: number } {
    return { rows: this.terminal.rows, columns: this.terminal.cols };
  }

  /** Shows a program until it has ended. */
  async follow(execution: string, view: RunView): Promise<void> {
    this.terminal.reset();
    this.terminal.focus();
    this.last = "";
    for (;;) {
      const code = await this.connect(execution, view);
      if (!LOST.includes(code)) break;
      view.show(text("Not connected: trying again"));
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  private connect(execution: string, view: RunView): Promise<number> {
    const path = `/v1/executions/${execution}/terminal?after=${this.last}`;
    const url = new URL(path, location.href.replace(/^http/, "ws"));
    const socket = new WebSocket(url, ["deemster.terminal", `deemster.csrf.${csrfToken()}`]);
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => this.receive(JSON.parse(data), view));
    return new Promise((resolve) => {
      socket.addEventListener("close", ({ code }) => resolve(code));
    });
  }

  private receive(message: Record<string, string>, view: RunView): void {
    if (message.type === "output") {
      this.last = message.id ?? "";
      const bytes = Uint8Array.from(atob(message.data_base64 ?? ""), (each) =>
        each.charCodeAt(0),
      );
      this.terminal.write(bytes);
    } else if (message.type === "status") {
      view.show(
        message.status === "RUNNING" ? text("Running") : text("Waiting for a free place"),
      );
    } else if (message.type === "end") {
      showResult(message as unknown as Result, {
        ...view,
        write: (chunk) => this.terminal.write(chunk.replaceAll("\n", "\r\n")),
      });
    } else if (message.type === "error") {
      view.show(message.message ?? "");
    }
  }

  private type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  private tell(size: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(size));
  }
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function theme(): ITheme {
  return {
    background: colour("--code"),
    foreground: colour("--ink"),
    cursor: colour("--ink"),
    selectionBackground: colour("--selected"),
  };
}

/** The terminal writes style elements, which the page allows only with its nonce. */
function giveStylesTheNonce(): void {
  const create: (name: string, options?: ElementCreationOptions) => HTMLElement =
    document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const made = create(name, options);
    if (made instanceof HTMLStyleElement) made.nonce = nonce();
    return made;
  };
}

function addStyles(): void {
  if (hasStyles) return;
  hasStyles = true;
  giveStylesTheNonce();
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
