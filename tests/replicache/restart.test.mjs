// The server goes away and comes back: nothing is lost, and nothing is done twice.
import assert from 'node:assert/strict';
import { App, until } from './app.mjs';
import { Server } from './server.mjs';

const KILLS = 5;
const EDITS = 60;

/** An append is seen in the list as often as it was applied. */
const append = (app, value) =>
  app.mutate('kedge.patch', { collection: 'notes', id: 'list', patch: [{ op: 'add', path: '/all/-', value }] });

async function appendAll(app, name) {
  for (let edit = 1; edit <= EDITS; edit++) await append(app, `${name}${edit}`);
}

const ofOne = (list, name) => list.filter((value) => value.startsWith(name));
const expected = (name) => Array.from({ length: EDITS * KILLS }, (_, at) => `${name}${(at % EDITS) + 1}`);

export const tests = {
  async 'kill -9 under load loses nothing and repeats nothing'() {
    const server = await Server.start();
    const a = new App(server, 'killed');
    const b = new App(server, 'killed');
    await a.put('list', { all: [] });
    await b.sees('the list', (items) => 'notes/list' in items);
    for (let kill = 0; kill < KILLS; kill++) {
      const sent = a.pushes().length;
      const editing = Promise.all([appendAll(a, 'a'), appendAll(b, 'b')]);
      await until('a push is on its way', () => a.pushes().length > sent);
      await server.stop('SIGKILL');
      await editing;
      await server.start();
    }
    await a.confirmed();
    await b.confirmed();
    const { all } = (await server.items('killed'))['notes/list'];
    assert.deepEqual(ofOne(all, 'a'), expected('a'));
    assert.deepEqual(ofOne(all, 'b'), expected('b'));
    for (const app of [a, b]) {
      await app.sees('the whole list', (items) => items['notes/list'].all.length === all.length);
      assert.deepEqual((await app.get('notes/list')).all, all);
    }
    await a.close();
    await b.close();
    await server.stop();
  },

  async 'edits made while no server runs arrive when it is back'() {
    const server = await Server.start();
    const a = new App(server, 'away');
    await a.put('n0', 0);
    await a.confirmed();
    assert.equal(await server.stop(), 0);
    for (let id = 1; id <= 500; id++) await a.put(`n${id}`, id);
    await until('the client knows that it is offline', () => !a.rep.online);
    assert.equal(await a.pending(), 500);
    await server.start();
    await a.confirmed();
    assert.deepEqual(await a.items(), await server.items('away'));
    assert.equal(Object.keys(await a.items()).length, 501);
    await a.close();
    await server.stop();
  },

  async 'edits of a client that was closed offline are sent by the next one'() {
    const server = await Server.start();
    const name = 'closed';
    const closed = new App(server, 'closed', { name });
    await closed.put('n1', 1);
    await closed.confirmed();
    await server.stop();
    await closed.put('n2', 2);
    await closed.persisted('notes/n2');
    await closed.close();
    await server.start();
    const next = new App(server, 'closed', { name });
    await next.put('n3', 3);
    await next.confirmed();
    assert.deepEqual(await server.items('closed'), { 'notes/n1': 1, 'notes/n2': 2, 'notes/n3': 3 });
    assert.deepEqual(await next.items(), await server.items('closed'));
    await next.close();
    await server.stop();
  },
};
