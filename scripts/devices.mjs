// The text of src/config/devices.json: Playwright's list of devices, one per line. `npm run
// generate` writes it.
import { devices } from 'playwright-core'

/** @returns {string} */
export function deviceList() {
  const rows = Object.entries(devices).map(
    ([name, { viewport, deviceScaleFactor, isMobile, hasTouch, userAgent }]) => {
      const device = { viewport, deviceScaleFactor, isMobile, hasTouch, userAgent }
      return `  ${JSON.stringify(name)}: ${JSON.stringify(device)}`
    }
  )
  return `{\n${rows.join(',\n')}\n}\n`
}
