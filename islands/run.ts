// Runs the program on one's own input, and shows its output while it runs (E5).
import type { Content } from "./draft.ts";
import type { Message } from "./editor.ts";
import { send } from "./server.ts";
import { text } from "./texts.ts";

interface Accepted {
  execution_id: string;
}

interface Chunk {
  stream: "stdout" | "stderr";
  attempt: number;
  data?: string;
  data_base64?: string;
}

export interface Result {
  status: string;
  exit_code?: number;
  cpu_time_ms?: number;
  memory_kb?: number;
  compile_output?: string;
  error_type?: string;
  error_message?: string;
}

export interface RunView {
  show(state: string): void;
  write(chunk: string, isError: boolean): void;
  clear(): void;
  mark(messages: Message[]): void;
}

const EXECUTIONS = "/v1/executions";
const PLACE = /^(?:\S*\/)?[\w.-]+\.\w+[:(](\d+)|^\s*(?:File ".*", line |--> \S+:)(\d+)/;

export async function start(
  content: Content,
  options: Record<string, unknown>,
): Promise<string> {
  const body = { language: content.language, source_code: content.source, ...options };
  return (await send<Accepted>("POST", EXECUTIONS, body)).execution_id;
}

export async function stop(execution: string): Promise<void> {
  await send("DELETE", `${EXECUTIONS}/${execution}`);
}

/** Shows the output until the program has ended. */
export function follow(execution: string, view: RunView): Promise<void> {
  return new Promise((resolve) => {
    const events = new EventSource(`${EXECUTIONS}/${execution}/events`);
    let attempt = 0;
    events.addEventListener("status", (event) => {
      view.show(stateText(JSON.parse(event.data).status));
    });
    events.addEventListener("output", (event) => {
      const chunk: Chunk = JSON.parse(event.data);
      // A program whose worker died is started again, and writes everything again.
      if (chunk.attempt > attempt && attempt > 0) view.clear();
      attempt = chunk.attempt;
      view.write(chunk.data ?? decoded(chunk.data_base64 ?? ""), chunk.stream === "stderr");
    });
    events.addEventListener("end", (event) => {
      events.close();
      showResult(JSON.parse(event.data), view);
      resolve();
    });
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) resolve();
    });
  });
}

export function showResult(result: Result, view: RunView): void {
  const failed = result.error_type === "CompileError";
  if (failed) view.write(result.compile_output ?? "", true);
  view.mark(failed ? messagesOf(result.compile_output ?? "") : []);
  const figures = [
    result.error_message ?? text("The program has ended"),
    result.cpu_time_ms === undefined ? "" : `${result.cpu_time_ms} ms`,
    result.memory_kb === undefined ? "" : `${(result.memory_kb / 1024).toFixed(1)} MB`,
  ];
  view.show(figures.filter(Boolean).join(" · "));
}

function stateText(status: string): string {
  return status === "QUEUED" ? text("Waiting for a free place") : text("Running");
}

function decoded(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

/** The lines that the compiler names, each with the rest of its message. */
export function messagesOf(output: string): Message[] {
  const last = output.trim().split("\n").at(-1) ?? "";
  return output.split("\n").flatMap((line) => {
    const found = PLACE.exec(line);
    if (!found) return [];
    return found[1]
      ? [{ line: Number(found[1]), text: line }]
      : [{ line: Number(found[2]), text: last }];
  });
}
