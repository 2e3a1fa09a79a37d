// Node-RED: a flow is imported, deployed and run, and then a node in its diagram is edited.
import { missingNodeRed, startNodeRed } from '../programs.mjs'

const node = { z: 'tab', x: 140, y: 120 }
const FLOW = JSON.stringify([
  { id: 'tab', type: 'tab', label: 'Greetings' },
  {
    ...node,
    ...{ id: 'a', type: 'inject', name: 'start', props: [{ p: 'payload' }], repeat: '' },
    ...{ crontab: '', once: false, onceDelay: 0.1, topic: '', payload: 'Ada', payloadType: 'str' },
    wires: [['b']]
  },
  {
    ...{ ...node, x: 320, id: 'b', type: 'template', name: 'greeting', field: 'payload' },
    ...{ fieldType: 'msg', format: 'handlebars', syntax: 'mustache', output: 'str' },
    template: 'Hello {{payload}}!',
    wires: [['c']]
  },
  {
    ...{ ...node, x: 500, id: 'c', type: 'debug', name: 'shown', active: true, tosidebar: true },
    ...{ complete: 'payload', targetType: 'msg', wires: [] }
  }
])

/** @type {import('./agent.mjs').Job} */
export const nodeRed = {
  name: 'node-red',
  title: 'Node-RED',
  task: 'a flow imported, deployed and run, and a node of it edited',
  missing: missingNodeRed,
  start: startNodeRed,

  async troupe(agent, url) {
    await agent.act('navigate', { url })
    // The editor shows the tab when it has loaded. Before, it ignores keys.
    await agent.see(/link "Flow 1"/)
    const deploy = agent.ref(/link "Deploy"/)
    await agent.act('press', { key: 'Control+i' })
    await agent.batch(
      ['fill', { selector: agent.ref(/textbox .*import/), value: FLOW }],
      ['click', { selector: agent.ref(/button "Import"/) }],
      ['click', { selector: deploy }],
      ['click', { selector: agent.ref(/link \(bug\)/) }],
      ['click', { selector: 'role=link[name="Greetings"]' }]
    )
    const start = agent.ref(/flow-node-button/)
    const greeting = agent.refBefore(/text: greeting/)
    await agent.batch(
      ['click', { selector: start }],
      ['wait_for', { text: 'Hello Ada!' }],
      ['click', { selector: greeting, clickCount: 2 }]
    )
    await agent.batch(
      ['fill', { selector: agent.ref(/textbox "Editor content"/), value: 'Good day {{payload}}!' }],
      ['click', { selector: agent.ref(/button "Done"/) }],
      ['click', { selector: deploy }],
      ['click', { selector: start }],
      ['wait_for', { text: 'Good day Ada!' }]
    )
    agent.assertLatestShows(/Good day Ada!/)
  },

  async peer(agent, url) {
    const click = (/** @type {string} */ target, args = {}) =>
      agent.act('browser_click', { element: target, target, ...args })

    await agent.act('browser_navigate', { url })
    // The editor shows the tab when it has loaded. Before, it ignores keys.
    await agent.see(/link "Flow 1"/)
    const deploy = agent.ref(/link "Deploy"/)
    await agent.act('browser_press_key', { key: 'Control+i' })
    await agent.see(/dialog "Import nodes"/)
    // Filling does not enable the button.
    const text = agent.ref(/dialog "Import nodes"/, /textbox/)
    await agent.act('browser_type', { element: 'JSON', target: text, text: FLOW, slowly: true })
    await agent.act('browser_find', { text: 'Import' })
    await click(agent.ref(/button "Import" \[ref/))
    await click(deploy)
    await agent.act('browser_find', { regex: 'Greetings|#debug' })
    await click(agent.ref(/link "Greetings"/))
    await click(agent.refBefore(/url: "#debug"/))
    // Its snapshot has no lines for the diagram.
    await agent.act('browser_evaluate', {
      function: "() => document.querySelector('svg g.red-ui-flow-node-group').outerHTML"
    })
    agent.assertLatestShows(/red-ui-flow-node-button-button/)
    const start = '.red-ui-flow-node-button-button >> nth=0'
    await click(start)
    await agent.act('browser_find', { text: 'Hello Ada!' })
    await click('.red-ui-flow-node-group >> nth=1', { doubleClick: true })
    await agent.see(/textbox "Editor content/)
    const done = agent.ref(/button "Done"/)
    const editor = { element: 'Editor', target: agent.ref(/textbox "Editor content/), slowly: true }
    // Its hidden text area cannot be clicked. Typing focuses it.
    await agent.act('browser_type', { ...editor, text: ' ' })
    await agent.act('browser_press_key', { key: 'Control+a' })
    await agent.act('browser_type', { ...editor, text: 'Good day {{payload}}!' })
    await click(done)
    await click(deploy)
    await click(start)
    await agent.search('Good day', /"Good day Ada!/)
  }
}
