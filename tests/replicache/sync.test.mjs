// Two apps on one project: what one does, the other gets, and both end with the server's items.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { App, until } from './app.mjs';
import { pushOf } from './server.mjs';

const inCollection = { collection: 'notes', id: 'n1' };

async function converge(server, project, ...apps) {
  for (const app of apps) await app.confirmed();
  const expected = await server.items(project);
  for (const app of apps) {
    await app.sees('what the server holds', (items) => isDeepStrictEqual(items, expected));
  }
  return expected;
}

export const tests = {
  async 'every built-in mutator ends with the same items on both clients and the server'(server) {
    const a = new App(server, 'builtin');
    const b = new App(server, 'builtin');
    await a.put('n1', { title: 'one', tags: ['x'], deep: { keep: 1, drop: 2 } });
    await a.mutate('kedge.merge', { ...inCollection, patch: { deep: { drop: null, more: [1.5, 'ü'] } } });
    await a.mutate('kedge.patch', { ...inCollection, patch: [{ op: 'add', path: '/tags/-', value: 'y' }] });
    await a.mutate('kedge.project', { name: 'Trip', shared: true });
    await a.mutate('kedge.noop', null);
    await a.put('plain', 'an item without a collection', '_');
    await b.put('n/2', null);
    await b.put('', 1e21);
    await b.put('gone', 'soon');
    await b.mutate('kedge.delete', { collection: 'notes', id: 'gone' });
    await b.mutate('kedge.merge', { collection: 'notes', id: 'made', patch: { by: 'merge' } });
    const expected = await converge(server, 'builtin', a, b);
    assert.deepEqual(expected, {
      project: { name: 'Trip', shared: true },
      plain: 'an item without a collection',
      'notes/n1': { title: 'one', tags: ['x', 'y'], deep: { keep: 1, more: [1.5, 'ü'] } },
      'notes/n/2': null,
      'notes/': 1e21,
      'notes/made': { by: 'merge' },
    });
    assert.deepEqual([...a.log, ...b.log], []);
    await a.close();
    await b.close();
  },

  async 'a poke brings a change to the other client and its confirmation to the author'(server) {
    const a = new App(server, 'poke');
    const b = new App(server, 'poke');
    for (let turn = 1; turn <= 5; turn++) {
      const [author, other] = turn % 2 ? [a, b] : [b, a];
      await author.put('turn', turn);
      await other.sees(`turn ${turn}`, (items) => items['notes/turn'] === turn);
      await author.confirmed();
    }
    await a.close();
    await b.close();
  },

  async 'a client without a stream converges by pull'(server) {
    // A client pulls when it starts. Without a URL the author does not, so the pull below is its first.
    const a = new App(server, 'by-pull', { live: false, pullURL: '' });
    const b = new App(server, 'by-pull', { live: false });
    await a.put('n1', 'from a');
    await until('the push is decided', async () => Object.keys(await server.items('by-pull')).length === 1);
    await b.pull();
    assert.equal(await b.get('notes/n1'), 'from a');
    assert.equal(await a.pending(), 1);
    a.rep.pullURL = `${a.base}/pull`;
    await a.pull();
    assert.equal(await a.pending(), 0);
    await a.close();
    await b.close();
  },

  async 'three thousand pending mutations leave in one push and are confirmed'(server) {
    const a = new App(server, 'many', { pushDelay: 3_600_000 });
    const b = new App(server, 'many');
    for (let id = 1; id <= 3000; id++) await a.put(`n${id}`, { id, text: 'written offline' });
    assert.equal(await a.pending(), 3000);
    await a.rep.push({ now: true });
    await a.confirmed();
    assert.deepEqual(a.pushes().map(({ status, request }) => [status, request.mutations.length]), [[200, 3000]]);
    const expected = await converge(server, 'many', a, b);
    assert.equal(Object.keys(expected).length, 3000);
    await a.close();
    await b.close();
  },

  async 'clients of one group are confirmed each by its own ids'(server) {
    const a = new App(server, 'group', { name: 'tabs' });
    await a.put('a', 1);
    await a.confirmed();
    const b = new App(server, 'group', { name: 'tabs' });
    await Promise.all([a.put('a', 2), b.put('b', 1), a.put('a', 3), b.put('b', 2)]);
    await converge(server, 'group', a, b);
    assert.equal(await a.rep.clientGroupID, await b.rep.clientGroupID);
    const { lastMutationIDChanges } = await server.pull('group', null, await a.rep.clientGroupID);
    assert.deepEqual(lastMutationIDChanges, { [a.rep.clientID]: 3, [b.rep.clientID]: 2 });
    await a.close();
    await b.close();
  },

  async 'values small and large come whole'(server) {
    const a = new App(server, 'large');
    const b = new App(server, 'large');
    for (const size of [1, 8_191, 8_193, 65_537, 1_000_000]) await a.put(`size-${size}`, 'é"\\'.repeat(size / 3 + 1));
    await converge(server, 'large', a, b);
    await a.close();
    await b.close();
  },

  async 'a pull from nothing is a clear and then every item in key order'(server) {
    const a = new App(server, 'first');
    for (const id of ['z', 'a', 'é', 'm/1']) await a.put(id, id);
    await a.mutate('kedge.project', { name: 'p' });
    await a.confirmed();
    const { patch, lastMutationIDChanges } = await server.pull('first');
    assert.deepEqual(patch[0], { op: 'clear' });
    assert.deepEqual(patch.slice(1).map(({ op, key }) => [op, key]),
      ['project', 'notes/a', 'notes/m/1', 'notes/z', 'notes/é'].map((key) => ['put', key]));
    assert.deepEqual(lastMutationIDChanges, {});
    await a.close();
  },

  async 'every decision has a higher cookie, a rejection and a change of nothing too'(server) {
    let { cookie } = await server.pull('cookies', null, 'g');
    for (const [at, name] of ['kedge.put', 'kedge.put', 'no.such', 'kedge.noop', 'kedge.delete'].entries()) {
      const mutation = { clientID: 'c', id: at + 1, name, args: { collection: 'x', id: 'x', value: 1 } };
      assert.equal((await server.post('cookies', 'push', pushOf('g', [mutation]))).status, 200);
      const answer = await server.pull('cookies', cookie, 'g');
      assert.deepEqual(answer.lastMutationIDChanges, { c: at + 1 });
      assert.ok(answer.cookie.order > cookie.order, `${answer.cookie.order} after ${cookie.order}`);
      const again = await server.pull('cookies', answer.cookie, 'g');
      assert.deepEqual(again, { cookie: answer.cookie, lastMutationIDChanges: {}, patch: [] });
      cookie = answer.cookie;
    }
  },

  async 'a browser may send the three headers of a Replicache client'(server) {
    const answer = await fetch(`${server.base('cors')}/push`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'http://localhost:3000',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,x-replicache-requestid',
      },
    });
    assert.ok(answer.ok, `status ${answer.status}`);
    assert.equal(answer.headers.get('access-control-allow-origin'), 'http://localhost:3000');
    const allowed = answer.headers.get('access-control-allow-headers').toLowerCase().split(/, */);
    for (const name of ['authorization', 'content-type', 'x-replicache-requestid']) {
      assert.ok(allowed.includes(name), `${name} in ${allowed}`);
    }
  },
};
