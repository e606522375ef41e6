const text = require("fs").readFileSync(0, "utf8");
process.stdout.write(text.replaceAll("\t", " "));
