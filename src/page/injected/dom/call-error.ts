/** Errors of calls, and the JSON of results and errors. */
import type { ErrorCode } from '../api'
import { withCallCache } from './call-cache'
import { nextRef } from './refs'

export class CallError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly suggestion?: string
  ) {
    super(message)
  }
}

function errorJson(error: unknown): string {
  if (error instanceof CallError) {
    const { code, message, details, suggestion } = error
    return JSON.stringify({ error: { code, message, details, suggestion }, next: nextRef() })
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' }
  return JSON.stringify({
    error: { code: 'INTERNAL_ERROR', message: `in the page: ${message}`, details: { stack } },
    next: nextRef()
  })
}

/** Like `syncCall`, for a function that only reads: it runs with a cache. */
export const readCall = <Argument, Result>(
  run: (argument: Argument) => Result
): ((argument?: Argument) => string) =>
  syncCall((argument: Argument) => withCallCache(() => run(argument)))

/** Wraps a function as a call of `api.ts`: returns JSON and never throws. */
export function syncCall<Argument, Result>(
  run: (argument: Argument) => Result
): (argument?: Argument) => string {
  return (argument) => {
    try {
      return JSON.stringify(run(argument ?? ({} as Argument)))
    } catch (error) {
      return errorJson(error)
    }
  }
}

/** Like `syncCall`, for an asynchronous function. */
export function asyncCall<Argument, Result>(
  run: (argument: Argument) => Promise<Result>
): (argument?: Argument) => Promise<string> {
  return async (argument) => {
    try {
      return JSON.stringify(await run(argument ?? ({} as Argument)))
    } catch (error) {
      return errorJson(error)
    }
  }
}
