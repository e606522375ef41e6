const add = require("./lib/add");

console.log(add(40, 2));
