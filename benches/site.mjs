// The page that both servers work on: a button that counts, an input, a link; the same with 400 rows of a table, with
// 3,000 links, and as a small form.
import { createServer } from 'node:http'

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

const PAGES = {
  '/': page('Small'),
  '/other': page('Other'),
  '/rows': page('Rows', `<table>${rows}</table>`),
  '/links': page('Links', `<ul>${links}</ul>`),
  '/form': page('Form', form)
}

/** @returns {Promise<{ url: string, close: () => void }>} */
export async function serveSite() {
  const server = createServer((request, response) => {
    const body = PAGES[request.url]
    response.writeHead(body ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(body)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}
