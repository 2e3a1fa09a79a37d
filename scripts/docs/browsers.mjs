// Creates docs/browsers.md from the table of the tests: the tools that each browser supports.
import { BROWSERS } from '../../__test__/support/browsers.mjs'

/** @type {Record<string, string>} */
const ENGINES = { chromium: 'Chromium, Chrome, Edge', firefox: 'Firefox', webkit: 'WebKit' }

const INTRODUCTION = `# Browsers

<!-- The table is generated from __test__/support/browsers.mjs: \`npm run generate\` writes it. -->

\`--browser\` selects the browser. Troupe searches \`PATH\`, the standard folders of the system, and
[its own downloads](platforms.md), those of Playwright and those of Puppeteer. \`npx -y troupe doctor\` lists the browsers that it finds.

\`\`\`bash
npx -y troupe install chromium    # downloads a browser; also firefox and webkit
npx -y troupe --browser firefox
\`\`\`

- **Chromium** is driven over CDP, through a pipe. \`chromium-headless-shell\` is the fastest headless browser. Without it, Troupe
  starts the full browser with \`--headless\`. \`--browser chrome\` and \`--browser msedge\` select Google Chrome and Microsoft Edge.
- **Firefox** is driven over WebDriver BiDi. [Network rules](network.md) lists what BiDi does not report.
- **WebKit** is WebKitGTK on Debian, driven over WebDriver. Each session has its own browser process.
  - A navigation's \`status\` is 0, and a dialog's \`type\` is \`unknown\`.
  - WebDriver reads only the cookies of open documents. Troupe reads the cookies of a site when a page leaves it, and returns these.
  - A download is reported when its file is complete.
  - To restore storage, Troupe requests a page from each origin's server.
  - Offline, init scripts, mobile devices and the egress proxy are not supported.

A call that a browser does not support fails with \`BROWSER_ERROR\` and \`details.unsupported\`. The end-to-end tests run with every
browser. The table shows which tools they cover.
`

/** @param {{ name: string }[]} tools @returns {string} */
export function browserDocument(tools) {
  const engines = Object.keys(ENGINES)
  const rows = tools.map(({ name }) => {
    const cells = engines.map((engine) =>
      BROWSERS[engine].withoutTools?.includes(name) ? 'no' : 'yes'
    )
    return `| \`${name}\` | ${cells.join(' | ')} |`
  })
  const table = [
    `| tool | ${Object.values(ENGINES).join(' | ')} |`,
    '|---|---|---|---|',
    ...rows
  ].join('\n')
  return `${INTRODUCTION}\n${table}\n`
}
