const words: string[] = ["Hello,", "World!"];
console.log(words.join(" "));
