const all: Float64Array[] = [];
for (;;) all.push(new Float64Array(1 << 14).fill(1));
