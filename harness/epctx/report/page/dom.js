// Elements made of texts. Nothing in a run is ever parsed as HTML.

const HIDDEN = /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]/g;

/** A text in which what is not to be seen, or turns others around, is written out. */
function visible(text) {
  return text.replace(HIDDEN, (c, at) => {
    const code = c.charCodeAt(0);
    if (code >= 0xd800 && code <= 0xdfff) {
      const pair = code < 0xdc00 ? text.charCodeAt(at + 1) : text.charCodeAt(at - 1);
      if (code < 0xdc00 ? pair >= 0xdc00 && pair <= 0xdfff : pair >= 0xd800 && pair <= 0xdbff) return c;
    }
    return "\\u" + code.toString(16).padStart(4, "0");
  });
}

/** An element: `el("p", {class: "x"}, "text", child, [more])`; null and undefined leave nothing. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

function add(to, children) {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    if (Array.isArray(child)) add(to, child);
    else to.append(typeof child === "string" ? visible(child) : child);
  }
}

/** A text of ours in which names stand between backticks. */
function prose(words) {
  return words.split("`").map((part, n) => (n % 2 ? el("code", {}, part) : part));
}

/** `1 case`, `2 cases`. */
function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function byId(id) {
  return document.getElementById(id);
}
