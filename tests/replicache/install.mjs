// Installs the packages that package-lock.json pins into a folder of the cache, named after the hash of
// that file, and loads them from there. A folder under its final name is complete: it is filled under
// another name and then renamed, so that test runs side by side do not meet half of one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const INSTALL_MS = 120_000;

function cacheFolder() {
  const { KEDGE_CACHE, XDG_CACHE_HOME } = process.env;
  return KEDGE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'kedge');
}

function fill(folder, npm) {
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    copyFileSync(join(here, name), join(folder, name));
  }
  const done = spawnSync(npm, ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: INSTALL_MS,
  });
  if (done.status !== 0) throw new Error(`npm ci failed: ${done.error ?? done.stderr}`);
}

/** The folder of the installed packages; npm is run only when it is not there yet. */
export function install(npm) {
  const hash = createHash('sha256').update(readFileSync(join(here, 'package-lock.json'))).digest('hex');
  const cache = cacheFolder();
  const folder = join(cache, `replicache-${hash.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'replicache-new-'));
  try {
    fill(fresh, npm);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

export const loadReplicache = (folder) =>
  import(pathToFileURL(join(folder, 'node_modules/replicache/out/replicache.js')).href);
