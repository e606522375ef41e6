function leaves(n, m) {
    if (n === 1n) return 1n;
    if (m <= n / 2n) return 2n * m;
    const place = leaves(n - n / 2n, m - n / 2n);
    if (n % 2n === 0n) return 2n * place - 1n;
    return place === 1n ? n : 2n * place - 3n;
}

console.log(String(leaves(...require("fs").readFileSync(0, "utf8").trim().split(" ").map(BigInt))));
