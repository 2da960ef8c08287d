/* Places in a JSON document, as pointers name them. */
#ifndef KEDGE_MUTATE_JSON_PLACE_H
#define KEDGE_MUTATE_JSON_PLACE_H

#include "mutate/json_document.h"
#include "mutate/json_pointer.h"

bool kedge_json_node_is_container(const kedge_json_node *node);
/* The place of the token's child in an open container; false when there is none. */
bool kedge_json_find_child(const kedge_json_node *parent, kedge_bytes token, size_t *place);
/* Follows the first `steps` tokens, and opens the containers on the way. The node is NULL when they
 * lead nowhere. KEDGE_LIMIT_EXCEEDED, KEDGE_NO_MEMORY. */
kedge_status kedge_json_follow(kedge_json_document *document, const kedge_json_pointer *pointer,
                               size_t steps, kedge_json_node **node, kedge_error *error);
/* The node that the pointer leads to, NULL when there is none, and the one that holds it or would
 * hold it, which is open when it is a container: NULL when that is absent, and above the root.
 * KEDGE_LIMIT_EXCEEDED, KEDGE_NO_MEMORY. */
kedge_status kedge_json_find(kedge_json_document *document, const kedge_json_pointer *pointer,
                             kedge_json_node **parent, kedge_json_node **node, kedge_error *error);
/* Sets the member of an open object, which may lack it; `key` is in quotes. */
kedge_status kedge_json_set_member(kedge_json_document *document, kedge_json_node *object,
                                   kedge_bytes key, kedge_bytes text, kedge_error *error);

#endif
