Promise.reject(new Error("nobody catches this"));
console.log(6);
