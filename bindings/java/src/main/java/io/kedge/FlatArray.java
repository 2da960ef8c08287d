/* Reads the JSON arrays that Kedge gives: rows of a watched result, paths of an index. */
package io.kedge;

import java.util.ArrayList;
import java.util.List;

/**
 * A reader of an array of texts, numbers and nulls, in canonical JSON. Kedge has written it, so it
 * is sound; this is no parser for JSON of others.
 */
final class FlatArray {
    private final String json;
    private int at = 1; // after the bracket

    FlatArray(String json) {
        this.json = json;
    }

    Object[] read() {
        List<Object> values = new ArrayList<>();
        while (json.charAt(at) != ']') {
            values.add(value());
            if (json.charAt(at) == ',') {
                at++;
            }
        }
        return values.toArray();
    }

    private Object value() {
        if (json.charAt(at) == '"') {
            return text();
        }
        int begin = at;
        while (json.charAt(at) != ',' && json.charAt(at) != ']') {
            at++;
        }
        String word = json.substring(begin, at);
        if (word.equals("null")) {
            return null;
        }
        boolean whole = word.chars().allMatch(each -> each == '-' || Character.isDigit(each));
        try {
            return whole ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
        } catch (NumberFormatException beyondLong) {
            return Double.valueOf(word);
        }
    }

    private String text() {
        StringBuilder made = new StringBuilder();
        at++;
        while (json.charAt(at) != '"') {
            char each = json.charAt(at++);
            made.append(each == '\\' ? escaped() : each);
        }
        at++;
        return made.toString();
    }

    private char escaped() {
        char kind = json.charAt(at++);
        if (kind != 'u') {
            int place = "bfnrt".indexOf(kind);
            return place < 0 ? kind : "\b\f\n\r\t".charAt(place);
        }
        at += 4;
        return (char) Integer.parseInt(json.substring(at - 4, at), 16);
    }
}
