// Third-party text editors: after `type` and `fill`, they contain exactly the given text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildSync } from 'esbuild'
import { PACKAGES, serveFiles, startAgent } from './app.mjs'

const page = (title, body) =>
  `<!doctype html><title>${title}</title><style>.host { width: 600px; height: 200px; border: 1px solid }</style>${body}`
const host = '<div class="host" id="host"></div>'

/** A script from modules of npm. @param {string} source */
function bundled(source) {
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir: PACKAGES },
    bundle: true,
    write: false,
    format: 'iife',
    logLevel: 'silent'
  })
  return `<script>${outputFiles[0].text}</script>`
}

const TEXT = JSON.stringify('first line\nsecond line')

/** `read()` of each page returns the text in the editor. */
const EDITORS = {
  Monaco: () =>
    page(
      'Monaco',
      `${host}<script src="/monaco-editor/min/vs/loader.js"></script><script>
    require.config({ paths: { vs: '/monaco-editor/min/vs' } })
    require(['vs/editor/editor.main'], () => {
      const editor = monaco.editor.create(host, { value: ${TEXT}, language: 'javascript' })
      window.read = () => editor.getValue()
      window.begin = () => editor.setPosition({ lineNumber: 1, column: 1 })
    })</script>`
    ),
  'CodeMirror 5': () =>
    page(
      'CodeMirror 5',
      `<link rel="stylesheet" href="/codemirror5/lib/codemirror.css"><script src="/codemirror5/lib/codemirror.js"></script><script src="/codemirror5/mode/javascript/javascript.js"></script><script src="/codemirror5/addon/edit/closebrackets.js"></script>${host}<script>
    const editor = CodeMirror(host, { value: ${TEXT}, mode: 'javascript', autoCloseBrackets: true })
    window.read = () => editor.getValue()
    window.begin = () => editor.setCursor(0, 0)</script>`
    ),
  'CodeMirror 6': () =>
    page(
      'CodeMirror 6',
      host +
        bundled(`
    import { basicSetup, EditorView } from 'codemirror'
    const editor = new EditorView({ doc: ${TEXT}, extensions: [basicSetup], parent: document.getElementById('host') })
    window.read = () => editor.state.doc.toString()
    window.begin = () => editor.dispatch({ selection: { anchor: 0 } })`)
    ),
  Ace: () =>
    page(
      'Ace',
      `${host}<script src="/ace-builds/src-min/ace.js"></script><script>
    ace.config.set('basePath', '/ace-builds/src-min')
    const editor = ace.edit(host)
    editor.session.setMode('ace/mode/javascript')
    editor.setValue(${TEXT}, 1)
    window.read = () => editor.getValue()
    window.begin = () => editor.gotoLine(1, 0)</script>`
    ),
  ProseMirror: () =>
    page(
      'ProseMirror',
      host +
        bundled(`
    import { EditorState, TextSelection } from 'prosemirror-state'
    import { EditorView } from 'prosemirror-view'
    import { schema } from 'prosemirror-schema-basic'
    import { keymap } from 'prosemirror-keymap'
    import { baseKeymap } from 'prosemirror-commands'
    const doc = schema.node('doc', null, ['first line', 'second line'].map((text) => schema.node('paragraph', null, [schema.text(text)])))
    const view = new EditorView(document.getElementById('host'), { state: EditorState.create({ doc, plugins: [keymap(baseKeymap)] }) })
    window.read = () => view.state.doc.textBetween(0, view.state.doc.content.size, '\\n')
    window.begin = () => view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, 1)))`)
    ),
  Quill: () =>
    page(
      'Quill',
      `<link rel="stylesheet" href="/quill/dist/quill.snow.css">${host}<script src="/quill/dist/quill.js"></script><script>
    const editor = new Quill('#host', { theme: 'snow' })
    editor.setText(${TEXT})
    window.read = () => editor.getText().replace(/\\n$/, '')
    window.begin = () => editor.setSelection(0, 0)</script>`
    ),
  Lexical: () =>
    page(
      'Lexical',
      `<div class="host" id="host" contenteditable="true"></div>` +
        bundled(`
    import { $createParagraphNode, $createTextNode, $getRoot, createEditor } from 'lexical'
    import { registerRichText } from '@lexical/rich-text'
    const editor = createEditor({ onError: (error) => { throw error } })
    editor.setRootElement(document.getElementById('host'))
    registerRichText(editor)
    editor.update(() => {
      for (const text of ['first line', 'second line']) $getRoot().append($createParagraphNode().append($createTextNode(text)))
    })
    window.read = () => editor.read(() => $getRoot().getChildren().map((child) => child.getTextContent()).join('\\n'))
    window.begin = () => editor.update(() => $getRoot().selectStart(), { discrete: true })`)
    ),
  TinyMCE: () =>
    page(
      'TinyMCE',
      `<textarea id="host">&lt;p&gt;first line&lt;/p&gt;&lt;p&gt;second line&lt;/p&gt;</textarea><script src="/tinymce/tinymce.min.js"></script><script>
    tinymce.init({ selector: '#host', license_key: 'gpl', promotion: false }).then(([editor]) => {
      window.read = () => editor.getContent({ format: 'text' }).replace(/\\n\\n/g, '\\n')
      window.begin = () => editor.selection.setCursorLocation(editor.getBody().firstChild.firstChild, 0)
    })</script>`
    )
}

/** In rich text, the browser controls white space. */
const RICH = new Set(['ProseMirror', 'Quill', 'Lexical', 'TinyMCE'])

describe('text editors', { timeout: 120_000 }, () => {
  for (const [name, made] of Object.entries(EDITORS)) {
    test(`${name}: text is typed at the caret, and replaced, exactly as it is given`, async (t) => {
      const agent = await startAgent(
        t,
        `${await serveFiles(t, { pages: { '/editor.html': made() } })}/editor.html`
      )
      const read = async () => (await agent.act('evaluate', { script: 'read()' })).value
      await agent.act('evaluate', {
        script:
          'new Promise((resolve) => { const look = () => (window.read ? resolve() : setTimeout(look, 20)); look() })'
      })
      assert.equal(await read(), 'first line\nsecond line')
      const snapshot = await agent.see()
      const field = /textbox.*?\[ref=((?:f\d+)?e\d+)\]/.exec(snapshot)?.[1]
      assert.ok(field, snapshot)

      await agent.act('click', { selector: field })
      await agent.act('evaluate', { script: 'begin()' })
      const indent = RICH.has(name) ? '' : '  '
      const text = `if (a) {\n${indent}b([1])`
      const typed = await agent.act('type', { selector: field, text })
      assert.equal(await read(), `${text}first line\nsecond line`)
      assert.doesNotMatch(typed.message, /but|value/)

      const program = `function f() {\n${indent}return 1\n}`
      const filled = await agent.act('fill', { selector: field, value: program })
      assert.equal(await read(), program)
      assert.doesNotMatch(filled.message, /but|value/)

      await agent.act('type', { selector: field, text: 'only this', clear: true })
      assert.equal(await read(), 'only this')
      await agent.act('fill', { selector: field, value: '' })
      assert.equal((await read()).trim(), '')
    })
  }
})
