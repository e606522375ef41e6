// @EXPECTED_RESULTS@: COMPILER-ERROR
const n: number = "three";
console.log(n);
