const [a, b] = require("fs").readFileSync(0, "utf8").split(" ").map(Number);
console.log(a + b);
