/* The clock of an open database. */
#include "sdk/runtime/db.h"

int64_t kedge_db_now_ms(const kedge_db *db)
{
    return db->environment.monotonic_ms(db->environment.context);
}
