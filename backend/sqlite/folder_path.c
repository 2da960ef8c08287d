/* Where a blob stands in its folder.
 *
 * A key's segments, between its slashes, are directories; the last one is a file. In a name,
 *     a-z 0-9 - _    stand for themselves; so does '.', but not as a name's first character
 *     %xx            is any other byte, in lower-case hexadecimal: upper case, because file systems
 *                    fold it, and all that is not ASCII, because some of them normalize it
 *     %              alone is an empty segment
 * and the last character tells what the name is:
 *     name+          a directory that ends a segment: "a" and "a/b" are both keys
 *     name~          a directory that does not: the segment goes on in the next name, since file
 *                    systems bound names, not paths
 *     name=          the tags of the blob `name`
 * No key gives a name with '@': those are the store's own. */
#include "backend/sqlite/folder_path.h"

#include "common/hash.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX  200
#define EMPTY           '%'
#define ENDS_SEGMENT    '+'
#define SEGMENT_GOES_ON '~'

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
           byte == '_';
}

static size_t escape(char byte, bool first, char *out)
{
    if (is_plain(byte) || (byte == '.' && !first)) {
        out[0] = byte;
        return 1;
    }
    uint8_t value = (uint8_t)byte;
    out[0] = '%';
    kedge_hex_encode(&value, 1, out + 1);
    return 3;
}

void kedge_folder_path(kedge_bytes key, char path[KEDGE_FOLDER_PATH_SIZE])
{
    char *at = path;
    char *name = path;
    for (size_t i = 0; i <= key.size; i++) {
        bool ends = i == key.size || key.data[i] == '/';
        if (ends && at == name) *at++ = EMPTY;
        if (i == key.size) break;
        bool full = !ends && (size_t)(at - name) + 3 > NAME_BYTES_MAX;
        if (ends || full) {
            *at++ = ends ? ENDS_SEGMENT : SEGMENT_GOES_ON;
            *at++ = '/';
            name = at;
        }
        if (!ends) at += escape(key.data[i], at == name, at);
    }
    *at = '\0';
}

void kedge_folder_tags_path(const char *path, char tags_path[KEDGE_FOLDER_PATH_SIZE])
{
    snprintf(tags_path, KEDGE_FOLDER_PATH_SIZE, "%s=", path);
}

kedge_bytes kedge_folder_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (kedge_bytes){path, slash == NULL ? 0 : (size_t)(slash - path)};
}

static bool decode_name(kedge_bytes name, kedge_buffer *key)
{
    if (name.size == 1 && name.data[0] == EMPTY) return true;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte;
        if (name.data[i] != '%') {
            if (!is_plain(name.data[i]) && (name.data[i] != '.' || i == 0)) return false;
            kedge_buffer_append_byte(key, name.data[i]);
            continue;
        }
        if (name.size - i < 3) return false;
        if (!kedge_hex_decode((kedge_bytes){name.data + i + 1, 2}, &byte, 1)) return false;
        kedge_buffer_append_byte(key, (char)byte);
        i += 2;
    }
    return name.size > 0;
}

kedge_folder_entry kedge_folder_decode(const char *name, kedge_buffer *key)
{
    kedge_bytes rest = kedge_bytes_of(name);
    char last = rest.size == 0 ? '\0' : rest.data[rest.size - 1];
    bool directory = last == ENDS_SEGMENT || last == SEGMENT_GOES_ON;
    if (directory) rest.size--;
    if (!decode_name(rest, key)) return KEDGE_FOLDER_FOREIGN;
    if (last == ENDS_SEGMENT) kedge_buffer_append_byte(key, '/');
    return directory ? KEDGE_FOLDER_DIRECTORY : KEDGE_FOLDER_BLOB;
}
