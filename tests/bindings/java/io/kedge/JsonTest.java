/* What Java writes as JSON, and the arrays that it reads. No test here needs the native library. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void values_of_every_kind_are_written() {
        assertEquals("{\"a\":null,\"b\":[true,1,1.5,\"x\"],\"c\":{\"d\":1}}",
                Json.object("a", null, "b", Json.array(true, 1, 1.5, "x"), "c", Map.of("d", 1L))
                        .toString());
        assertEquals("[]", Json.array().toString());
        assertEquals("{}", Json.object().toString());
        assertEquals("[[],{}]", Json.array(List.of(), Map.of()).toString());
        assertEquals("123456789012345678901234567890", Json.value(
                new BigDecimal("123456789012345678901234567890")).toString());
        assertEquals("[1,[2]]", Json.value(new Object[] {1, new Object[] {2}}).toString());
    }

    @Test
    void texts_are_escaped() {
        assertEquals("\"\\\"\\\\\\n\\t\\u0000\\u001f\u00fc\ud83c\udf4f\"",
                Json.value("\"\\\n\t\0\u001f\u00fc\ud83c\udf4f").toString());
    }

    @Test
    void what_is_no_json_is_refused() {
        List<Object> circle = new ArrayList<>();
        circle.add(circle);
        for (Object wrong : Arrays.asList(Double.NaN, Double.POSITIVE_INFINITY, new Object(),
                new byte[0], circle)) {
            KedgeException failure =
                    assertThrows(KedgeException.InvalidJson.class, () -> Json.value(wrong));
            assertEquals("json-invalid", failure.code());
        }
        assertThrows(KedgeException.InvalidJson.class, () -> Json.object("a"));
    }

    @Test
    void rows_are_read() {
        assertArrayEquals(
                new Object[] {null, 1L, -2.5, 1e300, 1e20, "a,]\"\\\n\u00fc\u0001", ""},
                new FlatArray("[null,1,-2.5,1e300,100000000000000000000,\"a,]\\\"\\\\\\n"
                        + "\u00fc\\u0001\",\"\"]").read());
        assertArrayEquals(new Object[0], new FlatArray("[]").read());
    }
}
