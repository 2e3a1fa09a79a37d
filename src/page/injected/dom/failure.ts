/** Errors of calls, and the JSON of results and errors. */
import type { ErrorCode } from '../api'
import { withMemo } from './memo'
import { nextRef } from './refs'

export class Failure extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly suggestion?: string
  ) {
    super(message)
  }

  get json(): {
    code: ErrorCode
    message: string
    details: Record<string, unknown>
    suggestion?: string
  } {
    const error = { code: this.code, message: this.message, details: this.details }
    return this.suggestion === undefined ? error : { ...error, suggestion: this.suggestion }
  }
}

function failed(error: unknown): string {
  if (error instanceof Failure) return JSON.stringify({ error: error.json, next: nextRef() })
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' }
  return JSON.stringify({
    error: { code: 'INTERNAL_ERROR', message: `in the page: ${message}`, details: { stack } },
    next: nextRef()
  })
}

/** Like `answer`, for a function that only reads: it runs with a cache. */
export const answerRead = <Argument, Result>(
  run: (argument: Argument) => Result
): ((argument?: Argument) => string) =>
  answer((argument: Argument) => withMemo(() => run(argument)))

/** Wraps a function as a call of the contract: returns JSON and never throws. */
export function answer<Argument, Result>(
  run: (argument: Argument) => Result
): (argument?: Argument) => string {
  return (argument) => {
    try {
      return JSON.stringify(run(argument ?? ({} as Argument)))
    } catch (error) {
      return failed(error)
    }
  }
}

/** Like `answer`, for an asynchronous function. */
export function answerLater<Argument, Result>(
  run: (argument: Argument) => Promise<Result>
): (argument?: Argument) => Promise<string> {
  return async (argument) => {
    try {
      return JSON.stringify(await run(argument ?? ({} as Argument)))
    } catch (error) {
      return failed(error)
    }
  }
}
