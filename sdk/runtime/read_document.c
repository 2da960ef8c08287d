/* kedge/read.h: reading an item or the project record into a document of its own. */
#include "sdk/runtime/document.h"

#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

#include <string.h>

struct kedge_document {
    const kedge_allocator *allocator;
    size_t id_size;
    size_t json_size;
    char bytes[]; /* id, NUL, json, NUL */
};

kedge_status kedge_document_new(const kedge_allocator *allocator, kedge_bytes id, kedge_bytes json,
                                kedge_document **document, kedge_error *error)
{
    kedge_document *made = kedge_allocate(allocator, sizeof *made + id.size + json.size + 2);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->id_size = id.size;
    made->json_size = json.size;
    if (id.size > 0) memcpy(made->bytes, id.data, id.size);
    if (json.size > 0) memcpy(made->bytes + id.size + 1, json.data, json.size);
    *document = made;
    return KEDGE_OK;
}

const char *kedge_document_json(const kedge_document *document, size_t *size)
{
    if (size != NULL) *size = document->json_size;
    return document->bytes + document->id_size + 1;
}

const char *kedge_document_id(const kedge_document *document, size_t *size)
{
    if (size != NULL) *size = document->id_size;
    return document->bytes;
}

void kedge_document_free(kedge_document *document)
{
    if (document != NULL) kedge_release(document->allocator, document);
}

static kedge_status read_document(kedge_db *db, kedge_bytes collection, kedge_bytes id,
                                  kedge_document **document, kedge_error *error)
{
    kedge_buffer value = kedge_buffer_make(db->environment.allocator);
    kedge_status status = kedge_store_get(db->store, collection, id, &value, error);
    if (status == KEDGE_OK) {
        status = kedge_document_new(db->environment.allocator, id, kedge_buffer_bytes(&value),
                                    document, error);
    }
    kedge_buffer_free(&value);
    return status;
}

kedge_status kedge_get(kedge_db *db, const char *collection, const char *id, size_t id_size,
                       kedge_document **document, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (document == NULL) return kedge_fail_null("document", error);
    kedge_status status = kedge_check_key(collection, id, id_size, error);
    if (status != KEDGE_OK) return status;
    return read_document(db, kedge_bytes_of(collection), (kedge_bytes){id, id_size}, document,
                         error);
}

kedge_status kedge_get_project(kedge_db *db, kedge_document **document, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (document == NULL) return kedge_fail_null("document", error);
    return read_document(db, KEDGE_BYTES(""), KEDGE_BYTES(""), document, error);
}
