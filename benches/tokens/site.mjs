// The site of the jobs: a log-in, a form with ten fields, and a table with 400 rows.
import { serve } from '../../scripts/serve.mjs'

/**
 * @typedef {{
 *   url: string, posted: Record<string, Record<string, string>>, close: () => void
 * }} Site
 */

/** What the jobs enter. */
export const LOGIN = { username: 'ada', password: 'engine-1843' }
export const REGISTRATION = {
  first: 'Ada',
  last: 'Lovelace',
  email: 'ada@example.com',
  phone: '+44 20 7946 0000',
  company: 'Analytical Engines',
  street: '12 St James Square',
  city: 'London',
  country: 'United Kingdom',
  news: 'on',
  comment: 'Please call before noon.'
}

const ROWS = 400
const CUSTOMERS = ['Baker', 'Miller', 'Tanner', 'Cooper', 'Smith', 'Weaver', 'Mason', 'Fisher']
/** The row that the job searches for. Its customer occurs once. */
export const INVOICE_ROW = { row: 317, customer: 'Babbage Instruments' }

/** @param {number} row */
const invoice = (row) => ({
  number: `INV-${10_000 + row * 7}`,
  customer: row === INVOICE_ROW.row ? INVOICE_ROW.customer : `${CUSTOMERS[row % 8]} ${100 + row}`,
  amount: `${(row * 37) % 900}.${String((row * 13) % 100).padStart(2, '0')} EUR`,
  state: row % 3 ? 'paid' : 'due'
})
export const invoiceOfJob = invoice(INVOICE_ROW.row)

const page = (title, body) => `<!doctype html><html lang="en"><title>${title}</title>
<nav><a href="/account">Account</a> <a href="/register">Registration</a> <a href="/invoices">Invoices</a></nav>
<main><h1>${title}</h1>${body}</main>
<footer><a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a></footer></html>`

const login = `<form method="post" action="/login">
<label>User name <input name="username" required></label>
<label>Password <input name="password" type="password" required></label>
<button>Sign in</button></form>`

const register = `<form method="post" action="/register">
<label>First name <input name="first" required></label>
<label>Last name <input name="last" required></label>
<label>Email <input name="email" type="email" required></label>
<label>Phone <input name="phone" type="tel"></label>
<label>Company <input name="company"></label>
<label>Street <input name="street"></label>
<label>City <input name="city"></label>
<label>Country <select name="country"><option>France<option>Germany<option>United Kingdom</select></label>
<label><input name="news" type="checkbox"> Send me news</label>
<label>Comment <textarea name="comment"></textarea></label>
<button>Register</button></form>`

const rows = Array.from({ length: ROWS }, (_, row) => {
  const { number, customer, amount, state } = invoice(row)
  const link = `<a href="/invoices/${number}">${number}</a>`
  return `<tr><td>${link}</td><td>${customer}</td><td>${amount}</td><td>${state}</td></tr>`
}).join('\n')

const PAGES = {
  '/login': page('Sign in', login),
  '/account': page('Account of Ada', '<p>You are signed in. You have 3 open orders.</p>'),
  '/register': page('Registration', register),
  '/registered': page('Registered', '<p>Your registration has the number 4711.</p>'),
  '/invoices': page(
    'Invoices',
    `<table><tr><th>Number</th><th>Customer</th><th>Amount</th><th>State</th></tr>${rows}</table>`
  ),
  [`/invoices/${invoiceOfJob.number}`]: page(
    `Invoice ${invoiceOfJob.number}`,
    `<dl><dt>Customer<dd>${invoiceOfJob.customer}<dt>Amount<dd>${invoiceOfJob.amount}</dl><button>Remind</button>`
  )
}
/** The page after each form. */
const AFTER = { '/login': '/account', '/register': '/registered' }

/** @returns {Promise<Site>} `posted` has the fields of the forms that were sent, by path */
export async function serveSite() {
  /** @type {Site['posted']} */
  const posted = {}
  const server = await serve(async (request, response) => {
    const path = request.url ?? '/'
    if (request.method === 'POST' && path in AFTER) {
      let body = ''
      for await (const part of request) body += part
      posted[path] = Object.fromEntries(new URLSearchParams(body))
      return response.writeHead(303, { location: AFTER[path] }).end()
    }
    const found = PAGES[path]
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(found ?? page('Not found', ''))
  })
  return { ...server, posted }
}
