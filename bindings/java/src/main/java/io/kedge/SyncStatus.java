/* The state of sync. */
package io.kedge;

/**
 * The state of sync: {@code kedge_sync_status} of kedge/sync.h.
 *
 * @param connection whether the database syncs just now
 * @param resyncing the cache is fetched again; reads show the current one
 * @param version the version that was pulled last, or 0
 * @param pending edits that the server has not decided
 * @param rejected edits in the inbox
 * @param withheld pending edits that reads do not show
 * @param unrecovered edits that are lost
 * @param client the present client id
 * @param lastError the error of the last request; null when it succeeded
 */
public record SyncStatus(Connection connection, boolean resyncing, long version, long pending,
        long rejected, long withheld, long unrecovered, String client, KedgeException lastError) {
    static SyncStatus of(long[] numbers, byte[][] texts) {
        KedgeException error = numbers[7] == 0 ? null
                : KedgeException.of((int) numbers[7], texts[1], texts[2]);
        return new SyncStatus(Connection.of(numbers[0]), numbers[1] != 0, numbers[2], numbers[3],
                numbers[4], numbers[5], numbers[6], Texts.text(texts[0]), error);
    }
}
