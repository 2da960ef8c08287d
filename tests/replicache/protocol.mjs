// What Replicache's protocol demands of every pull answer, checked over all that the clients of a run
// have got.
import assert from 'node:assert/strict';

const FIELDS = { put: ['op', 'key', 'value'], del: ['op', 'key'], clear: ['op'] };

function checkPatch(patch) {
  assert.ok(Array.isArray(patch));
  for (const operation of patch) assert.deepEqual(Object.keys(operation).sort(), [...FIELDS[operation.op]].sort());
}

/** A client drops an answer of its own cookie whole, so nothing may stand in it. */
function checkCookie(before, { cookie, patch, lastMutationIDChanges }) {
  assert.equal(typeof cookie.order, 'number');
  if (before === null) return assert.deepEqual(patch[0], { op: 'clear' });
  assert.ok(cookie.order >= before.order, `cookie ${cookie.order} after ${before.order}`);
  if (cookie.order > before.order) return undefined;
  assert.deepEqual({ cookie, patch, lastMutationIDChanges }, { cookie: before, patch: [], lastMutationIDChanges: {} });
}

export function checkTraffic(traffic) {
  const lmids = new Map();
  let checked = 0;
  for (const { url, request, answer } of traffic) {
    if (!url.endsWith('/pull') || answer === undefined || answer.error !== undefined) continue;
    checkPatch(answer.patch);
    checkCookie(request.cookie, answer);
    for (const [client, lmid] of Object.entries(answer.lastMutationIDChanges)) {
      const known = `${request.clientGroupID} ${client}`;
      assert.ok(Number.isSafeInteger(lmid) && lmid >= (lmids.get(known) ?? 0), `lmid ${lmid} of ${known}`);
      lmids.set(known, lmid);
    }
    checked++;
  }
  assert.ok(checked > 0 && lmids.size > 0, `${checked} pulls of ${lmids.size} clients`);
  console.log(`     ${checked} pulls, ${lmids.size} clients`);
}
