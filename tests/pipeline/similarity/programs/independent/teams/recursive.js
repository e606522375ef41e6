const data = require("fs").readFileSync(0, "utf8").split(/\s+/).map(Number);
const n = data[0];
const m = data[1];
const enemies = Array.from({ length: n + 1 }, () => []);
for (let i = 0; i < m; i++) {
    const a = data[2 + 2 * i];
    const b = data[3 + 2 * i];
    enemies[a].push(b);
    enemies[b].push(a);
}
const team = new Array(n + 1).fill("");

function assign(child, name) {
    if (team[child] !== "") {
        return team[child] === name;
    }
    team[child] = name;
    return enemies[child].every((other) => assign(other, name === "A" ? "B" : "A"));
}

let fine = true;
for (let child = 1; child <= n && fine; child++) {
    if (team[child] === "") {
        fine = assign(child, "A");
    }
}
console.log(fine ? team.join("") : "impossible");
