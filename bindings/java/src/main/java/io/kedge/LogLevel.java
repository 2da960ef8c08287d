/* How important a line of the log is. */
package io.kedge;

/** How important a line of a database's log is, beginning with the most important ones. */
public enum LogLevel {
    /** Sync has stopped. */
    ERROR,
    /** Something went wrong, and Kedge goes on. */
    WARNING,
    /** Starts, connections, pulls. */
    INFO,
    /** Each request. */
    DEBUG;
}
