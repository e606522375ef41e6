// The cell of a test case, as the server writes it when the submission has ended.

export interface CaseSoFar {
  number: number;
  verdict: string;
  runtime_ms: number;
  memory_kb: number;
}

/** Class, sign and translated name of a verdict. */
export type Look = [string, string, string];

function rounded(value: number, digits: number): string {
  return value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: digits });
}

function time(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${rounded(ms / 1000, 2)} s`;
}

export function showCase(
  cell: HTMLElement | undefined,
  judged: CaseSoFar,
  look: Look | undefined,
): void {
  if (!cell || !look) return;
  const [kind, sign, name] = look;
  const cost = [time(judged.runtime_ms), `${rounded(judged.memory_kb / 1024, 1)} MB`];
  cell.className = `case ${kind}`;
  cell.title = [name, ...cost].join(", ");
  const signed = part("sign", sign);
  signed.ariaHidden = "true";
  const costs = part("cost", "");
  costs.append(cost[0] ?? "", document.createElement("br"), cost[1] ?? "");
  cell.replaceChildren(
    part("number", String(judged.number)),
    signed,
    part("name", name),
    costs,
  );
}

function part(kind: string, content: string): HTMLElement {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = content;
  return made;
}
