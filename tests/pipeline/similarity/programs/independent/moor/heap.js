class Heap {
    constructor() {
        this.items = [];
    }
    push(item) {
        let i = this.items.length;
        this.items.push(item);
        while (i > 0) {
            const parent = (i - 1) >> 1;
            if (this.items[parent][0] <= item[0]) break;
            this.items[i] = this.items[parent];
            i = parent;
        }
        this.items[i] = item;
    }
    pop() {
        const top = this.items[0];
        const last = this.items.pop();
        const n = this.items.length;
        if (n > 0) {
            let i = 0;
            while (2 * i + 1 < n) {
                let child = 2 * i + 1;
                if (child + 1 < n && this.items[child + 1][0] < this.items[child][0]) child++;
                if (this.items[child][0] >= last[0]) break;
                this.items[i] = this.items[child];
                i = child;
            }
            this.items[i] = last;
        }
        return top;
    }
}

const input = require("fs").readFileSync("/dev/stdin").toString().trim().split(/\s+/);
const rows = parseInt(input[0]);
const cols = parseInt(input[1]);
const dist = new Array(rows * cols).fill(Infinity);
const weight = (v) => input[2 + Math.floor(v / cols)].charCodeAt(v % cols) - 48;
const queue = new Heap();
dist[0] = weight(0);
queue.push([dist[0], 0]);
while (queue.items.length) {
    const [d, v] = queue.pop();
    if (d > dist[v]) continue;
    const next = [];
    if (v % cols !== 0) next.push(v - 1);
    if (v % cols !== cols - 1) next.push(v + 1);
    if (v >= cols) next.push(v - cols);
    if (v < (rows - 1) * cols) next.push(v + cols);
    next.forEach((u) => {
        const nd = d + weight(u);
        if (nd < dist[u]) {
            dist[u] = nd;
            queue.push([nd, u]);
        }
    });
}
console.log(dist[rows * cols - 1]);
