/**
 * The entry point for servers with the Playwright tools: sets `globalThis.__troupe` like
 * `index.ts`, and adds the functions of {@link PlaywrightTroupe}.
 */
import './index'
import type { PlaywrightTroupe } from './api'
import { asyncCall, readCall } from './dom/call-error'
import { afterHostCheck } from './dom/closed-shadow-roots'
import { playwrightClickTarget } from './playwright/click-target'
import { playwrightTarget } from './playwright/locators/playwright-target'
import { playwrightSnapshot } from './playwright/playwright-snapshot'
import { playwrightTick } from './playwright/playwright-tick'

const calls: { [Name in keyof PlaywrightTroupe]: unknown } = {
  playwrightSnapshot: readCall(afterHostCheck(playwrightSnapshot)),
  playwrightTick: asyncCall(playwrightTick),
  playwrightTarget: readCall(afterHostCheck(playwrightTarget)),
  playwrightClickTarget: asyncCall(playwrightClickTarget)
}

Object.assign((globalThis as { __troupe?: object }).__troupe ?? {}, calls)
