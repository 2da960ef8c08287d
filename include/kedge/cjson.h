/* Mutators with cJSON: args and items as trees. An app that includes this header links libcjson.
 *
 *   static kedge_status rename_note(kedge_tx *tx, const cJSON *args, void *userdata,
 *                                   kedge_error *error)
 *   {
 *       cJSON *note;
 *       const char *title = kedge_member_text(args, "title");
 *       kedge_status status = kedge_tx_edit_json(tx, "notes", kedge_member_text(args, "id"), &note,
 *                                                error);
 *       return status == KEDGE_OK ? kedge_member_set_text(note, "title", title, error) : status;
 *   }
 *   static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("notes.rename", 1, rename_note)};
 *
 * cJSON sees only text that passed the strict check of all of Kedge's JSON: no duplicate keys, no
 * NUL, no number out of range. What it writes is checked and made canonical like any other value.
 * Trees come from cJSON's allocator (malloc, unless the app has called cJSON_InitHooks).
 *
 * Collections and ids are NUL-terminated here. A NULL where a text is needed, as kedge_member_text
 * gives for a member that is missing, is KEDGE_INVALID_ARGUMENT "args-invalid": the mutation is
 * rejected with it. */
#ifndef KEDGE_CJSON_H
#define KEDGE_CJSON_H

#include <cjson/cJSON.h>
#include <kedge/mutator.h>

KEDGE_BEGIN_DECLS

/* ---- mutators ---- */

/* As kedge_mutator_function. `args` is borrowed and must not be changed; the args "null" are a
 * cJSON null. Where cJSON gives NULL for want of memory, return KEDGE_NO_MEMORY: the mutation is
 * not rejected, and runs again. */
typedef kedge_status (*kedge_json_function)(kedge_tx *tx, const cJSON *args,
                                            void *KEDGE_NULLABLE userdata,
                                            kedge_error *KEDGE_NULLABLE error);

typedef struct kedge_json_mutator {
    kedge_json_function function;
    void *KEDGE_NULLABLE userdata;
} kedge_json_mutator;

/* The function of a kedge_mutator whose userdata is a kedge_json_mutator: parses the args, calls
 * its function, and writes what kedge_tx_edit_json gave. */
KEDGE_API kedge_status kedge_json_mutate(kedge_tx *tx, const char *args, size_t args_size,
                                         void *mutator, kedge_error *KEDGE_NULLABLE error);

/* An element of an array of mutators, at file scope. */
#if defined(__cplusplus)
extern "C++" {
/* C++ has no literal for a struct that lasts: this variable is one for each function. */
template <kedge_json_function function>
inline kedge_json_mutator kedge_json_mutator_of = {function, nullptr};
}
#define KEDGE_JSON_MUTATOR(name, version, function)                                                \
    {                                                                                              \
        (name), (version), kedge_json_mutate, &kedge_json_mutator_of<(function)>                   \
    }
#else
#define KEDGE_JSON_MUTATOR(name, version, function)                                                \
    {                                                                                              \
        (name), (version), kedge_json_mutate, &(kedge_json_mutator)                                \
        {                                                                                          \
            (function), NULL                                                                       \
        }                                                                                          \
    }
#endif

/* ---- items ---- */

/* Reads an item as a tree. The caller owns `*value` and must free it with cJSON_Delete.
 * KEDGE_NOT_FOUND when there is none. */
KEDGE_API kedge_status kedge_tx_get_json(kedge_tx *tx, const char *collection,
                                         const char *KEDGE_NULLABLE id, cJSON **value,
                                         kedge_error *KEDGE_NULLABLE error);

/* Writes an item. `value` stays the caller's. KEDGE_INVALID_ARGUMENT when it is NULL, or is no
 * JSON: a number in it is not finite, a text is no UTF-8, or it is nested deeper than
 * KEDGE_LIMIT_JSON_DEPTH. Numbers are written with all of their digits; cJSON's own printer would
 * leave some out. */
KEDGE_API kedge_status kedge_tx_put_json(kedge_tx *tx, const char *collection,
                                         const char *KEDGE_NULLABLE id,
                                         const cJSON *KEDGE_NULLABLE value,
                                         kedge_error *KEDGE_NULLABLE error);

/* Reads an item to change it. `*value` belongs to the transaction, and is written when the mutator
 * returns KEDGE_OK. A second call for the same item gives the same tree. Until the mutator returns,
 * other functions read the item as it was, and those that would write or delete it fail:
 * KEDGE_INVALID_ARGUMENT "item-edited". Only in a mutator that kedge_json_mutate runs.
 * KEDGE_NOT_FOUND "item-not-found": there is none; a mutator that returns this status is rejected
 * with it. */
KEDGE_API kedge_status kedge_tx_edit_json(kedge_tx *tx, const char *collection,
                                          const char *KEDGE_NULLABLE id, cJSON **value,
                                          kedge_error *KEDGE_NULLABLE error);

/* Merges `patch` into an item (RFC 7396), which need not exist, as the built-in kedge.merge. */
KEDGE_API kedge_status kedge_tx_merge_json(kedge_tx *tx, const char *collection,
                                           const char *KEDGE_NULLABLE id,
                                           const cJSON *KEDGE_NULLABLE patch,
                                           kedge_error *KEDGE_NULLABLE error);
/* Applies a JSON Patch (RFC 6902) to an item, as the built-in kedge.patch. */
KEDGE_API kedge_status kedge_tx_patch_json(kedge_tx *tx, const char *collection,
                                           const char *KEDGE_NULLABLE id,
                                           const cJSON *KEDGE_NULLABLE patch,
                                           kedge_error *KEDGE_NULLABLE error);
/* Calls a built-in mutator inside the running one, for example "kedge.put". `args` stay the
 * caller's. KEDGE_INVALID_ARGUMENT "mutator-unknown" for a name that is no built-in one;
 * "batch-in-mutator" for kedge.batch, since a mutator is one edit already. */
KEDGE_API kedge_status kedge_tx_call_json(kedge_tx *tx, const char *name,
                                          const cJSON *KEDGE_NULLABLE args,
                                          kedge_error *KEDGE_NULLABLE error);

/* ---- members ---- */

/* The member's text, borrowed; NULL when it is missing or has another type. */
KEDGE_API const char *KEDGE_NULLABLE kedge_member_text(const cJSON *KEDGE_NULLABLE object,
                                                       const char *member);
/* Read a member of an object into `*value`. Errors: KEDGE_INVALID_ARGUMENT "args-invalid" when the
 * member is missing or has another type; for kedge_member_integer also when the number is not
 * whole, or not between -(2^53 - 1) and 2^53 - 1. */
KEDGE_API kedge_status kedge_member_integer(const cJSON *KEDGE_NULLABLE object, const char *member,
                                            int64_t *value, kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_member_number(const cJSON *KEDGE_NULLABLE object, const char *member,
                                           double *value, kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_member_boolean(const cJSON *KEDGE_NULLABLE object, const char *member,
                                            bool *value, kedge_error *KEDGE_NULLABLE error);

/* Set or replace a member of an object. `text` is copied. kedge_member_set owns `value` from the
 * call on, also when it fails. Errors: KEDGE_INVALID_ARGUMENT when `object` is no object, or `text`
 * is NULL; KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_member_set(cJSON *object, const char *member,
                                        cJSON *KEDGE_NULLABLE value,
                                        kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_member_set_text(cJSON *object, const char *member,
                                             const char *KEDGE_NULLABLE text,
                                             kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_member_set_number(cJSON *object, const char *member, double number,
                                               kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_member_set_boolean(cJSON *object, const char *member, bool value,
                                                kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
