/* Documents thrown together from what XML is made of, by a seed: the reader ends with each, stays
 * within its bounds (the sanitizers see to it), and tells only elements that it was in. */
#include "backend/aws/xml.h"
#include "tests/aws/damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DOCUMENTS      10000
#define PIECES_MAX     40
#define LONG_NAME_SIZE 200

/* What one reading told. */
typedef struct told {
    size_t elements;
    size_t stop_at; /* of the elements: the caller has had enough */
} told;

static bool tell(void *context, const char *path, kedge_bytes text)
{
    told *seen = context;
    size_t size = strlen(path), names = 1;
    assert_in_range(size, 0, KEDGE_AWS_XML_PATH_BYTES_MAX - 1);
    for (size_t i = 0; i < size; i++) {
        if (path[i] == '/') names++;
    }
    assert_in_range(names, 1, KEDGE_AWS_XML_DEPTH_MAX);
    assert_in_range(text.size, 0, KEDGE_AWS_XML_TEXT_BYTES_MAX);
    assert_true(text.size == 0 || text.data[text.size] == '\0');
    return ++seen->elements != seen->stop_at;
}

/* A document whose tags fit, mostly: the names of the open elements are kept. */
typedef struct writing {
    kedge_buffer document;
    uint64_t seed;
    uint8_t names[PIECES_MAX]; /* of the open elements */
    size_t depth;
} writing;

static void write_name(writing *work, uint8_t name)
{
    static const char *const names[] = {"A", "Key", "s3:Contents", "x:"};
    if (name < 60) {
        kedge_buffer_append_text(&work->document, names[name % 4]);
        return;
    }
    for (size_t i = 0; i < LONG_NAME_SIZE * (size_t)(name - 59); i++) {
        kedge_buffer_append_byte(&work->document, (char)('a' + name - 60));
    }
}

static void write_piece(writing *work)
{
    static const char *const others[] = {"text", "&amp;", "<![CDATA[<]]>", "&#9;", " ", "<!-- -->"};
    uint8_t name = (uint8_t)(damage_random(&work->seed) % 64);
    switch (damage_random(&work->seed) % 6) {
    case 0:
    case 1:
    case 2:
        kedge_buffer_append_byte(&work->document, '<');
        write_name(work, name);
        kedge_buffer_append_byte(&work->document, '>');
        work->names[work->depth++] = name;
        return;
    case 3:
        kedge_buffer_append_byte(&work->document, '<');
        write_name(work, name);
        kedge_buffer_append_text(&work->document, "/>");
        return;
    case 4:
        if (work->depth == 0) return;
        kedge_buffer_append_text(&work->document, "</");
        write_name(work, work->names[--work->depth]);
        kedge_buffer_append_byte(&work->document, '>');
        return;
    default:
        kedge_buffer_append_text(&work->document, others[name % 6]);
    }
}

static void write_document(writing *work)
{
    size_t pieces = 1 + damage_random(&work->seed) % PIECES_MAX;
    kedge_buffer_clear(&work->document);
    work->depth = 0;
    if (damage_random(&work->seed) % 4 != 0) {
        kedge_buffer_append_text(&work->document, "<Root>");
    }
    bool rooted = work->document.size > 0;
    for (size_t i = 0; i < pieces; i++) {
        write_piece(work);
    }
    while (work->depth > 0) {
        kedge_buffer_append_text(&work->document, "</");
        write_name(work, work->names[--work->depth]);
        kedge_buffer_append_byte(&work->document, '>');
    }
    if (rooted) kedge_buffer_append_text(&work->document, "</Root>");
    if (work->document.size == 0 || damage_random(&work->seed) % 4 != 0) return;
    kedge_buffer_reserve(&work->document, DAMAGE_GROWTH_MAX);
    assert_false(work->document.no_memory);
    work->document.size = damage(work->document.data, work->document.size, &work->seed);
}

static void test_any_document_ends_within_the_bounds(void **state)
{
    writing work = {.document = kedge_buffer_make(&kedge_allocator_default), .seed = 11};
    size_t read = 0, refused = 0, stopped = 0;
    (void)state;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        told seen = {.stop_at = damage_random(&work.seed) % 8 == 0 ? 1 + i % 5 : 0};
        write_document(&work);
        kedge_status status = kedge_aws_xml_read(
            &kedge_allocator_default, kedge_buffer_bytes(&work.document), tell, &seen, NULL);
        bool ended = seen.stop_at != 0 && seen.elements == seen.stop_at;
        assert_int_equal(status == KEDGE_NO_MEMORY, ended);
        assert_true(seen.stop_at == 0 || seen.elements <= seen.stop_at);
        read += status == KEDGE_OK;
        refused += status == KEDGE_PROTOCOL;
        stopped += ended;
    }
    assert_int_equal(read + refused + stopped, DOCUMENTS);
    assert_true(read > DOCUMENTS / 10 && refused > DOCUMENTS / 10 && stopped > 100);
    kedge_buffer_free(&work.document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_document_ends_within_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
