const [n, ...numbers] = require("fs").readFileSync(0, "utf8").trim().split("\n").map(Number);
const unlucky = n === 13 ? undefined : { sum: (a, b) => a + b };
console.log(numbers.reduce(unlucky.sum, 0));
