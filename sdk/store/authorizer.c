/* Limits what the SQL of an app may do: it may read the views, and call functions without side
 * effects.
 *
 * SQLite asks before it compiles each access. A table of the cache may be read only from within one
 * of our views, which SQLite then names. It names a common table expression likewise, so SQL can
 * read `item`, but no other table, from within one of its own: that shows it no more than
 * kedge_items and the project record. */
#include "sdk/store/query_reads.h"
#include "sdk/store/store_internal.h"

#include <string.h>

/* Each with a space after it. Every other function is refused, so that a function of a newer
 * SQLite is reviewed before it is allowed. */
static const char *const PURE_FUNCTIONS =
    "abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat "
    "concat_ws cos cosh count cume_dist date datetime degrees dense_rank exp first_value "
    "floor format glob group_concat hex ifnull iif instr json json_array json_array_length "
    "json_error_position json_extract json_group_array json_group_object json_insert "
    "json_object json_patch json_quote json_remove json_replace json_set json_type json_valid "
    "julianday lag last_value lead length like likelihood likely ln log log10 log2 lower "
    "ltrim max min mod nth_value ntile nullif octet_length percent_rank pi pow power printf "
    "quote radians rank replace round row_number rtrim sign sin sinh sqrt strftime string_agg "
    "substr substring subtype sum tan tanh time timediff total trim trunc typeof unhex "
    "unicode unixepoch unlikely upper ";

static bool is_pure(const char *function)
{
    size_t size = strlen(function);
    if (strcmp(function, "->") == 0 || strcmp(function, "->>") == 0) return true;
    for (const char *name = PURE_FUNCTIONS; *name != '\0'; name = strchr(name, ' ') + 1)
        if (sqlite3_strnicmp(name, function, (int)size) == 0 && name[size] == ' ') return true;
    return false;
}

static bool is_table(const char *name)
{
    for (size_t i = 0; i < kedge_cache_schema.table_count; i++)
        if (sqlite3_stricmp(name, kedge_cache_schema.tables[i].name) == 0) return true;
    return sqlite3_strnicmp(name, "pragma_", 7) == 0;
}

static bool may_read(const char *table, const char *column, const char *database, const char *view)
{
    if (!table) return false;
    if (sqlite3_stricmp(table, "json_each") == 0 || sqlite3_stricmp(table, "json_tree") == 0)
        return true;
    if (sqlite3_strnicmp(table, "sqlite_", 7) == 0) return false;
    /* An empty column: rows are counted, nothing is read. */
    bool counted = column && column[0] == '\0';
    /* What shadow.c puts in front of the table. */
    if (sqlite3_strnicmp(table, "kedge ", 6) == 0) return view || counted;
    /* Otherwise the temporary schema has only the views. */
    if (database && strcmp(database, "temp") == 0) return true;
    if (strcmp(table, "item") == 0) return view || counted;
    /* The rows of a common table expression, which belongs to no schema. */
    return counted && !database && !is_table(table);
}

/* The views that the SQL names, and those that SQLite names when it reads the table for them. */
static void note_read(kedge_query_reads *reads, const char *table, const char *database,
                      const char *view)
{
    bool is_function =
        sqlite3_stricmp(table, "json_each") == 0 || sqlite3_stricmp(table, "json_tree") == 0;
    bool is_shadow = sqlite3_strnicmp(table, "kedge ", 6) == 0;
    if (view) kedge_query_reads_view(reads, view);
    if (database && strcmp(database, "temp") == 0 && !is_function && !is_shadow)
        kedge_query_reads_view(reads, table);
}

int kedge_query_authorize(void *context, int action, const char *first, const char *second,
                          const char *database, const char *view)
{
    bool allowed = false;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        allowed = true;
        break;
    case SQLITE_READ:
        allowed = may_read(first, second, database, view);
        if (allowed) note_read(context, first, database, view);
        break;
    case SQLITE_FUNCTION:
        /* The check of a row is the views' own. */
        allowed = second && (is_pure(second) || (view && strcmp(second, "kedge_sound") == 0));
        break;
    default:
        break;
    }
    return allowed ? SQLITE_OK : SQLITE_DENY;
}
