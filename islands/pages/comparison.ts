// The page that compares two submissions: side by side instead of the plain difference.
import { showDifferences } from "../differences.ts";

for (const changes of document.querySelectorAll<HTMLElement>(".changes")) {
  showDifferences(changes).then(() => {
    for (const plain of changes.querySelectorAll<HTMLElement>(".difference"))
      plain.hidden = true;
    for (const pair of changes.querySelectorAll<HTMLElement>("[data-diff]"))
      pair.hidden = false;
  });
}
