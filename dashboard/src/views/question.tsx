// The question of an agent, and the answer of a person.
import { useEffect, useId, useState } from 'preact/hooks'
import { type AnswerField, answerFields, readAnswer } from '../answer'
import type { Session } from '../contract'
import { connection, failure, send } from '../live'
import { me } from '../store'

export function QuestionOfAgent({ session }: { session: Session }) {
  const { question } = session
  const [isSent, setSent] = useState(false)
  const error = failure.value
  useEffect(() => setSent(false), [question?.id, error])
  if (!question) return null
  const fields = answerFields(question.schema)
  return (
    <div class="notice warning">
      <p role="alert">
        <strong>The agent needs a person:</strong> <bdi>{question.message}</bdi>
      </p>
      {!me.value.readOnly && (
        <form
          class="answer"
          key={question.id}
          onSubmit={(event) => {
            event.preventDefault()
            failure.value = null
            const answer = readAnswer(fields, new FormData(event.currentTarget))
            setSent(send({ type: 'done', id: session.id, question: question.id, answer }))
          }}
        >
          {fields.map((field) => (
            <Field key={field.name} field={field} />
          ))}
          <button class="primary" disabled={isSent || connection.value.state !== 'open'}>
            Done
          </button>
        </form>
      )}
    </div>
  )
}

/** Returns the type of the input for a field. */
function inputType({ kind, schema }: AnswerField) {
  const formats = { email: 'email', uri: 'url', date: 'date' }
  const type = kind === 'number' ? 'number' : new Map(Object.entries(formats)).get(schema.format!)
  // The types of the attributes differ by the type of the input, and none of these needs another.
  return (type ?? 'text') as 'text'
}

function Field({ field }: { field: AnswerField }) {
  const id = useId()
  const { name, label, hint, kind, isRequired, choices, schema } = field
  const hintId = hint ? `${id}-hint` : undefined
  const shared = { id, name, 'aria-describedby': hintId }
  const initial = schema.default
  const hintText = hint && (
    <span id={hintId} class="muted small">
      {hint}
    </span>
  )
  if (kind === 'choices')
    return (
      <fieldset aria-describedby={hintId}>
        <legend>{label}</legend>
        {hintText}
        {choices.map(({ value, label }) => (
          <label class="check" key={value}>
            <input
              type="checkbox"
              name={name}
              value={value}
              defaultChecked={Array.isArray(initial) && initial.includes(value)}
            />{' '}
            {label}
          </label>
        ))}
      </fieldset>
    )
  if (kind === 'boolean')
    return (
      <div>
        <label class="check">
          <input type="checkbox" {...shared} defaultChecked={initial === true} /> {label}
        </label>
        {hintText}
      </div>
    )
  return (
    <div>
      <label for={id}>{label}</label>
      {kind === 'choice' ? (
        <select {...shared} required={isRequired}>
          <option value="">{isRequired ? 'Choose…' : 'No choice'}</option>
          {choices.map(({ value, label }) => (
            <option key={value} value={value} selected={value === initial}>
              {label}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          type={inputType(field)}
          step={schema.type === 'number' ? 'any' : undefined}
          min={schema.minimum}
          max={schema.maximum}
          minLength={schema.minLength}
          maxLength={schema.maxLength}
          required={isRequired}
          defaultValue={initial === undefined ? undefined : String(initial)}
        />
      )}
      {hintText}
    </div>
  )
}
