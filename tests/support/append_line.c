/* A client-only mutator that reads all of a collection: see append_line.h. */
#include "tests/support/append_line.h"

#include <kedge/cjson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_status append_line(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    char last[32] = "0", made[32];
    const char *id, *value;
    size_t id_size, value_size, last_size = 0;
    kedge_status status;
    while ((status = kedge_tx_next(tx, "lines", last_size == 0 ? NULL : last, last_size, &id,
                                   &id_size, &value, &value_size, error)) == KEDGE_OK) {
        memcpy(last, id, id_size);
        last_size = id_size;
        last[id_size] = '\0';
    }
    if (status != KEDGE_DONE) return status;
    (void)snprintf(made, sizeof made, "%04d", (int)strtol(last, NULL, 10) + 1);
    return kedge_tx_put_json(tx, "lines", made, cJSON_GetObjectItem(args, "text"), error);
}

const kedge_mutator append_line_mutator = KEDGE_JSON_MUTATOR("lines.append", 1, append_line);
