const n = Number(require("fs").readFileSync(0, "utf8"));
const memory = Buffer.alloc(n < 100 ? n << 20 : 1, 1);
console.log(n + memory[0] - 1);
