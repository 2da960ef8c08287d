/* JSON for args, values and parameters. */
package io.kedge;

import java.util.Arrays;
import java.util.Map;

/**
 * Text that is JSON. Kedge takes and gives JSON as texts or bytes, for any library. This class
 * writes small values without one, and reads texts and integers of objects.
 *
 * <pre>{@code
 * Json.object("collection", "notes", "id", id, "value", Json.object("text", text))
 * }</pre>
 *
 * <p>A value is null, a Boolean, a Number, a CharSequence, a Map, an Iterable, an array of objects,
 * or a Json, which is written as it is.
 */
public final class Json {
    private static final String[] ESCAPES = {"\"\"", "\\\\", "\bb", "\ff", "\nn", "\rr", "\tt"};

    private final String text;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Text that is JSON already. Kedge checks it where it is used.
     *
     * @param text any JSON
     * @return the same as a value
     */
    public static Json of(String text) {
        return new Json(text);
    }

    /**
     * Writes an object.
     *
     * @param namesAndValues pairs of a name and a value
     * @return the object
     * @throws KedgeException.InvalidJson for a value that is none, or a name without one
     */
    public static Json object(Object... namesAndValues) {
        if (namesAndValues.length % 2 != 0) {
            throw invalid("an object needs a value for each name");
        }
        StringBuilder out = new StringBuilder("{");
        for (int i = 0; i < namesAndValues.length; i += 2) {
            out.append(i == 0 ? "" : ",");
            writeText(out, String.valueOf(namesAndValues[i]));
            out.append(':');
            write(out, namesAndValues[i + 1], 0);
        }
        return new Json(out.append('}').toString());
    }

    /**
     * Writes an array.
     *
     * @param values the elements
     * @return the array
     * @throws KedgeException.InvalidJson for a value that is none
     */
    public static Json array(Object... values) {
        return value(Arrays.asList(values));
    }

    /**
     * Writes any value.
     *
     * @param value as the class says
     * @return the value
     * @throws KedgeException.InvalidJson for what is no value
     */
    public static Json value(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, 0);
        return new Json(out.toString());
    }

    /**
     * Reads a text of an object.
     *
     * @param object JSON, for example the args of a mutator
     * @param member its name
     * @return the text
     * @throws KedgeException.NotFound when the member is absent
     * @throws KedgeException.InvalidArgument when it has another type
     */
    public static String text(String object, String member) {
        NativeLibrary.load();
        return Texts.text(Native.argsText(Texts.utf8(object, "object"),
                Texts.terminated(member, "member")));
    }

    /**
     * Reads a whole number of an object.
     *
     * @param object JSON, for example the args of a mutator
     * @param member its name
     * @return the number
     * @throws KedgeException.NotFound when the member is absent
     * @throws KedgeException.InvalidArgument when it has another type
     */
    public static long integer(String object, String member) {
        NativeLibrary.load();
        return Native.argsInteger(Texts.utf8(object, "object"),
                Texts.terminated(member, "member"));
    }

    /** An array as UTF-8, for C. */
    static byte[] utf8Array(Object... values) {
        return Texts.utf8(array(values).toString(), "parameters");
    }

    private static KedgeException invalid(String why) {
        return new KedgeException.InvalidJson("json-invalid", why);
    }

    private static void write(StringBuilder out, Object value, int depth) {
        if (depth > Limits.JSON_DEPTH) {
            throw invalid("a value is nested deeper than " + Limits.JSON_DEPTH);
        }
        if (value == null || value instanceof Boolean || value instanceof Json) {
            out.append(value);
        } else if (value instanceof Number) {
            writeNumber(out, (Number) value);
        } else if (value instanceof CharSequence) {
            writeText(out, value.toString());
        } else if (value instanceof Map) {
            String comma = "{";
            for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
                out.append(comma);
                comma = ",";
                writeText(out, String.valueOf(each.getKey()));
                out.append(':');
                write(out, each.getValue(), depth + 1);
            }
            out.append(comma.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String comma = "[";
            for (Object each : (Iterable<?>) value) {
                out.append(comma);
                comma = ",";
                write(out, each, depth + 1);
            }
            out.append(comma.equals("[") ? "[]" : "]");
        } else if (value instanceof Object[]) {
            write(out, Arrays.asList((Object[]) value), depth);
        } else {
            throw invalid("a " + value.getClass().getName() + " cannot be written as JSON");
        }
    }

    private static void writeNumber(StringBuilder out, Number number) {
        double real = number.doubleValue();
        boolean binary = number instanceof Double || number instanceof Float;
        if (binary && (Double.isNaN(real) || Double.isInfinite(real))) {
            throw invalid("the number " + number + " is no JSON");
        }
        out.append(number);
    }

    private static void writeText(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            writeCharacter(out, text.charAt(i));
        }
        out.append('"');
    }

    private static void writeCharacter(StringBuilder out, char each) {
        for (String escape : ESCAPES) {
            if (escape.charAt(0) == each) {
                out.append('\\').append(escape.charAt(1));
                return;
            }
        }
        if (each < ' ') {
            out.append(String.format("\\u%04x", (int) each));
        } else {
            out.append(each);
        }
    }

    /** The JSON. */
    @Override
    public String toString() {
        return text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Json && text.equals(((Json) other).text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }
}
