// The findings: filters above, groups by rule below. A group begins with a few of its cases, and gives more when it is asked to.

const FIRST = 12;
const MORE = 200;
const SHOWS = {
  fails: "findings",
  "over-strict": "over-strict",
  note: "notes",
  error: "errors",
  skip: "skipped",
  pass: "passed",
  any: "everything",
};

/** The entries that filters leave, in order. */
function matching(filters) {
  const words = (filters.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const show = filters.show ?? "fails";
  return entries.filter(
    (entry) =>
      (show === "any" || entry.show === show) &&
      (!filters.severity || entry.rule?.severity === filters.severity) &&
      (!filters.family || entry.family === filters.family) &&
      (!filters.rule || entry.group === filters.rule) &&
      (!filters.new || !entry.known) &&
      words.every((word) => haystack(entry).includes(word)),
  );
}

/** Draw the entries that filters leave, and say how many there are. */
function drawList(filters) {
  const found = matching(filters);
  const groups = Map.groupBy(found, (entry) => `${entry.show} ${entry.group}`);
  byId("count").textContent = summary(found, filters.show ?? "fails");
  const list = byId("list");
  list.replaceChildren();
  for (const group of groups.values()) list.append(drawGroup(group, filters));
  if (!found.length) list.append(nothing(filters));
}

function summary(found, show) {
  const cases = new Set(found.map((entry) => entry.case)).size;
  const rules = new Set(found.map((entry) => entry.group)).size;
  if (["error", "skip", "pass"].includes(show)) return plural(cases, "case");
  return `${plural(found.length, show === "fails" ? "finding" : "entry").replace("entrys", "entries")} in ${plural(cases, "case")}, ${plural(rules, "rule")}`;
}

function drawGroup(group, filters) {
  const { rule, show } = group[0];
  const rows = el("ol", { class: "rows" });
  const more = el("button", { type: "button", class: "more" });
  let shown = 0;
  const grow = (by) => {
    const next = group.slice(shown, shown + by);
    rows.append(...next.map((entry) => drawRow(entry, filters)));
    shown += next.length;
    const rest = group.length - shown;
    more.hidden = !rest;
    more.textContent = `Show ${Math.min(rest, MORE).toLocaleString("en")} more of ${group.length.toLocaleString("en")}`;
    return next.length;
  };
  more.addEventListener("click", () => {
    const before = shown;
    grow(MORE);
    rows.children[before].querySelector("a, .case")?.focus();
  });
  grow(FIRST);
  const weight = { "over-strict": "over-strict", note: "note" }[show];
  const heading = rule
    ? [severityChip(rule.severity, weight), el("code", {}, rule.id)]
    : [{ error: "Errors of the harness", skip: "Skipped", pass: "Passed" }[show]];
  return el(
    "section",
    { class: "group" },
    el("h3", {}, heading, el("span", { class: "many" }, plural(group.length, "case"))),
    rule?.statement ? el("p", { class: "statement" }, prose(rule.statement)) : null,
    rows,
    more,
  );
}

function drawRow(entry, filters) {
  const key = `${entry.group}/${entry.case}`;
  const name = el("code", {}, entry.case);
  const tags = [
    entry.rule && ["hang", "crash"].includes(entry.result) ? el("span", { class: "tag bad" }, entry.result) : null,
    entry.known ? el("span", { class: "tag", title: entry.known }, "known") : null,
  ];
  const about = entry.happened || entry.summary;
  const inner = [el("span", { class: "name" }, name, tags), el("span", { class: "about" }, about)];
  if (entry.detail < 0) return el("li", {}, el("div", { class: "case", tabindex: "-1" }, inner));
  return el("li", {}, el("a", { class: "case", href: link(key, filters), "data-key": key }, inner));
}

/** A severity as a shape, a colour and a word; a note has the word for what it is. */
function severityChip(severity, weight) {
  return el("span", { class: `chip ${weight ? "quiet" : severity}` }, weight ?? severity);
}

function nothing(filters) {
  const narrowed = Object.keys(filters).some((name) => name !== "show");
  const others = Object.keys(SHOWS).filter((show) => show !== "any" && show !== (filters.show ?? "fails") && counts[show]);
  const links = others.map((show) => el("a", { href: link("", { show }) }, `${SHOWS[show]} (${counts[show].toLocaleString("en")})`));
  const rest = links.flatMap((one, n) => (n ? [", ", one] : [one]));
  return el(
    "p",
    { class: "nothing" },
    narrowed ? "Nothing matches. " : (filters.show ?? "fails") === "fails" ? "No case breaks a rule. " : "There is none. ",
    narrowed ? el("a", { href: link("", {}, "findings") }, "Clear the filters") : null,
    narrowed ? ", or show " : "Show ",
    rest,
    ".",
  );
}

const counts = {};
for (const entry of entries) counts[entry.show] = (counts[entry.show] ?? 0) + 1;

/** Fill the choices of the filters, once. */
function fillFilters() {
  const choose = (id, options) => {
    for (const [value, label] of options) byId(id).append(el("option", { value }, label));
  };
  const shows = Object.entries(SHOWS).filter(([show]) => show === "fails" || show === "any" || counts[show]);
  choose(
    "filter-show",
    shows.map(([show, label]) => [show === "fails" ? "" : show, show === "any" ? label : `${label} (${(counts[show] ?? 0).toLocaleString("en")})`]),
  );
  choose("filter-severity", index.severities.map((one) => [one, one]));
  choose("filter-family", [...new Set(entries.map((entry) => entry.family))].sort().map((one) => [one, one]));
  const broken = new Set(entries.filter((entry) => entry.rule).map((entry) => entry.rule));
  choose("filter-rule", [...broken].map((rule) => rule.id).sort().map((one) => [one, one]));
  byId("only-new").hidden = !entries.some((entry) => entry.known);
}

/** Put filters into the form. */
function showFilters(filters) {
  for (const name of FILTERS) {
    const field = byId(`filter-${name}`);
    if (field.type === "checkbox") field.checked = Boolean(filters[name]);
    else if (field.value !== (filters[name] ?? "")) field.value = filters[name] ?? "";
  }
}

/** What the form says. */
function filtersNow() {
  const filters = {};
  for (const name of FILTERS) {
    const field = byId(`filter-${name}`);
    const value = field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim();
    if (value) filters[name] = value;
  }
  return filters;
}
