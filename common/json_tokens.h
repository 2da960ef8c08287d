/* The tokens of JSON: white space, strings, numbers, keys. Shared by the files of the JSON code and
 * private to this folder. */
#ifndef KEDGE_COMMON_JSON_TOKENS_H
#define KEDGE_COMMON_JSON_TOKENS_H

#include "common/json.h"

/* ---- white space ---- */

static inline const char *kedge_json_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* ---- strings ---- */

/* The first byte from `at` that is a quote, a backslash, a control character or not ASCII. */
const char *kedge_json_plain_run(const char *at, const char *end);

typedef enum kedge_json_escape {
    KEDGE_JSON_ESCAPE_OK,
    KEDGE_JSON_ESCAPE_MALFORMED,
    KEDGE_JSON_ESCAPE_SURROGATE /* half of a pair */
} kedge_json_escape;

/* Decodes the escape whose backslash is at `*at` and moves after it. A surrogate pair is one. */
kedge_json_escape kedge_json_read_escape(const char **at, const char *end, uint32_t *code_point);
size_t kedge_json_encode_utf8(uint32_t code_point, char utf8[4]);
/* The escape that canonical JSON uses for an ASCII byte; 0: it stands for itself. */
size_t kedge_json_escape_of(unsigned char byte, char escape[6]);

/* Decodes a string value (with its quotes) into at most `capacity` bytes; `size` gets the whole
 * decoded size, also when that is more. False when it is no well-formed string or holds a NUL. */
bool kedge_json_string_decode(kedge_bytes value, char *out, size_t capacity, size_t *size);

/* ---- numbers (json_number.c) ---- */

/* A number's text in parts: (-) integer [. fraction] [e exponent]. */
typedef struct kedge_json_decimal {
    kedge_bytes integer;
    kedge_bytes fraction;
    int64_t exponent; /* cut to ±10^15, far beyond what any text can make up for */
    bool negative;
    bool has_exponent;
} kedge_json_decimal;

/* Reads the longest number at `at`; returns its end, or NULL when none stands there. */
const char *kedge_json_read_decimal(const char *at, const char *end, kedge_json_decimal *decimal);
/* The nearest double, infinite when it is out of range. */
double kedge_json_decimal_value(const kedge_json_decimal *decimal);
/* True when the number's text certainly is what kedge_json_format_number would write. The test does
 * not convert the number; false means that only a conversion can tell. */
bool kedge_json_decimal_is_short(const kedge_json_decimal *decimal);
/* True when the number certainly is finite as a double, in the same way. */
bool kedge_json_decimal_is_small(const kedge_json_decimal *decimal);

/* ---- member keys (json_members.c) ---- */

/* How far the text of a key has been decoded. */
typedef struct kedge_json_key_text {
    const char *at;
    char pending[4]; /* the UTF-8 of the escape before `at` */
    uint8_t pending_at;
    uint8_t pending_size;
} kedge_json_key_text;

/* A member of an object that is being read. `key` is the text between its quotes. */
typedef struct kedge_json_entry {
    kedge_bytes key;
    bool escaped;  /* `key` holds a backslash */
    size_t offset; /* where the canonical member stands in the output … */
    size_t size;   /* … and its size; the check leaves both 0 */
    /* Of the sort: */
    kedge_json_key_text text;
    uint64_t next;
} kedge_json_entry;

/* By UTF-16 code units of the decoded keys (RFC 8785, section 3.2.3). 0: the same key. */
int kedge_json_entry_compare(const kedge_json_entry *a, const kedge_json_entry *b);
/* Takes time that grows with the bytes of all keys, whatever they are. */
void kedge_json_entries_sort(kedge_json_entry *entries, size_t count);

/* The members of all objects that are open, the innermost last. Small documents need no memory. */
#define KEDGE_JSON_INLINE_ENTRIES 32
typedef struct kedge_json_entries {
    kedge_json_entry *items;
    size_t count;
    size_t capacity;
    const kedge_allocator *allocator;
    kedge_json_entry inline_items[KEDGE_JSON_INLINE_ENTRIES];
} kedge_json_entries;

void kedge_json_entries_init(kedge_json_entries *entries, const kedge_allocator *allocator);
void kedge_json_entries_free(kedge_json_entries *entries);
/* NULL: no memory. The entry's fields are for the caller to fill. */
kedge_json_entry *kedge_json_entries_add(kedge_json_entries *entries);

/* ---- the check (json_check.c) ---- */

/* kedge_json_check with the memory to use. `canonical` tells whether `text` is canonical as it is;
 * NULL spares the work of finding out. */
kedge_status kedge_json_check_with(kedge_bytes text, uint32_t depth_max,
                                   const kedge_allocator *allocator, bool *canonical,
                                   kedge_error *error);

#endif
