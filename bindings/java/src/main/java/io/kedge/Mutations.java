/* Lists of edits. */
package io.kedge;

/** Pending or rejected edits, in order of sequence. */
public final class Mutations extends StepCursor<Mutation> {
    Mutations(Database db, Handle handle) {
        super(db, handle);
    }

    @Override
    Mutation step(long pointer) {
        long[] numbers = new long[4];
        byte[][] texts = new byte[4][];
        return Native.listNext(pointer, numbers, texts) ? Mutation.of(numbers, texts) : null;
    }
}
