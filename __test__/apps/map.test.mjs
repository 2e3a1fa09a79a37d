// A map of Leaflet with local tiles: an agent zooms, opens a popup, moves the map and adds a marker
// by position.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveFiles, startAgent } from './app.mjs'

const MAP = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Map</title><link rel="icon" href="data:,">
  <link rel="stylesheet" href="/leaflet/dist/leaflet.css"><script src="/leaflet/dist/leaflet.js"></script>
  <div id="map" style="width: 800px; height: 500px"></div><p role="status" id="view"></p><script>
    const map = L.map('map', { zoomAnimation: false, fadeAnimation: false }).setView([52, 13], 6)
    const tile = "<svg xmlns='http://www.w3.org/2000/svg' width='256' height='256'><text y='20'>{z}/{x}/{y}</text></svg>"
    L.tileLayer('data:image/svg+xml,' + tile.replaceAll('<', '%3C').replaceAll('>', '%3E')).addTo(map)
    L.marker([52.5, 13.4], { title: 'Berlin', alt: 'Berlin' }).addTo(map).bindPopup('Berlin has 3.9 million inhabitants')
    const show = () => { view.textContent = 'zoom ' + map.getZoom() + ', center ' + map.getCenter().lng.toFixed(1) }
    map.on('zoomend moveend', show); show()
    map.on('contextmenu', ({ latlng }) => L.marker(latlng, { title: 'Pin', alt: 'Pin' }).addTo(map))
  </script>`

/** @param {{ after: (end: () => unknown) => void }} t */
async function openMap(t) {
  const origin = await serveFiles(t, { pages: { '/map': MAP } })
  const agent = await startAgent(t, `${origin}/map`)
  await agent.awaitSnapshot(/zoom 6, center 13\.0/)
  return agent
}

describe('map', { timeout: 60_000 }, () => {
  test('buttons and the wheel zoom, and dragging moves the map', async (t) => {
    const agent = await openMap(t)
    await agent.click(/button "Zoom in"/)
    await agent.awaitSnapshot(/zoom 7/)
    await agent.act('scroll', { selector: '#map', y: -120 })
    const zoom = Number(/zoom ([89])/.exec(await agent.awaitSnapshot(/zoom [89]/))?.[1])
    await agent.act('drag_and_drop', {
      path: [
        { x: 500, y: 300 },
        { x: 400, y: 300 },
        { x: 300, y: 300 }
      ]
    })
    // The map has moved exactly as far as the pointer: it was not thrown.
    const center = (13 + (200 * 360) / (256 * 2 ** zoom)).toFixed(1)
    await agent.awaitSnapshot(new RegExp(`center ${center.replace('.', '\\.')}`))
  })

  test('a marker opens its popup', async (t) => {
    const agent = await openMap(t)
    const { changes } = await agent.click(/(button|img) "Berlin"/)
    assert.match(changes, /Berlin has 3\.9 million inhabitants/)
  })

  test('a click at a position of the map adds a marker there', async (t) => {
    const agent = await openMap(t)
    const { changes } = await agent.act('click', {
      selector: '#map',
      position: { x: 200, y: 100 },
      button: 'right'
    })
    assert.match(changes, /"Pin"/)
  })
})
