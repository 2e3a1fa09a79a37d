// Drags, selections and scrolling.
import { thenSubmit } from './clicking.mjs'

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('../agent.mjs').View} View */
/** @typedef {import('../agent.mjs').Line} Line */
/** @typedef {import('./clicking.mjs').Policy} Policy */

/**
 * Drags a list item to where another is; towards the start, to that one's upper left corner.
 * @param {Agent} agent @param {Line[]} items @param {number} from @param {number} to
 */
const dragItem = (agent, items, from, to) =>
  agent.drag(items[from], items[to], to < from ? { targetPosition: { x: 8, y: 8 } } : {})

/** @type {Policy} */
async function dragInList(agent) {
  const [, name, words] = /Drag (\S+) (.*)\./.exec(agent.utterance) ?? []
  const items = (await agent.see()).all('listitem')
  const from = items.findIndex(({ text }) => text === name)
  const place = /the (\d)/.exec(words)?.[1]
  const to = place
    ? Number(place) - 1
    : /top/.test(words)
      ? 0
      : /bottom/.test(words)
        ? items.length - 1
        : from + (/up/.test(words) ? -1 : 1)
  await dragItem(agent, items, from, to)
}

/** @type {Policy} */
async function dragInGrid(agent) {
  const [, name, words] = /Drag (\S+) (.*)\./.exec(agent.utterance) ?? []
  const items = (await agent.see()).all('listitem')
  const from = items.findIndex(({ text }) => text === name)
  let [row, column] = [Math.floor(from / 3), from % 3]
  const place = /to the (.*)/.exec(words)?.[1]
  if (place) {
    row = /top/.test(place) ? 0 : /bottom/.test(place) ? 2 : 1
    column = /left/.test(place) ? 0 : /right/.test(place) ? 2 : 1
  } else {
    row += /up/.test(words) ? -1 : /down/.test(words) ? 1 : 0
    column += /left/.test(words) ? -1 : /right/.test(words) ? 1 : 0
  }
  await dragItem(agent, items, from, row * 3 + column)
}

/** Drags the smallest of the rest to each place in turn. */
const sortNumbers = thenSubmit(async (agent) => {
  const count = (await agent.see()).all('listitem').length
  for (let place = 0; place < count; place++) {
    const items = (await agent.see()).all('listitem')
    const values = items.map(({ text }) => Number(text))
    const from = values.indexOf(Math.min(...values.slice(place)))
    if (from !== place) await dragItem(agent, items, from, place)
  }
})

const DIRECTIONS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] }

/** Drags the only shape of a drawing 20 pixels in a direction. */
const dragShapeInDirection = thenSubmit(async (agent) => {
  const [dx, dy] = DIRECTIONS[/(left|right|up|down)/.exec(agent.utterance)?.[1] ?? '']
  const [{ ref }] = await agent.list('#area svg *')
  const box = await agent.box(ref)
  const area = await agent.box('#area svg')
  const at = { x: box.x - area.x + box.width / 2, y: box.y - area.y + box.height / 2 }
  const path = [0, 8, 16, 24].map((step) => ({ x: at.x + dx * step, y: at.y + dy * step }))
  await agent.act('drag_and_drop', { source: '#area svg', path })
})

const dragBox = thenSubmit((agent) => agent.drag('#draggableSmall', '#draggableLarge'))

const TAGS = { rectangles: 'rect', circles: 'circle', triangles: 'polygon' }

/** Drags each shape into its box: the only one, or the left and the right one. */
const dragShapes = thenSubmit(async (agent) => {
  const words = /all (\w+)/.exec(agent.utterance)?.[1] ?? ''
  const all = await agent.list('#area_svg > *')
  const boxes = all.filter(({ attributes }) => attributes.id === 'shape-container')
  const left = boxes.toSorted((a, b) => a.attributes.x - b.attributes.x)[0]
  const right = boxes.length > 1 ? boxes.find((box) => box !== left) : undefined
  for (const shape of all.filter((element) => !boxes.includes(element))) {
    const chosen = shape.tag === TAGS[words] || shape.attributes.fill === words
    const target = chosen ? left : right
    if (target)
      await agent.act('drag_and_drop', {
        source: shape.ref,
        target: '#area_svg',
        targetPosition: {
          x: Number(target.attributes.x) + Number(target.attributes.width) / 2,
          y: Number(target.attributes.y) + Number(target.attributes.height) / 2
        }
      })
  }
})

/**
 * Turns the cube a bit at a time until the wanted side is the active one; the cube turns on after
 * each drag.
 */
const turnCube = thenSubmit(async (agent) => {
  const [wanted] = agent.quoted
  const cube = '#wrapper .viewport'
  const step = ['1', '6'].includes(wanted) ? { x: 0, y: 10 } : { x: 10, y: 0 }
  const path = [0, 1, 2].map((index) => ({ x: 20 + index * step.x, y: 20 + index * step.y }))
  for (let turns = 0; turns < 40; turns++) {
    const sides = await agent.list('.cube-image')
    if (sides.find(({ attributes }) => /active/.test(attributes.class)).text === wanted) return
    // The way to the start of the drag counts as a turn back if it is taken at the same moment.
    await agent.act('hover', { selector: cube, position: path[0] })
    await agent.act('wait_for', { time: 100 })
    await agent.act('drag_and_drop', { source: cube, path })
    await agent.act('wait_for', { time: 500 })
  }
})

/** A triple click selects a paragraph. */
const highlightText = thenSubmit(async (agent, view) => {
  const index = Number(/(\d)\w\w paragraph/.exec(agent.utterance)?.[1] ?? 1) - 1
  const paragraphs = view.all('paragraph')
  await agent.click(paragraphs.length > 0 ? `#area p >> nth=${index}` : '#randomText', {
    clickCount: 3
  })
})

const scrollText = thenSubmit((agent, view) =>
  agent.act('scroll', {
    selector: view.get('textbox').ref,
    ...{ x: 0, y: /bottom/.test(agent.utterance) ? 3000 : -3000 }
  })
)

/** @type {Policy} */
async function signAgreement(agent) {
  const name = /name "(\w+)"/.exec(agent.utterance)?.[1]
  const view = await agent.see()
  if (name) {
    await agent.act('scroll', { selector: view.get('textbox').ref, ...{ x: 0, y: 9000 } })
    await agent.fill(view.get('textbox', 'Name'), name)
  }
  await agent.click(
    view.get('button', /agree/i.test(agent.utterance.slice(-10)) ? 'Agree' : 'Cancel')
  )
}

const resizeTextarea = thenSubmit(async (agent, view) => {
  const larger = /larger/.test(agent.utterance)
  const height = /height/.test(agent.utterance)
  const handle = view
    .all('generic')
    .find(({ states }) => states.includes(height ? '=s-resize' : '=e-resize'))
  const { width, height: high } = await agent.box(/** @type {Line} */ (handle).ref)
  const at = { x: width / 2, y: high / 2 }
  const step = larger ? 5 : -5
  const path = [0, 1, 2, 3].map((index) => ({
    x: at.x + (height ? 0 : index * step),
    y: at.y + (height ? index * step : 0)
  }))
  await agent.act('drag_and_drop', { source: /** @type {Line} */ (handle).ref, path })
})

/** @type {Record<string, Policy>} */
export const DRAGGING = {
  'drag-items': dragInList,
  'drag-items-grid': dragInGrid,
  'drag-sort-numbers': sortNumbers,
  'drag-circle': dragShapeInDirection,
  'drag-single-shape': dragShapeInDirection,
  'drag-box': dragBox,
  'drag-shapes': dragShapes,
  'drag-shapes-2': dragShapes,
  'drag-cube': turnCube,
  'highlight-text': highlightText,
  'highlight-text-2': highlightText,
  'scroll-text-2': scrollText,
  'sign-agreement': signAgreement,
  'resize-textarea': resizeTextarea
}
