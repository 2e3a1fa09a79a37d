// The jobs, with a script for each program. A script reads a page before it acts on it, and uses
// only refs and texts that it has read. It combines actions between which it need not decide in one
// turn, with a tool for several steps or with `&&`. It uses the shortest form that the program
// documents, and hides output that it does not need.
import assert from 'node:assert/strict'
import { LOGIN, REGISTRATION, INVOICE_ROW, invoiceOfJob } from './site.mjs'

/**
 * @typedef {import('./agent.mjs').Agent} Agent
 * @typedef {{ name: string, title: string, verify: (agent: Agent, site: import('./site.mjs').Site)
 *   => void, scripts: Record<string, (agent: Agent, url: string) => Promise<void>> }} Job
 */

/** The label, the type and the value of each field of the registration. */
const FIELDS = [
  ['First name', 'textbox', REGISTRATION.first],
  ['Last name', 'textbox', REGISTRATION.last],
  ['Email', 'textbox', REGISTRATION.email],
  ['Phone', 'textbox', REGISTRATION.phone],
  ['Company', 'textbox', REGISTRATION.company],
  ['Street', 'textbox', REGISTRATION.street],
  ['City', 'textbox', REGISTRATION.city],
  ['Country', 'combobox', REGISTRATION.country],
  ['Send me news', 'checkbox', true],
  ['Comment', 'textbox', REGISTRATION.comment]
]
const SIGN_IN = [
  ['User name', 'textbox', LOGIN.username],
  ['Password', 'textbox', LOGIN.password]
]

/**
 * The ref of a control, as [ref=e1] or [required, ref=e1].
 * @param {Agent} agent
 * @param {unknown} role
 * @param {unknown} name
 */
const ref = (agent, role, name) => agent.found(new RegExp(`${role} "${name}".*?\\bref=(\\w+)\\]`))

/** @param {Agent} agent @param {unknown} role @param {unknown} name */
const uid = (agent, role, name) => agent.found(new RegExp(`uid=(\\w+) ${role} "${name}"`))

/** The ref of the invoice's link, above the cell of its customer. @param {Agent} agent */
const invoiceRef = (agent) => ref(agent, 'link', invoiceOfJob.number)

/**
 * Hides the output of a command, but not its errors. `--raw` of playwright-cli does so for most.
 */
const HIDDEN = ' > /dev/null'
const quoted = (/** @type {unknown} */ text) => `'${text}'`

/** @param {Agent} agent @param {unknown[][]} fields @param {string} button */
async function troupeForm(agent, fields, button) {
  const filled = fields.map(([name, role, value]) => ({ selector: ref(agent, role, name), value }))
  await agent.call('batch', {
    steps: [
      { tool: 'fill_form', arguments: { fields: filled } },
      { tool: 'click', arguments: { selector: ref(agent, 'button', button) } }
    ]
  })
}

/** @param {Agent} agent @param {unknown[][]} fields @param {string} button */
async function troupeShellForm(agent, fields, button) {
  const filled = fields.map(([name, role, value]) => ({ selector: ref(agent, role, name), value }))
  await agent.shell(
    `troupe form ${quoted(JSON.stringify(filled))}${HIDDEN}`,
    `troupe click ${ref(agent, 'button', button)}`
  )
}

/** @param {Agent} agent @param {unknown[][]} fields @param {string} button */
async function playwrightForm(agent, fields, button) {
  const target = ref(agent, 'button', button)
  await agent.call('browser_fill_form', {
    fields: fields.map(([name, type, value]) => ({
      ...{ target: ref(agent, type, name), name, type, value: String(value) }
    }))
  })
  await agent.call('browser_click', { target })
}

/**
 * The commands of playwright-cli and agent-browser that set a field.
 * @type {Record<string, string>}
 */
const SETTERS = { textbox: 'fill', combobox: 'select', checkbox: 'check' }

/**
 * @param {Agent} agent @param {unknown[][]} fields @param {string} program the words before a
 * command
 * @param {string} [mark] before a ref
 */
const setters = (agent, fields, program, mark = '') =>
  fields.map(([name, role, value]) => {
    const target = `${program} ${SETTERS[String(role)]} ${mark}${ref(agent, role, name)}`
    return role === 'checkbox' ? target : `${target} ${quoted(value)}`
  })

/** @param {Agent} agent @param {unknown[][]} fields @param {string} button */
async function devtoolsForm(agent, fields, button) {
  const target = uid(agent, 'button', button)
  await agent.call('fill_form', {
    pageId: 1,
    elements: fields.map(([name, role, value]) => ({
      uid: uid(agent, role, name),
      value: String(value)
    }))
  })
  await agent.call('click', { pageId: 1, uid: target, includeSnapshot: true })
}

/**
 * The scripts of a form: each reads the page, fills in the fields, presses the button, and reads
 * the next page.
 * @param {{ path: string, fields: unknown[][], button: string, find?: string,
 *   openPlaywright: (url: string) => string, readAgentBrowser: string[] }} form `find` is the text
 *   that Playwright's programs search in the next page, if the result of the button lacks it
 * @returns {Job['scripts']}
 */
function formScripts({ path, fields, button, find, openPlaywright, readAgentBrowser }) {
  return {
    async troupe(agent, url) {
      await agent.call('navigate', { url: url + path })
      await troupeForm(agent, fields, button)
    },
    async troupeCli(agent, url) {
      await agent.shell(`troupe open ${url}${path}`)
      await troupeShellForm(agent, fields, button)
    },
    async playwrightMcp(agent, url) {
      await agent.call('browser_navigate', { url: url + path })
      await agent.call('browser_snapshot', {})
      await playwrightForm(agent, fields, button)
      if (find) await agent.call('browser_find', { text: find })
    },
    async playwrightCli(agent, url) {
      await agent.shell(openPlaywright(url + path), 'playwright-cli --raw snapshot')
      const click = `click ${ref(agent, 'button', button)}`
      await agent.shell(
        ...setters(agent, fields, 'playwright-cli --raw'),
        ...(find
          ? [`playwright-cli --raw ${click}`, `playwright-cli find ${find}`]
          : [`playwright-cli ${click}`])
      )
    },
    async agentBrowser(agent, url) {
      await agent.shell(`agent-browser open ${url}${path}${HIDDEN}`, 'agent-browser snapshot -i')
      const click = `agent-browser click @${ref(agent, 'button', button)}`
      await agent.shell(...setters(agent, fields, 'agent-browser', '@'), click, ...readAgentBrowser)
    },
    async devtools(agent, url) {
      await agent.call('navigate_page', { pageId: 1, type: 'url', url: url + path })
      await agent.call('take_snapshot', { pageId: 1 })
      await devtoolsForm(agent, fields, button)
    }
  }
}

/** @type {Job} */
const login = {
  name: 'login',
  title: 'Open a page and log in',
  verify(agent, site) {
    assert.deepEqual(site.posted['/login'], LOGIN)
    agent.found(/Account of Ada/)
  },
  scripts: formScripts({
    path: '/login',
    fields: SIGN_IN,
    button: 'Sign in',
    openPlaywright: (url) => `playwright-cli open ${url}${HIDDEN}`,
    readAgentBrowser: [`agent-browser wait --url '**/account'`, 'agent-browser get title']
  })
}

/** @type {Job} */
const register = {
  name: 'register',
  title: 'Fill a form with ten fields, send it and read the number on the next page',
  verify(agent, site) {
    assert.deepEqual(site.posted['/register'], REGISTRATION)
    agent.found(/the number 4711/)
  },
  scripts: formScripts({
    path: '/register',
    fields: FIELDS,
    button: 'Register',
    find: 'number',
    openPlaywright: (url) => `playwright-cli --raw goto ${url}`,
    readAgentBrowser: ['agent-browser wait --text number', 'agent-browser read']
  })
}

/** Reads the row of a customer in a page. */
const ROW = `() => [...document.querySelectorAll('tr')].find((row) => row.innerText.includes('${INVOICE_ROW.customer}'))?.innerText`
/** Asserts that the latest result has the amount. @param {Agent} agent */
const readAmount = (agent) => agent.found(new RegExp(invoiceOfJob.amount))

/** @type {Job} */
const invoices = {
  name: 'invoices',
  title: 'Find the row of a customer in a table of 400 rows, read its amount and open its link',
  verify(agent) {
    agent.found(new RegExp(`Invoice ${invoiceOfJob.number}`))
  },
  scripts: {
    async troupe(agent, url) {
      await agent.call('batch', {
        steps: [
          { tool: 'navigate', arguments: { url: `${url}/invoices` } },
          { tool: 'find', arguments: { text: INVOICE_ROW.customer } }
        ]
      })
      readAmount(agent)
      await agent.call('click', { selector: invoiceRef(agent) })
    },
    async troupeCli(agent, url) {
      await agent.shell(
        `troupe open ${url}/invoices${HIDDEN}`,
        `troupe find ${quoted(INVOICE_ROW.customer)}`
      )
      readAmount(agent)
      await agent.shell(`troupe click ${invoiceRef(agent)}`)
    },
    async playwrightMcp(agent, url) {
      await agent.call('browser_navigate', { url: `${url}/invoices` })
      await agent.call('browser_find', { text: INVOICE_ROW.customer })
      readAmount(agent)
      await agent.call('browser_click', { target: invoiceRef(agent) })
    },
    async playwrightCli(agent, url) {
      await agent.shell(
        `playwright-cli --raw goto ${url}/invoices`,
        `playwright-cli find ${quoted(INVOICE_ROW.customer)}`
      )
      readAmount(agent)
      await agent.shell(`playwright-cli click ${invoiceRef(agent)}`)
    },
    async agentBrowser(agent, url) {
      await agent.shell(
        `agent-browser open ${url}/invoices${HIDDEN}`,
        `agent-browser snapshot | grep -C 2 ${quoted(INVOICE_ROW.customer)}`
      )
      readAmount(agent)
      await agent.shell(
        `agent-browser click @${invoiceRef(agent)}`,
        `agent-browser wait --url '**/${invoiceOfJob.number}'`,
        'agent-browser get title'
      )
    },
    async devtools(agent, url) {
      await agent.call('navigate_page', { pageId: 1, type: 'url', url: `${url}/invoices` })
      // Its snapshots always have all rows.
      await agent.call('evaluate_script', { pageId: 1, function: ROW })
      readAmount(agent)
      const open = `() => [...document.links].find((link) => link.innerText === '${invoiceOfJob.number}').click()`
      await agent.call('evaluate_script', { pageId: 1, function: open })
      await agent.call('list_pages', {})
    }
  }
}

export const JOBS = [login, register, invoices]
