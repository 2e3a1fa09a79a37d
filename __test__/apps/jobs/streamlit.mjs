// An app of Streamlit: a total of filtered rows, and a new order by a form.
import { missingStreamlit, startStreamlit } from '../programs.mjs'

/** @type {import('./agent.mjs').Job} */
export const streamlit = {
  name: 'streamlit',
  title: 'Streamlit',
  task: 'the total of filtered rows, and a new order by a form',
  missing: missingStreamlit,
  start: startStreamlit,

  async troupe(agent, url) {
    await agent.act('navigate', { url })
    await agent.see(/radio "USD"[^]*\d+\.00 EUR/)
    await agent.batch(
      ['fill', { selector: agent.ref(/slider "Minimum quantity/), value: '2' }],
      ['click', { selector: 'text=USD' }],
      ['click', { selector: agent.ref(/combobox "Items"/) }]
    )
    await agent.batch(
      ['click', { selector: agent.ref(/option "Lamp"/) }],
      ['click', { selector: agent.ref(/option "Shelf"/) }],
      ['press', { key: 'Escape' }],
      ['wait_for', { text: '490.00 USD' }],
      ['click', { selector: agent.ref(/tab "New order"/) }]
    )
    await agent.act('click', { selector: agent.ref(/combobox "Item"/) })
    await agent.batch(
      ['click', { selector: agent.ref(/option "Sofa"/) }],
      ['fill', { selector: 'label=Quantity', value: '3' }],
      ['fill', { selector: 'label=Price', value: '249.5' }],
      ['click', { selector: 'text=Gift wrap' }],
      ['fill', { selector: 'label=Note', value: 'second floor' }],
      ['click', { selector: agent.ref(/button "Add order"/) }],
      ['wait_for', { text: 'Added 3 × Sofa, gift wrapped: second floor' }]
    )
    agent.assertLatestShows(/Added 3 × Sofa, gift wrapped: second floor/)
  },

  async peer(agent, url) {
    const click = (/** @type {RegExp} */ pattern, /** @type {RegExp} */ next = undefined) =>
      agent.act('browser_click', { element: pattern.source, target: agent.ref(pattern, next) })
    const press = (/** @type {string} */ key) => agent.act('browser_press_key', { key })

    await agent.act('browser_navigate', { url })
    await agent.snapshot(/radio "USD"[^]*\d+\.00 EUR/)
    await agent.act('browser_type', {
      ...{ element: 'Minimum quantity', target: agent.ref(/slider "Minimum quantity/), text: '2' }
    })
    await click(/radiogroup "Currency"/, /paragraph \[ref=\w+\]: USD/)
    await click(/combobox "Items"/)
    await agent.snapshot(/option "Shelf"/)
    await click(/option "Lamp"/)
    await agent.snapshot(/option "Shelf"/)
    await click(/option "Shelf"/)
    await press('Escape')
    await agent.act('browser_wait_for', { text: '490.00 USD' })
    await agent.snapshot(/490\.00 USD/)
    agent.assertLatestShows(/490\.00 USD/)
    await click(/paragraph \[ref=\w+\]: New order/)
    await agent.snapshot(/combobox "Item"/)
    await click(/combobox "Item"/)
    await agent.snapshot(/option "Sofa"/)
    await click(/option "Sofa"/)
    await agent.snapshot(/spinbutton "Quantity"/)
    await agent.act('browser_fill_form', {
      fields: [
        {
          name: 'Quantity',
          type: 'textbox',
          target: agent.ref(/spinbutton "Quantity"/),
          value: '3'
        },
        { name: 'Price', type: 'textbox', target: agent.ref(/spinbutton "Price"/), value: '249.5' },
        {
          name: 'Note',
          type: 'textbox',
          target: agent.ref(/textbox "Note"/),
          value: 'second floor'
        }
      ]
    })
    await click(/paragraph \[ref=\w+\]: Gift wrap/)
    await click(/paragraph \[ref=\w+\]: Add order/)
    await agent.search('Added 3', /Added 3 × Sofa, gift wrapped: second floor/)
  }
}
