// The texts of the scripts in the language of the page, which has them by their English wording.
const translated: Record<string, string> = JSON.parse(
  document.getElementById("island-texts")?.textContent ?? "{}",
);

export function text(english: string, values: Record<string, string | number> = {}): string {
  const found = translated[english] ?? english;
  return found.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all));
}
