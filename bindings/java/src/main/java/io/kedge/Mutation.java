/* An edit of a list. */
package io.kedge;

/**
 * A pending edit, or one in the inbox of rejected edits.
 *
 * @param sequence the number of the edit in its folder
 * @param timestampMs when it was made, in milliseconds since 1970
 * @param sent it may have been sent
 * @param withheld reads do not show it
 * @param name the mutator
 * @param args canonical JSON; {@link Json#text} and {@link Json#integer} read members
 * @param code of the rejection; "" for a pending edit
 * @param message of the rejection, for people
 */
public record Mutation(long sequence, long timestampMs, boolean sent, boolean withheld, String name,
        String args, String code, String message) {
    static Mutation of(long[] numbers, byte[][] texts) {
        return new Mutation(numbers[0], numbers[1], numbers[2] != 0, numbers[3] != 0,
                Texts.text(texts[0]), Texts.text(texts[1]), Texts.text(texts[2]),
                Texts.text(texts[3]));
    }
}
