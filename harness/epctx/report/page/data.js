// The report as it lies in the page: rows that are searched, and details that are read when they are opened.

const index = JSON.parse(byId("index").textContent);
const FIELDS = ["id", "severity", "tier", "statement", "why", "source", "weaknesses", "forms"];
const rules = index.rules.map((row) => Object.fromEntries(FIELDS.map((name, n) => [name, row[n]])));
const shows = new Map(index.shows);
const compares = index.sides.length > 0;

const text = (number) => (number < 0 ? "" : index.texts[number]);

/** What is listed, in order. `group` is the id of a rule, or what else it is listed under; `show` says in which part it is. */
const entries = index.entries.map(([name, show, group, rule, summary, before, about, known, tags, detail]) => ({
  key: `${text(group)}/${name}`,
  case: name,
  family: name.split("/", 1)[0],
  show: index.shows[show][0],
  group: text(group),
  rule: rule < 0 ? null : rules[rule],
  summary: text(summary),
  before: text(before),
  about: text(about),
  known: text(known),
  tags: tags.map(text),
  detail,
}));

const entryByKey = new Map(entries.map((entry) => [entry.key, entry]));

const counts = {};
for (const { show } of entries) counts[show] = (counts[show] ?? 0) + 1;

/** The words in which an entry is looked for. */
function haystack(entry) {
  const { case: name, summary, group, before, about, known, tags } = entry;
  entry.words ??= [name, summary, group, before, about, known, ...tags].join("\n").toLowerCase();
  return entry.words;
}

/** The entries that filters leave, in order. */
function matching(filters) {
  const words = (filters.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const show = filters.show ?? index.default;
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

let lines = null;

/** The detail of an entry. One with a negative number has none. */
function detailOf(entry) {
  lines ??= byId("details").textContent.split("\n");
  return JSON.parse(lines[entry.detail]);
}
