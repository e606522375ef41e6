const lines = require("readline").createInterface({ input: process.stdin });
let low = 1;
let high = 1000;
let guess = 500;
console.log(guess);
lines.on("line", (answer) => {
    if (answer === "correct") process.exit();
    if (answer === "lower") high = guess - 1;
    else low = guess + 1;
    guess = Math.floor((low + high) / 2);
    console.log(guess);
});
