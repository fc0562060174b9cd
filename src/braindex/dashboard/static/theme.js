// The theme that was chosen, set before the page is drawn.
"use strict";
(() => {
  let chosen = "";
  try {
    chosen = localStorage.getItem("theme") || "";
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
