const n: number = Number(require("fs").readFileSync(0, "utf8"));
const memory: number[][] = [];
for (let i = 0; i < n; i++) memory.push(Array.from({ length: 1 << 16 }, (_, j) => i + j + 0.5));
console.log(memory.length);
