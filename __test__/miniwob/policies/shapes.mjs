// Shapes, colors and drawings: what an SVG's elements are, and where.
import { thenSubmit } from './clicking.mjs'

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('./clicking.mjs').Policy} Policy */
/** @typedef {{ x: number, y: number }} Point */

const SHAPES = { rect: 'rectangle', circle: 'circle', polygon: 'triangle' }

/** What MiniWoB++ calls an SVG element, by its attributes. @param {any} element */
function describe({ tag, text, attributes, ref }) {
  const points = (attributes.points ?? '').split(' ').map((point) => Number(point.split(',')[0]))
  const size =
    tag === 'text'
      ? parseFloat(attributes['font-size'])
      : tag === 'circle'
        ? 2 * Number(attributes.r)
        : tag === 'rect'
          ? Number(attributes.width)
          : Math.max(...points) - Math.min(...points)
  return {
    ref,
    color: attributes.fill,
    size: size > 15 ? 'large' : 'small',
    type: tag === 'text' ? (/\d/.test(text) ? 'digit' : 'letter') : 'shape',
    name: SHAPES[tag] ?? text
  }
}

/** @param {Agent} agent */
const shapes = async (agent) => (await agent.list('#area_svg *')).map(describe)

/**
 * Whether a shape is what "large red letter" or "items" says.
 * @param {ReturnType<typeof describe>} shape
 * @param {string} words
 */
const is = (shape, words) =>
  words.split(' ').every((word) => {
    const singular = word.length > 1 ? word.replace(/s$/, '') : word
    return (
      singular === 'item' || [shape.color, shape.size, shape.type, shape.name].includes(singular)
    )
  })

/** @type {Policy} */
async function clickShape(agent) {
  const words = /Click on an? (.*)/.exec(agent.utterance)?.[1] ?? ''
  await agent.click((await shapes(agent)).find((shape) => is(shape, words))?.ref ?? '')
}

/** @type {Policy} */
async function countShapes(agent) {
  const words = /How many (.*) are there/.exec(agent.utterance)?.[1] ?? ''
  const count = (await shapes(agent)).filter((shape) => is(shape, words)).length
  await agent.click((await agent.see()).get('button', String(count)))
}

/** @type {Policy} */
async function identifyShape(agent) {
  const [{ type, name }] = await shapes(agent)
  const label = type === 'digit' ? 'number' : type === 'shape' ? name : type
  await agent.click((await agent.see()).get('button', new RegExp(`^${label}$`, 'i')))
}

/** @type {Policy} */
async function clickColor(agent) {
  const color = /on the (\w+) colored/.exec(agent.utterance)?.[1]
  const boxes = await agent.list('#area .color')
  await agent.click(boxes.find(({ attributes }) => attributes.style.includes(`: ${color};`))?.ref)
}

const clickShades = thenSubmit(async (agent) => {
  const wanted = ['red', 'green', 'blue'].findIndex((color) => agent.utterance.includes(color))
  for (const { ref, attributes } of await agent.list('#area span')) {
    const levels = (attributes.style.match(/\d+/g) ?? []).map(Number)
    if (levels.indexOf(Math.max(...levels)) === wanted) await agent.click(ref)
  }
})

/** Fills the text field of the color picker. */
const COLORS = {
  ...{ black: '000000', white: 'ffffff', aqua: '00ffff', blue: '0000ff', gray: '808080' },
  ...{ green: '008000', lime: '00ff00', maroon: '800000', navy: '000080', olive: '808000' },
  ...{ purple: '800080', red: 'ff0000', silver: 'c0c0c0', teal: '008080', yellow: 'ffff00' },
  ...{ pink: 'ffc0cb', magenta: 'ff00ff', gold: 'ffd700', orange: 'ffa500' }
}

const pickNamedColor = thenSubmit((agent, view) =>
  agent.fill(view.get('textbox'), COLORS[/Select (\w+)/.exec(agent.utterance)?.[1] ?? ''])
)

const pickShownColor = thenSubmit(async (agent, view) => {
  const [{ attributes }] = await agent.list('#query [style]')
  const style = attributes.style
  const hex =
    /#(\w{6})/.exec(style)?.[1] ??
    (style.match(/\d+/g) ?? []).map((level) => Number(level).toString(16).padStart(2, '0')).join('')
  await agent.fill(view.get('textbox'), hex)
})

/** @type {Policy} */
async function clickGridPoint(agent) {
  const [x, y] = (/\((-?\d),(-?\d)\)/.exec(agent.utterance) ?? []).slice(1).map(Number)
  const circles = await agent.list('#area circle')
  const at = ({ attributes }, name) => Number(attributes[name])
  const center = { x: 75, y: 75 }
  await agent.click(
    circles.find(
      (circle) => at(circle, 'cx') === center.x + 30 * x && at(circle, 'cy') === center.y - 30 * y
    )?.ref
  )
}

/** Remembers where the numbers are: squares cover them after the first click. @type {Policy} */
async function clickAscending(agent) {
  const numbers = await agent.list('#area_svg text')
  const places = []
  for (const { ref } of numbers) places.push(await agent.box(ref))
  const area = await agent.box('#area_svg')
  await agent.click(numbers[0].ref)
  for (const box of places.slice(1))
    await agent.click('#area_svg', {
      position: { x: box.x - area.x + box.width / 2, y: box.y - area.y + box.height / 2 }
    })
}

/** @param {any} box @returns {Point} */
const center = (box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 })

/**
 * Clicks in an SVG so that the blue dot that the page draws is at a point; corrects it once.
 * @param {Agent} agent
 * @param {Point} goal
 */
async function placeDot(agent, goal) {
  const area = await agent.box('#svg-grid')
  let at = { x: goal.x - area.x, y: goal.y - area.y }
  await agent.click('#svg-grid', { position: at })
  const drawn = center(await agent.box('#blue-circle'))
  at = { x: at.x + goal.x - drawn.x, y: at.y + goal.y - drawn.y }
  if (Math.hypot(goal.x - drawn.x, goal.y - drawn.y) > 0.7)
    await agent.click('#svg-grid', { position: at })
}

/** The centers of the circles of the task. @param {Agent} agent */
async function points(agent) {
  const circles = await agent.list('#svg-grid circle')
  const found = []
  for (const { ref, attributes } of circles)
    found.push({ fill: attributes.fill, ...center(await agent.box(ref)) })
  return found
}

/** @param {(points: (Point & { fill: string })[]) => Point} goal */
const placeDotAt = (goal) => thenSubmit(async (agent) => placeDot(agent, goal(await points(agent))))

const clickCenter = placeDotAt(([circle]) => circle)

const clickMidpoint = placeDotAt(([a, b]) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }))

/** A point on the bisector, half as far away as the nearer of the two ends. */
const bisectAngle = placeDotAt((all) => {
  const vertex = all.find(({ fill }) => fill === 'blue') ?? all[0]
  const [a, b] = all
    .filter((point) => point !== vertex)
    .map(({ x, y }) => {
      const length = Math.hypot(x - vertex.x, y - vertex.y)
      return { x: (x - vertex.x) / length, y: (y - vertex.y) / length, length }
    })
  const middle = { x: a.x + b.x, y: a.y + b.y }
  const scale = Math.min(a.length, b.length) / Math.hypot(middle.x, middle.y)
  return { x: vertex.x + middle.x * scale, y: vertex.y + middle.y * scale }
})

/** A point beside the vertex, towards the middle of the drawing. */
const rightAngle = placeDotAt((all) => {
  const vertex = all.find(({ fill }) => fill === 'blue') ?? all[1]
  const other = all.find((point) => point !== vertex) ?? all[0]
  const [dx, dy] = [other.x - vertex.x, other.y - vertex.y]
  const length = Math.hypot(dx, dy)
  const candidates = [1, -1].map((side) => ({
    x: vertex.x + (side * -dy * 45) / length,
    y: vertex.y + (side * dx * 45) / length
  }))
  const distance = ({ x, y }) => Math.hypot(x - 77, y - 117)
  return candidates.sort((a, b) => distance(a) - distance(b))[0]
})

const drawLine = thenSubmit(async (agent) => {
  const area = await agent.box('#area svg')
  const dot = center(await agent.box('#circ'))
  const at = { x: dot.x - area.x, y: dot.y - area.y }
  const path = Array.from({ length: 9 }, (_, index) =>
    /vertical/.test(agent.utterance)
      ? { x: at.x, y: 10 + index * 11 }
      : { x: 10 + index * 16, y: at.y }
  )
  await agent.act('drag_and_drop', { source: '#area svg', path })
})

const drawCircle = thenSubmit(async (agent) => {
  const area = await agent.box('#area svg')
  const dot = center(await agent.box('#circ'))
  const path = Array.from({ length: 37 }, (_, index) => ({
    x: dot.x - area.x + 20 * Math.cos((index * Math.PI) / 18),
    y: dot.y - area.y + 20 * Math.sin((index * Math.PI) / 18)
  }))
  await agent.act('drag_and_drop', { source: '#area svg', path })
})

const countBlocks = thenSubmit(async (agent, view) => {
  const blocks = await agent.list('.addition-block')
  await agent.fill(view.get('textbox'), String(blocks.length))
})

/** How far away the hot point is, by the page's words: from, to. */
const HEAT = { HOT: [0, 5], WARM: [5, 10], COLD: [10, 40], 'ICE COLD': [40, 1000] }

/**
 * Keeps the points that fit to every answer so far, and asks at the one in their middle.
 * @type {Policy}
 */
async function findHotArea(agent) {
  const area = '#touch-area'
  const { width, height } = await agent.box(area)
  let places = Array.from({ length: 40 * 31 }, (_, index) => ({
    x: 4 * (index % 40) + 2,
    y: 4 * Math.floor(index / 40) + 2
  })).filter(({ x, y }) => x < width - 1 && y < height - 1)
  let text = ''
  while (places.length > 0) {
    const sum = places.reduce((all, { x, y }) => ({ x: all.x + x, y: all.y + y }), { x: 0, y: 0 })
    const middle = { x: sum.x / places.length, y: sum.y / places.length }
    const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y)
    const position = places.reduce((a, b) => (distance(a, middle) <= distance(b, middle) ? a : b))
    const { changes = '' } = await agent.act('hover', { selector: area, position })
    text = /\+ text: ([A-Z ]+)/.exec(changes)?.[1] ?? text
    if (text === 'HOT') return agent.click(area, { position })
    const [from, to] = HEAT[text]
    places = places.filter((place) => {
      const away = distance(place, position)
      return place !== position && away > from - 3 && away < to + 3
    })
  }
}

/** @type {Record<string, Policy>} */
export const DRAWINGS = {
  'click-shape': clickShape,
  'count-shape': countShapes,
  'identify-shape': identifyShape,
  'click-color': clickColor,
  'click-shades': clickShades,
  'use-colorwheel': pickNamedColor,
  'use-colorwheel-2': pickShownColor,
  'grid-coordinate': clickGridPoint,
  'ascending-numbers': clickAscending,
  'circle-center': clickCenter,
  'find-midpoint': clickMidpoint,
  'bisect-angle': bisectAngle,
  'right-angle': rightAngle,
  'draw-line': drawLine,
  'draw-circle': drawCircle,
  'visual-addition': countBlocks,
  'hot-cold': findHotArea
}
