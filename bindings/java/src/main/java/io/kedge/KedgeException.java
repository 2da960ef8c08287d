/* Errors: one class for each status of the C library. */
package io.kedge;

/**
 * A failure that Kedge tells. {@link #code()} is stable and for programs, {@link #sentence()} for
 * people. Each status has a class of its own, which is a KedgeException.
 */
public class KedgeException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What kind of failure it is. */
    private final Status status;

    /** Lower-case words joined by '-'. */
    private final String code;

    /** What was wrong and what is allowed. */
    private final String sentence;

    KedgeException(Status status, String code, String sentence) {
        super(code + ": " + sentence);
        this.status = status;
        this.code = code;
        this.sentence = sentence;
    }

    /**
     * What kind of failure it is.
     *
     * @return the status
     */
    public final Status status() {
        return status;
    }

    /**
     * Which failure it is, for programs.
     *
     * @return for example "item-too-large"; a rejection has the mutator's own
     */
    public final String code() {
        return code;
    }

    /**
     * What was wrong and what is allowed, for people. {@link #getMessage()} has the code in front.
     *
     * @return an English sentence
     */
    public final String sentence() {
        return sentence;
    }

    /** C calls this: the exception for a status and the texts of a kedge_error. */
    static KedgeException of(int status, byte[] code, byte[] message) {
        return of(Status.of(status), Texts.text(code), Texts.text(message));
    }

    static KedgeException of(Status status, String code, String sentence) {
        switch (status) {
            case NOT_FOUND:
                return new NotFound(code, sentence);
            case REJECTED:
                return new Rejected(code, sentence);
            case INVALID_ARGUMENT:
                return new InvalidArgument(code, sentence);
            case INVALID_JSON:
                return new InvalidJson(code, sentence);
            case LIMIT_EXCEEDED:
                return new LimitExceeded(code, sentence);
            case NO_MEMORY:
                return new NoMemory(code, sentence);
            case IO:
                return new DiskFailed(code, sentence);
            case DISK_FULL:
                return new DiskFull(code, sentence);
            case BUSY:
                return new Busy(code, sentence);
            case CORRUPT:
                return new Corrupt(code, sentence);
            case NOT_A_DATABASE:
                return new NotADatabase(code, sentence);
            case NEWER_DATABASE:
                return new NewerDatabase(code, sentence);
            case REGISTRY_MISMATCH:
                return new RegistryMismatch(code, sentence);
            case NETWORK:
                return new NetworkFailed(code, sentence);
            case TIMEOUT:
                return new Timeout(code, sentence);
            case UNAUTHORIZED:
                return new Unauthorized(code, sentence);
            case FORBIDDEN:
                return new Forbidden(code, sentence);
            case PROTOCOL:
                return new ProtocolFailed(code, sentence);
            case CONFLICT:
                return new Conflict(code, sentence);
            case UNAVAILABLE:
                return new Unavailable(code, sentence);
            case UNSUPPORTED:
                return new Unsupported(code, sentence);
            case CANCELLED:
                return new Cancelled(code, sentence);
            default:
                return new Internal(code, sentence);
        }
    }

    /** No such item, mutation, version or project. */
    public static final class NotFound extends KedgeException {
        private static final long serialVersionUID = 1;

        NotFound(String code, String sentence) {
            super(Status.NOT_FOUND, code, sentence);
        }
    }

    /**
     * A mutator refused; {@link #code()} is the mutator's own. When it failed with another
     * exception, that is the cause.
     */
    public static final class Rejected extends KedgeException {
        private static final long serialVersionUID = 1;

        Rejected(String code, String sentence) {
            super(Status.REJECTED, code, sentence);
        }
    }

    /** A parameter is outside what the function allows. */
    public static class InvalidArgument extends KedgeException {
        private static final long serialVersionUID = 1;

        InvalidArgument(String code, String sentence) {
            super(Status.INVALID_ARGUMENT, code, sentence);
        }
    }

    /** Text that is not I-JSON (RFC 7493). */
    public static final class InvalidJson extends KedgeException {
        private static final long serialVersionUID = 1;

        InvalidJson(String code, String sentence) {
            super(Status.INVALID_JSON, code, sentence);
        }
    }

    /** Over one of {@link Limits}. */
    public static final class LimitExceeded extends KedgeException {
        private static final long serialVersionUID = 1;

        LimitExceeded(String code, String sentence) {
            super(Status.LIMIT_EXCEEDED, code, sentence);
        }
    }

    /** There is no memory. */
    public static final class NoMemory extends KedgeException {
        private static final long serialVersionUID = 1;

        NoMemory(String code, String sentence) {
            super(Status.NO_MEMORY, code, sentence);
        }
    }

    /** The disk failed. */
    public static final class DiskFailed extends KedgeException {
        private static final long serialVersionUID = 1;

        DiskFailed(String code, String sentence) {
            super(Status.IO, code, sentence);
        }
    }

    /** The disk is full. */
    public static final class DiskFull extends KedgeException {
        private static final long serialVersionUID = 1;

        DiskFull(String code, String sentence) {
            super(Status.DISK_FULL, code, sentence);
        }
    }

    /** Another process or thread holds what is needed; try again. */
    public static final class Busy extends KedgeException {
        private static final long serialVersionUID = 1;

        Busy(String code, String sentence) {
            super(Status.BUSY, code, sentence);
        }
    }

    /** A file's contents are damaged: see {@link Kedge#repair}. */
    public static final class Corrupt extends KedgeException {
        private static final long serialVersionUID = 1;

        Corrupt(String code, String sentence) {
            super(Status.CORRUPT, code, sentence);
        }
    }

    /** The folder or file is something else. */
    public static final class NotADatabase extends KedgeException {
        private static final long serialVersionUID = 1;

        NotADatabase(String code, String sentence) {
            super(Status.NOT_A_DATABASE, code, sentence);
        }
    }

    /** Written by a newer Kedge than this one. */
    public static final class NewerDatabase extends KedgeException {
        private static final long serialVersionUID = 1;

        NewerDatabase(String code, String sentence) {
            super(Status.NEWER_DATABASE, code, sentence);
        }
    }

    /** Another process opened the database with other mutators. */
    public static final class RegistryMismatch extends KedgeException {
        private static final long serialVersionUID = 1;

        RegistryMismatch(String code, String sentence) {
            super(Status.REGISTRY_MISMATCH, code, sentence);
        }
    }

    /** The server could not be reached, the connection broke, or the database is offline. */
    public static final class NetworkFailed extends KedgeException {
        private static final long serialVersionUID = 1;

        NetworkFailed(String code, String sentence) {
            super(Status.NETWORK, code, sentence);
        }
    }

    /** A deadline passed. */
    public static final class Timeout extends KedgeException {
        private static final long serialVersionUID = 1;

        Timeout(String code, String sentence) {
            super(Status.TIMEOUT, code, sentence);
        }
    }

    /** The token is missing, expired or not accepted. */
    public static final class Unauthorized extends KedgeException {
        private static final long serialVersionUID = 1;

        Unauthorized(String code, String sentence) {
            super(Status.UNAUTHORIZED, code, sentence);
        }
    }

    /** The token does not give this right. */
    public static final class Forbidden extends KedgeException {
        private static final long serialVersionUID = 1;

        Forbidden(String code, String sentence) {
            super(Status.FORBIDDEN, code, sentence);
        }
    }

    /** The response is not one of Kedge's protocol. */
    public static final class ProtocolFailed extends KedgeException {
        private static final long serialVersionUID = 1;

        ProtocolFailed(String code, String sentence) {
            super(Status.PROTOCOL, code, sentence);
        }
    }

    /** A condition did not hold: another writer was first. */
    public static final class Conflict extends KedgeException {
        private static final long serialVersionUID = 1;

        Conflict(String code, String sentence) {
            super(Status.CONFLICT, code, sentence);
        }
    }

    /** A transient fault, or an unknown outcome; try again. */
    public static final class Unavailable extends KedgeException {
        private static final long serialVersionUID = 1;

        Unavailable(String code, String sentence) {
            super(Status.UNAVAILABLE, code, sentence);
        }
    }

    /** This build or this server cannot do it. */
    public static class Unsupported extends KedgeException {
        private static final long serialVersionUID = 1;

        Unsupported(String code, String sentence) {
            super(Status.UNSUPPORTED, code, sentence);
        }
    }

    /** Ended by the caller or by closing. */
    public static final class Cancelled extends KedgeException {
        private static final long serialVersionUID = 1;

        Cancelled(String code, String sentence) {
            super(Status.CANCELLED, code, sentence);
        }
    }

    /** An invariant of Kedge itself did not hold: a bug. */
    public static final class Internal extends KedgeException {
        private static final long serialVersionUID = 1;

        Internal(String code, String sentence) {
            super(Status.INTERNAL, code, sentence);
        }
    }

    /** A database, cursor, batch, watch or transaction was used after its end. */
    public static final class Closed extends InvalidArgument {
        private static final long serialVersionUID = 1;

        Closed(String what) {
            super("closed", "the " + what + " is closed");
        }
    }

    /** The native library, or one that it needs, cannot be loaded; the cause says why. */
    public static final class LibraryMissing extends Unsupported {
        private static final long serialVersionUID = 1;

        LibraryMissing(Throwable cause) {
            super("library-missing", "kedge cannot load its native library, which the jar has for"
                    + " linux-x86_64 and which needs the system's libsqlite3, libcurl, libcjson,"
                    + " libcrypto and zlib: " + cause.getMessage());
            initCause(cause);
        }
    }
}
