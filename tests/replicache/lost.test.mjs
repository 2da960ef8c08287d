// Clients whose state the server does not have (any more).
import assert from 'node:assert/strict';
import { pushOf } from './server.mjs';

const notFound = { status: 200, body: { error: 'ClientStateNotFound' } };
const put = (clientID, id, value = id) => ({ clientID, id, name: 'kedge.put', args: { collection: 'x', id: `${id}`, value } });

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
};
