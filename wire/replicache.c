/* See replicache.h. */
#include "wire/replicache.h"

#include <kedge/limits.h>

void kedge_wire_client_state_not_found_write(kedge_buffer *out)
{
    kedge_buffer_append_text(out, "{\"error\":\"ClientStateNotFound\"}");
}

void kedge_wire_version_not_supported_write(const char *type, kedge_buffer *out)
{
    kedge_buffer_append_format(out, "{\"error\":\"VersionNotSupported\",\"versionType\":\"%s\"}",
                               type);
}

bool kedge_wire_version_not_supported_read(const kedge_allocator *allocator, kedge_bytes body)
{
    kedge_bytes code;
    return kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, allocator, NULL) == KEDGE_OK &&
           kedge_json_member(body, "error", &code) &&
           kedge_json_text_equals(code, "VersionNotSupported");
}
