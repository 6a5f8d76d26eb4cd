// The run as it lies in the page: rows that are searched, and details that are read when they are opened.

const index = JSON.parse(byId("index").textContent);
const rules = index.rules.map(([id, severity, tier, statement, why, source]) => ({ id, severity, tier, statement, why, source }));
const ruleById = new Map(rules.map((rule) => [rule.id, rule]));

const text = (number) => (number < 0 ? "" : index.texts[number]);

/** What is listed: one entry for each rule that a case breaks, and one for each other case. `group` is the rule, or the result. */
const entries = [];
for (const [id, result, summary, reason, detail, found] of index.cases) {
  const shared = { case: id, family: id.split("/", 1)[0], result, summary: text(summary), reason: text(reason), detail };
  for (const [rule, weight, known, happened] of found) {
    const of = rules[rule];
    entries.push({ ...shared, group: of.id, rule: of, show: index.weights[weight], known: text(known), happened: text(happened) });
  }
  if (!found.length) entries.push({ ...shared, group: result, rule: null, show: result, known: "", happened: text(reason) });
}
const ORDER = [...index.weights, "error", "skip", "pass"];
const rank = (entry) => ORDER.indexOf(entry.show) * 1000 + (entry.rule ? rules.indexOf(entry.rule) : 0);
for (const entry of entries) entry.rank = rank(entry);
entries.sort((a, b) => a.rank - b.rank);

const entryByKey = new Map();
for (const entry of entries) entryByKey.set(`${entry.group}/${entry.case}`, entry);

/** The words in which an entry is looked for. */
function haystack(entry) {
  entry.words ??= [entry.case, entry.summary, entry.group, entry.happened, entry.known, entry.result].join("\n").toLowerCase();
  return entry.words;
}

let lines = null;

/** The detail of an entry; null for a case of which only the result is kept. */
function detailOf(entry) {
  if (entry.detail < 0) return null;
  lines ??= byId("details").textContent.split("\n");
  return JSON.parse(lines[entry.detail]);
}
