// Replicache clients and native ones on the same project.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { App } from './app.mjs';
import { makeFolder, pushOf, Server } from './server.mjs';

export const programs = {};

/** One command of the notes app, on its own copy in `folder`; what it prints. */
async function notes(server, folder, ...command) {
  const where = ['--data', folder, '--url', server.url, '--org', 'acme', '--project', 'both'];
  return (await promisify(execFile)(programs.notes, [...where, ...command], { timeout: 60_000 })).stdout;
}

export const tests = {
  async 'a native push reaches a Replicache client, and a native pull has its items'(server) {
    const a = new App(server, 'native');
    await a.put('from-replicache', { by: 'npm' });
    await a.confirmed();
    const mutation = {
      clientID: 'native-1',
      id: 1,
      name: 'kedge.put',
      args: { collection: 'notes', id: 'from-native', value: { by: 'C' } },
      uid: randomBytes(16).toString('hex'),
    };
    const push = { ...pushOf('native-1', [mutation]), kedge: { client: 'native-1' } };
    assert.deepEqual(await server.post('native', 'push', push), { status: 200, body: { kedge: { version: 2 } } });
    await a.sees('the native item', (items) => items['notes/from-native']?.by === 'C');
    const kedge = { client: 'native-1', lowest_pending: 1, highest_id: 1 };
    const pull = { pullVersion: 1, clientGroupID: 'native-1', cookie: null, kedge };
    const { body } = await server.post('native', 'pull', pull);
    assert.deepEqual(body.patch.map(({ op, key }) => `${op} ${key}`),
      ['clear undefined', 'put notes/from-native', 'put notes/from-replicache']);
    assert.deepEqual(body.kedge.outcomes.map(({ id, outcome }) => [id, outcome]), [[1, 'applied']]);
    await a.close();
  },

  async 'the notes app in C and a Replicache client share their notes'() {
    const server = await Server.start('--open', '--mutators', programs.plugin);
    const folder = makeFolder();
    const a = new App(server, 'both');
    await notes(server, folder, 'add', 'From C', 'text', 'home');
    await notes(server, folder, 'sync');
    await a.sees('the note of the C app', (items) => Object.values(items).some(({ title }) => title === 'From C'));
    const [key] = Object.keys(await a.items());
    const [collection, id] = key.split('/');
    await a.mutate('kedge.merge', { collection, id, patch: { title: 'From both' } });
    await a.put('0123456789abcdef', { title: 'From npm', text: '', folder: 'home' }, collection);
    await a.confirmed();
    await notes(server, folder, 'sync');
    const listed = await notes(server, folder, 'list');
    assert.match(listed, /From both/);
    assert.match(listed, /From npm/);
    assert.doesNotMatch(listed, /From C/);
    await a.close();
    await server.stop();
  },
};
