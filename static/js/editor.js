// The code editor of scripts: over a <textarea data-editor>, which stays the form's field and is the editor
// itself wherever this file cannot work. The library is fetched when somebody first goes into the field.
(() => {
  "use strict";
  const here = document.currentScript;
  const told = document.getElementById("sbatch-options");
  const options = told ? JSON.parse(told.textContent) : [];
  // offered first: what most scripts ask for
  const COMMON = ["gpus-per-node", "gpus", "time", "nodes", "ntasks", "cpus-per-task", "mem", "partition", "array", "job-name"];

  for (const area of document.querySelectorAll("textarea[data-editor]")) {
    area.addEventListener("focus", () => import(here.dataset.library).then((parts) => mount(area, parts)), { once: true });
  }

  function mount(area, parts) {
    const { EditorView, EditorState, Compartment, keymap } = parts;
    const language = new Compartment();
    const mode = (text) => parts.StreamLanguage.define(/^#!.*python/.test(text) ? parts.python : parts.shell);
    let ours = false;
    // what a person does reaches the field, so that draft, check and submit see it
    const listen = EditorView.updateListener.of((update) => {
      if (!update.docChanged || ours) return;
      area.value = update.state.doc.toString();
      area.dispatchEvent(new Event("input", { bubbles: true }));
      view.dispatch({ effects: language.reconfigure(mode(area.value)) });
    });
    const leave = EditorView.domEventHandlers({ blur: () => area.dispatchEvent(new Event("change", { bubbles: true })) && false });
    // Chromium's own editing keeps the look of text it replaces in style attributes, which the page's policy
    // stops: what takes the place of a selection, or has several lines, the library writes
    const write = EditorView.domEventHandlers({ beforeinput: (event) => {
      const text = event.inputType === "insertText" ? event.data : event.inputType.startsWith("deleteContent") ? "" : null;
      const range = text === null ? null : document.getSelection().getRangeAt(0);
      if (!range || view.composing || (range.collapsed && !text.includes("\n"))) return false;
      const from = view.posAtDOM(range.startContainer, range.startOffset);
      const to = view.posAtDOM(range.endContainer, range.endOffset);
      view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, scrollIntoView: true, userEvent: "input" });
      return true;
    } });
    const submit = () => { area.form.requestSubmit(area.form.querySelector("[data-default]")); return true; };
    const view = new EditorView({
      state: EditorState.create({
        doc: area.value,
        selection: { anchor: area.selectionStart, head: area.selectionEnd },
        extensions: [
          EditorView.cspNonce.of(here.nonce),
          parts.lineNumbers(), parts.history(), parts.drawSelection(), parts.bracketMatching(), parts.lintGutter(),
          parts.highlightActiveLine(), parts.syntaxHighlighting(colours(parts)), language.of(mode(area.value)),
          parts.autocompletion({ override: [complete], icons: false }),
          // Tab goes on to the next field, as everywhere else in the form; Ctrl-Enter submits it
          keymap.of([{ key: "Mod-Enter", run: submit }, ...parts.completionKeymap, ...parts.defaultKeymap, ...parts.historyKeymap]),
          EditorView.contentAttributes.of(names(area)), look(EditorView), listen, leave, write,
        ],
      }),
    });
    const focused = document.activeElement === area;
    area.after(view.dom);
    area.classList.add("vh");
    area.tabIndex = -1;
    area.setAttribute("aria-hidden", "true");
    if (focused) view.focus();
    area.addEventListener("focus", () => view.focus());
    // what something else puts into the field (a kept draft, a test) is shown
    area.addEventListener("input", () => {
      const text = area.value.replace(/\r\n/g, "\n");
      if (text === view.state.doc.toString()) return;
      ours = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      ours = false;
    });
    const mark = () => view.dispatch(parts.setDiagnostics(view.state, problems(view.state.doc)));
    document.body.addEventListener("htmx:afterSettle", mark);
    mark();
  }

  // Where the page says that a line is wrong.
  function problems(doc) {
    return [...document.querySelectorAll("[data-script-line]")].flatMap(({ dataset, textContent }) => {
      const number = Number(dataset.scriptLine);
      if (!(number >= 1 && number <= doc.lines)) return [];
      const { from, to } = doc.line(number);
      return [{ from, to, severity: "error", message: textContent.trim() }];
    });
  }

  // sbatch's options behind #SBATCH.
  function complete(context) {
    const line = context.state.doc.lineAt(context.pos);
    const word = context.matchBefore(/-[-a-z]*/);
    if (!word || !/^#SBATCH\s/.test(line.text)) return null;
    return { from: word.from, options: options.map(({ name, text, example, value }) => ({
      label: `--${name}`, apply: value ? `--${name}=` : `--${name}`, detail: example, info: text, boost: COMMON.includes(name) ? 1 : 0,
    })), validFor: /^-[-a-z]*$/ };
  }

  function names(area) {
    const label = document.querySelector(`label[for="${area.id}"]`)?.textContent.trim() ?? "";
    const about = area.getAttribute("aria-describedby");
    return { "aria-label": label, ...(about ? { "aria-describedby": about } : {}), spellcheck: "false", autocapitalize: "off" };
  }

  function look(EditorView) {
    return EditorView.theme({
      "&": { flex: "1", minWidth: "0", border: "1px solid var(--line-strong)", borderRadius: "var(--r)", backgroundColor: "var(--bg)", color: "var(--text)", fontSize: "13px" },
      "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
      ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", minHeight: "360px", maxHeight: "70vh" },
      ".cm-content": { caretColor: "var(--text)" },
      ".cm-gutters": { backgroundColor: "var(--bg-sunken)", color: "var(--text-3)", border: "0" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--bg-hover)" },
      "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--neutral-soft)" },
      ".cm-cursor": { borderLeftColor: "var(--text)" },
      ".cm-tooltip": { border: "1px solid var(--line-strong)", backgroundColor: "var(--bg)", color: "var(--text)" },
      ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "#fff" },
    });
  }

  function colours({ HighlightStyle, tags }) {
    return HighlightStyle.define([
      { tag: [tags.comment, tags.meta], color: "var(--text-2)" },
      { tag: [tags.string, tags.special(tags.string)], color: "var(--green)" },
      { tag: [tags.keyword, tags.standard(tags.name)], color: "var(--accent-ink)", fontWeight: "600" },
      { tag: [tags.number, tags.bool, tags.atom], color: "var(--amber)" },
    ]);
  }
})();
