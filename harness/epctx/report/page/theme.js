// Before anything is drawn: the theme that was chosen here before, so that nothing flashes.
try {
  const chosen = localStorage.getItem("epctx-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser may keep no notes for a page from a file: the system's theme it is.
}
document.documentElement.classList.add("scripted");
