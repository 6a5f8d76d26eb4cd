// One case in full: what was expected and what happened, the world, the calls, a timeline, the rule.

/** Draw the case of an entry into the page. */
function drawFinding(entry, filters, around) {
  const detail = detailOf(entry);
  byId("case").replaceChildren(
    pager(entry, filters, around),
    el(
      "header",
      { class: "headline" },
      el("p", { class: "eyebrow" }, showChip(entry.show), entry.rule ? [severityChip(entry.rule, entry.show), el("code", {}, entry.group)] : entry.tags),
      el("h1", { id: "case-title", tabindex: "-1" }, entry.case),
      el("p", { class: "lede" }, entry.summary),
      entry.known ? el("p", { class: "known" }, el("span", { class: "tag" }, "known"), " ", entry.known) : null,
    ),
    el("div", { class: compares ? "sides two" : "sides" }, detail.sides.map((side, n) => drawSide(side, n, entry, detail, filters))),
    callsOf(detail),
    entry.rule ? ruleOf(entry.rule) : null,
  );
}

function pager(entry, filters, { before, after, at, of }) {
  const to = (other, label, rel) =>
    other
      ? el("a", { rel, href: link(other.key, filters) }, label)
      : el("span", { class: "off", "aria-hidden": "true" }, label);
  return el(
    "nav",
    { class: "pager", "aria-label": "Among the others" },
    el("a", { href: link("", filters), class: "back" }, compares ? "← All changes" : "← All findings"),
    of ? el("span", { class: "where" }, `${at.toLocaleString("en")} of ${of.toLocaleString("en")}`) : null,
    to(before, "Previous", "prev"),
    to(after, "Next", "next"),
  );
}

function drawSide(side, n, entry, detail, filters) {
  const mine = side.broke.filter(([rule]) => rule === entry.group);
  const others = [...new Set(side.broke.map(([rule]) => rule))].filter((rule) => rule !== entry.group);
  return el(
    "div",
    { class: "side" },
    compares ? el("h2", { class: "of" }, n ? "After: " : "Before: ", el("code", {}, index.sides[n])) : null,
    el(
      "div",
      {},
      mine.map((one) => evidence(one, entry, detail.calls.length)),
      mine.length ? null : el("p", { class: `evidence ${compares ? "held" : "note"}` }, (compares && !n ? entry.before : entry.about) || side.result),
      others.length ? also(others, entry, filters) : null,
    ),
    again(side),
    part("The world", drawTree(side.tree), legend(side.tree), el("p", { class: "aside" }, "The model is given as ", el("code", {}, detail.given), ".")),
    part("What happened", side.calls.map(drawTimeline)),
  );
}

/** What else the case breaks, with a link where that is listed. */
function also(others, entry, filters) {
  const names = others.map((rule) => {
    const key = `${rule}/${entry.case}`;
    return entryByKey.has(key) ? el("a", { href: link(key, filters) }, el("code", {}, rule)) : el("code", {}, rule);
  });
  return el("p", { class: "also" }, "The same case also has ", names.flatMap((name, n) => [n ? ", " : "", name]), ".");
}

function part(title, ...children) {
  return el("section", { class: "part" }, el("h2", {}, title), children);
}

function evidence([, call, expected, happened, file, fails], entry, calls) {
  return el(
    "dl",
    { class: `evidence ${fails ? "" : "note"}` },
    entry.rule?.statement ? [el("dt", {}, "Rule"), el("dd", {}, prose(entry.rule.statement))] : null,
    calls > 1 ? [el("dt", {}, "Call"), el("dd", {}, `${call + 1} of ${calls}`)] : null,
    el("dt", {}, "Expected"),
    el("dd", {}, expected),
    el("dt", {}, "Happened"),
    el("dd", { class: "happened" }, happened),
    file ? [el("dt", {}, "File"), el("dd", {}, el("code", {}, file))] : null,
  );
}

function again(side) {
  if (side.copies === false) return el("p", { class: "again-not" }, side.again);
  const copied = el("span", { class: "copied", role: "status" });
  const button = el("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    copied.textContent = (await copy(side.again)) ? "copied" : "select it, and copy by hand";
    setTimeout(() => (copied.textContent = ""), 4000);
  });
  return part("Show it again", el("div", { class: "command" }, el("code", {}, side.again), button, copied));
}

/** Copy a text; whether that went well. Where the page is a file, a browser may give no clipboard but the old way. */
async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const field = el("textarea", { class: "offscreen", "aria-hidden": "true", tabindex: "-1" });
    field.value = words;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
}

/** The world, as nested lists: a reader hears how deep an entry lies. */
function drawTree(branches) {
  const root = el("ul", { class: "tree" });
  const lists = [root];
  for (const [depth, name, about, kind, inside, marks] of branches) {
    lists.length = depth + 1;
    if (!lists[depth]) {
      lists[depth] = el("ul", {});
      lists[depth - 1].lastElementChild.append(lists[depth]);
    }
    const tone = marks.some(([mark]) => mark === "bad") ? "bad" : marks.some(([mark]) => mark === "expected") ? "expected" : "";
    lists[depth].append(
      el(
        "li",
        { class: inside ? "inside" : null },
        el(
          "span",
          { class: `entry ${kind} ${tone}` },
          el("code", {}, name),
          about ? el("span", { class: "note" }, about) : null,
          marks.map(([mark, words]) => el("span", { class: `mark ${mark}` }, words)),
        ),
      ),
    );
  }
  return root;
}

function legend(branches) {
  const inside = branches.some((branch) => branch[4]);
  return inside ? el("p", { class: "aside" }, el("span", { class: "swatch" }), "The model directory, which a model's names may not leave.") : null;
}

const BAD_EVENTS = ["leaked", "plaintext"];

function drawTimeline({ 0: timeline, 1: rows }) {
  const end = timeline.at(-1)[2] || 1;
  const timed = timeline.some(([label]) => label === "callback");
  return el(
    "div",
    { class: "call" },
    el(
      "ol",
      { class: "timeline" },
      timeline.map(([label, words, started, ended], n) => {
        const edge = n === 0 || n === timeline.length - 1;
        const span = started === null ? "" : ended === null || edge ? micro(started) : `${micro(started)} to ${micro(ended)}`;
        const bar = timed && ended !== null && !edge ? el("span", { class: "bar-of", "aria-hidden": "true" }, el("span", {})) : null;
        if (bar) {
          bar.firstChild.style.setProperty("--from", `${Math.min(100, (100 * started) / end)}%`);
          bar.firstChild.style.setProperty("--width", `${Math.max(1, (100 * (ended - started)) / end)}%`);
        }
        const outside = /\((outside|above)\)/.test(words) || BAD_EVENTS.includes(label);
        return el(
          "li",
          { class: `${edge ? "edge" : ""} ${outside ? "outside" : ""}` },
          el("span", { class: "time" }, span),
          el("span", { class: "label" }, label),
          el("span", { class: "words" }, el("code", {}, words), bar),
        );
      }),
    ),
    rows.length ? labelled(rows) : null,
  );
}

function micro(time) {
  return time >= 1e6 ? `${(time / 1e6).toFixed(2)} s` : time >= 1e4 ? `${(time / 1e3).toFixed(1)} ms` : `${Math.round(time)} µs`;
}

function labelled(rows) {
  return el("dl", { class: "labelled" }, rows.map(([label, words]) => [el("dt", {}, label), el("dd", {}, words)]));
}

function callsOf(detail) {
  const aims = detail.aims.flatMap((rule, n) => [n ? ", " : " that aims at ", el("code", {}, rule)]);
  return part(
    detail.calls.length > 1 ? "The calls" : "The call",
    detail.calls.map(labelled),
    el("p", { class: "aside" }, `A ${detail.intent} case`, aims, "."),
  );
}

function ruleOf(rule) {
  return el(
    "section",
    { class: "part rule" },
    el("h2", {}, "The rule ", el("code", {}, rule.id)),
    el("p", { class: "statement" }, prose(rule.statement)),
    rule.why ? el("p", {}, prose(rule.why)) : null,
    el("p", { class: "aside" }, `Severity ${rule.severity}, tier ${rule.tier}. ${rule.source}. ${rule.weaknesses}`),
    rule.forms.length ? el("details", {}, el("summary", {}, "A weak form, and the right one"), rule.forms.map(formOf)) : null,
  );
}

function formOf([title, file, code]) {
  const lines = code.split("\n").flatMap((line, n) => (n ? [el("br"), line] : [line]));
  return el("figure", {}, el("figcaption", {}, prose(title), " ", el("code", { class: "file" }, file)), el("pre", { tabindex: "0" }, el("code", {}, lines)));
}
