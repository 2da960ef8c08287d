// What the server refuses: the client takes it back, and goes on.
import assert from 'node:assert/strict';
import { App } from './app.mjs';
import { pushOf } from './server.mjs';

const outcomeOf = (server, project, app, id) => server.get(project, `clients/${app.rep.clientID}/mutations/${id}`);

export const tests = {
  async 'an unknown mutator is taken back and holds nothing up'(server) {
    const a = new App(server, 'unknown', { pushDelay: 3_600_000 });
    await a.put('n1', 'before');
    await a.mutate('app.unknown', { id: 'n1', value: 'only here' });
    await a.put('n2', 'behind');
    assert.equal(await a.get('notes/n1'), 'only here');
    await a.rep.push({ now: true });
    await a.confirmed();
    assert.deepEqual(await a.items(), { 'notes/n1': 'before', 'notes/n2': 'behind' });
    const { outcome, code } = await outcomeOf(server, 'unknown', a, 2);
    assert.deepEqual([outcome, code], ['rejected', 'mutator-unknown']);
    await a.close();
  },

  async 'an edit that another one has overtaken is rejected and taken back'(server) {
    const a = new App(server, 'overtaken');
    const b = new App(server, 'overtaken', { pushDelay: 3_600_000 });
    await a.put('n1', { state: 'open' });
    await b.sees('the note', (items) => items['notes/n1']?.state === 'open');
    const close = (by) => [{ op: 'test', path: '/state', value: 'open' }, { op: 'replace', path: '/state', value: by }];
    await b.mutate('kedge.patch', { collection: 'notes', id: 'n1', patch: close('by b') });
    await a.mutate('kedge.patch', { collection: 'notes', id: 'n1', patch: close('by a') });
    await a.confirmed();
    await b.sees('the edit of a', (items) => items['notes/n1'].state === 'by a');
    await b.rep.push({ now: true });
    await b.confirmed();
    assert.deepEqual(await b.items(), { 'notes/n1': { state: 'by a' } });
    assert.equal((await outcomeOf(server, 'overtaken', b, 1)).code, 'patch-test-failed');
    await a.close();
    await b.close();
  },

  async 'mutations that are no I-JSON or over a limit harm only themselves'(server) {
    const a = new App(server, 'harm', { pushDelay: 3_600_000 });
    const deep = JSON.parse('['.repeat(80) + ']'.repeat(80));
    await a.put('good-1', 1);
    await a.put('surrogate', 'half \ud800 of a pair');
    await a.put('deep', deep);
    await a.put('x'.repeat(513), 'a long id');
    await a.put('n1', 1, 'no collection');
    await a.put('good-2', 2);
    await a.rep.push({ now: true });
    await a.confirmed();
    assert.deepEqual(await a.items(), { 'notes/good-1': 1, 'notes/good-2': 2 });
    for (let id = 2; id <= 5; id++) assert.equal((await outcomeOf(server, 'harm', a, id)).outcome, 'rejected');
    await a.close();
  },

  async 'a gap is refused and applied once it is filled'(server) {
    const put = (id) => ({ clientID: 'c', id, name: 'kedge.put', args: { collection: 'x', id: `${id}`, value: id } });
    assert.equal((await server.post('gap', 'push', pushOf('g', [put(1)]))).status, 200);
    const refused = await server.post('gap', 'push', pushOf('g', [put(3)]));
    assert.deepEqual([refused.status, refused.body.code], [409, 'mutation-gap']);
    assert.equal((await server.post('gap', 'push', pushOf('g', [put(2), put(3)]))).status, 200);
    assert.deepEqual(await server.items('gap'), { 'x/1': 1, 'x/2': 2, 'x/3': 3 });
  },

  async 'another version of the protocol is named as not supported'(server) {
    const push = await server.post('versions', 'push', { ...pushOf('g', []), pushVersion: 2 });
    assert.deepEqual(push, { status: 200, body: { error: 'VersionNotSupported', versionType: 'push' } });
    const pull = await server.post('versions', 'pull', { pullVersion: 2, clientGroupID: 'g', cookie: null });
    assert.deepEqual(pull, { status: 200, body: { error: 'VersionNotSupported', versionType: 'pull' } });
  },
};
