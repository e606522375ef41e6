const [a, b] = require("fs").readFileSync(0, "utf8").split(" ").map(Number);
console.log("mean", (a + b) / 2);
