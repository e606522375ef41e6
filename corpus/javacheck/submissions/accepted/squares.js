const n = Number(require("fs").readFileSync(0, "utf8"));
for (let a = 100; a >= 0; a--) {
    const b = Math.round(Math.sqrt(Math.max(0, n - a * a)));
    if (a * a + b * b === n) {
        console.log(`${a}\n${b}`);
        break;
    }
}
