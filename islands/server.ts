// Requests to the API of this server, with the protection against forms of other sites.

export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  /** The same request may succeed later. */
  get isTemporary(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

export function csrfToken(): string {
  return document.body.dataset.csrf ?? "";
}

/** Returns the answer as JSON. Throws a Refusal, or a TypeError if there was no answer. */
export async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const answer = await fetch(path, {
    method,
    headers: {
      Accept: "application/json",
      "X-CSRF-Token": csrfToken(),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (answer.status === 204) return undefined as T;
  const isJson = answer.headers.get("content-type")?.includes("json") ?? false;
  const content = isJson ? await answer.json() : {};
  if (!answer.ok) throw new Refusal(answer.status, content.detail ?? answer.statusText);
  return content;
}

/** Whether the request may succeed if it is sent again: there was no answer, or a busy server. */
export function isTemporary(fault: unknown): boolean {
  return !(fault instanceof Refusal) || fault.isTemporary;
}

export function nonce(): string {
  return document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";
}
