// The pages of the test site, by path. Each is plain HTML. Its scripts write their results into the
// title, the element #out, or a variable of the window, where a test can read them.
import { renderPage } from './html.mjs'

export const PAGES = {
  '/': renderPage(
    'Home',
    '<h1>Home</h1><a id="form" href="/form">To the form</a> <a id="slow" href="/slow?ms=300">Slowly</a>'
  ),

  // Fields of every kind. `keys` has each keystroke with its time, `events` the name of each event.
  '/form': renderPage(
    'Form',
    `<form action="/echo">
      <label for="name">Name</label> <input id="name" name="name">
      <label for="full">Full</label> <input id="full" name="full" value="before">
      <label for="password">Password</label> <input id="password" type="password">
      <label for="note">Note</label> <textarea id="note" name="note"></textarea>
      <div id="rich" contenteditable="true" aria-label="Rich"></div>
      <input id="fixed" readonly value="fixed"> <input id="off" disabled value="off">
      <input id="agree" type="checkbox"> <select id="pick"><option>one<option>two</select>
      <p id="words">No field at all</p>
      <button id="send">Send</button>
    </form><div id="out"></div>
    <script>
      window.keys = []; window.events = []
      for (const type of ['keydown', 'input', 'change']) addEventListener(type, (event) => {
        events.push(type + ':' + event.target.id)
        if (type === 'keydown') keys.push({ key: event.key, at: performance.now(), trusted: event.isTrusted })
      }, true)
    </script>`
  ),

  // Elements to click. #out shows what was clicked, and `clicks` has every click event.
  '/buttons': renderPage(
    'Buttons',
    `<button id="plain">Plain</button> <button id="off" disabled>Disabled</button>
    <button id="hidden" style="display:none">Hidden</button>
    <div style="position:relative;width:200px;height:40px"><button id="covered">Covered</button>
      <div id="cover" style="position:absolute;inset:0;background:#ccc">Cover</div></div>
    <style>@keyframes move { from { left: 0 } to { left: 300px } }</style>
    <div><button id="moving" style="position:relative;animation:move 0.2s linear infinite alternate">Moving</button></div>
    <button class="twin">Twin</button> <button class="twin">Twin</button>
    <button id="add">Add one later</button> <a id="popup" href="/form" target="_blank">Popup</a>
    <div style="height:3000px"></div><button id="below">Below</button>
    <div id="out"></div>
    <script>
      window.clicks = []
      for (const type of ['click', 'dblclick', 'auxclick', 'contextmenu']) addEventListener(type, (event) => {
        clicks.push({ type, id: event.target.id, detail: event.detail, button: event.button, trusted: event.isTrusted })
        out.textContent = event.target.id
      })
      add.onclick = () => setTimeout(() => add.insertAdjacentHTML('afterend', '<button id="late">Late</button>'), 200)
    </script>`
  ),

  '/dialogs': renderPage(
    'Dialogs',
    `<button id="alert" onclick="alert('Attention'); out.textContent = 'alerted'">Alert</button>
    <button id="confirm" onclick="out.textContent = confirm('Sure?')">Confirm</button>
    <button id="prompt" onclick="out.textContent = prompt('Name?', 'nobody')">Prompt</button><div id="out"></div>`
  ),
  '/alert-on-load': renderPage(
    'Alert on load',
    '<p>Behind the dialog</p>',
    "<script>alert('On load')</script>"
  ),

  // The data that is separate in each session.
  '/storage': renderPage('Storage', '<p>Storage</p>'),

  // The window's load event is its last change of title.
  '/loading': renderPage(
    'Loading',
    '<p>Loading</p>',
    "<script>addEventListener('load', () => { document.title = 'Loaded' })</script><script src=\"/held.js\" async></script>"
  ),

  '/frames': renderPage(
    'Frames',
    '<iframe id="frame" src="/form" width="400" height="400"></iframe>'
  ),

  // Two scripts that never end.
  '/busy': renderPage('Busy', '<button id="stuck" onclick="for (;;) ;">Stuck</button>'),

  '/links': renderPage(
    'Links',
    `<a id="hash" href="#below">Hash</a> <a id="file" href="/download">Download</a> <a id="away" href="/redirect">Away</a>
    <a id="gone" href="/status/404">Gone</a><p id="below" style="margin-top:2000px">Below</p>`
  )
}
