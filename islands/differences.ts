// Replaces two texts that stand side by side by the same texts with their differences marked.

export async function showDifferences(within: HTMLElement): Promise<void> {
  for (const pair of within.querySelectorAll<HTMLElement>("[data-diff]")) {
    if (pair.dataset.diff === "done") continue;
    pair.dataset.diff = "done";
    const [left, right] = [...pair.querySelectorAll("figure")].map((figure) => ({
      title: figure.querySelector("figcaption")?.textContent ?? "",
      content: figure.querySelector("pre")?.textContent ?? "",
    }));
    if (!left || !right) continue;
    const { compare } = await import("./merge.ts");
    const place = document.createElement("div");
    place.className = "merge";
    place.setAttribute("hx-morph-skip", "");
    compare(place, left, right);
    for (const each of pair.querySelectorAll("pre")) each.hidden = true;
    pair.after(place);
    pair.classList.add("titles");
  }
}
