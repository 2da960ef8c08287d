/* What a scan leaves out. */
package io.kedge;

/**
 * Bounds of a scan. Without any of them it gives all items in ascending order.
 *
 * <pre>{@code
 * db.scan("cards", new ScanOptions().prefix("b/").limit(10))
 * }</pre>
 */
public final class ScanOptions {
    byte[] after;
    byte[] prefix;
    long limit;
    boolean descending;

    /** All items. */
    public ScanOptions() {}

    /**
     * Only items after an id.
     *
     * @param id the id
     * @return these options
     */
    public ScanOptions after(String id) {
        after = Texts.utf8(id, "id");
        return this;
    }

    /**
     * Only ids that begin so.
     *
     * @param text the beginning
     * @return these options
     */
    public ScanOptions prefix(String text) {
        prefix = Texts.utf8(text, "prefix");
        return this;
    }

    /**
     * So many items at most.
     *
     * @param items 0: all
     * @return these options
     */
    public ScanOptions limit(long items) {
        limit = items;
        return this;
    }

    /**
     * The last item first.
     *
     * @return these options
     */
    public ScanOptions descending() {
        descending = true;
        return this;
    }
}
