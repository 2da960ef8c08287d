/* The live view: the list and a prompt, drawn again whenever this copy or another one edits.
 *
 * The watch's callback runs on the library's worker thread; it writes one byte into a pipe, and the
 * loop below, which waits for the pipe and the keyboard, does the drawing. A watch tells of items,
 * not of the connection; that is looked at in between. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE       70000
#define WORDS_MAX       8
#define STATUS_EVERY_MS 500

/* What the status line tells. */
typedef struct shown_status {
    kedge_connection connection;
    int64_t pending;
    int64_t rejected;
    char error[64];
} shown_status;

static void on_change(void *userdata, const kedge_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    const int *pipe_end = userdata;
    /* The pipe does not block; when it is full a redraw is due anyway. */
    while (write(*pipe_end, "c", 1) < 0 && errno == EINTR) {
    }
}

static shown_status status_now(kedge_db *db)
{
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    shown_status shown = {0};
    if (kedge_get_sync_status(db, &now, NULL) != KEDGE_OK) return shown;
    shown.connection = now.connection;
    shown.pending = now.pending;
    shown.rejected = now.rejected;
    if (now.last_error.status != KEDGE_OK) {
        snprintf(shown.error, sizeof shown.error, "%s", now.last_error.code);
    }
    return shown;
}

static void draw(const terminal_app *app, kedge_db *db, shown_status *shown)
{
    *shown = status_now(db);
    if (isatty(STDOUT_FILENO)) fputs("\033[H\033[2J", stdout);
    puts(app->title);
    app->draw(db);
    terminal_print_status(app->name, db);
    fputs("> ", stdout);
    fflush(stdout);
}

/* Splits a line into words; "double quotes" keep spaces together. */
static int split(char *line, char **words)
{
    int count = 0;
    while (*line && count < WORDS_MAX) {
        while (*line == ' ' || *line == '\t' || *line == '\n')
            line++;
        if (!*line) break;
        char end = *line == '"' ? '"' : ' ';
        if (end == '"') line++;
        words[count++] = line;
        while (*line && *line != end && *line != '\n')
            line++;
        if (*line) *line++ = '\0';
    }
    return count;
}

/* Runs what was typed; false at `quit`. */
static bool run(const terminal_app *app, kedge_db *db, char *line)
{
    char *words[WORDS_MAX];
    int count = split(line, words);
    if (count > 0 && strcmp(words[0], "quit") == 0) return false;
    if (count > 0 && strcmp(words[0], "live") != 0) app->command(db, count, words);
    return true;
}

static bool status_changed(kedge_db *db, const shown_status *shown)
{
    shown_status now = status_now(db);
    return now.connection != shown->connection || now.pending != shown->pending ||
           now.rejected != shown->rejected || strcmp(now.error, shown->error) != 0;
}

static int loop(const terminal_app *app, kedge_db *db, int changes)
{
    static char line[LINE_SIZE];
    shown_status shown;
    struct pollfd waits[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = changes, .events = POLLIN}};
    draw(app, db, &shown);
    for (;;) {
        int ready = poll(waits, 2, STATUS_EVERY_MS);
        if (ready < 0) {
            if (errno == EINTR) continue;
            return TERMINAL_FAILED;
        }
        if (ready == 0) {
            if (status_changed(db, &shown)) draw(app, db, &shown);
            continue;
        }
        if (waits[1].revents & POLLIN) {
            char bytes[64];
            while (read(changes, bytes, sizeof bytes) > 0) {
            }
            draw(app, db, &shown);
        }
        if (waits[0].revents) {
            if (!fgets(line, sizeof line, stdin) || !run(app, db, line)) return TERMINAL_DONE;
            fputs("> ", stdout);
            fflush(stdout);
        }
    }
}

int terminal_live(const terminal_app *app, kedge_db *db)
{
    int ends[2];
    if (pipe(ends) != 0) return TERMINAL_FAILED;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    setvbuf(stdin, NULL, _IONBF, 0);
    kedge_watch_token *token = NULL;
    kedge_error error = {0};
    int result = TERMINAL_FAILED;
    if (kedge_watch(db, NULL, on_change, &ends[1], NULL, &token, &error) != KEDGE_OK) {
        terminal_fail(app->name, &error);
    } else {
        result = loop(app, db, ends[0]);
    }
    kedge_watch_free(token);
    close(ends[0]);
    close(ends[1]);
    return result;
}
