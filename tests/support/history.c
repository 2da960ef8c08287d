/* The history of a project, page by page: see history.h. */
#include "tests/support/history.h"

#include "common/json.h"

#define VERSIONS_A_PAGE 100

/* Returns the number of versions of the page, and in `*before` the lowest of them. */
static int visit_page(const kedge_document *page, history_visitor visit, void *context,
                      int64_t *before)
{
    size_t size = 0;
    const char *json = kedge_document_json(page, &size);
    kedge_json_iterator versions = kedge_json_iterate((kedge_bytes){json, size});
    kedge_bytes version, mutations, mutation;
    int count = 0;
    while (kedge_json_next_element(&versions, &version)) {
        count++;
        if (!kedge_json_member_integer(version, "version", before)) *before = 0;
        if (!kedge_json_member(version, "mutations", &mutations)) continue;
        kedge_json_iterator iterator = kedge_json_iterate(mutations);
        while (kedge_json_next_element(&iterator, &mutation))
            visit(context, mutation);
    }
    return count;
}

kedge_status history_visit(kedge_db *db, int32_t timeout_ms, history_visitor visit, void *context,
                           kedge_error *error)
{
    int64_t before = 0;
    int count;
    do {
        kedge_document *page = NULL;
        kedge_status status = kedge_history(db, before, VERSIONS_A_PAGE, timeout_ms, &page, error);
        if (status != KEDGE_OK) return status;
        count = visit_page(page, visit, context, &before);
        kedge_document_free(page);
    } while (count > 0 && before > 1);
    return KEDGE_OK;
}
