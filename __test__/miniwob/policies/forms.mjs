// Text fields, dates, lists, sliders.
import { suggestion, thenSubmit } from './clicking.mjs'

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('../agent.mjs').View} View */
/** @typedef {import('./clicking.mjs').Policy} Policy */

/**
 * Fills the first text field with the text that `answer` computes from the page.
 * @param {(agent: Agent, view: View) => string} answer
 */
const enter = (answer) =>
  thenSubmit((agent, view) => {
    const field = view.lines.find(
      ({ role, text }) => ['textbox', 'spinbutton'].includes(role) && text === ''
    )
    return agent.fill(/** @type {any} */ (field), answer(agent, view))
  })

const ordinal = (utterance, noun) =>
  Number(new RegExp(`(\\d+)(?:st|nd|rd|th) ${noun}`).exec(utterance)?.[1]) - 1

const enterQuoted = enter(({ quoted }) => quoted[0])

const enterTransformed = enter(({ utterance, quoted }) =>
  /upper/.test(utterance)
    ? quoted[0].toUpperCase()
    : /lower/.test(utterance)
      ? quoted[0].toLowerCase()
      : quoted[0]
)

/** Sets a date or time field, whose value has another form than the task's. */
const enterTime = thenSubmit(async (agent, view) => {
  const [, hour, minute, half] = /(\d+):(\d+) (AM|PM)/.exec(agent.utterance) ?? []
  const hours = (Number(hour) % 12) + (half === 'PM' ? 12 : 0)
  await agent.fill(view.get('textbox'), `${String(hours).padStart(2, '0')}:${minute}`)
})

const enterIsoDate = thenSubmit(async (agent, view) => {
  const [month, day, year] = /\d\d\/\d\d\/\d{4}/.exec(agent.utterance)?.[0].split('/') ?? []
  await agent.fill(view.get('textbox'), `${year}-${month}-${day}`)
})

/** The same text into every field. */
const enterPassword = thenSubmit((agent, view) =>
  agent.fillAll(view.all('textbox').map((field) => [field, agent.quoted[0]]))
)

const logIn = thenSubmit((agent, view) => {
  const [name, password] = agent.quoted
  const [first, second] = view.all('textbox')
  return agent.fillAll([
    [first, name],
    [second, password]
  ])
})

/** All text between the task and the field: letters may be elements of their own. */
const readText = enter((_agent, view) => {
  const field = view.lines.findIndex(({ role }) => role === 'textbox')
  const lines = view.lines.slice(1, field)
  return lines.map(({ text }) => text).join('')
})

const findWord = enter((agent, view) => {
  const words = view.get('paragraph').text.split(/\s+/)
  return words[ordinal(agent.utterance, 'word')].replace(/[.,]/g, '')
})

const copyText = thenSubmit(async (agent, view) => {
  const index = ordinal(agent.utterance, 'text area') || 0
  const areas = view.all('textbox').filter(({ text }) => text !== '')
  const { value } = await agent.act('get_value', { selector: areas[index].ref })
  await agent.fill(
    view.lines.find(({ role, text }) => role === 'textbox' && text === '') ?? '',
    value
  )
})

const lastWord = thenSubmit(async (agent, view) => {
  const { value } = await agent.act('get_value', { selector: view.get('textbox').ref })
  const word = value.trim().split(/\s+/).at(-1).replace(/[.,]/g, '')
  await agent.fill(view.get('textbox', undefined, -1), word)
})

/** The value beside a label in the page's table. @param {View} view @param {string} label */
function inTable(view, label) {
  const cells = view.all('cell')
  return cells[cells.findIndex(({ name }) => name === label) + 1].name
}

const enterFromTable = enter(({ utterance }, view) =>
  inTable(view, /value of (.*) into/.exec(utterance)?.[1] ?? '')
)

const enterSeveralFromTable = thenSubmit((agent, view) =>
  agent.fillAll(
    view
      .all('textbox')
      .map((field) => [
        field,
        inTable(view, view.lines[view.lines.indexOf(field) - 1].text.replace(':', ''))
      ])
  )
)

/** "3 + 4 =", "x - 2 = 5" */
const compute = enter((_agent, view) => {
  const { text } = view.get('text', /\d .*=|= .*\d/)
  const [, a, sign, b] = /(-?\w+) ([-+x*]) (-?\w+) =/.exec(text) ?? []
  const result = Number(/= (-?\d+)/.exec(text)?.[1])
  if (a === 'x') return String(sign === '+' ? result - Number(b) : result + Number(b))
  if (b === 'x') return String(sign === '+' ? result - Number(a) : Number(a) - result)
  const [x, y] = [Number(a), Number(b)]
  return String(sign === '+' ? x + y : sign === '-' ? x - y : x * y)
})

/** Halves the range by what the page answers. @type {Policy} */
async function guessNumber(agent) {
  let [low, high] = [0, 9]
  for (let tries = 0; tries < 10 && low <= high; tries++) {
    const view = await agent.see()
    const guess = Math.floor((low + high) / 2)
    await agent.fill(view.get('spinbutton'), String(guess))
    await agent.click(view.get('button', 'Submit'))
    const answer = String(await agent.see())
    if (/lower|less|smaller/i.test(answer)) high = guess - 1
    else if (/higher|greater|larger/i.test(answer)) low = guess + 1
    else return
  }
}

/**
 * Moves a jQuery UI slider from its value to another with the arrow keys.
 * @param {Agent} agent
 * @param {import('../agent.mjs').Line} handle
 * @param {number} from
 * @param {number} to
 */
async function slide(agent, handle, from, to) {
  const key = to > from ? 'ArrowRight' : 'ArrowLeft'
  const steps = Math.abs(to - from)
  if (steps === 0) return
  await agent.act('batch', {
    steps: Array.from({ length: steps }, () => ({
      tool: 'press',
      arguments: { key, selector: handle.ref }
    }))
  })
}

/** The sliders of a page with their values. @param {View} view */
const sliders = (view) =>
  view.lines
    .filter(({ hint }) => hint === '.ui-slider-handle')
    .map((handle) => ({
      handle,
      value: Number(view.lines[view.lines.indexOf(handle) + 1].text)
    }))

const useSlider = thenSubmit(async (agent, view) => {
  const wanted = (
    /\[(.*)\]/.exec(agent.utterance)?.[1] ??
    /Select (-?\d+)/.exec(agent.utterance)?.[1] ??
    ''
  )
    .split(',')
    .map(Number)
  for (const [index, { handle, value }] of sliders(view).entries())
    await slide(agent, handle, value, wanted[index])
})

/** The field takes no keys; its buttons are not in the accessibility tree. */
const useSpinner = thenSubmit(async (agent) => {
  const value = Number(/-?\d+/.exec(agent.utterance)?.[0])
  const button = value < 0 ? '.ui-spinner-down' : '.ui-spinner-up'
  for (let step = 0; step < Math.abs(value); step++) await agent.click(button)
})

const formSequence = thenSubmit(async (agent, view) => {
  const [{ handle, value }] = sliders(view)
  await slide(agent, handle, value, Number(/Select (-?\d+)/.exec(agent.utterance)?.[1]))
  await agent.click(view.get('checkbox', undefined, ordinal(agent.utterance, 'checkbox')))
})

const formSequence2 = thenSubmit(async (agent, view) => {
  const { utterance, quoted } = agent
  await agent.click(view.get('radio', undefined, ordinal(utterance, 'radio')))
  await agent.fill(view.get('textbox', undefined, ordinal(utterance, 'textbox')), quoted[0])
})

/** A list of jQuery Selectric opens on a click. @type {Policy} */
async function formSequence3(agent) {
  const choice = /Choose (.*) from/.exec(agent.utterance)?.[1] ?? ''
  await agent.click((await agent.see()).get('generic', undefined))
  const view = await agent.see()
  const option = view.lines.findLast(
    ({ role, ref, name, text }) => ref && role !== 'option' && (text === choice || name === choice)
  )
  await agent.click(option ?? '')
  await agent.click((await agent.see()).get('button', agent.quoted[0]))
}

const MONTHS =
  'January,February,March,April,May,June,July,August,September,October,November,December'.split(',')

/**
 * Chooses a date in jQuery UI's date picker.
 * @param {Agent} agent
 * @param {import('../agent.mjs').Line} field
 * @param {string} date
 */
export async function pickDate(agent, field, date) {
  const [month, day, year] = date.split('/').map(Number)
  await agent.click(field)
  for (let steps = 0; steps < 24; steps++) {
    const view = await agent.see()
    const shown = MONTHS.findIndex((name) =>
      view.lines.some((line) => line.text.startsWith(name) || line.name.startsWith(name))
    )
    const shownYear = Number(
      /\b20\d\d\b/.exec(
        view.lines
          .slice(1)
          .map((line) => `${line.name} ${line.text}`)
          .filter((text) => !/\d\/\d/.test(text))
          .join('\n')
      )?.[0]
    )
    const distance = (year - shownYear) * 12 + month - 1 - shown
    if (distance === 0) return agent.click(view.get('link', String(day)))
    await agent.click(distance > 0 ? 'text="Next"' : 'text="Prev"')
  }
}

const chooseDate = thenSubmit((agent, view) =>
  pickDate(agent, view.get('textbox'), /\d\d\/\d\d\/\d{4}/.exec(agent.utterance)?.[0] ?? '')
)

const autocomplete = async (agent) => {
  const [start, end = ''] = agent.quoted
  const view = await agent.see()
  await agent.type(view.get('textbox'), start)
  const escaped = (text) => text.replace(/[^\w ]/g, '\\$&')
  // The end may overlap the start.
  const item = new RegExp(`^(?=${escaped(start)}).*${escaped(end)}$`)
  await agent.click(await suggestion(agent, item))
  await agent.click(view.get('button', 'Submit'))
}

const LABEL = /^(movie )?(genre|year|director|released)( name| date)?$/i

/** @type {Policy} */
async function searchMovies(agent) {
  const [, genre, director, year] =
    /Search for (.*) movies directed by (.*) from year (\d+)/.exec(agent.utterance) ?? []
  const view = await agent.see()
  const labels = view.lines.map(({ name, text }) => name || text)
  // One layout has its labels below the fields.
  const shift = LABEL.test(labels[view.lines.findIndex(({ role }) => role === 'textbox') - 1] ?? '')
    ? 1
    : -1
  /** @type {[any, string][]} */
  const fields = view.all('textbox').map((field) => {
    const at = view.lines.indexOf(field)
    const label =
      [field.name, labels[at - shift], labels[at - 2], labels[at - 1]].find((text) =>
        LABEL.test(text)
      ) ?? ''
    return [field, /genre/i.test(label) ? genre : /year|date/i.test(label) ? year : director]
  })
  await agent.fillAll(fields)
  const submit = view.lines.findLast(
    ({ ref, name, text }) => ref && /^(search|submit|go!)$/i.test(name || text)
  )
  await agent.click(submit ?? '')
}

/** @type {Policy} */
async function searchEngine(agent) {
  const [query] = agent.quoted
  const index = ordinal(agent.utterance, 'search result')
  const view = await agent.see()
  await agent.fill(view.get('textbox'), query)
  await agent.click(view.get('button', 'Search'))
  let seen = 0
  for (let page = 2; page < 8; page++) {
    const results = await agent.see()
    const links = results
      .all('link')
      .filter(({ name }) => !/^(\d+|[<>«»]|first|last|previous|next)$/i.test(name))
    if (index < seen + links.length) return agent.click(links[index - seen])
    seen += links.length
    await agent.click(results.get('link', '>'))
  }
}

/** @type {Policy} */
async function useTerminal(agent) {
  const target = (await agent.see()).get('textbox').ref
  await agent.type(target, 'ls', { submit: true })
  const view = await agent.see()
  const ls = view.lines.findIndex(({ text }) => /\bls\b/.test(text) && /user/.test(text))
  const files = (view.lines[ls + 1] ?? view.lines[ls]).text.split(' ')
  const extension = /extension (\.[\w.]+)/.exec(agent.utterance)?.[1]
  const file = files.find((name) => (extension ? name.endsWith(extension) : !name.includes('.')))
  await agent.type(target, `rm ${file}`, { submit: true })
}

/** @type {Record<string, Policy>} */
export const FORMS = {
  'enter-text': enterQuoted,
  'enter-text-dynamic': enterQuoted,
  'enter-text-2': enterTransformed,
  'enter-date': enterIsoDate,
  'enter-time': enterTime,
  'enter-password': enterPassword,
  'login-user': logIn,
  'text-transform': readText,
  'find-word': findWord,
  'copy-paste': copyText,
  'copy-paste-2': copyText,
  'scroll-text': lastWord,
  'read-table': enterFromTable,
  'read-table-2': enterSeveralFromTable,
  'simple-arithmetic': compute,
  'simple-algebra': compute,
  'guess-number': guessNumber,
  'use-slider': useSlider,
  'use-slider-2': useSlider,
  'use-spinner': useSpinner,
  'form-sequence': formSequence,
  'form-sequence-2': formSequence2,
  'form-sequence-3': formSequence3,
  'choose-date': chooseDate,
  'choose-date-easy': chooseDate,
  'choose-date-medium': chooseDate,
  'choose-date-nodelay': chooseDate,
  'use-autocomplete': autocomplete,
  'use-autocomplete-nodelay': autocomplete,
  'multi-layouts': searchMovies,
  'multi-orderings': searchMovies,
  'search-engine': searchEngine,
  terminal: useTerminal
}
