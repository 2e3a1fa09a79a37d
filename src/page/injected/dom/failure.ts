/** The errors of calls, and their JSON. */
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

/** The same for a function that only reads: facts about the page are kept while it runs. */
export const answerRead = <Argument, Result>(
  run: (argument: Argument) => Result
): ((argument?: Argument) => string) =>
  answer((argument: Argument) => withMemo(() => run(argument)))

/** A function of the contract: its result as JSON, and never an exception. */
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
