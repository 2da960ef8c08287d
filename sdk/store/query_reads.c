/* Which collections the SQL of a query reads, as the authorizer hears of them.
 *
 * SQLite does not tell upper from lower case in names of tables. Which of two collections whose
 * names differ in case alone has the view may change, so names are compared without case: it is
 * better that a commit to the other one runs the query again than that one is missed. */
#include "sdk/store/query_reads.h"

#include "sdk/store/store_internal.h"

#include <string.h>

static bool has(const kedge_query_reads *reads, kedge_bytes collection)
{
    for (size_t i = 0; i < reads->count; i++)
        if (strlen(reads->names[i]) == collection.size &&
            sqlite3_strnicmp(reads->names[i], collection.data, (int)collection.size) == 0)
            return true;
    return false;
}

void kedge_query_reads_view(kedge_query_reads *reads, const char *view)
{
    kedge_bytes name = kedge_bytes_of(view);
    if (reads->any || has(reads, name)) return;
    reads->any = sqlite3_stricmp(view, "kedge_items") == 0 || name.size > KEDGE_LIMIT_NAME_BYTES ||
                 reads->count == KEDGE_QUERY_READS_MAX;
    if (!reads->any) memcpy(reads->names[reads->count++], view, name.size + 1);
}

static bool is_of_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || (byte & 0x80) != 0;
}

/* A common table expression may read the table behind the views. The authorizer then hears the
 * expression's name, which may be that of a collection. */
void kedge_query_reads_sql(kedge_query_reads *reads, kedge_bytes sql)
{
    static const char *const behind[] = {"item", "kedge shown"};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        size_t size = strlen(behind[i]);
        for (size_t at = 0; at + size <= sql.size; at++) {
            const char *word = sql.data + at;
            bool begins = at == 0 || !is_of_name(word[-1]);
            bool ends = at + size == sql.size || !is_of_name(word[size]);
            if (begins && ends && sqlite3_strnicmp(word, behind[i], (int)size) == 0)
                reads->any = true;
        }
    }
}

bool kedge_query_reads_touched(const kedge_query_reads *reads, const kedge_change_set *changes)
{
    kedge_changed change;
    size_t offset = 0;
    if (changes->all) return true;
    while (kedge_change_set_next(changes, &offset, &change))
        if (reads->any || has(reads, change.collection)) return true;
    return false;
}
