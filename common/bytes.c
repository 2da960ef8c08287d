/* Borrowed bytes, memory, and the buffer that grows. */
#include "common/bytes.h"

#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64

/* ---- bytes ---- */

kedge_bytes kedge_bytes_of(const char *text)
{
    return (kedge_bytes){text, text == NULL ? 0 : strlen(text)};
}

bool kedge_bytes_equal(kedge_bytes a, kedge_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool kedge_bytes_equal_text(kedge_bytes a, const char *text)
{
    return kedge_bytes_equal(a, kedge_bytes_of(text));
}

int kedge_bytes_compare(kedge_bytes a, kedge_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) return order;
    return (a.size > b.size) - (a.size < b.size);
}

bool kedge_bytes_start_with(kedge_bytes bytes, kedge_bytes prefix)
{
    return bytes.size >= prefix.size &&
           (prefix.size == 0 || memcmp(bytes.data, prefix.data, prefix.size) == 0);
}

/* ---- memory ---- */

static void *default_allocate(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *default_reallocate(void *context, void *block, size_t size)
{
    (void)context;
    return realloc(block, size);
}

static void default_release(void *context, void *block)
{
    (void)context;
    free(block);
}

const kedge_allocator kedge_allocator_default = {default_allocate, default_reallocate,
                                                 default_release, NULL};

void *kedge_allocate(const kedge_allocator *allocator, size_t size)
{
    void *block = allocator->allocate(allocator->context, size == 0 ? 1 : size);
    if (block != NULL) memset(block, 0, size);
    return block;
}

void kedge_release(const kedge_allocator *allocator, void *block)
{
    if (block != NULL) allocator->release(allocator->context, block);
}

char *kedge_copy_text(const kedge_allocator *allocator, kedge_bytes bytes)
{
    if (bytes.size == SIZE_MAX) return NULL;
    char *copy = allocator->allocate(allocator->context, bytes.size + 1);
    if (copy == NULL) return NULL;
    if (bytes.size > 0) memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = '\0';
    return copy;
}

/* ---- the buffer ---- */

kedge_buffer kedge_buffer_make(const kedge_allocator *allocator)
{
    return (kedge_buffer){.allocator = allocator};
}

void kedge_buffer_free(kedge_buffer *buffer)
{
    kedge_release(buffer->allocator, buffer->data);
    *buffer = kedge_buffer_make(buffer->allocator);
}

void kedge_buffer_clear(kedge_buffer *buffer)
{
    buffer->size = 0;
    buffer->no_memory = false;
    if (buffer->data != NULL) buffer->data[0] = '\0';
}

void kedge_buffer_truncate(kedge_buffer *buffer, size_t size)
{
    if (size >= buffer->size) return;
    buffer->size = size;
    buffer->data[size] = '\0';
}

/* A capacity above `needed`, for the NUL; 0 when there is none. */
static size_t grown_capacity(size_t capacity, size_t needed)
{
    if (needed >= SIZE_MAX / 2) return 0;
    size_t grown = capacity < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : capacity;
    while (grown <= needed)
        grown *= 2;
    return grown;
}

char *kedge_buffer_reserve(kedge_buffer *buffer, size_t size)
{
    if (buffer->no_memory) return NULL;
    if (size < buffer->capacity - buffer->size) return buffer->data + buffer->size;

    size_t capacity =
        size > SIZE_MAX - buffer->size ? 0 : grown_capacity(buffer->capacity, buffer->size + size);
    const kedge_allocator *allocator = buffer->allocator;
    char *data =
        capacity == 0 ? NULL : allocator->reallocate(allocator->context, buffer->data, capacity);
    if (data == NULL) {
        buffer->no_memory = true;
        return NULL;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return data + buffer->size;
}

void kedge_buffer_append(kedge_buffer *buffer, const void *data, size_t size)
{
    char *end = kedge_buffer_reserve(buffer, size);
    if (end == NULL) return;
    if (size > 0) memcpy(end, data, size);
    end[size] = '\0';
    buffer->size += size;
}

void kedge_buffer_append_bytes(kedge_buffer *buffer, kedge_bytes bytes)
{
    kedge_buffer_append(buffer, bytes.data, bytes.size);
}

void kedge_buffer_append_text(kedge_buffer *buffer, const char *text)
{
    kedge_buffer_append(buffer, text, strlen(text));
}

void kedge_buffer_append_byte(kedge_buffer *buffer, char byte)
{
    kedge_buffer_append(buffer, &byte, 1);
}

void kedge_buffer_append_format(kedge_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        buffer->no_memory = true;
        return;
    }
    char *end = kedge_buffer_reserve(buffer, (size_t)size);
    if (end == NULL) return;
    va_start(arguments, format);
    vsnprintf(end, (size_t)size + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t)size;
}

kedge_status kedge_buffer_status(const kedge_buffer *buffer, kedge_error *error)
{
    return buffer->no_memory ? kedge_fail_no_memory(error) : KEDGE_OK;
}
