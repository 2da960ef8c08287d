// Kedge's built-in mutators as client mutators: the same names, the same args, the same effects, as far
// as the tests use them. One that the server would reject changes nothing.
const keyOf = ({ collection, id }) => (collection === '_' ? id : `${collection}/${id}`);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396. */
function merged(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

/** RFC 6902 for members of the root and the end of an array in it; undefined: rejected. */
function patched(target, operations) {
  const result = structuredClone(target);
  for (const { op, path, value } of operations) {
    const [name, end] = path.slice(1).split('/');
    if (op === 'test' && JSON.stringify(result[name]) !== JSON.stringify(value)) return undefined;
    if (op === 'replace' && !(name in result)) return undefined;
    if (op === 'remove') delete result[name];
    else if (op === 'add' && end === '-') result[name].push(value);
    else if (op === 'add' || op === 'replace') result[name] = value;
  }
  return result;
}

export const mutators = {
  'kedge.put': (tx, args) => tx.set(keyOf(args), args.value),
  'kedge.merge': async (tx, args) => tx.set(keyOf(args), merged(await tx.get(keyOf(args)), args.patch)),
  'kedge.patch': async (tx, args) => {
    const item = await tx.get(keyOf(args));
    const result = item === undefined ? undefined : patched(item, args.patch);
    if (result !== undefined) await tx.set(keyOf(args), result);
  },
  'kedge.delete': async (tx, args) => {
    await tx.del(keyOf(args));
  },
  'kedge.project': async (tx, args) => tx.set('project', merged(await tx.get('project'), args)),
  'kedge.noop': async () => {},
  // The server has no such mutator, and rejects it.
  'app.unknown': (tx, args) => tx.set(`notes/${args.id}`, args.value),
};
