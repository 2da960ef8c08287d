/* Reading the XML that S3 answers, over expat: errors, listings, tags.
 *
 * No document type and so no entity of its own is accepted, and depth and text are bounded. */
#ifndef KEDGE_BACKEND_AWS_XML_H
#define KEDGE_BACKEND_AWS_XML_H

#include "common/bytes.h"

#define KEDGE_AWS_XML_DEPTH_MAX      16
#define KEDGE_AWS_XML_PATH_BYTES_MAX 512
#define KEDGE_AWS_XML_TEXT_BYTES_MAX 65536 /* of one element */

/* Called at the end of each element, in the order of the ends: a container comes after what it
 * contains. `path` names the element from the root, without namespaces ("ListBucketResult/
 * Contents/Key"). `text` is what stands in it outside of other elements, white space kept, with a
 * NUL after it. Borrowed during the call. False ends the reading with KEDGE_NO_MEMORY. */
typedef bool (*kedge_aws_xml_element)(void *context, const char *path, kedge_bytes text);

/* KEDGE_PROTOCOL "xml-invalid": not one whole document, or outside of the bounds; `element` may
 * have been called before that was seen. */
kedge_status kedge_aws_xml_read(const kedge_allocator *allocator, kedge_bytes document,
                                kedge_aws_xml_element element, void *context, kedge_error *error);

#endif
