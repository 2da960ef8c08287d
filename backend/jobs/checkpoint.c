/* Checkpoints of every collection at the newest version. */
#include "backend/jobs/checkpoint.h"

#include "backend/versioned/state/checkpoint.h"

static kedge_status tell(const kedge_state *state, const kedge_lines *lines, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(state->project.allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "checkpointed");
    kedge_json_text(&writer, state->project.ref.project);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, state->version->number);
    kedge_json_key(&writer, "collections");
    kedge_json_integer(&writer, (int64_t)state->version->collection_count);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_lines_put(lines, &text, error);
    kedge_buffer_free(&text);
    return status;
}

kedge_status kedge_checkpoint_project(const kedge_project *project, const kedge_lines *lines,
                                      kedge_error *error)
{
    kedge_state *state = NULL;
    kedge_status status = kedge_state_open_newest(project, &state, error);
    if (status != KEDGE_OK) return status;
    for (size_t i = 0; i < state->version->collection_count && status == KEDGE_OK; i++) {
        status = kedge_checkpoint_write(state, &state->version->collections[i], true, error);
    }
    if (status == KEDGE_OK) status = tell(state, lines, error);
    kedge_state_close(state);
    return status;
}
