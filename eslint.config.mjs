import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  { ignores: ['target/', 'output/', '.cache/', '**/node_modules/', 'native.js', '**/*.d.ts'] },
  tseslint.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always'],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      // Page scripts and test fixtures name parameters for their readers; a leading underscore says "not used".
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }]
    }
  },
  {
    // CommonJS because it starts sooner (see bin/troupe.js), with JSDoc types that tsc checks.
    files: ['index.js', 'bin/*.js', 'lib/*.js'],
    languageOptions: { sourceType: 'commonjs' },
    rules: { '@typescript-eslint/no-require-imports': 'off' }
  }
)
