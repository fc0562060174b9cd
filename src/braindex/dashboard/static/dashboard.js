// What the pages do beyond links and forms: the theme's switch, and a word when the server is gone.
"use strict";
(() => {
  const theme = document.getElementById("theme");
  if (theme) {
    theme.closest("label").classList.add("ready");
    theme.value = document.documentElement.dataset.theme || "";
    theme.addEventListener("change", () => {
      if (theme.value) document.documentElement.dataset.theme = theme.value;
      else delete document.documentElement.dataset.theme;
      try {
        localStorage.setItem("theme", theme.value);
      } catch {
        // It lasts as long as the page then.
      }
      document.dispatchEvent(new Event("theme"));
    });
  }
  const lost = document.getElementById("lost");
  const tell = (hidden) => () => {
    if (lost) lost.hidden = hidden;
  };
  document.addEventListener("htmx:sendError", tell(false));
  document.addEventListener("htmx:afterOnLoad", tell(true));
  document.addEventListener("htmx:beforeRequest", (event) => {
    const target = event.detail.target;
    if (target) target.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const target = event.detail.target;
    if (target) target.removeAttribute("aria-busy");
  });
})();
