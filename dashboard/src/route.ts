// The view that the fragment of the address names.
import { signal } from '@preact/signals'

export type Route =
  | { view: 'grid' }
  /** `call`: a call that is shown first. */
  | { view: 'session'; id: string; call: string | null }
  | { view: 'history'; text: string }
  | { view: 'metrics' }

export const route = signal<Route>({ view: 'grid' })

/** Parses a fragment without `#`. An unknown one is the grid. */
function parseRoute(fragment: string): Route {
  const [view, first, second] = fragment.split('/').filter(Boolean).map(decode)
  if (view === 'session' && first) return { view, id: first, call: second ?? null }
  if (view === 'history') return { view, text: first ?? '' }
  if (view === 'metrics') return { view }
  return { view: 'grid' }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns the address of a view. */
export function linkTo(target: Route): string {
  const parts = {
    grid: () => [],
    session: ({ id, call }: { id: string; call: string | null }) =>
      call ? ['session', id, call] : ['session', id],
    history: ({ text }: { text: string }) => (text ? ['history', text] : ['history']),
    metrics: () => ['metrics']
  }[target.view] as (target: Route) => string[]
  return `#/${parts(target).map(encodeURIComponent).join('/')}`
}

/** Opens a view. `replace`: without a new entry in the browser's history. */
export function navigate(target: Route, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', linkTo(target))
  route.value = target
}

/**
 * Reads the fragment. If it contains the token of a one-time link, removes the token from the
 * address and returns it.
 */
export function readFragment(): string | null {
  const values = new URLSearchParams(location.hash.slice(1))
  const token = values.get('token')
  if (token !== null) history.replaceState(null, '', `#${values.get('view') ?? '/'}`)
  route.value = parseRoute(location.hash.slice(1))
  return token
}
