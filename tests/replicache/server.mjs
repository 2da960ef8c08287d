// A kedge-server of its own process on a fresh folder, which can be killed and started again on the
// same port, and requests to it without a Replicache client.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const running = new Set();
const folders = [];
process.on('exit', () => {
  running.forEach((child) => child.kill('SIGKILL'));
  folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }));
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

/** A fresh folder that goes with the test. */
export function makeFolder() {
  folders.push(mkdtempSync(join(tmpdir(), 'kedge-replicache.')));
  return folders.at(-1);
}

export class Server {
  static program;
  #folder = makeFolder();
  #child;
  #options;
  port = 0;

  static async start(...options) {
    const server = new Server();
    server.#options = options.length > 0 ? options : ['--open'];
    await server.start();
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  get data() {
    return join(this.#folder, 'data');
  }

  base(project, organization = 'acme') {
    return `${this.url}/v1/orgs/${organization}/projects/${project}`;
  }

  async start() {
    const child = spawn(
      Server.program,
      ['--data', this.data, '--listen', `127.0.0.1:${this.port}`, ...this.#options],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    running.add(child);
    let log = '';
    child.stderr.on('data', (text) => (log = (log + text).slice(-4000)));
    this.#child = child;
    child.ended = new Promise((resolve) => child.once('close', resolve)).then((code) => {
      running.delete(child);
      return code;
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const ready = /^kedge-server ready on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line);
      if (!ready) continue;
      this.port = Number(ready[1]);
      child.stdout.resume();
      return;
    }
    throw new Error(`kedge-server ended before it was ready: ${log}`);
  }

  /** Resolves with the exit code once the process is gone; null after a signal. */
  stop(signal = 'SIGTERM') {
    this.#child.kill(signal);
    return this.#child.ended;
  }

  /** Copies of the stopped server's folder, as a backup is made and put back. */
  backUp() {
    cpSync(this.data, join(this.#folder, 'backup'), { recursive: true });
  }

  restore() {
    rmSync(this.data, { recursive: true });
    cpSync(join(this.#folder, 'backup'), this.data, { recursive: true });
  }

  async post(project, what, body, headers = {}) {
    const answer = await fetch(`${this.base(project)}/${what}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  async get(project, what) {
    return (await fetch(`${this.base(project)}/${what}`)).json();
  }

  /** The answer to a Replicache pull of a group that the server has never met, or of `group`. */
  async pull(project, cookie = null, group = 'reader') {
    const body = { pullVersion: 1, clientGroupID: group, cookie, profileID: '', schemaVersion: '' };
    return (await this.post(project, 'pull', body)).body;
  }

  /** What the server holds: an object of key to value. */
  async items(project) {
    const { patch } = await this.pull(project);
    return Object.fromEntries(patch.filter(({ op }) => op === 'put').map(({ key, value }) => [key, value]));
  }
}

/** A Replicache push, as its client makes it. */
export const pushOf = (group, mutations) => ({
  pushVersion: 1,
  clientGroupID: group,
  profileID: 'p',
  schemaVersion: '',
  mutations: mutations.map((mutation) => ({ timestamp: 1.5, ...mutation })),
});
