/* An item of a collection. */
package io.kedge;

/** An item as a scan gives it: its id and its value, canonical JSON. */
public final class Item {
    private final String id;
    private final String json; // one of the two is null
    private final byte[] bytes;

    Item(String id, byte[] bytes) {
        this.id = id;
        this.json = null;
        this.bytes = bytes;
    }

    Item(String id, String json) {
        this.id = id;
        this.json = json;
        this.bytes = null;
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
        return json == null ? Texts.text(bytes) : json;
    }

    /**
     * The value as UTF-8, for a parser that reads bytes. A large value is not copied.
     *
     * @return canonical JSON
     */
    public byte[] bytes() {
        return bytes == null ? json.getBytes(Texts.UTF_8) : bytes;
    }

    @Override
    public String toString() {
        return id + " " + json();
    }
}
