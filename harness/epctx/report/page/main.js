// From the URL to what is seen, and back.

const title = document.title;
let drawn = null;
let opened = "";
let scrolled = 0;
let fresh = true;

/** Show the place that the URL names. */
function show() {
  const place = placeNow();
  const first = fresh;
  fresh = false;
  const entry = place.key ? entryByKey.get(place.key) : null;
  const open = entry && entry.detail >= 0;
  showFilters(place.filters);
  const same = JSON.stringify(place.filters);
  if (!open && same !== drawn) {
    drawList(place.filters);
    drawn = same;
  }
  byId("unknown").hidden = !place.key || Boolean(open);
  if (open) return openCase(entry, place);
  byId("case").hidden = true;
  byId("report").hidden = false;
  document.title = title;
  if (opened) comeBack();
  if (first && Object.keys(place.filters).length) place.section ||= "findings";
  if (place.section) {
    byId(place.section).scrollIntoView();
    byId(place.section).focus({ preventScroll: true });
  }
}

function openCase(entry, place) {
  if (!byId("report").hidden) scrolled = scrollY;
  const show = place.filters.show ?? (index.default === "any" ? "any" : entry.show);
  const found = matching({ ...place.filters, show }).filter((one) => one.detail >= 0);
  const at = found.indexOf(entry);
  const around = { before: found[at - 1], after: at < 0 ? undefined : found[at + 1], at: at + 1, of: at < 0 ? 0 : found.length };
  drawFinding(entry, place.filters, around);
  opened = entry.key;
  byId("report").hidden = true;
  byId("case").hidden = false;
  document.title = `${visible(entry.case)} · ${title}`;
  scrollTo(0, 0);
  byId("case-title").focus({ preventScroll: true });
}

/** Back to the row from which a case was opened. */
function comeBack() {
  const row = [...document.querySelectorAll("a.case")].find((one) => one.dataset.key === opened);
  opened = "";
  scrollTo(0, scrolled);
  row?.focus({ preventScroll: true });
  if (row) {
    const { top, bottom } = row.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) row.scrollIntoView({ block: "center" });
  }
}

function filtersChanged() {
  const to = link("", filtersNow());
  history.replaceState(null, "", to === "#" ? location.pathname + location.search : to);
  show();
}

byId("filters").addEventListener("input", filtersChanged); // at once: what comes later may come under somebody's click
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", () => {
  byId("filters").reset();
  filtersChanged();
  byId("filter-text").focus();
});

/** Sections are places, and filters stay as they are when one is gone to. */
for (const anchor of document.querySelectorAll("a[data-section]")) {
  anchor.addEventListener("click", () => (anchor.href = link("", placeNow().filters, anchor.dataset.section)));
}

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    if (!byId("case").hidden) location.hash = link("", placeNow().filters, "findings");
    setTimeout(() => {
      byId("findings").scrollIntoView();
      byId("filter-text").focus();
    });
  }
  if (event.key === "Escape" && !byId("case").hidden) location.hash = link("", placeNow().filters);
});

const theme = byId("theme");
const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
const sayTheme = () => {
  theme.textContent = dark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", `${theme.textContent} theme`);
};
theme.addEventListener("click", () => {
  const next = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("epctx-theme", next);
  } catch {
    // It counts until the page is closed.
  }
  sayTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", sayTheme);
sayTheme();

const broken = byId("matrix-all");
broken?.addEventListener("change", () => byId("matrix-table").classList.toggle("whole", broken.checked));

for (const share of document.querySelectorAll("[data-share]")) share.style.setProperty("--share", share.dataset.share);

fillFilters();
show();
