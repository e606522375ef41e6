// Saves what is only in this browser before somebody logs out, and removes it from the browser (W5).
import { DRAFTS, FORGET, KEEP, saveCopy } from "./draft.ts";
import { PENDING, sendPending } from "./submit.ts";
import { text } from "./texts.ts";

/** The problems of which this browser keeps something of the account, with the stored text. */
function* kept(prefix: string): Generator<[string, string, string]> {
  const own = `${prefix}${document.body.dataset.account}.`;
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(own))
      yield [key, key.slice(own.length), localStorage.getItem(key) ?? ""];
  }
}

async function deliver(): Promise<void> {
  for (const [, problem, stored] of kept(PENDING))
    await sendPending(problem, JSON.parse(stored));
  for (const [, problem, stored] of kept(DRAFTS)) await saveCopy(problem, JSON.parse(stored));
}

function clear(): void {
  dispatchEvent(new Event(FORGET));
  for (const prefix of [PENDING, DRAFTS])
    for (const [key] of kept(prefix)) localStorage.removeItem(key);
}

export function saveBeforeLogOut(): void {
  const form = document.querySelector<HTMLFormElement>("form[action='/logout']");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    dispatchEvent(new Event(KEEP));
    try {
      await deliver();
    } catch {
      const question = text(
        "A program could not be saved. If you log out now, it is lost. Log out?",
      );
      if (!confirm(question)) return;
    }
    clear();
    form.submit();
  });
}
