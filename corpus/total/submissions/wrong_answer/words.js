// Adds strings.
const [n, ...numbers] = require("fs").readFileSync(0, "utf8").trim().split("\n");
console.log(numbers.reduce((a, b) => a + b, ""));
