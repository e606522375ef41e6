import * as fs from "fs";

function total(numbers: number[]): number {
    return numbers.reduce((a: number, b: number): number => a + b, 0);
}

const numbers: number[] = fs.readFileSync(0, "utf8").trim().split("\n").map(Number);
console.log(total(numbers.slice(1)));
