import { add } from "./lib/add";

console.log(add(40, 2));
