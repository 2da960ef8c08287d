/* Counters of a database. */
package io.kedge;

/**
 * Counters since the database was opened, and sizes of its files in bytes: kedge/stats.h.
 *
 * @param edits that were made
 * @param editsRefused that were refused
 * @param requests sent to the server
 * @param requestBytes of their bodies
 * @param responses that were complete
 * @param responseBytes of their bodies
 * @param failures requests without a response, or refused
 * @param pokes on the event stream
 * @param pulls that changed what reads show
 * @param outboxBytes of outbox.db
 * @param outboxWalBytes of its WAL
 * @param cacheBytes of cache.db
 * @param cacheWalBytes of its WAL
 */
public record Stats(long edits, long editsRefused, long requests, long requestBytes, long responses,
        long responseBytes, long failures, long pokes, long pulls, long outboxBytes,
        long outboxWalBytes, long cacheBytes, long cacheWalBytes) {
    static Stats of(long[] of) {
        return new Stats(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], of[9],
                of[10], of[11], of[12]);
    }
}
