/* The app's structs, which may be smaller or larger than the library's. */
#include "sdk/runtime/structs.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

typedef struct options_head {
    uint32_t version;
    uint32_t size;
} options_head;

/* A struct ends with whole members, and each has at least one member after its head. */
static kedge_status check_size(kedge_struct_kind kind, uint32_t size, kedge_error *error)
{
    if (size > sizeof(options_head) && size <= KEDGE_STRUCT_BYTES_MAX && size % sizeof(void *) == 0)
        return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "struct-size",
                      "a struct has the size %u, this library's has %u; start from %s", size,
                      kind.size, kind.initialiser);
}

kedge_status kedge_struct_take(kedge_struct_kind kind, const void *given, void *own,
                               kedge_error *error)
{
    options_head head;
    memcpy(&head, given, sizeof head);
    if (head.version != kind.version) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "struct-version",
                          "the options have version %u, this library knows %u; start from %s",
                          head.version, kind.version, kind.initialiser);
    }
    kedge_status status = check_size(kind, head.size, error);
    if (status != KEDGE_OK) return status;
    const unsigned char *bytes = given;
    for (uint32_t i = kind.size; i < head.size; i++) {
        if (bytes[i] == 0) continue;
        return kedge_fail(error, KEDGE_UNSUPPORTED, "struct-newer",
                          "the options set a member that Kedge %s does not know",
                          KEDGE_VERSION_STRING);
    }
    memset(own, 0, kind.size);
    memcpy(own, given, head.size < kind.size ? head.size : kind.size);
    return KEDGE_OK;
}

kedge_status kedge_struct_check(kedge_struct_kind kind, const void *given, kedge_error *error)
{
    uint32_t size;
    KEDGE_ASSERT(kind.version == 0);
    memcpy(&size, given, sizeof size);
    return check_size(kind, size, error);
}

void kedge_struct_fill(kedge_struct_kind kind, const void *own, void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    memset(given, 0, size);
    memcpy(given, own, size < kind.size ? size : kind.size);
    memcpy(given, &size, sizeof size);
}
