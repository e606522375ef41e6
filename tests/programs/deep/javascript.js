const depth = (n) => (n ? 1 + depth(n - 1) : 0);
console.log(depth(1000000));
