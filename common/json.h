/* JSON, strictly: I-JSON (RFC 7493) in, canonical JSON (RFC 8785) out.
 *
 * A JSON value is handled as the bytes of its text: a kedge_bytes that covers exactly one value,
 * with no copy and no tree. Three levels of trust:
 *   1. kedge_json_skip finds where a value ends, whatever is inside. A push body is split into
 *      mutations by it, so that a malformed mutation does not affect the others.
 *   2. kedge_json_check validates: grammar, depth, UTF-8, no duplicate member, no lone surrogate,
 *      no NUL, no number out of double's range.
 *   3. The readers below work on text that passed kedge_json_check. On skipped but unchecked text
 *      they are memory-safe and may return false.
 *
 * Nothing here recurses deeper than KEDGE_LIMIT_JSON_DEPTH, and nothing depends on the locale. */
#ifndef KEDGE_COMMON_JSON_H
#define KEDGE_COMMON_JSON_H

#include "common/arena.h"

typedef enum kedge_json_type {
    KEDGE_JSON_INVALID,
    KEDGE_JSON_NULL,
    KEDGE_JSON_BOOLEAN,
    KEDGE_JSON_NUMBER,
    KEDGE_JSON_STRING,
    KEDGE_JSON_ARRAY,
    KEDGE_JSON_OBJECT
} kedge_json_type;

/* The text is exactly one I-JSON value with optional white space around it. The error's message
 * names the byte offset and what is wrong there. `depth_max` at most KEDGE_LIMIT_JSON_DEPTH. An
 * object with many members takes memory from `allocator` for their keys. */
kedge_status kedge_json_check(kedge_bytes text, uint32_t depth_max,
                              const kedge_allocator *allocator, kedge_error *error);
/* The same of a text that must be a string, which takes no memory. */
kedge_status kedge_json_check_string(kedge_bytes text, kedge_error *error);

/* Finds the first value in `text`, by quotes and brackets alone. `*value` gets its bytes, without
 * white space around it; `*rest` (`rest` may be NULL) gets the bytes behind it. False when the
 * value does not end within `text`. */
bool kedge_json_skip(kedge_bytes text, kedge_bytes *value, kedge_bytes *rest);

kedge_json_type kedge_json_type_of(kedge_bytes value); /* by its first byte */

/* Iterates over an object or array. `key` is the member's string value still in quotes. */
typedef struct kedge_json_iterator {
    kedge_bytes rest;
    bool started;
    bool failed; /* the text between the values is not JSON */
} kedge_json_iterator;

kedge_json_iterator kedge_json_iterate(kedge_bytes container);
bool kedge_json_next_member(kedge_json_iterator *iterator, kedge_bytes *key, kedge_bytes *value);
bool kedge_json_next_element(kedge_json_iterator *iterator, kedge_bytes *value);

/* The member `name` of an object; false when absent or when `object` is none. `name` is compared
 * with the decoded key. The first one wins in unchecked text. */
bool kedge_json_member(kedge_bytes object, const char *name, kedge_bytes *value);

/* The order of two members in canonical JSON, by their keys: checked strings, in quotes. 0: the
 * same key. */
int kedge_json_key_compare(kedge_bytes a, kedge_bytes b);

/* Typed reads. False when the value has another type (or is no integer of at most 2^53 - 1). */
bool kedge_json_to_boolean(kedge_bytes value, bool *out);
bool kedge_json_to_integer(kedge_bytes value, int64_t *out);
bool kedge_json_to_number(kedge_bytes value, double *out);
/* Whether it is an integer from -(2^53 - 1) to 2^53 - 1. Beyond these not every integer is a
 * double. */
bool kedge_json_is_integer(double number);
/* Appends the decoded UTF-8 of a string value to `out`. */
bool kedge_json_to_text(kedge_bytes value, kedge_buffer *out);
/* The same into the arena, with a NUL after it. False also when there is no memory, which the
 * arena tells then. */
bool kedge_json_copy_text(kedge_bytes value, kedge_arena *arena, kedge_bytes *copy);
/* Copies the decoded string and a NUL to `out`; false also when it does not fit or holds a NUL. */
bool kedge_json_to_chars(kedge_bytes value, char *out, size_t out_size);
bool kedge_json_text_equals(kedge_bytes value, const char *text);

/* The same by member name: false when absent or of another type. */
bool kedge_json_member_integer(kedge_bytes object, const char *name, int64_t *out);
bool kedge_json_member_chars(kedge_bytes object, const char *name, char *out, size_t out_size);

/* Appends the canonical form (RFC 8785) of a checked value: members sorted by UTF-16 code units,
 * ES6 shortest numbers, minimal escapes, no space. */
kedge_status kedge_json_canonical(kedge_bytes value, kedge_buffer *out, kedge_error *error);
/* kedge_json_check and kedge_json_canonical in one; skips the copy's sorting when it is canonical
 * already. Every value that is stored, hashed or sent is made canonical by it. */
kedge_status kedge_json_normalize(kedge_bytes text, uint32_t depth_max, kedge_buffer *out,
                                  kedge_error *error);

/* The ES6 shortest form of a finite double, NUL-terminated; returns its length. */
#define KEDGE_JSON_NUMBER_SIZE 32
size_t kedge_json_format_number(double number, char out[KEDGE_JSON_NUMBER_SIZE]);

/* Writes JSON into a buffer, placing the commas. Members come out in the order of the calls: a text
 * that must be canonical is written in sorted order or goes through kedge_json_canonical. */
typedef struct kedge_json_writer {
    kedge_buffer *buffer;
    bool comma;
} kedge_json_writer;

kedge_json_writer kedge_json_write(kedge_buffer *buffer);
void kedge_json_begin_object(kedge_json_writer *writer);
void kedge_json_end_object(kedge_json_writer *writer);
void kedge_json_begin_array(kedge_json_writer *writer);
void kedge_json_end_array(kedge_json_writer *writer);
void kedge_json_key(kedge_json_writer *writer, const char *name);
void kedge_json_key_bytes(kedge_json_writer *writer, kedge_bytes name);
/* A byte that is no UTF-8, and NUL, become U+FFFD, so that what was written passes
 * kedge_json_check. */
void kedge_json_text(kedge_json_writer *writer, kedge_bytes utf8);
void kedge_json_chars(kedge_json_writer *writer, const char *text);
void kedge_json_integer(kedge_json_writer *writer, int64_t value);
void kedge_json_number(kedge_json_writer *writer, double value); /* must be finite */
void kedge_json_boolean(kedge_json_writer *writer, bool value);
void kedge_json_null(kedge_json_writer *writer);
void kedge_json_raw(kedge_json_writer *writer, kedge_bytes value); /* a JSON value as it is */

#endif
