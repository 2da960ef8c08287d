/* Texts on their way into the C library and back. */
package io.kedge;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** UTF-8, which Java's strings are not: they may hold lone surrogates. */
final class Texts {
    static final Charset UTF_8 = StandardCharsets.UTF_8;

    private Texts() {}

    /** The bytes of a text. */
    static byte[] utf8(String text, String what) {
        if (text == null) {
            throw new KedgeException.InvalidArgument("text-missing", "the " + what + " is null");
        }
        byte[] bytes = text.getBytes(UTF_8);
        // A lone surrogate becomes a question mark: only a text with one is looked at again.
        return hasSurrogate(text) ? strict(text, what) : bytes;
    }

    private static boolean hasSurrogate(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                return true;
            }
        }
        return false;
    }

    private static byte[] strict(String text, String what) {
        try {
            ByteBuffer made = UTF_8.newEncoder()
                    .onMalformedInput(CodingErrorAction.REPORT).encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[made.remaining()];
            made.get(bytes);
            return bytes;
        } catch (CharacterCodingException failure) {
            throw new KedgeException.InvalidArgument("text-invalid",
                    "the " + what + " is no Unicode: it has half of a surrogate pair");
        }
    }

    /** The same for a parameter that ends with a NUL: one inside would cut it without a word. */
    static byte[] terminated(String text, String what) {
        byte[] bytes = utf8(text, what);
        if (text.indexOf('\0') >= 0) {
            throw new KedgeException.InvalidArgument("text-invalid",
                    "the " + what + " has a NUL inside");
        }
        return bytes;
    }

    static byte[] terminatedOrNull(String text, String what) {
        return text == null ? null : terminated(text, what);
    }

    /** Bytes that an app gives as JSON. */
    static byte[] given(byte[] json, String what) {
        if (json == null) {
            throw new KedgeException.InvalidArgument("text-missing", "the " + what + " is null");
        }
        return json;
    }

    /** A text that JNI has made, or the UTF-8 of one that it cannot make. */
    static String made(Object text) {
        return text instanceof byte[] ? text((byte[]) text) : (String) text;
    }

    /** The text of UTF-8 that Kedge has checked. */
    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, UTF_8);
    }
}
