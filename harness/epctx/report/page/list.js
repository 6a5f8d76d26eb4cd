// The list: filters above, groups below. A group begins with a few of its entries, and gives more when it is asked to.

const FIRST = 12;
const MORE = 200;

/** Draw the entries that filters leave, and say how many there are. */
function drawList(filters) {
  const found = matching(filters);
  const groups = Map.groupBy(found, (entry) => `${entry.show} ${entry.group}`);
  byId("count").textContent = summary(found, filters.show ?? index.default);
  byId("list").replaceChildren(...[...groups.values()].map((group) => drawGroup(group, filters)));
  if (!found.length) byId("list").append(nothing(filters));
}

function summary(found, show) {
  const cases = plural(new Set(found.map((entry) => entry.case)).size, "case");
  const broken = new Set(found.filter((entry) => entry.rule).map((entry) => entry.group)).size;
  if (compares) return `${plural(found.length, "change")} in ${cases}`;
  if (show === "fails") return `${plural(found.length, "finding")} in ${cases}, ${plural(broken, "rule")}`;
  return broken ? `${cases}, ${plural(broken, "rule")}` : cases;
}

function drawGroup(group, filters) {
  const { rule, show, group: name } = group[0];
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
  };
  more.addEventListener("click", () => {
    const first = shown;
    grow(MORE);
    rows.children[first].querySelector(".case").focus();
  });
  grow(FIRST);
  return el(
    "section",
    { class: "group" },
    el(
      "h3",
      {},
      showChip(show),
      rule ? [severityChip(rule, show), el("code", {}, rule.id)] : compares ? group[0].tags[0] ?? name : capital(shows.get(show)),
      el("span", { class: "many" }, plural(group.length, "case")),
    ),
    rule?.statement ? el("p", { class: "statement" }, prose(rule.statement)) : null,
    rows,
    more,
  );
}

function drawRow(entry, filters) {
  const tags = [
    (entry.rule ? entry.tags : entry.tags.slice(1)).map((tag) => el("span", { class: "tag bad" }, tag)),
    entry.known ? el("span", { class: "tag", title: entry.known }, "known") : null,
  ];
  const inner = [
    el("span", { class: "name" }, el("code", {}, entry.case), tags),
    el(
      "span",
      { class: "about" },
      compares ? [el("span", { class: "was" }, entry.before), el("span", { "aria-hidden": "true" }, " → "), el("span", { class: "offscreen" }, " became "), el("span", { class: "now" }, entry.about)] : entry.about || entry.summary,
    ),
  ];
  if (entry.detail < 0) return el("li", {}, el("div", { class: "case", tabindex: "-1" }, inner));
  return el("li", {}, el("a", { class: "case", href: link(entry.key, filters), "data-key": entry.key }, inner));
}

/** A severity as a shape, a colour and a word; what does not count has the word for what it is. */
function severityChip(rule, show) {
  const quiet = { "over-strict": "over-strict", note: "note" }[show];
  return el("span", { class: `chip ${quiet ? "quiet" : rule.severity}` }, quiet ?? rule.severity);
}

/** In a comparison, whether it got better or worse. */
function showChip(show) {
  return compares ? el("span", { class: `chip ${show}` }, show === "other" ? "changed" : show) : null;
}

function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function nothing(filters) {
  const show = filters.show ?? index.default;
  const narrowed = Object.keys(filters).some((name) => name !== "show");
  const others = [...shows.keys()].filter((one) => one !== show && counts[one]);
  const links = others.map((one) => el("a", { href: link("", { show: one }, "findings") }, `${shows.get(one)} (${counts[one].toLocaleString("en")})`));
  return el(
    "p",
    { class: "nothing" },
    narrowed ? "Nothing matches. " : show === "fails" ? "No case breaks a rule. " : compares ? "Nothing changed. " : "There is none. ",
    narrowed ? el("a", { href: link("", {}, "findings") }, "Clear the filters") : null,
    links.length ? [narrowed ? ", or show " : "Show ", links.flatMap((one, n) => (n ? [", ", one] : [one]))] : null,
    narrowed || links.length ? "." : null,
  );
}

/** Fill the choices of the filters, once. */
function fillFilters() {
  const choose = (name, values, label = (value) => value) => {
    for (const value of values) byId(`filter-${name}`).append(el("option", { value: name === "show" && value === index.default ? "" : value }, label(value)));
  };
  const sum = (show) => (show === "any" ? entries.length : counts[show] ?? 0).toLocaleString("en");
  const shown = [...shows.keys()].filter((show) => show === index.default || counts[show]);
  choose("show", [...shown, "any"], (show) => `${show === "any" ? "everything" : shows.get(show)} (${sum(show)})`);
  const ruled = new Set(entries.filter((entry) => entry.rule).map((entry) => entry.rule));
  const severities = new Set([...ruled].map((rule) => rule.severity));
  choose("severity", index.severities.filter((severity) => severities.has(severity)));
  choose("family", [...new Set(entries.map((entry) => entry.family))].sort());
  choose("rule", [...new Set([...ruled].map((rule) => rule.id))].sort());
  byId("only-new").hidden = !entries.some((entry) => entry.known);
}

/** Put filters into the form. */
function showFilters(filters) {
  for (const name of FILTERS) {
    const field = byId(`filter-${name}`);
    if (field.type === "checkbox") field.checked = Boolean(filters[name]);
    else if (field.value.trim() !== (filters[name] ?? "")) field.value = filters[name] ?? "";
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
