const numbers = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
const n = numbers[0];
const post = (i) => [numbers[2 * (i % n) + 1], numbers[2 * (i % n) + 2]];
let length = 0;
for (let i = 0; i < n; i++) {
    const [x, y] = post(i);
    const [u, v] = post(i + 1);
    length += Math.hypot(u - x, v - y);
}
console.log(length);
