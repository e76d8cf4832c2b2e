/* Lists of jobs: ticks that outlive a live swap, and cells that arrow keys walk through. */
(() => {
  "use strict";
  const { body } = document;
  const form = document.querySelector("[data-selection]");
  const boxes = () => [...document.querySelectorAll("input[form=selection]")];
  const chosen = new Set();
  const key = (box) => `${box.name}=${box.value}`;

  function count() {
    if (!form) return;
    const all = boxes();
    for (const box of all) box.checked = chosen.has(key(box));
    // what left the list was not seen to be left ticked: it is not acted on
    const here = new Set(all.map(key));
    for (const one of chosen) if (!here.has(one)) chosen.delete(one);
    const said = form.querySelector("[data-selected]");
    const text = said.dataset.words.replace("{}", chosen.size);
    if (said.textContent !== text) said.textContent = text;
    for (const every of document.querySelectorAll("[data-select-all]")) {
      every.checked = all.length > 0 && chosen.size === all.length;
      every.indeterminate = chosen.size > 0 && chosen.size < all.length;
      every.disabled = !all.length;
    }
    form.classList.toggle("is-none", !chosen.size);
    for (const button of form.querySelectorAll("button:not([title])")) button.disabled = !chosen.size;
  }
  document.addEventListener("change", ({ target }) => {
    if (target.matches("input[form=selection]")) {
      if (target.checked) chosen.add(key(target));
      else chosen.delete(key(target));
    } else if (target.matches("[data-select-all]")) {
      for (const box of boxes()) {
        if (target.checked) chosen.add(key(box));
        else chosen.delete(key(box));
      }
    } else return;
    count();
  });

  // One stop of the Tab key for all cells; arrows, Home and End walk through them.
  const cells = (list) => [...list.querySelectorAll("a")];
  let at = "";
  function settle() {
    for (const list of document.querySelectorAll("[data-cells]")) {
      const all = cells(list);
      const stop = all.find(({ id }) => id === at) || all[0];
      for (const cell of all) cell.tabIndex = cell === stop ? 0 : -1;
    }
  }
  function across(all) {
    const top = all[0].offsetTop;
    const next = all.findIndex((cell) => cell.offsetTop > top);
    return next < 1 ? all.length : next;
  }
  document.addEventListener("keydown", (event) => {
    const list = event.target.closest?.("[data-cells]");
    if (!list || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = cells(list), place = all.indexOf(event.target.closest("a"));
    const last = all.length - 1;
    const to = {
      ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + across(all), ArrowUp: place - across(all), Home: 0, End: last,
    }[event.key];
    if (to === undefined || place < 0) return;
    event.preventDefault();
    const cell = all[Math.min(Math.max(to, 0), last)];
    at = cell.id;
    settle();
    cell.focus();
  });

  const fresh = () => { count(); settle(); };
  for (const type of ["htmx:afterSettle", "htmx:wsAfterMessage"]) body.addEventListener(type, fresh);
  addEventListener("pageshow", () => { for (const box of boxes()) if (box.checked) chosen.add(key(box)); fresh(); });
  fresh();
})();
