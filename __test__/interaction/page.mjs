// A page whose fields record all events.

/** Records each event of `types` in `recorded`, as `type id`. @param {string} types */
export const eventRecorderScript = (types) => `<script>
  window.recorded = []
  for (const type of '${types}'.split(' ')) addEventListener(type, (event) => recorded.push(type + ' ' + (event.target.id ?? '')), true)
</script>`
