/* What must come out the same on every system, as lines of text: canonical JSON, checksums,
 * encodings, merges of texts. Needs neither cmocka nor OpenSSL. scripts/cross compares what a
 * Windows program writes with what one for this machine writes.
 * usage: kedge_portable_lines CASES FILE: the lines of CASES (tests/common/canonical.txt) go in. */
#include "common/base64.h"
#include "common/checksum.h"
#include "common/json.h"
#include "common/percent.h"
#include "mutate/text_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 65536
#define COST_MAX   UINT64_C(100000000)

static void write_buffer(FILE *out, kedge_buffer *buffer)
{
    (void)fwrite(buffer->data, 1, buffer->size, out);
    (void)fputc('\n', out);
    buffer->size = 0;
}

static bool write_lines(FILE *out, kedge_bytes line, kedge_bytes before, kedge_bytes older)
{
    kedge_error error = {0};
    kedge_text_merge_result result;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_checksum checksum = kedge_checksum_begin((int64_t)line.size);
    bool good = kedge_json_canonical(line, &text, &error) == KEDGE_OK;
    write_buffer(out, &text);
    kedge_checksum_bytes(&checksum, line);
    kedge_checksum_integer(&checksum, -1);
    (void)fprintf(out, "%" PRId64 "\n", kedge_checksum_end(&checksum));
    kedge_base64_encode(line, &text);
    write_buffer(out, &text);
    kedge_percent_encode(line, "", &text);
    write_buffer(out, &text);
    good = kedge_text_merge(&kedge_allocator_default, older, before, line, COST_MAX, &text, &result,
                            &error) == KEDGE_OK &&
           good;
    write_buffer(out, &text);
    (void)fprintf(out, "%zu %" PRIu64 "\n", result.overlaps, result.cost);
    kedge_buffer_free(&text);
    return good;
}

int main(int count, char **words)
{
    static char lines[3][LINE_BYTES];
    FILE *in = count == 3 ? fopen(words[1], "rb") : NULL;
    FILE *out = in != NULL ? fopen(words[2], "wb") : NULL;
    if (out == NULL) {
        (void)fprintf(stderr, "usage: kedge_portable_lines CASES FILE\n");
        return 2;
    }
    bool good = true;
    for (size_t i = 0; fgets(lines[i % 3], LINE_BYTES, in) != NULL;) {
        char *line = lines[i % 3];
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') continue;
        good = write_lines(out, kedge_bytes_of(line), kedge_bytes_of(lines[(i + 2) % 3]),
                           kedge_bytes_of(lines[(i + 1) % 3])) &&
               good;
        i++;
    }
    (void)fclose(in);
    return fclose(out) == 0 && good ? 0 : 1;
}
