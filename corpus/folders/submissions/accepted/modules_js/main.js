const { largest } = require("./largest");
console.log(largest(require("fs").readFileSync(0, "utf8").split(" ").map(Number)));
