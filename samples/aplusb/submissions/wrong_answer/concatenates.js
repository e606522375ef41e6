// Joins two texts, because it never turns them into numbers.
const [a, b] = require("fs").readFileSync(0, "utf8").trim().split(" ");
console.log(a + b);
