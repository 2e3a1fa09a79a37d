// Material UI: widgets whose parts cover each other, menus in portals, and a dialog.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildSync } from 'esbuild'
import { refIn } from '../support/snapshots.mjs'
import { PACKAGES, serveFiles, startAgent } from './app.mjs'

const APP = `
  import { useState } from 'react'
  import { createRoot } from 'react-dom/client'
  import * as Material from '@mui/material'
  const { Autocomplete, Button, Checkbox, Dialog, DialogActions, DialogTitle, FormControlLabel } = Material
  const { MenuItem, Slider, Switch, Tab, Tabs, TextField } = Material

  function Booking() {
    const [values, set] = useState({ size: 2, city: null, room: '', breakfast: false, parking: false })
    const [tab, open] = useState(0)
    const [asks, ask] = useState(false)
    const change = (name) => (_, value) => set((old) => ({ ...old, [name]: value }))
    const { size, city, room, breakfast, parking } = values
    return <main>
      <Tabs value={tab} onChange={(_, next) => open(next)}><Tab label="Guests" /><Tab label="Extras" /></Tabs>
      {tab === 0 && <>
        <Slider aria-label="Guests" value={size} min={1} max={8} onChange={change('size')} style={{ width: 200, margin: 20 }} />
        <Autocomplete options={['Oslo', 'Paris', 'Rome', 'Vienna']} value={city} onChange={change('city')}
          renderInput={(props) => <TextField {...props} label="City" />} />
        <TextField select label="Room" value={room} onChange={(event) => set({ ...values, room: event.target.value })} style={{ width: 200 }}>
          {['Single', 'Double', 'Suite'].map((name) => <MenuItem key={name} value={name}>{name}</MenuItem>)}
        </TextField>
      </>}
      {tab === 1 && <>
        <FormControlLabel label="Breakfast" control={<Checkbox checked={breakfast} onChange={change('breakfast')} />} />
        <FormControlLabel label="Parking" control={<Switch checked={parking} onChange={change('parking')} />} />
      </>}
      <Button onClick={() => ask(true)}>Book</Button>
      <Dialog open={asks} transitionDuration={0}><DialogTitle>Book for {size}?</DialogTitle>
        <DialogActions><Button onClick={() => ask(false)}>Yes</Button></DialogActions></Dialog>
      <p role="status">{size} in {String(city)}, {room}, {breakfast ? 'with' : 'without'} breakfast, {parking ? 'with' : 'without'} parking</p>
    </main>
  }
  const host = document.createElement('div')
  document.body.append(host)
  createRoot(host).render(<Booking />)
`

/** @param {{ after: (end: () => unknown) => void }} t */
async function openApp(t) {
  const { outputFiles } = buildSync({
    stdin: { contents: APP, resolveDir: PACKAGES, loader: 'jsx' },
    ...{ bundle: true, write: false, format: 'iife', logLevel: 'silent', jsx: 'automatic' },
    define: { 'process.env.NODE_ENV': '"production"' }
  })
  const script = outputFiles[0].text.replaceAll('</script', '<\\/script')
  const page = `<!doctype html><html lang="en"><title>Booking</title><body><script>${script}</script>`
  const agent = await startAgent(t, `${await serveFiles(t, { pages: { '/app': page } })}/app`)
  return { agent, page: await agent.see() }
}

describe('Material UI', { timeout: 60_000 }, () => {
  test('a slider is filled, and menus in portals are used by their refs', async (t) => {
    const { agent, page } = await openApp(t)
    const { changes } = await agent.act('fill', {
      selector: refIn(page, /slider "Guests"/),
      value: '5'
    })
    assert.match(changes, /status: 5 in null/)
    const city = await agent.act('click', { selector: refIn(page, /combobox "City"/) })
    await agent.act('click', { selector: refIn(city.changes, /option "Rome"/) })
    const room = await agent.act('click', { selector: refIn(page, /combobox "Room"/) })
    const chosen = await agent.act('click', { selector: refIn(room.changes, /option "Suite"/) })
    assert.match(chosen.changes, /status: 5 in Rome, Suite/)
  })

  test('a checkbox and a switch are checked, although their parts cover them', async (t) => {
    const { agent, page } = await openApp(t)
    const { changes } = await agent.act('click', { selector: refIn(page, /tab "Extras"/) })
    await agent.act('check', { selector: refIn(changes, /checkbox "Breakfast"/) })
    const parking = await agent.act('click', { selector: refIn(changes, /switch "Parking"/) })
    assert.match(parking.changes, /status: .*with breakfast, with parking/)
  })

  test('what a dialog has hidden is one line when the dialog closes', async (t) => {
    const { agent, page } = await openApp(t)
    const { changes } = await agent.act('click', { selector: refIn(page, /button "Book"/) })
    assert.match(changes, /^\+ +(dialog|heading) "Book for 2\?"/m)
    const closed = await agent.act('click', { selector: refIn(changes, /button "Yes"/) })
    assert.match(closed.changes, /^\+ .* \(\d+ lines, the same as before\)$/m)
    assert.doesNotMatch(closed.changes, /combobox "City"/)
  })
})
