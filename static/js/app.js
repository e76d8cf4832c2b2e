/* Freehold's own script. Pages are plain forms and links; this adds comfort and live regions. No dependency. */
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;
  const on = (type, handler, target = document, options) => target.addEventListener(type, handler, options);

  // --- theme: a cookie, so that the server writes data-theme and nothing flashes ---
  const dark = matchMedia("(prefers-color-scheme: dark)");
  function switchTheme() {
    const root = document.documentElement;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax${secure}`;
  }

  // --- times: the server's clock counts, not this machine's ---
  const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  const skew = body.dataset.now && !back ? Date.parse(body.dataset.now) - Date.now() : 0;
  const now = () => Date.now() + skew;
  const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const dayTime = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  function brief(seconds) {
    const [size, unit] = UNITS.find(([s]) => seconds >= s) || UNITS[3];
    return `${Math.floor(seconds / size)} ${unit}`;
  }
  function relative(at) {
    const seconds = Math.round((now() - at) / 1000);
    if (Math.abs(seconds) > 7 * 86400) return dayTime.format(at);
    if (seconds < 0) return seconds > -2 ? "now" : `in ${brief(-seconds)}`;
    return seconds < 2 ? "just now" : `${brief(seconds)} ago`;
  }
  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  function tick(root = document) {
    for (const element of $$("time[data-relative]", root)) {
      const at = Date.parse(element.dateTime);
      if (Number.isNaN(at)) continue;
      if (!element.title) element.title = absolute.format(at);
      write(element, relative(at));
    }
    for (const element of $$("[data-as-of]", root)) {
      const at = Date.parse(element.dataset.asOf);
      const seconds = Math.max(0, Math.round((now() - at) / 1000));
      const late = "since" in element.dataset || seconds > Number(element.dataset.lateAfter || 45);
      element.classList.toggle("late", late);
      element.closest("[data-region]")?.classList.toggle("is-late", late);
      const since = Date.parse(element.dataset.since || element.dataset.asOf);
      const then = now() - since > 72000e3 ? dayTime : clock;
      write(element, late ? `not reachable since ${then.format(since)}` : `as of ${brief(seconds)} ago`);
    }
    for (const element of $$("[data-elapsed]", root)) {
      write(element, spell(Math.max(0, (now() - Date.parse(element.dataset.elapsed)) / 1000)));
    }
  }
  function spell(value) {
    const seconds = Math.floor(value), days = Math.floor(seconds / 86400), pad = (n) => String(n).padStart(2, "0");
    const hours = Math.floor(seconds % 86400 / 3600), minutes = Math.floor(seconds % 3600 / 60);
    if (days) return `${days} d ${hours} h`;
    if (hours) return `${hours} h ${pad(minutes)} min`;
    return minutes ? `${minutes} min ${pad(seconds % 60)} s` : `${seconds} s`;
  }

  // --- toasts ---
  function toast(text, tone = "amber") {
    const element = document.createElement("div");
    element.className = `banner tone-${tone}`;
    element.textContent = text;
    $("#toasts")?.append(element);
    settleToasts();
  }
  function settleToasts() {
    for (const element of $$("#toasts > :not([data-timed])")) {
      element.dataset.timed = "";
      if (!element.classList.contains("tone-red")) setTimeout(() => element.remove(), 8000);
    }
  }

  // --- forms: sent once, by Ctrl+Enter too, given back when the page comes back ---
  function hold(form, button) {
    form.dataset.sending = "";
    if (!button) return;
    button.dataset.words = button.innerHTML;
    // A disabled button's name and value are not sent, so it is disabled after the form was read.
    setTimeout(() => {
      button.disabled = true;
      button.textContent = button.dataset.sendingText || "Sending…";
    });
  }
  function release(form) {
    delete form.dataset.sending;
    for (const button of $$("[data-words]", form)) {
      button.disabled = false;
      button.innerHTML = button.dataset.words;
      delete button.dataset.words;
    }
  }
  on("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if ("sending" in form.dataset) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    if (!event.defaultPrevented || form.matches("[hx-post]")) hold(form, event.submitter || $("button:not([type=button])", form));
  }, document, true);
  on("pageshow", () => $$("form[data-sending]").forEach(release), window);
  on("htmx:afterRequest", (event) => event.target.matches?.("form[data-sending]") && release(event.target));
  on("change", (event) => event.target.matches("[data-submit]") && event.target.form.requestSubmit());

  // --- keys ---
  on("keydown", (event) => {
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field?.form) {
      event.preventDefault();
      field.form.requestSubmit($("[data-default]", field.form) || undefined);
    } else if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && !event.altKey && !$("dialog[open]")) {
      const search = $$("[data-search]").find((input) => input.offsetParent);
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
  });

  // --- clicks: theme, copy, dialogs ---
  async function copy(button) {
    const source = button.dataset.copyFrom;
    const text = source ? $(source).innerText : button.dataset.copy;
    const label = button.getAttribute("aria-label");
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source ? $(source) : button.previousElementSibling || button);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      said = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
    }
    const words = button.innerHTML;
    if (button.dataset.busy) return;
    button.dataset.busy = "1";
    button.innerHTML = '<span class="done" role="status"></span>';
    button.firstChild.textContent = said;
    button.removeAttribute("aria-label");
    setTimeout(() => {
      button.innerHTML = words;
      if (label) button.setAttribute("aria-label", label);
      delete button.dataset.busy;
    }, 1600);
  }
  on("click", (event) => {
    const find = (selector) => event.target.closest?.(selector);
    let element;
    if (find("[data-theme-switch]")) switchTheme();
    else if ((element = find("[data-copy], [data-copy-from]"))) copy(element);
    else if ((element = find("[data-dialog]"))) {
      const dialog = document.getElementById(element.dataset.dialog);
      if (!dialog?.showModal || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      dialog.showModal();
    } else if ((element = find("[data-close]"))) element.closest("dialog")?.close();
    else if (event.target.matches?.("dialog.dialog")) event.target.close();
  });

  // --- output panes stay at the end while followed ---
  const follows = (pane) => $("[data-follow]", pane.closest(".output"))?.checked;
  function tail(root = document) {
    for (const pane of $$(".output pre", root)) {
      if (!pane.dataset.watched) {
        pane.dataset.watched = "1";
        on("wheel", (event) => { if (event.deltaY < 0) unfollow(pane); }, pane, { passive: true });
        on("keydown", (event) => { if (["PageUp", "Home", "ArrowUp"].includes(event.key)) unfollow(pane); }, pane);
        new MutationObserver(() => follows(pane) && end(pane)).observe(pane, { childList: true, characterData: true, subtree: true });
      }
      if (follows(pane)) end(pane);
    }
  }
  const end = (pane) => { pane.scrollTop = pane.scrollHeight; };
  function unfollow(pane) {
    const box = $("[data-follow]", pane.closest(".output"));
    if (box) box.checked = false;
  }
  on("change", (event) => { if (event.target.matches("[data-follow]")) tail(event.target.closest(".output")); });

  // --- focus and open details survive a swap ---
  let kept = null;
  function keep() {
    const active = document.activeElement;
    kept = {
      id: active?.id, href: active?.getAttribute?.("href"), text: active?.textContent,
      start: active?.selectionStart, stop: active?.selectionEnd,
      open: $$("details[open][id]").map((details) => details.id),
    };
  }
  function restore() {
    if (!kept) return;
    for (const id of kept.open) document.getElementById(id)?.setAttribute("open", "");
    if (document.activeElement === body || !document.activeElement) {
      const same = kept.id ? document.getElementById(kept.id)
        : kept.href && $$("main a[href]").find((a) => a.getAttribute("href") === kept.href && a.textContent === kept.text);
      same?.focus({ preventScroll: true });
      if (same && kept.start != null) try { same.setSelectionRange(kept.start, kept.stop); } catch { /* not a text field */ }
    }
    kept = null;
  }
  on("htmx:beforeSwap", keep);
  on("htmx:wsBeforeMessage", keep);
  function fresh(root) { tick(root); tail(root); restore(); settleToasts(); }
  on("htmx:afterSettle", (event) => fresh(event.target.isConnected ? event.target : document));
  on("htmx:wsAfterMessage", () => fresh(document));
  on("htmx:oobAfterSwap", (event) => tick(event.target));

  // --- live: while the socket is down, regions with hx-trigger="... poll from:body" ask every 5 s ---
  const poll = () => body.dispatchEvent(new CustomEvent("poll"));
  let opened = false, timer = 0;
  function down() {
    body.dataset.live = "down";
    if (!timer) timer = setInterval(() => document.hidden || poll(), 5000);
  }
  on("htmx:wsOpen", () => {
    clearInterval(timer);
    timer = 0;
    body.dataset.live = "up";
    if (opened) poll();
    opened = true;
  });
  on("htmx:wsClose", (event) => {
    const { code } = event.detail.event;
    if (code === 4401) { signedOut(); return; }
    down();
    // The extension itself comes back after 1006 and 1011 to 1013.
    if ([1000, 1001, 1005].includes(code) && !leaving) setTimeout(() => event.detail.socketWrapper.reconnect(), 2000);
  });
  on("htmx:wsError", down);
  let leaving = false;
  on("pagehide", () => { leaving = true; }, window);
  on("pageshow", (event) => { leaving = false; if (event.persisted) poll(); }, window);
  on("visibilitychange", () => { if (!document.hidden && body.dataset.live === "down") poll(); });

  // --- answers that are not the page's ---
  function signedOut() {
    const banner = $("#signed-out");
    if (!banner) return;
    banner.hidden = false;
    $("a", banner).href = location.href;
  }
  on("htmx:responseError", (event) => {
    const { status } = event.detail.xhr;
    if (status === 401) signedOut();
    else if (event.detail.requestConfig.verb !== "get") toast(`That was not done: the portal answered ${status}. Reload the page to see how things stand.`, "red");
  });
  on("htmx:sendError", (event) => {
    if (event.detail.requestConfig.verb !== "get") toast("The portal did not answer. Nothing you typed is lost; try again in a moment.", "red");
    else down();
  });
  on("htmx:beforeOnLoad", (event) => {
    // A sign-in page behind a redirect never lands inside a region.
    const answered = event.detail.xhr.responseURL;
    if (answered && new URL(answered).pathname !== new URL(event.detail.pathInfo.requestPath, location.href).pathname && event.detail.requestConfig.verb === "get") {
      event.preventDefault();
      signedOut();
    }
  });

  const zone = $("[data-zone]");
  if (zone) zone.textContent = `Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
  $("[data-focus]")?.focus();
  tick();
  tail();
  settleToasts();
  setInterval(() => document.hidden || tick(), 1000);
})();
