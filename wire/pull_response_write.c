/* Writing the response of a pull; see pull.h. */
#include "wire/pull.h"

void kedge_wire_pull_response_begin(kedge_json_writer *writer, const kedge_wire_cookie *cookie)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "cookie");
    kedge_wire_cookie_write(writer, cookie);
    kedge_json_key(writer, "lastMutationIDChanges");
    kedge_json_begin_object(writer);
}

void kedge_wire_pull_response_client(kedge_json_writer *writer, kedge_bytes client_id, int64_t lmid)
{
    kedge_json_key_bytes(writer, client_id);
    kedge_json_integer(writer, lmid);
}

void kedge_wire_pull_response_patch_begin(kedge_json_writer *writer)
{
    kedge_json_end_object(writer);
    kedge_json_key(writer, "patch");
    kedge_json_begin_array(writer);
}

void kedge_wire_pull_response_patch_end(kedge_json_writer *writer)
{
    kedge_json_end_array(writer);
}

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

static void write_boolean(kedge_json_writer *writer, const char *name, bool value)
{
    kedge_json_key(writer, name);
    kedge_json_boolean(writer, value);
}

static void write_version(kedge_json_writer *writer, const kedge_wire_pull_response *response)
{
    write_integer(writer, "version", response->version);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, response->lineage);
}

void kedge_wire_pull_response_native(kedge_json_writer *writer,
                                     const kedge_wire_pull_response *response)
{
    kedge_json_key(writer, "kedge");
    kedge_json_begin_object(writer);
    write_integer(writer, "from", response->from);
    write_version(writer, response);
    write_integer(writer, "lmid", response->lmid);
    write_boolean(writer, "retired", response->retired);
    write_boolean(writer, "known", response->known);
    kedge_wire_outcomes_write(writer, &response->outcomes);
    kedge_json_key(writer, "snapshot");
    if (response->snapshot) {
        kedge_json_begin_object(writer);
        write_version(writer, response);
        kedge_json_end_object(writer);
    } else {
        kedge_json_null(writer);
    }
    write_boolean(writer, "lost", response->lost);
    kedge_wire_damaged_write(writer, &response->damaged);
    kedge_wire_replay_write(writer, &response->log);
    kedge_json_end_object(writer);
}

void kedge_wire_pull_response_end(kedge_json_writer *writer)
{
    kedge_json_end_object(writer);
}
