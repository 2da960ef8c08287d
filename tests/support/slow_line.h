/* A line to a server that moves few bytes a second: a proxy on 127.0.0.1 whose sockets hold little.
 * Each connection has the pace in each direction. */
#ifndef KEDGE_TESTS_SUPPORT_SLOW_LINE_H
#define KEDGE_TESTS_SUPPORT_SLOW_LINE_H

#include <stddef.h>

typedef struct slow_line slow_line;

/* `url` is "http://127.0.0.1:PORT". */
slow_line *slow_line_start(const char *url, size_t bytes_s);
/* The same server, over the line. */
const char *slow_line_url(const slow_line *line);
/* From now on the line moves so many bytes a second. */
void slow_line_pace(slow_line *line, size_t bytes_s);
/* After so many more bytes from the client, of all connections, nothing moves any more. */
void slow_line_stall_after(slow_line *line, size_t bytes);
/* Ends the connections and waits for their threads. */
void slow_line_stop(slow_line *line);

#endif
