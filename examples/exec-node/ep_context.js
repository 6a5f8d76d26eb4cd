// Reads and writes EPContext data for a model: through the application's callback where there is one, else in a file.
//
// A name from a model is what an attacker chose: it must be relative, and the file that it leads to, links followed, must lie in
// the model's directory. A name from the application itself is a path like any other. Only regular files are read or replaced.
//
// Linux only: nothing is checked by path and then opened by path. A file is first opened with O_PATH, which neither reads nor
// blocks; what that descriptor stands for is checked, and then opened through /proc/self/fd.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");

const FAIL = 1; // members of OrtErrorCode
const INVALID_ARGUMENT = 2;

const LARGEST_FILE = 1 << 30;
const LONGEST_PATH = 4096;
const MOST_LINKS = 40;

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;
const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;

const SLASH = "/".charCodeAt(0);
const HERE = Buffer.from(".");
const PARENT = Buffer.from("..");

class Refused extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

// The content for `name`. `model` is the path of the model, null for one from memory; names and paths are buffers. `callback`
// takes a name and gives its content; what it throws is the answer.
function read({ name, model, trusted, callback }) {
  refuseEmpty(name);
  if (callback) return callback(name);
  return withFile(name, (look) => readFile(trusted ? { object: look.at(null, name) } : placeInside(look, name, model)));
}

// Writes `payload` for `name`: to the callback, or to a file, which is called `fallback` where that is not null.
function write({ name, model, trusted, payload, fallback, callback }) {
  refuseEmpty(name);
  if (callback) return callback(name, payload);
  const file = fallback ?? name;
  refuseEmpty(file);
  return withFile(file, (look) => {
    const place = trusted ? placeAnywhere(look, file) : placeInside(look, file, model);
    refuseTarget(place, trusted);
    replace(place, payload);
  });
}

function refuseEmpty(name) {
  if (name.length === 0) throw new Refused(INVALID_ARGUMENT, "the name of EPContext data must not be empty");
}

// Has `work` done with a Look. What goes wrong is told with the name.
function withFile(name, work) {
  const look = new Look();
  try {
    if (name.includes(0)) throw new Refused(INVALID_ARGUMENT, "has a NUL");
    if (name.length >= LONGEST_PATH) throw new Refused(FAIL, "is too long");
    return work(look);
  } catch (error) {
    const [code, why] = error instanceof Refused ? [error.code, error.message] : [FAIL, `cannot be used: ${error.code ?? error}`];
    throw new Refused(code, `EPContext data ${printable(name)} ${why}`);
  } finally {
    look.close();
  }
}

// Looks at files, without reading them, and keeps the descriptors that stand for them.
class Look {
  #descriptors = new Set();

  // What is at a path below a directory (null: at a path as it is); null where there is nothing.
  at(directory, path, flags = 0) {
    try {
      const found = fs.openSync(below(directory, path), O_PATH | O_CLOEXEC | flags);
      this.#descriptors.add(found);
      return found;
    } catch (error) {
      if (error.code === "ENOENT") return null;
      throw error;
    }
  }

  // Leaves one descriptor for another, which it gives: a long path would need many else.
  onward(from, to) {
    this.#descriptors.delete(from);
    fs.closeSync(from);
    return to;
  }

  close() {
    this.#descriptors.forEach((descriptor) => fs.closeSync(descriptor));
  }
}

function below(directory, path) {
  return directory === null ? path : Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), path]);
}

// A name as it may stand in a log.
function printable(name) {
  const shown = name.subarray(0, 200).toString("latin1");
  const escaped = shown.replace(/[^ -~]|['\\]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `'${escaped}'${name.length > 200 ? "..." : ""}`;
}

// --- where a name leads ------------------------------------------------------------------------------------------------------

// A place: `object` is what is there (null: nothing), `directory` and `leaf` are where that is. `throughLink` is whether the name
// itself is a link, `missing` how many directories on the way do not exist, `obstacle` a file that is used like one.
const NOWHERE = { object: null, directory: null, leaf: null, throughLink: false, missing: 0, obstacle: null };

// Where a model's name leads, which is inside the model's directory.
function placeInside(look, name, model) {
  if (name[0] === SLASH) throw new Refused(INVALID_ARGUMENT, "is absolute");
  if (model === null) throw new Refused(INVALID_ARGUMENT, "cannot be a file, because the model was not loaded from one");
  const slash = model.lastIndexOf("/");
  const base = look.at(null, slash < 0 ? HERE : model.subarray(0, slash || 1), O_DIRECTORY);
  if (base === null) throw new Refused(FAIL, "is beside a model whose directory does not exist");
  const place = walk(look, base, name);
  for (const descriptor of [place.object, place.directory, place.obstacle]) {
    if (descriptor !== null) refuseOutside(base, descriptor);
  }
  return place;
}

function refuseOutside(base, descriptor) {
  const [outer, inner] = [pathOf(base), pathOf(descriptor)];
  const inside = inner.subarray(0, outer.length).equals(outer) && [undefined, SLASH].includes(inner[outer.length]);
  if (!inside) throw new Refused(INVALID_ARGUMENT, "leads out of the model directory");
  if (mountOf(base) !== mountOf(descriptor)) throw new Refused(INVALID_ARGUMENT, "leads into another file system");
}

function pathOf(descriptor) {
  return fs.readlinkSync(`/proc/self/fd/${descriptor}`, { encoding: "buffer" });
}

function mountOf(descriptor) {
  return /^mnt_id:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))[1];
}

// Walks a path one component at a time, as the kernel would, but for one thing: what is missing, dangling or no directory is
// undone by a following `..` in a name, though not in the text of a link.
function walk(look, start, path, links = { left: MOST_LINKS }, ofLink = false) {
  let here = path[0] === SLASH ? look.at(null, Buffer.from("/"), O_DIRECTORY) : look.at(start, HERE, O_DIRECTORY);
  let [missing, obstacle] = [0, null];
  const components = componentsOf(path);
  const wantsDirectory = /(^|\/)\.{0,2}$/.test(path.toString("latin1"));
  for (const [index, component] of components.entries()) {
    if (component.equals(PARENT)) {
      if (missing && ofLink) return NOWHERE; // the link dangles
      if (missing === 0) here = look.onward(here, look.at(here, PARENT, O_DIRECTORY));
      else if (--missing === 0) obstacle = null;
      continue;
    }
    const next = missing ? NOWHERE : step(look, here, component, links);
    if (index === components.length - 1 && !wantsDirectory) {
      return { ...next, directory: next.directory ?? here, leaf: next.leaf ?? component, missing, obstacle };
    }
    if (next.object !== null && fs.fstatSync(next.object).isDirectory()) {
      here = look.onward(here, next.object);
    } else if (missing++ === 0) {
      obstacle = next.object;
      here = next.directory ?? here; // behind a link to a file, `..` is the directory of that file
    }
  }
  return { ...NOWHERE, object: missing ? null : look.at(here, HERE), directory: here, leaf: Buffer.alloc(0), missing, obstacle };
}

function componentsOf(path) {
  const texts = path.toString("latin1").split("/");
  return texts.filter((text) => text !== "" && text !== ".").map((text) => Buffer.from(text, "latin1"));
}

// What a component is, links followed; its `directory` is set only where a link led elsewhere.
function step(look, here, component, links) {
  const object = look.at(here, component, O_NOFOLLOW);
  if (object === null || !fs.fstatSync(object).isSymbolicLink()) return { ...NOWHERE, object };
  if (links.left-- === 0) throw new Refused(INVALID_ARGUMENT, "goes through too many links");
  const target = walk(look, here, fs.readlinkSync(below(here, component), { encoding: "buffer" }), links, true);
  return { ...(target.object === null ? NOWHERE : target), throughLink: true };
}

// Where the name of a trusted caller leads.
function placeAnywhere(look, name) {
  const leaf = name.subarray(name.lastIndexOf("/") + 1);
  const directory = look.at(null, leaf.length < name.length ? name.subarray(0, name.length - leaf.length) : HERE, O_DIRECTORY);
  if (directory === null) throw new Refused(FAIL, "is in a directory that does not exist");
  const object = look.at(directory, leaf.length ? leaf : HERE, O_NOFOLLOW);
  return { ...NOWHERE, object, directory, leaf, throughLink: object !== null && fs.fstatSync(object).isSymbolicLink() };
}

// --- files -------------------------------------------------------------------------------------------------------------------

function readFile({ object }) {
  if (object === null) throw new Refused(FAIL, "does not exist");
  const before = fs.fstatSync(object, { bigint: true });
  if (!before.isFile()) throw new Refused(INVALID_ARGUMENT, "is not a regular file");
  if (before.size > LARGEST_FILE) throw new Refused(INVALID_ARGUMENT, "is larger than allowed");
  const file = fs.openSync(`/proc/self/fd/${object}`, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  try {
    const content = Buffer.alloc(Number(before.size));
    for (let done = 0; done < content.length; ) {
      const count = fs.readSync(file, content, done, content.length - done, null);
      if (count === 0) throw new Refused(FAIL, "was cut while it was read");
      done += count;
    }
    const after = fs.fstatSync(file, { bigint: true });
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) throw new Refused(FAIL, "changed while it was read");
    return content;
  } finally {
    fs.closeSync(file);
  }
}

function refuseTarget({ object, leaf, missing, throughLink }, trusted) {
  if (missing) throw new Refused(FAIL, "is in a directory that does not exist");
  if (throughLink && (trusted || object === null)) throw new Refused(INVALID_ARGUMENT, "is a link that must not be followed");
  if (object !== null && !fs.fstatSync(object).isFile()) throw new Refused(INVALID_ARGUMENT, "is not a regular file");
  if (object === null && leaf.length === 0) throw new Refused(FAIL, "does not exist");
}

// Puts a new file in the place of the old one in one step, or leaves the old one whole.
function replace({ object, directory, leaf }, payload) {
  if (object !== null) fs.closeSync(fs.openSync(`/proc/self/fd/${object}`, O_WRONLY | O_CLOEXEC)); // may it be written?
  const temporary = below(directory, Buffer.from(`.${crypto.randomUUID()}.tmp`));
  const file = fs.openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666);
  try {
    try {
      for (let done = 0; done < payload.length; ) done += fs.writeSync(file, payload, done);
      if (object !== null) fs.fchmodSync(file, fs.fstatSync(object).mode & 0o7777);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    fs.renameSync(temporary, below(directory, leaf)); // replaces what has that name, and follows nothing
  } catch (error) {
    fs.unlinkSync(temporary);
    throw error;
  }
}

module.exports = { read, write, Refused };
