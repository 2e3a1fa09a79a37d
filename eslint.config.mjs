import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

/** What is there in Node without an import, and in the pages that tests send functions to. */
const NODE =
  'AbortController AbortSignal Buffer TextDecoder URL URLSearchParams clearInterval clearTimeout console crypto fetch performance process setImmediate setInterval setTimeout'.split(
    ' '
  )
const PAGE = ['Element', 'HTMLInputElement', 'Node', 'document', 'scrollTo']

export default defineConfig(
  {
    ignores: [
      'target/',
      'output/',
      '.cache/',
      'docs/.vitepress/dist/',
      'docs/.vitepress/cache/',
      'lib/dashboard/',
      '**/node_modules/',
      '**/*.d.ts'
    ]
  },
  tseslint.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always'],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      // Page scripts and test fixtures name parameters for their readers; a leading underscore says
      // "not used".
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', caughtErrors: 'none' }
      ]
    }
  },
  {
    // tsc knows the names of pages in every test, such as `name` and `close`: one that is not
    // imported is reported here.
    files: ['**/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries([...NODE, ...PAGE].map((name) => [name, 'readonly']))
    },
    rules: { 'no-undef': 'error' }
  },
  {
    files: ['__test__/**/*.mjs'],
    ignores: ['__test__/support/wait.mjs'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          name: 'node:timers/promises',
          message: 'Await an event with `within` or `until` of support/wait.mjs.'
        }
      ]
    }
  },
  {
    // CommonJS because it starts sooner (see bin/troupe.js), with JSDoc types that tsc checks.
    files: ['index.js', 'bin/*.js', 'lib/*.js'],
    languageOptions: { sourceType: 'commonjs' },
    rules: { '@typescript-eslint/no-require-imports': 'off' }
  },
  {
    // The value of this program is a function, which `sandbox.rs` calls.
    files: ['src/tools/sandbox.js'],
    rules: { '@typescript-eslint/no-unused-expressions': 'off' }
  }
)
