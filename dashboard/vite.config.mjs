import { defineConfig } from 'vite'

// The output is committed, so the names of its files are fixed. Its addresses are relative.
export default defineConfig({
  base: './',
  build: {
    outDir: '../lib/dashboard',
    emptyOutDir: true,
    assetsDir: '',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      output: { entryFileNames: 'app.js', assetFileNames: 'app[extname]', codeSplitting: false }
    }
  }
})
