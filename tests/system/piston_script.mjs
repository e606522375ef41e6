// A program that uses npm's piston-client as its README does; prints what it got as JSON.
// Arguments: the directory with node_modules, and the address of the server with a token.

const [packages, server] = process.argv.slice(2);
const { default: piston } = await import(`${packages}/node_modules/piston-client/index.js`);

const client = piston({ server });
const runtimes = await client.runtimes();
const { version } = runtimes.find((each) => each.language === "javascript");
const found = {
    languages: runtimes.map((each) => each.language),
    hello: await client.execute("python", 'print("Hello World!")'),
    configured: await client.execute({
        language: "js",
        version,
        files: [{ name: "my_cool_code.js", content: "console.log(process.argv.slice(2))" }],
        stdin: "",
        args: ["1", "2", "3"],
        compileTimeout: 10000,
        runTimeout: 3000,
        compileMemoryLimit: -1,
        runMemoryLimit: -1,
    }),
    unknown: await client.execute("klingon", "x", { version: "*" }),
    stranger: await piston({ server: server.replace(/:[^:@]*@/, ":wrong@") }).runtimes(),
};
console.log(JSON.stringify(found));
