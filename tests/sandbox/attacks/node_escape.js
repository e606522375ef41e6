// Rules: X4 X7
// Attack: starts a program or opens a connection with the interpreter's library.
// Each: execve socket
// Expect: forbidden_syscall $1 | forbidden_syscall socketpair
// Limits: memory_bytes=512MiB processes=32 cpu_ms=10000
const fs = require("node:fs");
fs.writeSync(1, "started\n");
if (process.argv[2] === "execve") require("node:child_process").execSync("id");
else require("node:net").connect(80, "127.0.0.1");
setTimeout(() => fs.writeSync(1, "got through\n"), 1000);
