// The parts of CodeMirror that static/js/editor.js uses; built into static/vendor by the command in SOURCES there.
export { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { python } from "@codemirror/legacy-modes/mode/python";
export { shell } from "@codemirror/legacy-modes/mode/shell";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { Compartment, EditorState } from "@codemirror/state";
export { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
