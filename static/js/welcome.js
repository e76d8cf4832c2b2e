/* The short name follows the name until somebody types one; the server proposes it the same way. */
(() => {
  "use strict";
  const name = document.getElementById("id_name");
  const slug = document.getElementById("id_slug");
  if (!name || !slug) return;
  function made() {
    const plain = name.value.normalize("NFKD").replace(/[^\x00-\x7f]/g, "").toLowerCase();
    const stem = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 34).replace(/-+$/, "");
    return stem && stem.length < 3 ? `${stem}-lab` : stem;
  }
  let own = slug.value !== "" && slug.value !== made();
  slug.addEventListener("input", () => { own = slug.value !== ""; });
  name.addEventListener("input", () => { if (!own) slug.value = made(); });
})();
