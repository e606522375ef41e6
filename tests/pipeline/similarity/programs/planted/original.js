const lines = require("fs").readFileSync(0, "utf8").split("\n");

// Splits an expression into numbers, names and signs.
function tokenize(text) {
    const tokens = [];
    let i = 0;
    while (i < text.length) {
        if (text[i] === " ") {
            i++;
        } else if (/[0-9]/.test(text[i])) {
            let j = i;
            while (j < text.length && /[0-9.]/.test(text[j])) j++;
            tokens.push({ kind: "number", value: parseFloat(text.slice(i, j)) });
            i = j;
        } else if (/[a-z]/.test(text[i])) {
            let j = i;
            while (j < text.length && /[a-z0-9]/.test(text[j])) j++;
            tokens.push({ kind: "name", value: text.slice(i, j) });
            i = j;
        } else {
            tokens.push({ kind: "sign", value: text[i] });
            i++;
        }
    }
    return tokens;
}

function parseSum(state) {
    let left = parseProduct(state);
    while (state.at < state.tokens.length && "+-".includes(state.tokens[state.at].value)) {
        const sign = state.tokens[state.at++].value;
        const right = parseProduct(state);
        left = sign === "+" ? left + right : left - right;
    }
    return left;
}

function parseProduct(state) {
    let left = parseFactor(state);
    while (state.at < state.tokens.length && "*/".includes(state.tokens[state.at].value)) {
        const sign = state.tokens[state.at++].value;
        const right = parseFactor(state);
        left = sign === "*" ? left * right : left / right;
    }
    return left;
}

function parseFactor(state) {
    const token = state.tokens[state.at++];
    if (token.kind === "number") return token.value;
    if (token.kind === "name") return state.variables.get(token.value) || 0;
    if (token.value === "-") return -parseFactor(state);
    const inner = parseSum(state);
    state.at++;
    return inner;
}

const variables = new Map();
const results = [];
for (let n = 0; n < lines.length; n++) {
    const [target, expression] = lines[n].split("=");
    if (expression === undefined) continue;
    const value = parseSum({ tokens: tokenize(expression), at: 0, variables });
    variables.set(target.trim(), value);
    results.push(target.trim() + " is " + value.toFixed(2));
}
console.log(results.join("\n"));
