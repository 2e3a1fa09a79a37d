// A mailbox: find a message, then delete, star, answer or forward it.

/** @typedef {import('../agent.mjs').Agent} Agent */
/** @typedef {import('./clicking.mjs').Policy} Policy */

/** Names of people: capitalized words within the sentence. @param {string} text */
const names = (text) =>
  [...text.matchAll(/\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?\b/g)].map(([name]) => name)

/**
 * What the task asks for.
 * @param {string} utterance
 * @param {string[]} senders of the messages in the mailbox
 */
function understand(utterance, senders) {
  const message = /"([^"]*)"/.exec(utterance)?.[1]
  const text = utterance.replace(/"[^"]*"/, '')
  const known = names(text).filter((name) => senders.includes(name))
  if (message !== undefined) return { action: 'reply', by: known[0], message }
  if (/trash|delete|remove|bin\b/i.test(text)) return { action: '.trash', by: known[0] }
  if (/star|important/i.test(text)) return { action: '.star', by: known[0] }
  const to =
    /\bto ([A-Z][\w-]+)/.exec(text)?.[1] ??
    /(?:forward|Forward|give|Give|send|Send) ([A-Z][\w-]+) (?:the|that|an?)\b/.exec(text)?.[1] ??
    /([A-Z][\w-]+) wants/.exec(text)?.[1] ??
    names(text).at(-1)
  return { action: 'forward', by: known.find((name) => name !== to) ?? known[0], to }
}

/** @type {Policy} */
async function handleMail(agent) {
  const inbox = await agent.see()
  const mails = inbox.lines.filter(
    ({ role, ref, depth }, index) =>
      role === 'generic' && ref && inbox.lines[index + 1]?.depth > depth
  )
  const senders = mails.map((mail) => inbox.after(mail).lines[0].text)
  const { action, by, to, message } = understand(agent.utterance, senders)
  await agent.click(mails[senders.indexOf(by ?? '')] ?? '')
  if (action.startsWith('.')) {
    const mail = await agent.see()
    return agent.click(mail.lines.find(({ hint }) => hint === action) ?? '')
  }
  await agent.click(action === 'reply' ? 'text="Reply"' : 'text="Forward"')
  const form = await agent.see()
  await agent.fill(form.get('textbox'), message ?? to ?? '')
  await agent.click(form.lines.find(({ hint }) => hint === `#send-${action}`) ?? '')
}

/** @type {Record<string, Policy>} */
export const EMAIL = {
  'email-inbox': handleMail,
  'email-inbox-delete': handleMail,
  'email-inbox-forward': handleMail,
  'email-inbox-forward-nl': handleMail,
  'email-inbox-forward-nl-turk': handleMail,
  'email-inbox-important': handleMail,
  'email-inbox-nl-turk': handleMail,
  'email-inbox-noscroll': handleMail,
  'email-inbox-reply': handleMail,
  'email-inbox-star-reply': handleMail
}
