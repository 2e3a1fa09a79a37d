// Buttons, links, boxes, tabs, menus, dialogs.

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('../agent.mjs').View} View */
/** @typedef {(agent: Agent) => Promise<void>} Policy */

/** Presses the button that the task names in quotes or capitals. @type {Policy} */
async function clickNamedButton(agent) {
  const name = agent.quoted[0] ?? /button ([A-Z]+)/.exec(agent.utterance)?.[1] ?? 'Click Me!'
  await agent.click((await agent.see()).get('button', name))
}

/** @type {Policy} */
async function clickSequence(agent) {
  const view = await agent.see()
  for (const [, name] of agent.utterance.matchAll(/button ([A-Z]+)/g))
    await agent.click(view.get('button', name))
}

/** @type {Policy} */
async function clickAfterDelay(agent) {
  const view = await agent.see()
  const time = Number(/wait (\d+) seconds/.exec(agent.utterance)?.[1]) * 1000
  await agent.click(view.get('button', 'ONE'))
  await agent.act('wait_for', { time })
  await agent.click(view.get('button', 'TWO'))
}

/** @type {Policy} */
async function clickInDialog(agent) {
  const name = agent.quoted[0]
  await agent.click((await agent.see()).get('button', name === 'x' ? 'Close' : name))
}

/** @type {Policy} */
async function clickText(agent) {
  await agent.click((await agent.see()).named(agent.quoted[0]))
}

/**
 * Submits after `select` has done what comes before.
 * @param {(agent: Agent, view: View) => Promise<unknown>} choose
 * @returns {Policy}
 */
export const thenSubmit = (choose) => async (agent) => {
  const view = await agent.see()
  await choose(agent, view)
  await agent.click(view.get('button', /^(submit|search|login|ok)$/i))
}

/** The words of "Select a, b and click Submit". @param {Agent} agent */
const selected = ({ utterance }) =>
  (
    /^Select (.*?)(?: from the (?:scroll )?list)? and click Submit/.exec(utterance)?.[1] ?? ''
  ).split(', ')

const checkBoxes = thenSubmit(async (agent, view) => {
  const boxes = view.all('checkbox').filter(({ name }) => selected(agent).includes(name))
  if (boxes.length > 0) await agent.fillAll(boxes.map((box) => [box, true]))
})

const chooseRadio = thenSubmit((agent, view) => agent.click(view.get('radio', selected(agent)[0])))

const chooseOptions = thenSubmit((agent, view) => {
  const list = view.lines.find(({ role }) => role === 'listbox' || role === 'combobox')
  return agent.select(/** @type {any} */ (list), selected(agent))
})

/** Opens each section or tab until the link is there. @type {Policy} */
async function clickLinkInSections(agent) {
  const name = agent.quoted[0]
  let view = await agent.see()
  // A tab has its name itself, or from the link in it.
  const tabs = view.all('tab').map((tab) => tab.name || view.after(tab).lines[0].name)
  for (const tab of tabs) {
    if (view.withText(name)) break
    await agent.click(view.named(tab))
    view = await agent.see()
  }
  await agent.click(view.named(name))
}

/** @type {Policy} */
async function expandAndSubmit(agent) {
  await agent.click((await agent.see()).get('tab', /^Section/))
  await agent.click((await agent.see()).get('button', 'Submit'))
}

/** @type {Policy} */
async function clickTab(agent) {
  const name = /Tab #\d/.exec(agent.utterance)?.[0] ?? ''
  await agent.click((await agent.see()).named(name))
}

/**
 * A line of the page, once it is there: menus open late.
 * @param {Agent} agent
 * @param {string} role
 * @param {string | RegExp} [name]
 */
export async function shown(agent, role, name) {
  for (let tries = 0; tries < 20; tries++) {
    const line = (await agent.see()).all(role, name)[0]
    if (line) return line
    await agent.act('wait_for', { time: 100 })
  }
  throw new Error(`no ${role} ${name}`)
}

/**
 * The suggestion below a text field that matches, once it is there.
 * @param {Agent} agent
 * @param {RegExp} text
 */
export async function suggestion(agent, text) {
  for (let tries = 0; tries < 20; tries++) {
    const view = await agent.see()
    const last = view.lines.findLast(
      ({ ref, role, text: shown }) => ref && role !== 'textbox' && text.test(shown)
    )
    if (last) return last
    await agent.act('wait_for', { time: 100 })
  }
  throw new Error(`no suggestion ${text}`)
}

/** @type {Policy} */
async function clickMenuPath(agent) {
  const path = agent.utterance.replace('Select ', '').split('>')
  for (const name of path.slice(0, -1)) await agent.hover(await shown(agent, 'menuitem', name))
  await agent.click(await shown(agent, 'menuitem', path.at(-1)))
}

/** @type {Policy} */
async function clickInPieMenu(agent) {
  await agent.click((await agent.see()).named('+'))
  await agent.act('wait_for', { time: 300 })
  const texts = await agent.list('#area text')
  await agent.click(texts.find(({ text }) => text === agent.quoted[0])?.ref)
}

/** @type {Policy} */
async function focusTextbox(agent) {
  const index = Number(/(\d)\w\w input/.exec(agent.utterance)?.[1] ?? 1) - 1
  await agent.click((await agent.see()).get('textbox', undefined, index))
}

/** @type {Policy} */
async function clickCheapestOrShortest(agent) {
  const view = await agent.see()
  const buttons = view.all('button', /^Book for/)
  const values = /cost/.test(agent.utterance)
    ? buttons.map(({ name }) => Number(name.replace(/\D/g, '')))
    : view.all('text', /^\d+h \d+m/).map(({ text }) => {
        const [hours, minutes] = text.match(/\d+/g) ?? []
        return Number(hours) * 60 + Number(minutes)
      })
  const wanted = /cheapest|shortest/.test(agent.utterance) ? Math.min : Math.max
  await agent.click(buttons[values.indexOf(wanted(...values))])
}

const markOddOrEven = thenSubmit(async (agent, view) => {
  for (const number of view.all('text', /^-?\d+$/)) {
    const at = view.lines.indexOf(number)
    await agent.click(view.lines[Number(number.text) % 2 === 0 ? at + 1 : at - 1])
  }
})

/** Shows each card once. @type {Policy} */
async function pickGreatestCard(agent) {
  const view = await agent.see()
  const cards = view.lines.filter(({ ref, text }) => ref && /^\d+$/.test(text))
  const values = cards.map(({ text }) => Number(text))
  await agent.click(cards[values.indexOf(Math.max(...values))])
  await agent.click(view.get('button', 'Submit'))
}

/** @type {Policy} */
async function generateNumber(agent) {
  const { utterance } = agent
  const limit = Number(/\d+/.exec(utterance)?.[0])
  const fits = (number) =>
    /odd/.test(utterance)
      ? number % 2 === 1
      : /even/.test(utterance)
        ? number % 2 === 0
        : /less/.test(utterance)
          ? number < limit
          : number > limit
  for (let tries = 0; tries < 30; tries++) {
    await agent.click((await agent.see()).get('button', 'Generate'))
    const view = await agent.see()
    if (fits(Number(view.get('text', /^\d+$/).text)))
      return agent.click(view.get('button', 'Submit'))
  }
}

/** @type {Policy} */
async function clickPhoneBookEntry(agent) {
  const [, name, field] = /Find (\w+) .* their ([\w ]+)\./.exec(agent.utterance) ?? []
  const label = { 'phone number': 'Phone:', email: 'Email:', address: 'Address:' }[field]
  for (let page = 0; page < 20; page++) {
    const view = await agent.see()
    if (view.all('heading', name).length > 0)
      return agent.click(view.after(view.get('text', label)).lines[0])
    await agent.click(view.get('link', '>'))
  }
}

/** @type {Policy} */
async function clickInTree(agent) {
  const name = agent.quoted[0]
  const opened = new Set()
  for (let tries = 0; tries < 30; tries++) {
    const view = await agent.see()
    const found = view.withText(name)
    if (found) return agent.click(found)
    const next = view.lines.find(
      ({ role, ref, name, text }) =>
        ref && role !== 'list' && role !== 'canvas' && !opened.has(name || text)
    )
    if (!next) throw new Error(`no ${name} in\n${view}`)
    opened.add(next.name || next.text)
    await agent.click(next)
  }
}

/** @type {Policy} */
async function buyBelow(agent) {
  const limit = Number(/\$([\d.]+)/.exec(agent.utterance)?.[1].replace(/\.$/, ''))
  const view = await agent.see()
  const buy = view.get('button', 'Buy')
  for (let tries = 0; tries < 2000; tries++) {
    const text = await agent.act('get_text', { selector: '#stock-price' })
    const price = Number(/\$([\d.]+)/.exec(JSON.stringify(text))?.[1])
    // The price changes ten times a second, and may rise before the click.
    if (price < limit - 1) return agent.click(buy)
  }
}

/** @type {Record<string, Policy>} */
export const CLICKING = {
  'click-test': clickNamedButton,
  'click-test-2': clickNamedButton,
  'click-test-transfer': clickNamedButton,
  'click-button': clickNamedButton,
  'unicode-test': clickNamedButton,
  'click-button-sequence': clickSequence,
  'button-delay': clickAfterDelay,
  'click-dialog': clickInDialog,
  'click-dialog-2': clickInDialog,
  'click-link': clickText,
  'click-checkboxes': checkBoxes,
  'click-checkboxes-large': checkBoxes,
  'click-checkboxes-transfer': checkBoxes,
  'click-option': chooseRadio,
  'choose-list': chooseOptions,
  'click-scroll-list': chooseOptions,
  'click-collapsible': expandAndSubmit,
  'click-collapsible-nodelay': expandAndSubmit,
  'click-collapsible-2': clickLinkInSections,
  'click-collapsible-2-nodelay': clickLinkInSections,
  'click-tab': clickTab,
  'click-tab-2': clickLinkInSections,
  'click-tab-2-easy': clickLinkInSections,
  'click-tab-2-medium': clickLinkInSections,
  'click-tab-2-hard': clickLinkInSections,
  'click-menu': clickMenuPath,
  'click-pie': clickInPieMenu,
  'click-pie-nodelay': clickInPieMenu,
  'focus-text': focusTextbox,
  'focus-text-2': focusTextbox,
  'buy-ticket': clickCheapestOrShortest,
  'odd-or-even': markOddOrEven,
  'find-greatest': pickGreatestCard,
  'generate-number': generateNumber,
  'phone-book': clickPhoneBookEntry,
  'navigate-tree': clickInTree,
  'stock-market': buyBelow
}
