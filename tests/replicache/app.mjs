// An app on the npm package as it is: one Replicache client that pulls when the server's event stream
// pokes it. What its default pusher and puller send and get is recorded on the way.
import { setMaxListeners } from 'node:events';
import { mutators } from './mutators.mjs';

export const library = {};
export const traffic = [];
const sendRequest = globalThis.fetch;
const DEADLINE_MS = Number(process.env.KEDGE_TEST_DEADLINE_MS ?? 60_000);
const POLL_MS = 5;

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/** Waits until `condition` holds; a rejection names what did not come true. */
export async function until(what, condition) {
  const end = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await pause();
  }
}

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  if (!request.headers.has('X-Replicache-RequestID')) return sendRequest(request);
  const exchange = { url: request.url, request: await request.clone().json(), status: 0 };
  traffic.push(exchange);
  const response = await sendRequest(request);
  exchange.status = response.status;
  if (response.status === 200) exchange.answer = await response.clone().json();
  return response;
};

let names = 0;

export class App {
  #server;
  #project;
  #stopped = new AbortController();
  log = [];
  deaf = false; // pokes are ignored
  stateLost = false;

  /** Clients with the same `name` share one client group, as tabs of a browser do. */
  constructor(server, project, { name = `app-${++names}`, live = true, ...options } = {}) {
    this.#server = server;
    this.#project = project;
    this.base = server.base(project);
    this.rep = new library.Replicache({
      name,
      kvStore: 'mem',
      mutators,
      pushURL: `${this.base}/push`,
      pullURL: `${this.base}/pull`,
      pullInterval: null,
      logLevel: 'error',
      logSinks: [{ log: (level, context, ...words) => this.log.push(words.map(String).join(' ')) }],
      ...options,
    });
    this.rep.onClientStateNotFound = () => (this.stateLost = true);
    if (live) this.listening = this.#listen();
  }

  /** Follows the event stream until the app is closed, through restarts of the server. */
  async #listen() {
    const { signal } = this.#stopped;
    setMaxListeners(0, signal); // one a connection
    while (!signal.aborted) {
      try {
        const headers = this.rep.auth ? { Authorization: this.rep.auth } : {};
        const response = await sendRequest(`${this.base}/events`, { signal, headers });
        const reader = response.body.getReader();
        const decoder = new TextDecoder();
        // Debian's node 18 does not end a read when the request is aborted.
        signal.addEventListener('abort', () => reader.cancel().catch(() => {}), { once: true });
        let text = '';
        for (let read; !(read = await reader.read()).done;) {
          const events = (text + decoder.decode(read.value, { stream: true })).split('\n\n');
          text = events.pop();
          const poked = events.some((event) => event.startsWith('event: poke'));
          if (poked && !this.deaf) void this.pull();
        }
      } catch {
        // The server is away; the next turn connects again.
      }
      await pause();
    }
  }

  pull() {
    return this.rep.pull({ now: true }).catch(() => {});
  }

  mutate(name, args) {
    return this.rep.mutate[name](args);
  }

  put(id, value, collection = 'notes') {
    return this.mutate('kedge.put', { collection, id, value });
  }

  get(key) {
    return this.rep.query((tx) => tx.get(key));
  }

  items() {
    return this.rep.query(async (tx) => Object.fromEntries(await tx.scan().entries().toArray()));
  }

  async pending() {
    return (await this.rep.experimentalPendingMutations()).length;
  }

  /** Every mutation of this client is decided, and the decision has reached it. */
  confirmed() {
    return until('every mutation is confirmed', async () => (await this.pending()) === 0);
  }

  sees(what, test) {
    return until(`a client sees ${what}`, async () => test(await this.items()));
  }

  /** The item `key` is in the store that outlives the client, and that the next of its name reads. */
  persisted(key) {
    return until(`${key} is in the store`, async () => {
      const offline = { name: this.rep.name, live: false, pushURL: '', pullURL: '' };
      const next = new App(this.#server, this.#project, offline);
      const items = await next.items();
      await next.close();
      return key in items;
    });
  }

  pushes() {
    return traffic.filter(({ url, request }) =>
      url === `${this.base}/push` && request.mutations.some(({ clientID }) => clientID === this.rep.clientID));
  }

  async close() {
    this.#stopped.abort();
    await this.rep.close();
    await this.listening;
  }
}
