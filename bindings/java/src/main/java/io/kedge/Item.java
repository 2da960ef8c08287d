/* An item of a collection. */
package io.kedge;

/** An item as a scan gives it: its id and its value, canonical JSON. */
public final class Item {
    private final String id;
    private final byte[] bytes;

    Item(String id, byte[] bytes) {
        this.id = id;
        this.bytes = bytes;
    }

    /**
     * The id.
     *
     * @return any text
     */
    public String id() {
        return id;
    }

    /**
     * The value as a text.
     *
     * @return canonical JSON
     */
    public String json() {
        return Texts.text(bytes);
    }

    /**
     * The value as UTF-8, for a parser that reads bytes. It is not copied.
     *
     * @return canonical JSON
     */
    public byte[] bytes() {
        return bytes;
    }

    @Override
    public String toString() {
        return id + " " + json();
    }
}
