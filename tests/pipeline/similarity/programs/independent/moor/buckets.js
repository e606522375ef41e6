const lines = require("fs").readFileSync(0, "utf8").split("\n");
const [h, w] = lines[0].split(" ").map(Number);
const grid = lines.slice(1, h + 1).map((line) => [...line].map(Number));

const levels = [];
function put(level, r, c) {
    if (!levels[level]) levels[level] = [];
    levels[level].push([r, c]);
}

const seen = grid.map((row) => row.map(() => false));
put(grid[0][0], 0, 0);
seen[0][0] = true;
outer: for (let t = 0; ; t++) {
    for (const [r, c] of levels[t] || []) {
        if (r === h - 1 && c === w - 1) {
            console.log(t);
            break outer;
        }
        for (const [a, b] of [[r, c + 1], [r, c - 1], [r + 1, c], [r - 1, c]]) {
            if (a >= 0 && b >= 0 && a < h && b < w && !seen[a][b]) {
                seen[a][b] = true;
                put(t + grid[a][b], a, b);
            }
        }
    }
}
