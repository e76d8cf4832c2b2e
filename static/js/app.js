/* Pages are plain forms and links; this adds comfort and live regions. No dependency. */
(() => {
  "use strict";
  const { body, documentElement: root } = document;
  const $ = (selector, inside = document) => inside.querySelector(selector);
  const $$ = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const on = (type, handler, target = document, options) => target.addEventListener(type, handler, options);
  // Words: components/say.html.
  const say = (name, value) => ($("[data-say-age]")?.dataset[`say${name}`] || "").replace("{}", value);

  // Theme: a cookie, so that the server writes data-theme and nothing flashes.
  function switchTheme() {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax${secure}`;
  }

  // Times: by the server's clock.
  const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  const skew = body.dataset.now && !back ? Date.parse(body.dataset.now) - Date.now() : 0;
  const now = () => Date.now() + skew;
  const format = (options) => new Intl.DateTimeFormat(root.lang, { hourCycle: "h23", ...options });
  const time = { hour: "2-digit", minute: "2-digit" };
  const clock = format(time), day = format({ month: "short", day: "numeric", ...time });
  const full = format({ dateStyle: "medium", timeStyle: "long" });
  const two = (n) => String(n).padStart(2, "0");
  const ago = (n, unit, numeric) => new Intl.RelativeTimeFormat(root.lang, { style: "short", numeric }).format(n, unit);
  // What comes is rounded to the nearest: a new invitation ends in 7 days.
  function brief(s) {
    const [size, unit] = [[86400, "day"], [3600, "hour"], [60, "minute"]].find(([least]) => Math.abs(s) >= least) || [1, "second"];
    return ago(-(s < 0 ? Math.round : Math.floor)(s / size), unit);
  }
  function relative(at) {
    const s = Math.round((now() - at) / 1000);
    return Math.abs(s) > 604800 ? day.format(at) : Math.abs(s) < 2 ? ago(0, "second", "auto") : brief(s);
  }
  function spell(value) {
    const s = Math.max(0, Math.floor(value)), m = Math.floor(s / 60), h = Math.floor(m / 60);
    if (h >= 24) return `${Math.floor(h / 24)} d ${h % 24} h`;
    return h ? `${h} h ${two(m % 60)} min` : m ? `${m} min ${two(s % 60)} s` : `${s} s`;
  }
  const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  function tick() {
    for (const element of $$("time[data-relative]")) {
      const at = Date.parse(element.dateTime);
      if (!element.title) element.title = full.format(at);
      // "in 24 hr." at the end of a sentence
      write(element, relative(at).replace(element.nextSibling?.data?.[0] === "." ? /\.$/ : "", ""));
    }
    for (const element of $$("[data-as-of]")) {
      const { asOf, since, lateAfter = 45 } = element.dataset;
      const s = Math.max(0, Math.round((now() - Date.parse(asOf)) / 1000));
      const late = !!since || s > lateAfter;
      element.classList.toggle("late", late);
      element.closest("[data-region]")?.classList.toggle("is-late", late);
      const then = Date.parse(since || asOf);
      write(element, late ? say("Since", (now() - then > 72e6 ? day : clock).format(then)) : say("Age", brief(s)));
    }
    for (const element of $$("[data-elapsed]")) write(element, spell((now() - Date.parse(element.dataset.elapsed)) / 1000));
  }

  // Red toasts stay.
  function settleToasts() {
    for (const element of $$("#toasts > :not([data-timed])")) {
      element.dataset.timed = "";
      if (!element.matches(".tone-red")) setTimeout(() => element.remove(), 8000);
    }
  }
  function toast(text) {
    const element = document.createElement("div");
    element.className = "banner tone-red";
    element.textContent = text;
    byId("toasts")?.append(element);
    settleToasts();
  }

  // Busy: a line at the top, from half a second on, while something that a person did is under way.
  let under = 0;
  function busy(more) {
    under = Math.max(0, under + more);
    body.classList.toggle("is-busy", under > 0);
  }
  const asked = new WeakSet();
  on("htmx:beforeRequest", ({ detail: { xhr, elt, requestConfig } }) => {
    if (!requestConfig.triggeringEvent?.isTrusted || elt.matches("form[data-once]")) return;
    asked.add(xhr);
    elt.setAttribute("aria-busy", "true");
    busy(1);
  });
  on("htmx:afterRequest", ({ detail: { xhr, elt } }) => {
    if (!asked.delete(xhr)) return;
    elt.removeAttribute("aria-busy");
    busy(-1);
  });

  // Forms: sent once.
  const token = () => /(?:^|; )csrftoken=(\w+)/.exec(document.cookie)?.[1];
  on("submit", (event) => {
    const form = event.target;
    // After a sign-in in another tab: its new token.
    const field = $("[name=csrfmiddlewaretoken]", form);
    if (field) field.value = token() || field.value;
    if (!form.matches("[data-once]")) return;
    if ("sending" in form.dataset) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    form.dataset.sending = "";
    busy(1);
    const button = event.submitter || $("button:not([type=button])", form);
    if (!button) return;
    button.dataset.words = button.innerHTML;
    // Disabled only after the form was read.
    setTimeout(() => { button.disabled = true; button.textContent = button.dataset.sendingText || say("Sending"); });
  }, document, true);
  function release(form) {
    if ("sending" in form.dataset) busy(-1);
    delete form.dataset.sending;
    for (const button of $$("[data-words]", form)) {
      button.disabled = false;
      button.innerHTML = button.dataset.words;
      delete button.dataset.words;
    }
  }
  on("htmx:configRequest", ({ detail }) => { if (token()) detail.headers["X-CSRFToken"] = token(); });
  on("htmx:afterRequest", ({ target }) => target.matches?.("form[data-sending]") && release(target));
  on("change", ({ target }) => {
    if (target.matches("[data-submit]")) target.form.requestSubmit();
    if (target.matches("[data-follow]")) tail();
  });

  // Drafts: what stands in form[data-draft] survives a session that ended; what was sent is forgotten.
  const draft = $("form[data-draft]");
  const parts = () => $$("input:not([type=hidden], [type=file]), select, textarea", draft).filter((field) => field.name && !("private" in field.dataset));
  const side = (field) => (field.type === "checkbox" || field.type === "radio" ? "checked" : "value");
  function save(sent) {
    sessionStorage.setItem(draft.dataset.draft, JSON.stringify({ sent, fields: parts().map((field) => [field.name, field.value, field[side(field)]]) }));
  }
  if (draft) {
    const { sent, fields = [] } = JSON.parse(sessionStorage.getItem(draft.dataset.draft) || "{}");
    if (!$("[aria-invalid=true]", draft) && (sent || !location.search)) {
      for (const [name, value, state] of fields) {
        const field = parts().find((one) => one.name === name && (side(one) === "value" || one.value === value));
        if (field) field[side(field)] = state;
      }
    }
    on("input", () => save(false), draft);
    on("submit", () => save(true), draft);
  } else if ($(".canvas")) {
    for (const key of Object.keys(sessionStorage)) if (sessionStorage[key].startsWith('{"sent":true')) sessionStorage.removeItem(key);
  }

  on("keydown", (event) => {
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && command && field?.form) {
      event.preventDefault();
      field.form.requestSubmit($("[data-default]", field.form));
    } else if (event.key === "/" && !field && !command && !event.altKey && !$("dialog[open]")) {
      const search = $$("[data-search]").find((input) => input.offsetParent);
      if (search) { event.preventDefault(); search.select(); }
    } else if (["PageUp", "Home", "ArrowUp"].includes(event.key)) unfollow(event);
  });

  async function copy(button) {
    if (button.dataset.words) return;
    const source = $(button.dataset.copyFrom || null) || button.previousElementSibling || button;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(button.dataset.copy ?? source.innerText);
    } catch {
      getSelection().selectAllChildren(source);
      said = "Select";
    }
    button.dataset.words = button.innerHTML;
    button.innerHTML = `<span class="done" role="status">${say(said)}</span>`;
    setTimeout(() => { button.innerHTML = button.dataset.words; delete button.dataset.words; }, 1600);
  }
  on("click", (event) => {
    const found = (selector) => event.target.closest?.(selector);
    let element;
    if (found("[data-theme-switch]")) switchTheme();
    else if (found("[data-print]")) print();
    else if ((element = found("[data-copy], [data-copy-from]"))) copy(element);
    else if ((element = byId(found("[data-dialog]")?.dataset.dialog)) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      element.showModal();
    } else if (found("[data-close]") || event.target.matches("dialog.dialog")) found("dialog").close();
  });

  // Output panes stay at their end while followed; scrolling up lets go.
  const follow = (pane) => $("[data-follow]", pane.closest(".output"));
  function tail() {
    for (const pane of $$(".output pre")) if (follow(pane)?.checked) pane.scrollTop = pane.scrollHeight;
  }
  function unfollow(event) {
    const pane = event.target.closest?.(".output pre");
    if (pane && follow(pane)) follow(pane).checked = false;
  }
  on("wheel", (event) => event.deltaY < 0 && unfollow(event), document, { passive: true });
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest(".output"))) tail();
  }).observe(body, { childList: true, characterData: true, subtree: true });

  // Focus and open details survive a swap; without an id: the first of the same looks.
  const looks = (element) => [element.tagName, element.getAttribute("href"), element.ariaLabel, element.textContent].join();
  let kept = null;
  function keep() {
    const active = document.activeElement;
    kept = {
      active, id: active.id, look: looks(active),
      at: active.selectionStart == null ? null : [active.selectionStart, active.selectionEnd],
      open: $$("details[open][id]").map(({ id }) => id),
    };
  }
  function restore() {
    if (!kept) return;
    const { active, id, look, at, open } = kept;
    kept = null;
    for (const name of open) byId(name)?.setAttribute("open", "");
    if (active.isConnected || document.activeElement !== body) return;
    const same = id ? byId(id) : $$("main :is(a[href], button, summary, pre)").find((element) => looks(element) === look);
    same?.focus({ preventScroll: true });
    if (at) same?.setSelectionRange(...at);
  }
  const fresh = () => { tick(); restore(); tail(); settleToasts(); };
  for (const type of ["htmx:beforeSwap", "htmx:wsBeforeMessage"]) on(type, keep);
  for (const type of ["htmx:afterSettle", "htmx:wsAfterMessage"]) on(type, fresh);

  // Live: while the socket is down, regions ask every 5 s.
  const poll = () => document.hidden || body.dispatchEvent(new Event("poll"));
  let timer = 0, opened = false, leaving = false;
  function down() {
    if (leaving) return;
    body.dataset.live = "down";
    timer ||= setInterval(poll, 5000);
  }
  on("htmx:wsOpen", () => {
    clearInterval(timer);
    timer = 0;
    body.dataset.live = "up";
    if (opened) poll();
    opened = true;
  });
  on("htmx:wsClose", ({ detail }) => {
    const { code } = detail.event;
    if (code === 4401) return gone();
    down();
    // The extension itself comes back after 1006 and 1011 to 1013.
    if ([1000, 1001, 1005].includes(code) && !leaving) setTimeout(() => detail.socketWrapper.reconnect(), 2000);
  });
  on("visibilitychange", () => { tick(); if (body.dataset.live === "down") poll(); });
  on("pagehide", () => { leaving = true; }, window);
  on("pageshow", ({ persisted }) => {
    leaving = false;
    $$("form[data-sending]").forEach(release);
    if (persisted) poll();
  }, window);

  // Answers that are not the page's.
  function signedOut() {
    const banner = byId("signed-out");
    if (banner) banner.hidden = false;
  }
  // Somebody who may not be here any more keeps no page of it.
  function gone() {
    fetch(location.href, { method: "HEAD", redirect: "manual" }).then(({ status }) => status === 404 ? location.reload() : signedOut(), signedOut);
  }
  // A whole error page never lands in a region: what it says becomes a toast.
  const whole = (text) => /^\s*<!doctype/i.test(text);
  on("htmx:beforeSwap", ({ detail }) => {
    const { xhr, requestConfig } = detail;
    if (xhr.status >= 400 && (requestConfig.verb === "get" || whole(xhr.responseText))) detail.shouldSwap = false;
  });
  on("htmx:responseError", ({ detail: { xhr, requestConfig } }) => {
    if (xhr.status === 401) signedOut();
    else if (xhr.status === 404 && requestConfig.elt.matches("[data-region]")) gone();
    else if (requestConfig.verb !== "get" && (whole(xhr.responseText) || !xhr.responseText)) {
      const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
      toast(["h1", ".prose p"].map((part) => $(part, page)?.textContent).filter(Boolean).join(": ") || say("Refused", xhr.status));
    }
  });
  on("htmx:sendError", ({ detail: { requestConfig } }) => {
    if (requestConfig.verb === "get") down();
    else toast(say("Silent"));
  });

  const zone = $("[data-zone]");
  if (zone) zone.textContent = say("Zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  $("[data-focus]")?.focus();
  fresh();
  setInterval(() => document.hidden || tick(), 1000);
})();
