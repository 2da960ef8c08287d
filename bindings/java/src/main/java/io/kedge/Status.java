/* What kind of failure an error is. */
package io.kedge;

/** The statuses of the C library, in its order: {@code kedge_status} of kedge/error.h. */
public enum Status {
    /** No failure. */
    OK,
    /** An iteration has no more rows. */
    DONE,
    /** No such item, mutation, version or project. */
    NOT_FOUND,
    /** A mutator refused. */
    REJECTED,
    /** A parameter is outside what the function allows. */
    INVALID_ARGUMENT,
    /** Text that is not I-JSON (RFC 7493). */
    INVALID_JSON,
    /** Over one of {@link Limits}. */
    LIMIT_EXCEEDED,
    /** There is no memory. */
    NO_MEMORY,
    /** The disk failed. */
    IO,
    /** The disk is full. */
    DISK_FULL,
    /** Another process or thread holds what is needed; try again. */
    BUSY,
    /** A file's contents are damaged. */
    CORRUPT,
    /** The folder or file is something else. */
    NOT_A_DATABASE,
    /** Written by a newer Kedge than this one. */
    NEWER_DATABASE,
    /** Another process opened the database with other mutators. */
    REGISTRY_MISMATCH,
    /** The server could not be reached, or the connection broke. */
    NETWORK,
    /** A deadline passed. */
    TIMEOUT,
    /** The token is missing, expired or not accepted. */
    UNAUTHORIZED,
    /** The token does not give this right. */
    FORBIDDEN,
    /** The response is not one of Kedge's protocol. */
    PROTOCOL,
    /** A condition did not hold: another writer was first. */
    CONFLICT,
    /** A transient fault, or an unknown outcome; try again. */
    UNAVAILABLE,
    /** This build or this server cannot do it. */
    UNSUPPORTED,
    /** Ended by the caller or by closing. */
    CANCELLED,
    /** An invariant of Kedge itself did not hold: a bug. */
    INTERNAL;

    private static final Status[] VALUES = values();

    static Status of(long number) {
        return number >= 0 && number < VALUES.length ? VALUES[(int) number] : INTERNAL;
    }

    /**
     * The status as a word.
     *
     * @return for example "disk-full"
     */
    public String word() {
        NativeLibrary.load();
        return Texts.text(Native.statusName(ordinal()));
    }
}
