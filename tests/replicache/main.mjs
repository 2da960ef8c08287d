// The npm package `replicache`, unchanged, against kedge-server.
// Usage: node main.mjs NPM SERVER_PROGRAM NOTES_PROGRAM NOTES_PLUGIN [FILTER]
// Closes with the plain line "N passed, N failed".
import { library, traffic } from './app.mjs';
import { install, loadReplicache } from './install.mjs';
import { programs } from './native.test.mjs';
import { checkTraffic } from './protocol.mjs';
import { Server } from './server.mjs';

const [npm, server, notes, plugin, filter = ''] = process.argv.slice(2);
Server.program = server;
Object.assign(programs, { notes, plugin });
Object.assign(library, await loadReplicache(install(npm)));

const suites = ['sync', 'refused', 'lost', 'restart', 'native', 'token'];
let passed = 0;
let failed = 0;

async function run(name, test, ...context) {
  const started = Date.now();
  try {
    await test(...context);
    passed++;
    console.log(`ok   ${name} (${Date.now() - started} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}

const shared = await Server.start();
for (const suite of suites) {
  const { tests } = await import(`./${suite}.test.mjs`);
  for (const [name, test] of Object.entries(tests)) {
    if (name.includes(filter)) await run(name, test, shared);
  }
}
await run('every answer of this run kept to the protocol', () => checkTraffic(traffic));
await run('the server ends in order', async () => {
  const code = await shared.stop();
  if (code !== 0) throw new Error(`exit code ${code}`);
});
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
