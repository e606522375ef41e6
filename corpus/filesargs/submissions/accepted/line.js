const fs = require("fs");
const [file, ...before] = process.argv.slice(2);
const n = Number(fs.readFileSync(0, "utf8"));
console.log([...before, fs.readFileSync(file, "utf8").split("\n")[n - 1]].join(" "));
