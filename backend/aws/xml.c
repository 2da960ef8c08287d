/* Reading XML: the path of the open elements, and the text of each of them. */
#include "backend/aws/xml.h"

#include "common/error.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

/* Text is gathered in one buffer: that of an open element starts where its parent's ends. */
typedef struct kedge_aws_xml_reader {
    XML_Parser parser;
    kedge_aws_xml_element element;
    void *context;
    char path[KEDGE_AWS_XML_PATH_BYTES_MAX];
    size_t path_size;
    size_t depth;
    size_t text_starts[KEDGE_AWS_XML_DEPTH_MAX];
    kedge_buffer text;
    bool out_of_bounds;
    bool no_memory;
} kedge_aws_xml_reader;

static void stop(kedge_aws_xml_reader *reader, bool *reason)
{
    *reason = true;
    XML_StopParser(reader->parser, XML_FALSE);
}

/* expat still tells the end of an empty element, and the rest of a text, in whose middle it was
 * stopped. */
static bool is_stopped(const kedge_aws_xml_reader *reader)
{
    return reader->out_of_bounds || reader->no_memory;
}

static const char *without_namespace(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon == NULL ? name : colon + 1;
}

static void XMLCALL begin_element(void *context, const char *full_name, const char **attributes)
{
    kedge_aws_xml_reader *reader = context;
    const char *name = without_namespace(full_name);
    size_t size = strlen(name);
    (void)attributes;
    if (reader->depth == KEDGE_AWS_XML_DEPTH_MAX ||
        size + 2 > sizeof reader->path - reader->path_size) {
        stop(reader, &reader->out_of_bounds);
        return;
    }
    if (reader->depth > 0) reader->path[reader->path_size++] = '/';
    memcpy(reader->path + reader->path_size, name, size + 1);
    reader->path_size += size;
    reader->text_starts[reader->depth++] = reader->text.size;
}

static void XMLCALL end_element(void *context, const char *full_name)
{
    kedge_aws_xml_reader *reader = context;
    if (is_stopped(reader)) return;
    size_t start = reader->text_starts[reader->depth - 1];
    size_t size = reader->text.size - start;
    kedge_bytes text = {size == 0 ? "" : reader->text.data + start, size};
    if (!reader->element(reader->context, reader->path, text)) {
        stop(reader, &reader->no_memory);
        return;
    }
    kedge_buffer_truncate(&reader->text, start);
    reader->depth--;
    reader->path_size -= strlen(without_namespace(full_name));
    if (reader->depth > 0) reader->path_size--;
    reader->path[reader->path_size] = '\0';
}

static void XMLCALL add_text(void *context, const char *text, int size)
{
    kedge_aws_xml_reader *reader = context;
    if (is_stopped(reader)) return;
    if (reader->text.size + (size_t)size > KEDGE_AWS_XML_TEXT_BYTES_MAX) {
        stop(reader, &reader->out_of_bounds);
        return;
    }
    kedge_buffer_append(&reader->text, text, (size_t)size);
    if (reader->text.no_memory) stop(reader, &reader->no_memory);
}

static void XMLCALL refuse_document_type(void *context, const char *name, const char *system,
                                         const char *public, int has_internal_subset)
{
    kedge_aws_xml_reader *reader = context;
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal_subset;
    stop(reader, &reader->out_of_bounds);
}

static kedge_status parse(kedge_aws_xml_reader *reader, kedge_bytes document, kedge_error *error)
{
    if (document.size > INT_MAX) {
        return kedge_fail(error, KEDGE_PROTOCOL, "xml-invalid", "the XML has %zu bytes",
                          document.size);
    }
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, begin_element, end_element);
    XML_SetCharacterDataHandler(reader->parser, add_text);
    XML_SetStartDoctypeDeclHandler(reader->parser, refuse_document_type);
    if (XML_Parse(reader->parser, document.data, (int)document.size, XML_TRUE) == XML_STATUS_OK) {
        return KEDGE_OK;
    }
    enum XML_Error code = XML_GetErrorCode(reader->parser);
    if (reader->no_memory || code == XML_ERROR_NO_MEMORY) return kedge_fail_no_memory(error);
    return kedge_fail(
        error, KEDGE_PROTOCOL, "xml-invalid", "the XML is not readable: %s in line %lu",
        reader->out_of_bounds ? "it is outside of what is accepted" : XML_ErrorString(code),
        (unsigned long)XML_GetCurrentLineNumber(reader->parser));
}

kedge_status kedge_aws_xml_read(const kedge_allocator *allocator, kedge_bytes document,
                                kedge_aws_xml_element element, void *context, kedge_error *error)
{
    kedge_aws_xml_reader reader = {
        .parser = XML_ParserCreate("UTF-8"),
        .element = element,
        .context = context,
        .text = kedge_buffer_make(allocator),
    };
    if (reader.parser == NULL) return kedge_fail_no_memory(error);
    kedge_status status = parse(&reader, document, error);
    XML_ParserFree(reader.parser);
    kedge_buffer_free(&reader.text);
    return status;
}
