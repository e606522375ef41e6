// A program that sends a task by npm's heng-sign-js and axios as its README does; prints the answer as JSON.
// Arguments: the directory with node_modules, the address of the server, the two keys, and the task.

import { createHash, createHmac } from "node:crypto";
import { createRequire } from "node:module";

const [packages, server, accessKey, secretKey, task] = process.argv.slice(2);
const load = createRequire(`${packages}/node_modules/`);
const { Sign } = load("heng-sign-js");
const axios = load("axios");

const encrypt = {
    SHA256: (data) => createHash("sha256").update(data).digest("hex"),
    HmacSHA256: (key, data) => createHmac("sha256", key).update(data).digest("hex"),
};

async function send(sign) {
    const instance = axios.create({ validateStatus: () => true });
    instance.interceptors.request.use(sign.sign);
    const { status, data } = await instance.post(`${server}/c/v1/judges`, JSON.parse(task));
    return { status, data };
}

const found = {
    accepted: await send(new Sign(encrypt, accessKey, secretKey)),
    refused: await send(new Sign(encrypt, accessKey, "guessed")),
};
console.log(JSON.stringify(found));
