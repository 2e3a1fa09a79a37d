// Sessions, calls and metrics that the dashboard's mock server answers with. Some attack the
// dashboard with markup.

/** Markup that sets `window.attacked` if a page parses it as HTML. */
export const ATTACK =
  '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script><style>*{display:none}</style>'

const MINUTE = 60_000
const START = Date.now()

/** Returns the ISO 8601 time `ms` milliseconds ago. @param {number} ms */
const before = (ms) => new Date(START - ms).toISOString()

/** @param {string} id @param {object} values */
function session(id, values) {
  return {
    server: 'server-1',
    id,
    name: null,
    state: 'active',
    browser: 'chromium',
    url: 'https://example.com/',
    title: 'Example',
    createdAt: before(25 * MINUTE),
    lastUsedAt: before(2 * MINUTE),
    calls: 12,
    running: null,
    heldBy: null,
    question: null,
    ...values
  }
}

/** Live and past sessions. */
export function sampleSessions() {
  const past = { state: 'ended', url: null, title: null }
  return [
    session('s-1-shop', {
      name: 'price watch',
      url: 'https://shop.example/products?sort=price&page=2',
      title: 'Corner Shop',
      calls: 6,
      running: { call: 7, tool: 'wait_for', startedAt: before(4000) },
      pages: [
        { id: 'p1', url: 'https://shop.example/products', title: 'Corner Shop', active: true },
        { id: 'p2', url: 'https://shop.example/cart', title: 'Cart', active: false }
      ]
    }),
    session('s-2-login', {
      name: 'travel booking',
      browser: 'firefox',
      url: 'https://travel.example/sign-in',
      title: 'Sign in',
      question: { id: 'q1', message: 'Please sign in to the travel site, then press Done.' }
    }),
    session('s-3', { title: 'Minutes of the meeting', url: 'https://council.example/minutes' }),
    session('s-4-attack', {
      name: `${ATTACK} name`,
      title: `${ATTACK} title`,
      url: `javascript:window.attacked=1//${ATTACK}`,
      question: {
        id: 'q2',
        message: `${ATTACK} question`,
        schema: {
          properties: {
            text: { type: 'string', title: `${ATTACK} field`, description: ATTACK },
            choice: { enum: [ATTACK, 'b'] },
            choices: { type: 'array', description: ATTACK, items: { enum: [ATTACK, 'b'] } },
            agree: { type: 'boolean', description: ATTACK }
          }
        }
      },
      pages: [{ id: 'p1', url: `https://x.example/${ATTACK}`, title: ATTACK, active: true }]
    }),
    session('s-5', { ...past, state: 'recoverable', name: 'weekly report', browser: 'webkit' }),
    session('s-6', {
      ...past,
      name: 'invoice download',
      createdAt: before(27 * 60 * MINUTE),
      lastUsedAt: before(26 * 60 * MINUTE)
    }),
    session('s-7-attack', {
      ...past,
      name: `${ATTACK} past`,
      createdAt: before(230 * MINUTE),
      lastUsedAt: before(200 * MINUTE)
    })
  ]
}

/** @param {string} tool @param {Record<string, unknown>} args @param {object} [values] */
const done = (tool, args, values) => ({
  tool,
  arguments: args,
  status: 'ok',
  durationMs: 240,
  summary: '',
  error: null,
  pictureUrl: null,
  result: '',
  changes: null,
  console: [],
  ...values
})

/** The calls of a sample session, newest first. @param {{ id: string }} session */
export function callsOf({ id }) {
  const isAttack = id.endsWith('attack')
  const text = isAttack ? ATTACK : ''
  const rows = [
    done(
      'click',
      { selector: `role=button[name="Order"]${text}` },
      {
        summary: `Clicked button "Order" ${text}`,
        durationMs: 512,
        result: `{\n  "success": true,\n  "message": "Clicked button \\"Order\\" ${text}"\n}`,
        changes: `+   status: Ordered for Ada ${text}\n-   button "Order" [ref=e13]\n    heading "Cart"`,
        console: [`[log] order sent ${text}`, '[warning] slow response'],
        pictureUrl: `api/calls/${id}-5/pictures/1`
      }
    ),
    done(
      'click',
      { selector: '#submit' },
      {
        status: 'error',
        durationMs: 5004,
        error: {
          code: 'ELEMENT_COVERED',
          message: `\`#submit\` is covered by \`<div.overlay>\`; waited 5000 ms. ${text}`,
          suggestion: 'Close the overlay or pass `force`.'
        }
      }
    ),
    done('fill', { selector: 'label=Name', value: 'Ada' }, { summary: 'Filled textbox "Name"' }),
    done(
      'snapshot',
      { interactive: true },
      {
        summary: `Page: https://shop.example/ (Shop) ${text}`,
        durationMs: 31,
        pictureUrl: `api/calls/${id}-2/pictures/1`,
        result: Array.from(
          { length: 40 },
          (_, line) => `- button "Product ${line}" [ref=e${line}]`
        ).join('\n')
      }
    ),
    done(
      'navigate',
      { url: 'https://shop.example/products?sort=price&page=2', wait: 'load' },
      {
        summary: 'Page: https://shop.example/ (Shop)',
        durationMs: 1310
      }
    )
  ]
  return rows.map((row, index) => ({
    ...row,
    id: `${id}-${rows.length - index}`,
    session: id,
    startedAt: before((index + 1) * 20_000)
  }))
}

const LIMITS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000]

/** Returns a histogram. @param {number} peak index of its largest bucket @param {number} count */
function latency(peak, count) {
  const weights = LIMITS.map((_, index) => 1 / (1 + (index - peak) ** 2))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  const buckets = LIMITS.map((limit, index) => {
    sum += weights[index]
    return [limit, Math.round((sum / total) * count)]
  })
  return { count, sumMs: count * LIMITS[peak], buckets }
}

export function metrics() {
  const history = Array.from({ length: 120 }, (_, index) => ({
    at: before((120 - index) * 10_000),
    calls: Math.round(index * 9 + 12 * Math.sin(index / 6)),
    errors: Math.floor(index / 9),
    memoryBytes: 210e6 + 40e6 * Math.sin(index / 15) + index * 3e5,
    browsers: index < 40 ? 1 : 2,
    sessions: index % 37 < 20 ? 4 : 3,
    queued: index % 29 === 0 ? 3 : 0
  }))
  return {
    calls: 1122,
    errorsByCode: { ELEMENT_NOT_FOUND: 7, TIMEOUT: 4, ELEMENT_COVERED: 2 },
    latencyByTool: {
      click: latency(6, 420),
      snapshot: latency(2, 350),
      navigate: latency(8, 181),
      fill: latency(5, 130)
    },
    memoryBytes: 284e6,
    browsers: 2,
    sessions: 4,
    queued: 0,
    history
  }
}
