// Small apps: menus, posts, orders, an editor, a calendar, flights, games.
import { shown, suggestion, thenSubmit } from './clicking.mjs'
import { pickDate } from './forms.mjs'

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('./clicking.mjs').Policy} Policy */

/** Icons of jQuery UI and the names of their items. */
const ICONS = {
  'ui-icon-disk': 'Save',
  'ui-icon-seek-start': 'Prev',
  'ui-icon-stop': 'Stop',
  'ui-icon-play': 'Play',
  'ui-icon-seek-end': 'Next',
  'ui-icon-zoomin': 'Zoom In',
  'ui-icon-zoomout': 'Zoom Out'
}

/** The item is named, or shown by its icon. @type {Policy} */
async function clickIconMenu(agent) {
  let name = agent.quoted[1]
  if (!name) {
    const [{ attributes }] = await agent.list('#query .ui-icon')
    name = ICONS[attributes.class.split(' ')[1]]
  }
  await agent.click((await agent.see()).get('button', 'Menu'))
  const item = (await agent.see()).withText(name)
  if (item) return agent.click(item)
  await agent.click(await shown(agent, 'menuitem', 'Playback'))
  await agent.click(await shown(agent, 'menuitem', name))
}

/** @type {Policy} */
async function clickWidget(agent) {
  const [wanted] = agent.quoted
  const widgets = await agent.list('.widget input, .widget textarea, .widget button')
  const kind = ({ tag, attributes }) =>
    tag !== 'input' ? tag : attributes.type === 'input' ? 'text' : attributes.type
  await agent.click(widgets.find((widget) => kind(widget) === wanted)?.ref)
}

const CONTROLS = { Reply: '.reply', Retweet: '.retweet', Like: '.like', Share: '.share' }

/**
 * Moves the pointer there first: under it the icon changes to another picture, and while that loads
 * the icon has no size.
 * @param {Agent} agent @param {string} icon
 */
async function clickIcon(agent, icon) {
  await agent.hover(icon)
  await agent.act('wait_for', { time: 100 })
  await agent.click(icon)
}

/** Controls are icons without names, or in a menu. @type {Policy} */
async function clickOnPost(agent) {
  const [action] = agent.quoted
  const user = /user (@\S+),/.exec(agent.utterance)?.[1]
  const users = await agent.list('.media .username')
  const index = users.findIndex(({ text }) => text === user)
  const control = CONTROLS[action]
  if (control) return clickIcon(agent, `${control} >> nth=${index}`)
  await clickIcon(agent, `.more >> nth=${index}`)
  const items = await agent.list('.controls ul:not(.hide) li')
  await agent.click(items.find(({ text }) => text.startsWith(action))?.ref)
}

const clickOnPosts = thenSubmit(async (agent) => {
  const [action] = agent.quoted
  const [, count, user] = /on (all|\d+) posts? by (@\S+)/.exec(agent.utterance) ?? []
  const users = await agent.list('.media .username')
  const indexes = users.flatMap(({ text }, index) => (text === user ? [index] : []))
  for (const index of count === 'all' ? indexes : indexes.slice(0, Number(count)))
    await clickIcon(agent, `${CONTROLS[action]} >> nth=${index}`)
})

/** @type {Policy} */
async function orderFood(agent) {
  const view = await agent.see()
  const lines = view.lines.filter(({ role, text }) => role === 'img' || (role === 'text' && text))
  /** @type {{ name: string, types: string[] }[]} */
  const dishes = []
  for (const [index, { role, name, text }] of lines.entries()) {
    if (role === 'img') dishes.at(-1)?.types.push(name)
    else if (lines[index + 1]?.role === 'img') dishes.push({ name: text, types: [] })
  }
  const named = /each item: (.*)/.exec(agent.utterance)?.[1].split(', ')
  const [, count, type] = /Order (\d+) items that are (.*)/.exec(agent.utterance) ?? []
  const first = dishes.findIndex(({ types }) => types.includes(type))
  const orders = named
    ? named.map((name) => dishes.findIndex((dish) => dish.name === name.trim()))
    : Array(Number(count)).fill(first)
  for (const index of orders) await agent.click(`.add >> nth=${index}`)
  await agent.click(view.get('button', 'Order!'))
}

const COLORS = {
  red: '#e60000',
  orange: '#ff9900',
  yellow: '#ffff00',
  green: '#008a00',
  blue: '#0066cc',
  purple: '#9933ff'
}

/** Selects a word, or everything, with the keyboard, and presses a button of the toolbar. */
const styleText = thenSubmit(async (agent, view) => {
  const text = view.get('paragraph').text
  const [, word] = /give the text (\S+) the/.exec(agent.utterance) ?? []
  const [, style] = /the style (\w+)/.exec(agent.utterance) ?? []
  const [, color] = /the color (\w+)/.exec(agent.utterance) ?? []
  await agent.click('.ql-editor')
  const press = (key) => ({ tool: 'press', arguments: { key } })
  if (word) {
    const start = ` ${text} `.indexOf(` ${word} `)
    await agent.act('batch', {
      steps: [
        press('Control+Home'),
        ...Array.from({ length: start }, () => press('ArrowRight')),
        ...Array.from({ length: word.length }, () => press('Shift+ArrowRight'))
      ]
    })
  } else await agent.press('Control+A')
  // Quill receives the selection a moment later.
  await agent.act('wait_for', { time: 100 })
  if (color) {
    await agent.click('.ql-picker-label')
    await agent.click(`.ql-picker-item[data-value="${COLORS[color]}"]`)
  } else {
    const button = { bold: '.ql-bold', italics: '.ql-italic', underlined: '.ql-underline' }[style]
    await agent.click(view.lines.find(({ hint }) => hint === button) ?? '')
  }
})

/** Hours since midnight of "8AM". @param {string} text */
const hours = (text) => (parseInt(text) % 12) + (/pm/i.test(text) ? 12 : 0)

/**
 * Drags over half-hours and lets go over the new event: in today's browsers, the page draws it an
 * hour above them.
 * @type {Policy}
 */
async function createEvent(agent) {
  const [, length, unit, name, from, to] =
    /Create an? ([\d.]+) (\w+) event named "(\w+)", between (\w+) and (\w+)/.exec(
      agent.utterance
    ) ?? []
  const slots = unit.startsWith('min') ? Number(length) / 30 : Number(length) * 2
  await agent.act('scroll', { selector: `#hh-${hours(from) * 2}` })
  const events = []
  for (const { ref } of await agent.list('.event')) events.push(await agent.box(ref))
  const boxes = []
  for (let slot = hours(from) * 2; slot < hours(to) * 2; slot++)
    boxes.push({ slot, ...(await agent.box(`#hh-${slot}`)) })
  const isFree = ({ y, height }) =>
    events.every((event) => event.y + event.height <= y + 1 || event.y >= y + height - 1)
  const start = boxes.findIndex((_, index) => {
    const chosen = boxes.slice(index, index + slots)
    return chosen.length === slots && chosen.every(isFree)
  })
  const area = await agent.box('#area')
  const at = (x, y) => ({ x: x - area.x, y: y - area.y })
  const [first, last] = [boxes[start], boxes[start + slots - 1]]
  // The way back is beside the half-hours, which would shorten the event.
  await agent.act('drag_and_drop', {
    source: '#area',
    path: [
      at(60, first.y + 5),
      at(60, last.y + 10),
      at(60, last.y + 12),
      at(125, last.y + 12),
      at(125, first.y - 32)
    ]
  })
  const view = await agent.see()
  await agent.fill(view.get('textbox'), name)
  await agent.click(view.get('button', 'Create'))
}

/** @param {string} text "3h 5m" or "$99" */
const amount = (text) => {
  const [first, second = '0'] = text.replaceAll(',', '').match(/\d+/g) ?? []
  return /h/.test(text) ? Number(first) * 60 + Number(second) : Number(first)
}

/** @type {Policy} */
async function bookFlight(agent) {
  const [, criterion, from, to, date] =
    /Book the (\w+) one-way flight from: (.*) to: (.*) on (.*)\./.exec(agent.utterance) ?? []
  const view = await agent.see()
  for (const [label, airport] of [
    ['From:', from],
    ['To:', to]
  ]) {
    await agent.type(view.get('textbox', label), airport)
    const text = airport.replace(/[^\w ]/g, '\\$&')
    const item = new RegExp(/^[A-Z]{3}$/.test(airport) ? `\\(${text}\\)` : `^${text} \\(`)
    await agent.click(await suggestion(agent, item))
  }
  await agent.act('wait_for_selector', { selector: '.ui-autocomplete li', state: 'hidden' })
  await pickDate(agent, view.get('textbox', undefined, 2), date)
  await agent.click(view.get('button', 'Search'))
  const cheapest = criterion === 'cheapest'
  const books = (await agent.see()).all('button', /^Book/)
  const values = cheapest
    ? books.map(({ name }) => amount(name))
    : (await agent.list('.time-duration')).map(({ text }) => amount(text))
  await agent.click(books[values.indexOf(Math.min(...values))])
}

const LINES = [
  [0, 1, 2],
  [3, 4, 5],
  [6, 7, 8],
  [0, 3, 6],
  [1, 4, 7],
  [2, 5, 8],
  [0, 4, 8],
  [2, 4, 6]
]

/** @param {string[]} board @param {string} mark */
const hasWon = (board, mark) => LINES.some((line) => line.every((at) => board[at] === mark))

/**
 * The value of a board for "x" against an opponent that moves at random, and the best move.
 * @param {string[]} board
 * @param {string} mark whose turn it is
 * @returns {{ value: number, move?: number }}
 */
function evaluateBoard(board, mark) {
  if (hasWon(board, 'x')) return { value: 1 }
  if (hasWon(board, 'o')) return { value: -1 }
  const free = board.flatMap((cell, index) => (cell === '' ? [index] : []))
  if (free.length === 0) return { value: -0.5 }
  const values = free.map((move) => {
    const next = board.with(move, mark)
    return evaluateBoard(next, mark === 'x' ? 'o' : 'x').value
  })
  if (mark === 'o') return { value: values.reduce((sum, value) => sum + value, 0) / values.length }
  const value = Math.max(...values)
  return { value, move: free[values.indexOf(value)] }
}

/** @type {Policy} */
async function playTicTacToe(agent) {
  for (let moves = 0; moves < 5; moves++) {
    const cells = await agent.list('.ttt-row span')
    const board = cells.map(({ attributes }) => /mark-(\w)/.exec(attributes.class)?.[1] ?? '')
    const { move } = evaluateBoard(board, 'x')
    if (move === undefined || hasWon(board, 'x')) return
    const { changes = '' } = await agent.click(cells[move].ref)
    if (/START/.test(changes)) return
  }
}

/** A pop-up may cover the form as soon as a field has the focus. @type {Policy} */
async function logInDespitePopup(agent) {
  const view = await agent.see()
  const [name, password] = agent.quoted
  for (const [index, text] of [name, password].entries()) {
    await agent.click(view.get('textbox', undefined, index))
    const cancel = (await agent.see()).all('button', 'Cancel')[0]
    if (cancel) await agent.click(cancel)
    await agent.fill(view.get('textbox', undefined, index), text)
  }
  await agent.click(view.get('button', 'OK'))
}

/** Words that mean about the same. */
const SYNONYMS = [
  'big large huge enormous gigantic',
  'small tiny little mini petite',
  'red scarlet crimson vermillion',
  'happy cheerful joyful gleeful delighted',
  'sad unhappy sorrowful miserable tragic',
  'angry mad furious irritated',
  'evil wicked immoral sinful corrupt depraved',
  'wrong incorrect mistaken erroneous',
  'real genuine actual',
  'strange odd peculiar unusual weird',
  'stop cease halt end finish',
  'scared terrified panicked fearful frightened afraid',
  'quiet calm peaceful serene mild',
  'old aged archaic',
  'love like adore favor',
  'kill murder assassinate',
  'keep retain preserve sustain maintain',
  'hide conceal camouflage',
  'hate despise loathe detest dislike',
  'funny humorous amusing comical laughable',
  'fat fleshy plump chubby',
  'stupid dumb dull unwise',
  'delicious savory delectable appetizing',
  'cut slice carve chop',
  'brave courageous fearless'
].map((words) => words.split(' '))

const checkSynonyms = thenSubmit(async (agent, view) => {
  const words = /similar to (.*) and click/.exec(agent.utterance)?.[1].split(', ') ?? []
  const boxes = view
    .all('checkbox')
    .filter(({ name }) =>
      words.some(
        (word) => word === name || SYNONYMS.some((set) => set.includes(word) && set.includes(name))
      )
    )
  await agent.fillAll(boxes.map((box) => [box, true]))
})

/** Watches which button lights up, then presses them in that order. @type {Policy} */
async function repeatSequence(agent) {
  const order = []
  let lit = -1
  for (let last = Date.now(); Date.now() - last < 1200;) {
    const buttons = await agent.list('#area button')
    const now = buttons.findIndex(({ attributes }) => /push/.test(attributes.class ?? ''))
    if (now >= 0) {
      last = Date.now()
      if (now !== lit) order.push(buttons[now].ref)
    }
    lit = now
  }
  for (const ref of order) await agent.click(ref)
}

/** @type {Record<string, Policy>} */
export const APPS = {
  'click-menu-2': clickIconMenu,
  'click-widget': clickWidget,
  'social-media': clickOnPost,
  'social-media-all': clickOnPosts,
  'social-media-some': clickOnPosts,
  'order-food': orderFood,
  'text-editor': styleText,
  'daily-calendar': createEvent,
  'book-flight': bookFlight,
  'book-flight-nodelay': bookFlight,
  'tic-tac-toe': playTicTacToe,
  'login-user-popup': logInDespitePopup,
  'click-checkboxes-soft': checkSynonyms,
  'simon-says': repeatSequence
}
