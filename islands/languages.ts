// The languages of the judge, with their templates and file names; fetched when first needed.
import type { ServedDocument } from "./language_server.ts";
import { send } from "./server.ts";

export interface Language {
  id: string;
  extensions: string[];
  template: string;
  language_server: ServedDocument | null;
}

let fetched: Promise<Language[]> | undefined;

export function languages(): Promise<Language[]> {
  fetched ??= send<{ items: Language[] }>("GET", "/v1/languages").then(
    (found) => found.items,
    (fault) => {
      fetched = undefined;
      throw fault;
    },
  );
  return fetched;
}
