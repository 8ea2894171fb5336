// Light or dark mode: as the system, until the user chooses. It runs before the page is drawn, so that nothing flashes.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // A browser without storage uses the mode of the system.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
