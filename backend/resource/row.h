/* The record of one version: as it stands among the latest ones, and in the history. */
#ifndef KEDGE_BACKEND_RESOURCE_ROW_H
#define KEDGE_BACKEND_RESOURCE_ROW_H

#include "backend/resource/keys.h"

#define KEDGE_RESOURCE_ATTRIBUTES 7

/* Attributes that a condition names. */
#define KEDGE_RESOURCE_UID  "uid"
#define KEDGE_RESOURCE_OPEN "open"

/* What a record says besides its version. */
typedef enum kedge_resource_mark {
    KEDGE_RESOURCE_MARK_NONE,
    /* in the history, written in order: it was the latest version only if the latest record says
     * so; the next writer may replace it */
    KEDGE_RESOURCE_MARK_OPEN,
    /* among the latest ones, written in order: the version was deleted */
    KEDGE_RESOURCE_MARK_DELETED
} kedge_resource_mark;

/* Gives the number of attributes; they borrow from `row`. */
size_t kedge_resource_row_write(const kedge_resource *row, kedge_resource_mark mark,
                                kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES]);

/* Reads a record; `*row` borrows from it. KEDGE_CORRUPT "resource-damaged". */
kedge_status kedge_resource_row_read(const kedge_allocator *allocator,
                                     const kedge_resource_ref *ref, const kedge_record *record,
                                     kedge_resource *row, kedge_resource_mark *mark,
                                     kedge_error *error);
/* The error for a version whose record is missing or wrong. */
kedge_status kedge_resource_damaged(const kedge_resource_ref *ref, int64_t version,
                                    const char *what, kedge_error *error);

#endif
