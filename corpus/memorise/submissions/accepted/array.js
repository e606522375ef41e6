const lines = require("readline").createInterface({ input: process.stdin });
const said = [];
lines.on("line", (line) => {
    said.push(line);
    if (said.length === 2) console.log("ready");
    if (said.length > 2 && line === "0") process.exit();
    else if (said.length > 2) console.log(said[1].split(" ")[Number(line) - 1]);
});
