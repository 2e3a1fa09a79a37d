// Fields and forms.
import { click, evaluate, locator, press, scenario, select, snapshot, type } from '../scenario.mjs'

/**
 * @param {string} kind
 * @param {string} target
 * @param {unknown} value
 * @returns {import('../scenario.mjs').Call}
 */
const verify = (kind, target, value) => [
  'browser_verify_value',
  { type: kind, element: 'field', target, value }
]
/**
 * @param {[name: string, type: string, target: string, value: string][]} fields
 * @returns {import('../scenario.mjs').Call}
 */
const fill = (...fields) => [
  'browser_fill_form',
  { fields: fields.map(([name, kind, target, value]) => ({ name, type: kind, target, value })) }
]

/** @type {import('../scenario.mjs').Scenario[]} */
export const FORMS = [
  scenario(
    'text-fields',
    `<h1>Profile</h1><label>Name <input id="name"></label>
    <label for="note">Note</label><textarea id="note">old</textarea>
    <input type="password" placeholder="Password"> <input type="email" aria-label="Mail" value="a@b.c">`,
    [
      type('ref:textbox "Name"', 'Ada Lovelace', { element: 'Name field' }),
      type('ref:textbox "Note"', 'line one\nline two'),
      type('ref:textbox "Password"', "it's secret"),
      type('ref:textbox "Mail"', '', {}),
      snapshot(),
      verify('textbox', 'ref:textbox "Name"', 'Ada Lovelace'),
      verify('textbox', 'ref:textbox "Name"', 'Grace'),
      evaluate('() => document.getElementById("note").value')
    ]
  ),
  scenario(
    'typed-slowly',
    `<input aria-label="Keys"><ol id="log"></ol><script>
    for (const kind of ['keydown', 'keypress', 'input', 'keyup'])
      document.querySelector('input').addEventListener(kind, (event) => {
        log.insertAdjacentHTML('beforeend', '<li>' + kind + ' ' + (event.key ?? event.data) + '</li>')
      })</script>`,
    [
      type('ref:textbox "Keys"', 'aB1', { slowly: true }),
      type('ref:textbox "Keys"', 'x', {}),
      snapshot({ target: '#log' })
    ]
  ),
  scenario(
    'submit-with-enter',
    `<form onsubmit="event.preventDefault(); out.textContent = 'searched ' + q.value">
    <input id="q" type="search" aria-label="Search"></form><output id="out"></output>`,
    [
      type('ref:searchbox "Search"', 'cats', { submit: true }),
      snapshot(),
      type('#q', 'dogs', { submit: true, slowly: true }),
      snapshot()
    ]
  ),
  scenario(
    'checkboxes',
    `<label><input type="checkbox" id="news"> News</label>
    <label><input type="checkbox" checked> Terms</label>
    <input type="checkbox" aria-label="Mixed" id="mixed"><script>mixed.indeterminate = true</script>
    <div role="checkbox" aria-checked="false" tabindex="0" onclick="this.ariaChecked = String(this.ariaChecked !== 'true')">Custom</div>`,
    [
      click('ref:checkbox "News"'),
      fill(['Terms', 'checkbox', 'ref:checkbox "Terms"', 'false']),
      fill(['Custom', 'checkbox', 'ref:checkbox "Custom"', 'true']),
      snapshot(),
      verify('checkbox', 'ref:checkbox "News"', 'true'),
      verify('checkbox', 'ref:checkbox "Terms"', 'true')
    ]
  ),
  scenario(
    'radio-buttons',
    `<fieldset><legend>Size</legend><label><input type="radio" name="s" value="S"> Small</label>
    <label><input type="radio" name="s" value="L" checked> Large</label>
    <label><input type="radio" name="s" disabled> Huge</label></fieldset>`,
    [
      fill(['Small', 'radio', 'ref:radio "Small"', 'true']),
      snapshot(),
      verify('radio', 'ref:radio "Small"', 'true'),
      verify('radio', 'ref:radio "Large"', 'true'),
      click('ref:radio "Huge"')
    ]
  ),
  scenario(
    'selects',
    `<label>Color <select id="color"><option value="r">Red</option><option value="g" selected>Green</option>
    <optgroup label="Dark"><option value="b">Black</option></optgroup></select></label>
    <select multiple aria-label="Fruits"><option>Apple</option><option>Pear</option><option disabled>Plum</option></select>`,
    [
      select('ref:combobox "Color"', 'Red'),
      select('ref:combobox "Color"', 'b'),
      select('ref:listbox "Fruits"', 'Apple', 'Pear'),
      snapshot(),
      verify('combobox', 'ref:combobox "Color"', 'b'),
      select('ref:combobox "Color"', 'Purple'),
      select('ref:listbox "Fruits"'),
      snapshot()
    ]
  ),
  scenario(
    'fill-all-kinds',
    `<form><label>First <input></label><label>Age <input type="range" min="0" max="100" value="20"></label>
    <label>Agree <input type="checkbox"></label><label>Plan <select><option>Free</option><option>Paid</option></select></label>
    <label>Yes <input type="radio" name="r"></label></form>`,
    [
      fill(
        ['First', 'textbox', 'ref:textbox "First"', 'Grace "G" Hopper'],
        ['Age', 'slider', 'ref:slider "Age"', '42'],
        ['Agree', 'checkbox', 'ref:checkbox "Agree"', 'true'],
        ['Plan', 'combobox', 'ref:combobox "Plan"', 'Paid'],
        ['Yes', 'radio', 'ref:radio "Yes"', 'true']
      ),
      snapshot(),
      verify('slider', 'ref:slider "Age"', '42'),
      fill(['First', 'textbox', 'e999', 'x']),
      fill(['Plan', 'combobox', 'ref:combobox "Plan"', 'Gold'])
    ]
  ),
  scenario(
    'get-form',
    `<form action="/text-fields"><input name="q" aria-label="Query"><button>Go</button></form>`,
    [
      type('ref:textbox "Query"', 'a b&c'),
      click('ref:button "Go"'),
      ['browser_navigate_back'],
      snapshot()
    ]
  ),
  scenario(
    'post-form',
    `<form action="/api/accept" method="post"><input name="user" aria-label="User"><input type="hidden" name="token" value="t1"><button>Send</button></form>`,
    [
      type('ref:textbox "User"', 'ada'),
      click('ref:button "Send"'),
      ['browser_network_requests', { static: true }],
      ['browser_network_request', { index: 2, part: 'request-body' }]
    ]
  ),
  scenario(
    'accessible-names',
    `<label for="a">By for</label><input id="a"> <label>By <b>wrapping</b> <input></label>
    <input aria-label="By aria"> <span id="l1">First</span> <span id="l2">Second</span>
    <input aria-labelledby="l1 l2"> <input title="By title"> <input placeholder="By placeholder">
    <input type="submit"> <input type="button" value="By value"> <input type="image" alt="By alt" src="/pixel.png">
    <input data-testid="by-test-id"> <input name="lonely">`,
    [
      ...['By for', 'By wrapping', 'By aria', 'First Second', 'By title', 'By placeholder'].map(
        (name) => locator(`ref:textbox "${name}"`)
      ),
      locator('[data-testid=by-test-id]'),
      locator('input[name=lonely]'),
      locator('ref:button "Submit"'),
      locator('ref:button "By value"'),
      locator('ref:button "By alt"'),
      snapshot()
    ]
  ),
  scenario(
    'special-inputs',
    `<label>Day <input type="date"></label><label>At <input type="time"></label>
    <label>Count <input type="number" value="3" max="9"></label><label>Paint <input type="color"></label>
    <label>Month <input type="month"></label><label>Phone <input type="tel"></label><label>Site <input type="url"></label>`,
    [
      fill(
        ['Day', 'textbox', 'ref:"Day"', '2026-02-03'],
        ['At', 'textbox', 'ref:"At"', '13:45'],
        ['Count', 'textbox', 'ref:spinbutton "Count"', '7']
      ),
      type('input[type=color]', '#ff0000'),
      type('input[type=month]', '2026-05'),
      type('ref:textbox "Phone"', '+49 1'),
      snapshot(),
      type('ref:spinbutton "Count"', 'many'),
      type('ref:"Day"', 'tomorrow')
    ]
  ),
  scenario(
    'editable',
    `<div contenteditable="true" aria-label="Story">Once <b>upon</b></div>
    <div contenteditable role="textbox" aria-multiline="true" aria-label="Rich"><p>One</p><p>Two</p></div>`,
    [
      type('ref:"Story"', 'A new text'),
      type('ref:textbox "Rich"', 'Plain'),
      press('End'),
      press('!'),
      snapshot(),
      evaluate('() => document.querySelector("[aria-label=Rich]").innerHTML')
    ]
  ),
  scenario(
    'not-editable',
    `<input aria-label="Off" disabled value="x"><input aria-label="Fixed" readonly value="y">
    <button disabled>Never</button><p id="text">No field</p><fieldset disabled><input aria-label="Inner"></fieldset>`,
    [
      type('ref:textbox "Off"', 'a'),
      type('ref:textbox "Fixed"', 'a'),
      type('#text', 'a'),
      click('ref:button "Never"'),
      select('#text', 'a'),
      fill(['Text', 'checkbox', '#text', 'true']),
      verify('textbox', '#text', 'a')
    ]
  ),
  scenario(
    'datalist',
    `<input list="towns" aria-label="Town"><datalist id="towns"><option value="Bern"><option value="Bonn"></datalist>
    <div role="combobox" aria-expanded="false" aria-label="Custom" tabindex="0" onclick="this.ariaExpanded='true'; list.hidden=false">Pick</div>
    <ul id="list" role="listbox" hidden><li role="option" aria-selected="true">One</li><li role="option">Two</li></ul>`,
    [
      type('ref:combobox "Town"', 'Bo'),
      click('ref:combobox "Custom"'),
      snapshot(),
      click('ref:option "Two"')
    ]
  ),
  scenario(
    'field-states',
    `<input aria-label="Needed" required><input aria-label="Wrong" aria-invalid="true" value="bad">
    <input aria-label="Locked" readonly value="1"><input aria-label="Half" placeholder="shown" value="given">
    <input aria-label="Focused" autofocus><textarea placeholder="Comment"></textarea>
    <progress value="30" max="100" aria-label="Load"></progress><meter value="0.6" aria-label="Disk"></meter>
    <div role="slider" aria-valuenow="5" aria-valuemin="0" aria-valuemax="10" aria-label="Volume" tabindex="0">V</div>
    <div role="switch" aria-checked="true" aria-label="Wifi" tabindex="0">W</div>`,
    [
      snapshot(),
      snapshot({ boxes: true }),
      locator('ref:slider "Volume"'),
      locator('ref:switch "Wifi"')
    ]
  )
]
