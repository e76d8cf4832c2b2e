/* The output of a job as it grows, by a socket of its own. While there is none, the pane asks again and again. */
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const wait = 5000; // ms in which the first message must come
  const final = [4400, 4401, 4403, 4404]; // the right is gone: what polls says why
  let pane = null, socket = null, tries = 0, timer = 0;

  const write = (id, text) => { const element = byId(id); if (element.textContent !== text) element.textContent = text; };

  // The one place that knows where to go on: the address of the poller.
  const address = () => new URL(byId("output-poll").getAttribute("hx-get"), location.href);
  function poller(url, trigger) {
    const old = byId("output-poll"), made = document.createElement("div");
    htmx.trigger(old, "htmx:abort");
    made.id = old.id;
    made.hidden = true;
    if (url) made.setAttribute("hx-get", url.pathname + url.search);
    if (trigger) made.setAttribute("hx-trigger", trigger);
    made.setAttribute("hx-swap", "outerHTML");
    old.replaceWith(made);
    if (trigger) htmx.process(made);
  }

  function take({ lines, last, said, note, offset, shown, replace, over }) {
    const text = byId("output-lines");
    if (replace) text.textContent = lines;
    else if (lines) text.append(lines);
    write("output-last", last);
    write("output-said", said);
    write("output-note", note);
    const next = address();
    next.searchParams.set("offset", offset ?? "tail");
    next.searchParams.set("shown", shown);
    poller(over ? null : next, "");
    tries = 0;
    if (over) close();
  }

  function connect() {
    if (!byId("output-poll")?.getAttribute("hx-get")) return;
    const from = address(), url = new URL(pane.dataset.tail, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    for (const name of ["offset", "shown"]) url.searchParams.set(name, from.searchParams.get(name));
    poller(from, "");
    const mine = socket = new WebSocket(url);
    timer = setTimeout(() => mine.close(), wait);
    mine.addEventListener("message", ({ data }) => {
      if (mine !== socket) return;
      clearTimeout(timer);
      take(JSON.parse(data));
    });
    mine.addEventListener("close", ({ code }) => mine === socket && lost(code));
  }
  function lost(code) {
    close();
    poller(address(), "load, every 2s, again");
    if (final.includes(code)) return;
    tries += 1;
    timer = setTimeout(connect, code === 4429 ? 30000 : Math.min(60000, 1000 * 2 ** tries) * (0.8 + 0.4 * Math.random()));
  }
  function close() {
    clearTimeout(timer);
    const old = socket;
    socket = null;
    old?.close();
  }

  // A view that came: another stream, or the place of a text that was found.
  function look() {
    const now = byId("output-view");
    if (now === pane) return;
    close();
    pane = now;
    tries = 0;
    if (pane?.dataset.tail) connect();
    const place = byId("output-place");
    if (!place) return;
    const follow = document.querySelector("[data-follow]"), text = byId("output-text");
    if (follow) follow.checked = false;
    text.scrollTop = place.offsetTop - text.offsetTop - text.clientHeight / 3;
    text.focus({ preventScroll: true });
    text.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("htmx:afterSettle", look);
  // Without a socket: the job's state changed, so its output may have begun.
  for (const type of ["htmx:afterSettle", "htmx:oobAfterSwap"]) {
    document.addEventListener(type, ({ target, detail }) => {
      const region = (detail.target ?? target).closest?.("[id^='live-job-']");
      if (region && !socket && byId("output-poll")) htmx.trigger("#output-poll", "again");
    });
  }
  look();
})();
