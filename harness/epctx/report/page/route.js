// Where the reader is, in the URL: `#rule/case?family=links&text=abc`. A section's id alone is a place of the overview.

const FILTERS = ["text", "show", "severity", "family", "rule", "new"];
const SECTIONS = ["overview", "matrix", "findings", "run", "main"];

/** The place that the URL names: the key of a case or "", a section or "", and filters. */
function placeNow() {
  const [path, query] = location.hash.slice(1).split("?", 2);
  const key = path.split("/").map(decoded).join("/");
  const given = new URLSearchParams(query ?? "");
  const filters = {};
  for (const name of FILTERS) if (given.get(name)) filters[name] = given.get(name);
  return SECTIONS.includes(key) ? { key: "", section: key, filters } : { key, section: "", filters };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The link to a place. */
function link(key, filters, section = "") {
  const query = new URLSearchParams(filters).toString();
  const path = key ? key.split("/").map(encodeURIComponent).join("/") : section;
  return `#${path}${query ? `?${query}` : ""}`;
}
