/* Borrowed bytes, and a buffer that grows. */
#ifndef KEDGE_COMMON_BYTES_H
#define KEDGE_COMMON_BYTES_H

#include <kedge/allocator.h>
#include <kedge/error.h>

/* Borrowed bytes. `data` may be NULL only when `size` is 0. Passed by value. */
typedef struct kedge_bytes {
    const char *data;
    size_t size;
} kedge_bytes;

/* A literal as bytes, without its NUL. */
#define KEDGE_BYTES(literal) ((kedge_bytes){(literal), sizeof(literal) - 1})

kedge_bytes kedge_bytes_of(const char *text); /* a NUL-terminated string; NULL gives {NULL, 0} */
bool kedge_bytes_equal(kedge_bytes a, kedge_bytes b);
bool kedge_bytes_equal_text(kedge_bytes a, const char *text);
int kedge_bytes_compare(kedge_bytes a, kedge_bytes b); /* memcmp order, shorter first */
bool kedge_bytes_start_with(kedge_bytes bytes, kedge_bytes prefix);

/* The allocator of malloc, realloc and free. Allocator parameters of Kedge's internal functions are
 * never NULL. */
extern const kedge_allocator kedge_allocator_default;

void *kedge_allocate(const kedge_allocator *allocator, size_t size); /* zeroed; NULL: no memory */
void kedge_release(const kedge_allocator *allocator, void *block);   /* NULL is allowed */
char *kedge_copy_text(const kedge_allocator *allocator, kedge_bytes bytes); /* adds a NUL */

/* A buffer that grows by doubling. Appending after a failed allocation does nothing, so that a long
 * series of appends needs one check at its end: kedge_buffer_status. A buffer is always
 * NUL-terminated after `size` once anything was appended. Start from kedge_buffer_make. */
typedef struct kedge_buffer {
    char *data;
    size_t size;
    size_t capacity;
    const kedge_allocator *allocator;
    bool no_memory;
} kedge_buffer;

kedge_buffer kedge_buffer_make(const kedge_allocator *allocator);
void kedge_buffer_free(kedge_buffer *buffer);  /* empties it; usable again */
void kedge_buffer_clear(kedge_buffer *buffer); /* keeps the memory */
/* Removes the bytes from `size` on; a failed allocation is still reported. */
void kedge_buffer_truncate(kedge_buffer *buffer, size_t size);
void kedge_buffer_append(kedge_buffer *buffer, const void *data, size_t size);
void kedge_buffer_append_bytes(kedge_buffer *buffer, kedge_bytes bytes);
void kedge_buffer_append_text(kedge_buffer *buffer, const char *text);
void kedge_buffer_append_byte(kedge_buffer *buffer, char byte);
void kedge_buffer_append_format(kedge_buffer *buffer, const char *format, ...) KEDGE_PRINTF(2, 3);
/* Makes room for `size` more bytes and a NUL and returns where they go, or NULL. Add to the
 * buffer's `size` what you used; the next append puts the NUL after it. */
char *kedge_buffer_reserve(kedge_buffer *buffer, size_t size);
static inline kedge_bytes kedge_buffer_bytes(const kedge_buffer *buffer)
{
    return (kedge_bytes){buffer->data, buffer->size};
}
kedge_status kedge_buffer_status(const kedge_buffer *buffer, kedge_error *error);

#endif
