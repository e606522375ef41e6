// Sorts the counts as texts, so that 9 comes before 10.
const [head, ...names] = require("fs").readFileSync(0, "utf8").trim().split("\n");
const [n, k] = head.split(" ").map(Number);
const votes = new Map();
for (const name of names) votes.set(name, (votes.get(name) ?? 0) + 1);
const ranking = [...votes].sort(([a, x], [b, y]) =>
    String(x) === String(y) ? (a < b ? -1 : 1) : String(x) > String(y) ? -1 : 1,
);
for (const [name, count] of ranking.slice(0, k)) console.log(name, count);
