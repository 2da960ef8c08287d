/* Mutators: functions that make changes. */
package io.kedge;

/**
 * A function that makes a change. It is deterministic: its only inputs are the transaction, the
 * args and the caller. It may run any number of times, on any thread, and must do the same each
 * time.
 *
 * <pre>{@code
 * Mutator take = (tx, args) -> {
 *     String id = Json.text(args, "id");
 *     if (!tx.get("things", id).equals("\"wanted\"")) {
 *         throw tx.reject("taken", "somebody has taken it");
 *     }
 *     tx.put("things", id, "\"taken\"");
 * };
 * }</pre>
 */
@FunctionalInterface
public interface Mutator {
    /**
     * Makes the change. What it throws rejects the edit: a failure of a call on the transaction
     * with its own code, anything else with the code "mutator-failed". An OutOfMemoryError rejects
     * nothing: the call that makes the edit throws KedgeException.NoMemory.
     *
     * @param tx the state of the project, until the mutator returns
     * @param args canonical JSON
     * @throws Exception rejects the edit
     */
    void run(Transaction tx, String args) throws Exception;
}
