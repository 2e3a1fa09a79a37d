// The Helm chart in deploy/helm: Helm renders it, Kubernetes' schemas accept the result, and a
// server starts with its options. No cluster is needed.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../../scripts/run.mjs'
import { DOCUMENTS } from '../support/documents.mjs'
import { startHttpServer } from '../support/http.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { until } from '../support/wait.mjs'
import { MISSING, VARIABLES, problems, startHelm } from './manifests.mjs'

const CHART = join(ROOT, 'deploy/helm/troupe')
const TOKEN = 'a-token-of-all-servers-0123456789'
/** The smallest set of values. */
const VALUES = { secret: { token: TOKEN, databaseUrl: 'postgres://db/troupe' }, sandbox: false }
/** Values that use all parts of the chart. */
const ALL = {
  ...VALUES,
  sandbox: true,
  seccompProfile: { type: 'Localhost', localhostProfile: 'troupe.json' },
  browserEndpoint: 'webdriver+http://grid:4444',
  args: ['--max-sessions=50'],
  env: [{ name: 'TROUPE_LOG_FORMAT', value: 'json' }],
  image: { pullSecrets: [{ name: 'registry' }] },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'example.com/a': 'b' },
    hosts: ['tools.example.com'],
    tls: [{ secretName: 'certificate', hosts: ['tools.example.com'] }]
  },
  autoscaling: { enabled: true },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'browsers', operator: 'Exists' }],
  affinity: { podAntiAffinity: {} },
  podAnnotations: { 'example.com/c': 'd' }
}

/**
 * Returns the rendered objects by kind.
 * @param {Awaited<ReturnType<typeof startHelm>>} helm @param {object} values
 */
async function render(helm, values, version = 'v4') {
  const text = await helm('template', {
    ...{ release_name: 'troupe', namespace: 'tools', chart: CHART, values },
    ...{ helm_version: version, kube_version: '1.37.0' }
  })
  const objects = parseAllDocuments(text).map((document) => document.toJS())
  return Object.fromEntries(objects.filter(Boolean).map((object) => [object.kind, object]))
}

/** The container of a rendered Deployment. */
const containerOf = (/** @type {any} */ objects) =>
  objects.Deployment.spec.template.spec.containers[0]

/** The environment of the container: names and values. */
function environmentOf(/** @type {any} */ objects) {
  const entries = containerOf(objects).env.map((/** @type {any} */ { name, value, valueFrom }) => {
    const key = valueFrom?.secretKeyRef?.key
    return [name, key ? objects.Secret.stringData[key] : value]
  })
  return Object.fromEntries(entries)
}

describe('the Helm chart', { skip: MISSING, timeout: 60_000 }, () => {
  test('passes `helm lint` of two major versions', async (t) => {
    const helm = await startHelm(t)
    for (const version of ['v3', 'v4']) {
      const args = { paths: [CHART], values: ALL, strict: true, helm_version: version }
      const { total_charts: charts, passed, messages } = await helm('lint', args)
      assert.deepEqual({ charts, passed }, { charts: 1, passed: true }, JSON.stringify(messages))
      const severe = messages.filter(({ severity }) => severity !== 'INFO')
      assert.deepEqual(severe, [])
    }
  })

  test('renders objects that the schemas of Kubernetes accept', async (t) => {
    const helm = await startHelm(t)
    const rendered = await Promise.all(
      ['v3', 'v4'].flatMap((version) =>
        [ALL, VALUES].map((values) => render(helm, values, version))
      )
    )
    const kinds = ['Deployment', 'HorizontalPodAutoscaler', 'Ingress', 'Secret', 'Service']
    assert.deepEqual(Object.keys(rendered[0]).sort(), kinds)
    const objects = rendered.flatMap((objects) => Object.values(objects))
    const wrong = { ...rendered[0].Service, spec: { ...rendered[0].Service.spec, probe: {} } }
    for (const version of ['1.30.0', '1.37.0']) {
      const strict = ['--strict', '--no-warn', '-k', version]
      assert.equal(problems(t, 'kubernetes-validate', strict, objects), '')
      assert.match(problems(t, 'kubernetes-validate', strict, [wrong]), /'probe' was unexpected/)
    }
  })

  test('sets only options that exist, and scales by metrics that exist', async (t) => {
    const helm = await startHelm(t)
    const all = await render(helm, ALL)
    const variables = Object.keys(environmentOf(all)).filter((name) => name !== 'POD_IP')
    for (const variable of variables) assert.ok(VARIABLES.includes(variable), variable)
    assert.ok('TROUPE_SANDBOX' in environmentOf(await render(helm, VALUES)))
    assert.ok(VARIABLES.includes('TROUPE_SANDBOX'))
    const { metrics } = all.HorizontalPodAutoscaler.spec
    for (const { pods } of metrics)
      assert.ok(DOCUMENTS['docs/operations.md'].includes(`\`${pods.metric.name}\``))
    assert.equal(all.Deployment.spec.replicas, undefined, 'the autoscaler sets the number')
    assert.equal((await render(helm, VALUES)).Deployment.spec.replicas, 3)
  })

  test('uses the names of its own objects', async (t) => {
    const helm = await startHelm(t)
    const all = await render(helm, ALL)
    const { matchLabels } = all.Deployment.spec.selector
    const { labels } = all.Deployment.spec.template.metadata
    for (const selector of [matchLabels, all.Service.spec.selector])
      assert.deepEqual({ ...labels, ...selector }, labels)
    const [{ http }] = all.Ingress.spec.rules
    const { service } = http.paths[0].backend
    assert.equal(service.name, all.Service.metadata.name)
    assert.equal(service.port.name, all.Service.spec.ports[0].name)
    assert.equal(all.Service.spec.ports[0].targetPort, containerOf(all).ports[0].name)
    assert.equal(all.HorizontalPodAutoscaler.spec.scaleTargetRef.name, all.Deployment.metadata.name)
    const existing = await render(helm, { ...VALUES, secret: { existing: 'mine' } })
    assert.equal(existing.Secret, undefined)
    const references = containerOf(existing).env.flatMap(
      ({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []
    )
    assert.deepEqual(references, ['mine', 'mine'])
  })

  test('gives a server the time to drain and to save its sessions', async (t) => {
    const helm = await startHelm(t)
    const rendered = await render(helm, { ...VALUES, drainTimeout: 90_500 })
    const { seconds } = containerOf(rendered).lifecycle.preStop.sleep
    const { terminationGracePeriodSeconds: grace } = rendered.Deployment.spec.template.spec
    const drain = Number(environmentOf(rendered).TROUPE_DRAIN_TIMEOUT)
    assert.equal(drain, 90_500)
    assert.ok(grace * 1000 >= seconds * 1000 + drain + 5000, `${grace} s`)
  })

  test('refuses values with which no server would start', async (t) => {
    const helm = await startHelm(t)
    const { secret } = VALUES
    await assert.rejects(render(helm, { sandbox: false }), /Set secret.existing, or secret.token/)
    await assert.rejects(render(helm, { secret }), /needs a seccomp profile/)
    const ingress = { enabled: true }
    await assert.rejects(render(helm, { ...VALUES, ingress }), /Set ingress.hosts/)
  })

  test(
    'has options with which a server starts, and probes that do not restart it when the database is unavailable',
    {
      skip: NO_POSTGRES
    },
    async (t) => {
      const [helm, database] = [await startHelm(t), await startPostgres(t)]
      const objects = await render(helm, {
        ...VALUES,
        secret: { token: TOKEN, databaseUrl: database.url }
      })
      const { TROUPE_SANDBOX, TROUPE_ADVERTISE_URL, ...env } = environmentOf(objects)
      assert.equal(TROUPE_SANDBOX, 'false')
      assert.equal(TROUPE_ADVERTISE_URL, 'http://$(POD_IP):4000')
      delete env.POD_IP
      const server = await startHttpServer(t, ['--store-timeout', '500'], { env })
      const client = await server.connect()
      await client.ok('navigate', { url: 'about:blank' })
      const status = async (/** @type {any} */ probe) =>
        (await fetch(server.at(probe.httpGet.path))).status
      const { startupProbe, readinessProbe, livenessProbe } = containerOf(objects)
      const probes = [startupProbe, readinessProbe, livenessProbe]
      for (const probe of probes) assert.equal(await status(probe), 200)

      await database.stop()
      const call = client.call('evaluate', { script: '1' })
      await until(async () => (await fetch(server.at('/health'))).status === 503, 'the failure')
      for (const probe of probes) assert.equal(await status(probe), 200)
      assert.ok((await call).json.retryable)
      await database.start()
    }
  )
})
