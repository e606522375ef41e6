const lines = require("readline").createInterface({ input: process.stdin });
let seen = 0;
let sum = 0;
lines.on("line", (line) => {
    if (seen++ > 0) sum += Number(line);
});
lines.on("close", () => console.log(String(sum)));
