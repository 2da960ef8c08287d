/* A mutator of an app, as C calls it. */
package io.kedge;

/** A mutator with its name and its version. */
final class NamedMutator {
    final String name;
    final int version;
    private final Mutator function;

    NamedMutator(String name, int version, Mutator function) {
        this.name = name;
        this.version = version;
        this.function = function;
    }

    /** Runs it. Returns the status for C, whose error is filled. */
    int call(long tx, long error, byte[] args) {
        Here here = Here.get();
        Transaction transaction = new Transaction(tx);
        here.mutators++;
        try {
            function.run(transaction, Texts.text(args));
            return Status.OK.ordinal();
        } catch (Throwable thrown) { // none may go through C; Database gives it as the cause
            here.thrown = thrown;
            return refuse(transaction, thrown, error);
        } finally {
            here.mutators--;
            transaction.end();
        }
    }

    /** What was thrown, as a text. Making it calls the app, which may throw once more. */
    private static String told(Throwable thrown) {
        try {
            return thrown.toString();
        } catch (Exception | StackOverflowError ignored) {
            return thrown.getClass().getName();
        }
    }

    /**
     * A failure of a call on the transaction is passed on. A heap that is full rejects nothing. All
     * else is the mutator's mistake.
     */
    private int refuse(Transaction transaction, Throwable thrown, long error) {
        Status status = Status.REJECTED;
        String code = "mutator-failed";
        String sentence = ("the mutator " + name + " has thrown " + told(thrown))
                .replace('\0', ' ');
        if (thrown instanceof KedgeException && transaction.hasFailedWith(thrown)) {
            status = ((KedgeException) thrown).status();
            code = ((KedgeException) thrown).code();
            sentence = ((KedgeException) thrown).sentence();
        } else {
            if (thrown instanceof OutOfMemoryError) {
                status = Status.NO_MEMORY;
                code = "out-of-memory";
            }
            Callbacks.log("the mutator " + name + " has thrown", thrown);
        }
        return Native.refuse(error, status.ordinal(), code.getBytes(Texts.UTF_8),
                sentence.getBytes(Texts.UTF_8));
    }
}
