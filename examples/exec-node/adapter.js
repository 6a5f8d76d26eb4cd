// Lets epctx call the loader of this directory: epctx check 'exec:node adapter.js'
//
// Messages are JSON, one on each line; docs/exec.md of epctx has them all. Both ends are used without waiting for events, as a
// callback is asked for in the midst of a call, and answered there.
"use strict";

const fs = require("node:fs");
const loader = require(process.env.LOADER ?? "./ep_context.js");

const [STDIN, STDOUT] = [0, 1];
let rest = Buffer.alloc(0); // what came after the last line

// The next message; null at the end of the input.
function hear() {
  const parts = [rest];
  while (!parts.at(-1).includes("\n")) {
    const part = Buffer.allocUnsafe(1 << 16);
    const size = fs.readSync(STDIN, part);
    if (size === 0) return null;
    parts.push(part.subarray(0, size));
  }
  const last = parts.pop();
  const end = last.indexOf("\n");
  rest = last.subarray(end + 1);
  return JSON.parse(Buffer.concat([...parts, last.subarray(0, end)]).toString());
}

function say(message, fields = {}) {
  const line = Buffer.from(`${JSON.stringify({ message, ...fields })}\n`);
  for (let done = 0; done < line.length; ) done += fs.writeSync(STDOUT, line, done);
}

// Names are strings where they are UTF-8 without a NUL, else {"base64": ...}; the loader takes them as bytes.
const bytesOf = (name) => (typeof name === "string" ? Buffer.from(name) : Buffer.from(name.base64, "base64"));
const bytesOrNull = (name) => (name === undefined || name === null ? null : bytesOf(name));

function nameOf(bytes) {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) && !text.includes("\0") ? text : { base64: bytes.toString("base64") };
}

// The application's callback for a call: asks epctx, which answers with a result or an error.
function callbackOf(id) {
  return (name, payload) => {
    say("callback", { id, name: nameOf(name), payload: payload?.toString("base64") });
    const answer = hear();
    if (answer.message === "error") throw new loader.Refused(answer.code, answer.text);
    return answer.payload === undefined ? undefined : Buffer.from(answer.payload, "base64");
  };
}

function make(call) {
  process.chdir(bytesOf(call.cwd).toString());
  const given = {
    name: bytesOf(call.name),
    model: bytesOrNull(call.model),
    trusted: call.trusted,
    payload: call.payload === undefined ? undefined : Buffer.from(call.payload, "base64"),
    fallback: bytesOrNull(call.fallback),
    callback: call.callback ? callbackOf(call.id) : null,
  };
  try {
    const content = loader[call.op](given);
    say("result", { id: call.id, payload: content?.toString("base64") });
  } catch (error) {
    if (!(error instanceof loader.Refused)) throw error; // a fault of ours: let it be seen
    say("error", { id: call.id, code: error.code, text: error.message });
  }
}

for (let asked = hear(); asked !== null; asked = hear()) {
  if (asked.message === "hello") say("hello", { protocol: 1 });
  else if (asked.message === "describe") say("describe", { target: `ep_context.js on Node ${process.version}`, can: ["read", "write"] });
  else if (asked.message === "call") make(asked);
  else break;
}
say("bye");
