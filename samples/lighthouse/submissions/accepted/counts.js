const notes = require("fs").readFileSync(0, "utf8").trim();
let dark = 0;
let longest = 0;
for (const second of notes) {
    dark = second === "." ? dark + 1 : 0;
    longest = Math.max(longest, dark);
}
console.log(longest);
