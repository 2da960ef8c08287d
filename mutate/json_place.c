/* Finding the place in a document that a pointer leads to. */
#include "mutate/json_place.h"

bool kedge_json_node_is_container(const kedge_json_node *node)
{
    return node->type == KEDGE_JSON_OBJECT || node->type == KEDGE_JSON_ARRAY;
}

bool kedge_json_find_child(const kedge_json_node *parent, kedge_bytes token, size_t *place)
{
    bool found = false;
    if (parent->type == KEDGE_JSON_OBJECT) {
        *place = kedge_json_node_place(parent, token, &found);
        return found;
    }
    return kedge_json_pointer_index(token, place) && *place < parent->count;
}

kedge_status kedge_json_follow(kedge_json_document *document, const kedge_json_pointer *pointer,
                               size_t steps, kedge_json_node **node, kedge_error *error)
{
    kedge_json_node *at = &document->root;
    for (size_t i = 0; i < steps && at != NULL; i++) {
        size_t place;
        kedge_status status = KEDGE_OK;
        bool container = kedge_json_node_is_container(at);
        if (container) status = kedge_json_node_open(document, at, error);
        if (status != KEDGE_OK) return status;
        bool found =
            container && kedge_json_find_child(at, kedge_json_pointer_token(pointer, i), &place);
        at = found ? &at->children[place] : NULL;
    }
    *node = at;
    return KEDGE_OK;
}

kedge_status kedge_json_find(kedge_json_document *document, const kedge_json_pointer *pointer,
                             kedge_json_node **parent, kedge_json_node **node, kedge_error *error)
{
    size_t place;
    *parent = NULL;
    *node = pointer->count == 0 ? &document->root : NULL;
    if (pointer->count == 0) return KEDGE_OK;
    kedge_status status = kedge_json_follow(document, pointer, pointer->count - 1, parent, error);
    if (status != KEDGE_OK || *parent == NULL || !kedge_json_node_is_container(*parent))
        return status;
    status = kedge_json_node_open(document, *parent, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes token = kedge_json_pointer_token(pointer, pointer->count - 1);
    if (kedge_json_find_child(*parent, token, &place)) *node = &(*parent)->children[place];
    return KEDGE_OK;
}

kedge_status kedge_json_set_member(kedge_json_document *document, kedge_json_node *object,
                                   kedge_bytes key, kedge_bytes text, kedge_error *error)
{
    bool found;
    size_t place = kedge_json_node_place(object, key, &found);
    if (found) {
        kedge_json_node_set(document, &object->children[place], text);
        return KEDGE_OK;
    }
    kedge_bytes kept;
    kedge_status status = kedge_json_document_keep(document, key, &kept, error);
    if (status != KEDGE_OK) return status;
    return kedge_json_node_insert(document, object, place, kept, text, error);
}
