// The fields of an answer, from the JSON Schema of a question.
import type { AnswerSchema, PropertySchema } from './contract'

export interface Choice {
  value: string
  label: string
}

export interface AnswerField {
  name: string
  label: string
  hint: string | null
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices'
  isRequired: boolean
  choices: Choice[]
  schema: PropertySchema
}

/** The answer to a question without a schema. */
const TEXT: AnswerSchema = {
  properties: { answer: { type: 'string', title: 'Answer (optional)' } }
}

/** Returns the choices of a schema, or null if any value is allowed. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: PropertySchema): Choice[] | null {
  const titled = oneOf ?? anyOf
  if (titled) return titled.map(({ const: value, title }) => ({ value, label: title ?? value }))
  return values?.map((value, at) => ({ value, label: enumNames?.[at] ?? value })) ?? null
}

function kindOf(schema: PropertySchema): AnswerField['kind'] {
  if (schema.type === 'array') return 'choices'
  if (choicesOf(schema)) return 'choice'
  if (schema.type === 'boolean') return 'boolean'
  return schema.type === 'number' || schema.type === 'integer' ? 'number' : 'text'
}

/** Returns the fields of the answer to a question. */
export function answerFields(schema: AnswerSchema | null | undefined): AnswerField[] {
  const { properties, required } = schema ?? TEXT
  return Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    label: schema.title ?? name,
    hint: schema.description ?? null,
    kind: kindOf(schema),
    isRequired: required?.includes(name) ?? false,
    choices: choicesOf(schema.type === 'array' ? (schema.items ?? {}) : schema) ?? [],
    schema
  }))
}

/** Returns the answer that a person has entered. Empty fields are left out. */
export function readAnswer(fields: AnswerField[], data: FormData): Record<string, unknown> {
  const answer: Record<string, unknown> = {}
  for (const { name, kind, isRequired } of fields) {
    const text = String(data.get(name) ?? '')
    if (kind === 'boolean') answer[name] = data.has(name)
    else if (kind === 'choices') {
      const chosen = data.getAll(name)
      if (chosen.length > 0 || isRequired) answer[name] = chosen
    } else if (text !== '') answer[name] = kind === 'number' ? Number(text) : text
  }
  return answer
}
