// Clients whose state the server does not have (any more).
import assert from 'node:assert/strict';
import { App, until } from './app.mjs';
import { pushOf, Server } from './server.mjs';

const notFound = { status: 200, body: { error: 'ClientStateNotFound' } };
const put = (clientID, id, value = id) => {
  const args = { collection: 'x', id: `${id}`, value };
  return { clientID, id, name: 'kedge.put', args };
};

/** A server whose last two versions are lost, after `app` has got them: by a backup of version 1. */
async function loseTwoVersions(server, app, { unseen = false } = {}) {
  await app.put('n1', 1);
  await app.confirmed();
  await server.stop();
  server.backUp();
  await server.start();
  await app.put('n2', 2);
  await app.put('n3', 3);
  await app.confirmed();
  await app.persisted('notes/n3');
  app.deaf = unseen;
  await server.stop();
  server.restore();
  await server.start();
}

/** What an app does when it is told that its state is lost: it starts again, under the same name. */
async function reload(server, app) {
  await until('the client is told that its state is lost', () => app.stateLost);
  await app.close();
  const next = new App(server, 'p', { name: app.rep.name });
  await next.put('n4', 4);
  await next.confirmed();
  await next.put('n5', 5);
  await next.confirmed();
  assert.deepEqual(await next.items(), await server.items('p'));
  assert.deepEqual([next.stateLost, next.log], [false, []]);
  return next;
}

export const tests = {
  async 'an unknown client that starts above its first id is told so'(server) {
    assert.deepEqual(await server.post('old', 'push', pushOf('g', [put('old', 5)])), notFound);
    assert.deepEqual(await server.items('old'), {});
    assert.equal((await server.post('old', 'push', pushOf('g', [put('new', 1)]))).status, 200);
  },

  async 'an id that was decided with another mutation is told so'(server) {
    assert.equal((await server.post('twin', 'push', pushOf('g', [put('c', 1)]))).status, 200);
    assert.deepEqual(await server.post('twin', 'push', pushOf('g', [put('c', 1, 'another')])), notFound);
    assert.deepEqual(await server.items('twin'), { 'x/1': 1 });
  },

  async 'a client of another group is refused as one that does not exist'(server) {
    assert.equal((await server.post('theirs', 'push', pushOf('g', [put('c', 1)]))).status, 200);
    assert.deepEqual(await server.post('theirs', 'push', pushOf('h', [put('c', 2)])), notFound);
    assert.deepEqual((await server.pull('theirs', null, 'h')).lastMutationIDChanges, {});
  },

  async 'a client that is ahead of a restored backend starts anew and syncs'() {
    const server = await Server.start();
    const app = new App(server, 'p');
    await loseTwoVersions(server, app);
    const next = await reload(server, app);
    assert.deepEqual(await server.items('p'), { 'notes/n1': 1, 'notes/n4': 4, 'notes/n5': 5 });
    await next.close();
    await server.stop();
  },

  async 'a client whose confirmed mutations a restored backend has lost starts anew and syncs'() {
    const server = await Server.start();
    const app = new App(server, 'p');
    await loseTwoVersions(server, app, { unseen: true });
    for (let id = 1; id <= 5; id++) await server.post('p', 'push', pushOf('o', [put('other', id)]));
    await app.pull();
    const next = await reload(server, app);
    assert.equal(Object.keys(await next.items()).length, 8);
    await next.close();
    await server.stop();
  },
};
