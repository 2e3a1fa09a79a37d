// The pages of the benchmarks: a counting button, an input and a link; the same with 400 table
// rows, with 3,000 links, as a small form, and with child frames, shadow hosts and blank elements.
import { serve } from '../scripts/serve.mjs'

const page = (title, more = '') => `<!doctype html><html lang="en"><title>${title}</title>
<h1>${title}</h1>
<p>Some text, and <a href="/other">a link</a>.</p>
<button id="count" onclick="this.nextElementSibling.textContent = ++clicks">Count</button> <output>0</output>
<label>Name <input id="name"></label>
${more}<script>let clicks = 0</script></html>`

const rows = Array.from(
  { length: 400 },
  (_, row) => `<tr><td>${row}</td><td>Name ${row}</td><td><a href="/row/${row}">Open</a></td></tr>`
).join('\n')

const links = Array.from(
  { length: 3000 },
  (_, link) => `<li><a href="/link/${link}">Link number ${link}</a></li>`
).join('\n')

const form = `<form>
<label>E-mail <input type="email" name="email" required></label>
<label>Country <select name="country"><option>France<option selected>Germany<option>Poland</select></label>
<label><input type="checkbox" name="news"> Send me news</label>
<label>Message <textarea name="message"></textarea></label>
<button type="button">Send</button>
</form>`

const frames = '<iframe src="/inner" width="60" height="40"></iframe>'.repeat(15)

/**
 * Twenty custom elements: with open shadow roots, or with closed ones.
 * @param {'open' | 'closed'} mode
 */
const hosts = (mode) => `<script>
customElements.define('x-item', class extends HTMLElement {
  connectedCallback() { this.attachShadow({ mode: '${mode}' }).innerHTML = '<button>Item</button>' }
})
</script>${'<x-item></x-item><x-plain></x-plain>'.repeat(10)}`

const blank = '<span style="display: inline-block; width: 9px; height: 9px"></span>'.repeat(1500)

const PAGES = {
  '/': page('Small'),
  '/other': page('Other'),
  '/rows': page('Rows', `<table>${rows}</table>`),
  '/links': page('Links', `<ul>${links}</ul>`),
  '/form': page('Form', form),
  '/frames': page('Frames', frames),
  '/inner': '<!doctype html><title>Inner</title><button>Inner</button>',
  '/hosts': page('Hosts', hosts('open')),
  '/closed': page('Closed', hosts('closed')),
  '/blank': page('Blank', blank)
}

/** Serves the pages of the benchmarks. */
export function serveSite() {
  return serve((request, response) => {
    const body = PAGES[request.url]
    response.writeHead(body ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(body)
  })
}
