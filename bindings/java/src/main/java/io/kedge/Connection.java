/* The connection of a database. */
package io.kedge;

/** Whether a database syncs just now. */
public enum Connection {
    /** By option, by {@link Database#setOnline}, or without a url. */
    OFFLINE,
    /** Another process has the database open and does the syncing. */
    FOLLOWER,
    /** No response yet, or waiting to retry. */
    CONNECTING,
    /** The last request had a response. */
    ONLINE,
    /** The server refused, or the outbox is damaged: see {@link SyncStatus#lastError}. */
    STOPPED;

    private static final Connection[] VALUES = values();

    static Connection of(long number) {
        return VALUES[(int) number];
    }
}
