// A server that wants signed tokens: the client asks its app for a new one, and sees nothing of others.
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from './app.mjs';
import { makeFolder, pushOf, Server } from './server.mjs';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(sub, claims = {}) {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const payload = { iss: 'i', aud: 'a', org: 'acme', sub, exp, ...claims };
  const text = `${encoded({ alg: 'RS256', kid: 'k' })}.${encoded(payload)}`;
  return `Bearer ${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
}

async function withServer(test) {
  const folder = makeFolder();
  const keys = join(folder, 'keys.json');
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' };
  writeFileSync(keys, JSON.stringify({ keys: [key] }));
  const server = await Server.start('--jwks', keys, '--issuer', 'i', '--audience', 'a');
  const admin = { Authorization: tokenOf('root', { role: 'admin' }) };
  const made = await fetch(server.base('p'), { method: 'PUT', headers: admin });
  assert.equal(made.status, 201);
  await test(server);
  await server.stop();
}

export const tests = {
  async 'a client whose token is refused asks for another and syncs'() {
    await withServer(async (server) => {
      const app = new App(server, 'p', { auth: tokenOf('u', { exp: 1 }) });
      let asked = 0;
      app.rep.getAuth = () => {
        asked++;
        return tokenOf('u');
      };
      await app.put('n1', 1);
      await app.confirmed();
      assert.ok(asked > 0);
      assert.deepEqual(await app.items(), { 'notes/n1': 1 });
      await app.close();
    });
  },

  async 'a group is not shown to another user, and is not theirs to push for'() {
    await withServer(async (server) => {
      const app = new App(server, 'p', { auth: tokenOf('u') });
      await app.put('n1', 1);
      await app.confirmed();
      const group = await app.rep.clientGroupID;
      const other = { Authorization: tokenOf('v') };
      const pull = { pullVersion: 1, clientGroupID: group, cookie: null };
      assert.deepEqual((await server.post('p', 'pull', pull, other)).body.lastMutationIDChanges, {});
      const mutation = { clientID: app.rep.clientID, id: 2, name: 'kedge.noop', args: null };
      const refused = await server.post('p', 'push', pushOf(group, [mutation]), other);
      assert.deepEqual(refused, { status: 200, body: { error: 'ClientStateNotFound' } });
      await app.put('n2', 2);
      await app.confirmed();
      await app.close();
    });
  },
};
