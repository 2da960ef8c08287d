/* Lines of a job. */
#include "backend/jobs/lines.h"

kedge_status kedge_lines_put(const kedge_lines *lines, kedge_buffer *text, kedge_error *error)
{
    kedge_status status = kedge_buffer_status(text, error);
    if (status == KEDGE_OK) status = lines->take(lines->context, kedge_buffer_bytes(text), error);
    kedge_buffer_clear(text);
    return status;
}
