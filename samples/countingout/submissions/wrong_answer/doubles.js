// Groups 1 and 2: a Number is exact up to 2 ** 53 only.
function leaves(n, m) {
    const half = Math.floor(n / 2);
    if (n === 1) return 1;
    if (m <= half) return 2 * m;
    const place = leaves(n - half, m - half);
    if (n % 2 === 0) return 2 * place - 1;
    return place === 1 ? n : 2 * place - 3;
}

console.log(String(leaves(...require("fs").readFileSync(0, "utf8").trim().split(" ").map(Number))));
