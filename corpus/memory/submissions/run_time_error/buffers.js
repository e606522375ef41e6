const n = Number(require("fs").readFileSync(0, "utf8"));
const memory = [];
for (let i = 0; i < n; i++) memory.push(Buffer.alloc(1 << 20, 1));
console.log(memory.length);
