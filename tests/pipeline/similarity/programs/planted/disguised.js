"use strict";
var rows = require("fs").readFileSync(0, "utf8").split("\n");

/* a number, a variable, a minus, or parentheses */
function atom(s) {
    var t = s.list[s.pos++];
    if (t.type === "number") return t.val;
    if (t.type === "name") return s.memory.get(t.val) || 0;
    if (t.val === "-") return -atom(s);
    var inside = add(s);
    s.pos++;
    return inside;
}

function mul(s) {
    var a = atom(s);
    for (; s.pos < s.list.length && "*/".includes(s.list[s.pos].val); ) {
        var op = s.list[s.pos++].val;
        var b = atom(s);
        a = op === "*" ? a * b : a / b;
    }
    return a;
}

function add(s) {
    var a = mul(s);
    for (; s.pos < s.list.length && "+-".includes(s.list[s.pos].val); ) {
        var op = s.list[s.pos++].val;
        var b = mul(s);
        a = op === "+" ? a + b : a - b;
    }
    return a;
}

/* cuts the line into pieces */
function cut(line) {
    var list = [];
    for (var p = 0; p < line.length; ) {
        if (line[p] === " ") {
            p++;
        } else if (/[0-9]/.test(line[p])) {
            var q = p;
            for (; q < line.length && /[0-9.]/.test(line[q]); q++) ;
            list.push({ type: "number", val: parseFloat(line.slice(p, q)) });
            p = q;
        } else if (/[a-z]/.test(line[p])) {
            var q = p;
            for (; q < line.length && /[a-z0-9]/.test(line[q]); q++) ;
            list.push({ type: "name", val: line.slice(p, q) });
            p = q;
        } else {
            list.push({ type: "sign", val: line[p] });
            p++;
        }
    }
    return list;
}

var memory = new Map();
var output = [];
rows.forEach(function (row) {
    var [name, formula] = row.split("=");
    if (formula === undefined) return;
    var val = add({ list: cut(formula), pos: 0, memory });
    memory.set(name.trim(), val);
    output.push(name.trim() + " is " + val.toFixed(2));
});
console.log(output.join("\n"));
