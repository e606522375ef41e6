"use strict";
const rl = require("readline").createInterface({ input: process.stdin });
const rows = [];
rl.on("line", (row) => rows.push(row.split(" ").map((x) => parseInt(x, 10))));
rl.on("close", () => {
    const [count] = rows.shift();
    const graph = new Map();
    for (const [u, v] of rows) {
        if (!graph.has(u)) graph.set(u, new Set());
        if (!graph.has(v)) graph.set(v, new Set());
        graph.get(u).add(v);
        graph.get(v).add(u);
    }
    const sign = {};
    for (let start = 1; start <= count; start += 1) {
        if (start in sign) continue;
        sign[start] = 1;
        const stack = [start];
        while (stack.length > 0) {
            const u = stack.pop();
            for (const v of graph.get(u) || []) {
                if (sign[v] === sign[u]) {
                    console.log("impossible");
                    return;
                }
                if (!(v in sign)) {
                    sign[v] = -sign[u];
                    stack.push(v);
                }
            }
        }
    }
    let out = "";
    for (let i = 1; i <= count; i += 1) out += sign[i] > 0 ? "A" : "B";
    console.log(out);
});
