const SIZE = 1_000_000;
const lines = require("readline").createInterface({ input: process.stdin });
const steps = [];
console.log("0 0");
lines.on("line", (line) => {
    steps.push(Number(line));
    if (steps.at(-1) === 0) process.exit();
    if (steps.length === 1) {
        console.log(`0 ${SIZE}`);
    } else {
        const a = (steps[0] + steps[1] - SIZE) / 2;
        console.log(`${a} ${steps[0] - a}`);
    }
});
