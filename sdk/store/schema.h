/* The tables of outbox.db and cache.db, and the way from each older layout to the present one, as
 * data: what makes a file, what brings an older one up to date, and what a query must not see, all
 * follow from it.
 *
 * A file is known by its application_id, and its layout by its user_version. To change a layout:
 * give the table its new SQL, add a layout with the SQL that leads there from the one before, and
 * leave the SQL of older layouts as it is. */
#ifndef KEDGE_SDK_STORE_SCHEMA_H
#define KEDGE_SDK_STORE_SCHEMA_H

#include <stddef.h>

typedef struct kedge_schema_table {
    char name[16];
    const char *sql; /* makes the table, and what belongs to it */
} kedge_schema_table;

/* `steps`, with NULL after the last, lead here from the layout before. NULL: the oldest layout
 * that can be opened. */
typedef struct kedge_schema_layout {
    int number;
    const char *const *steps;
} kedge_schema_layout;

typedef struct kedge_schema {
    int application;
    size_t table_count;
    const kedge_schema_table *tables; /* in the order in which they are made */
    size_t layout_count;
    const kedge_schema_layout *layouts; /* rising; the last is the present one */
} kedge_schema;

extern const kedge_schema kedge_outbox_schema;
extern const kedge_schema kedge_cache_schema;

#endif
