/* An app with one thread: it waits for its input and for Kedge in the same poll(). Each line of the
 * input becomes a note. Returns at the end of the input. */
#include <kedge/kedge.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

kedge_status take_notes(kedge_db *db, int input, kedge_error *error);

static kedge_status add_note(kedge_db *db, int number, const char *text, kedge_error *error)
{
    char args[512];
    int size =
        snprintf(args, sizeof args,
                 "{\"collection\":\"notes\",\"id\":\"note-%d\",\"value\":{\"text\":\"%.400s\"}}",
                 number, text);
    return kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, error);
}

kedge_status take_notes(kedge_db *db, int input, kedge_error *error)
{
    struct pollfd set[] = {{.fd = input, .events = POLLIN},
                           {.fd = kedge_loop_descriptor(db), .events = POLLIN}};
    FILE *lines = fdopen(input, "r");
    char line[401];
    int32_t wait_ms = 0;
    kedge_status status = kedge_loop_run(db, &wait_ms, error);
    setvbuf(lines, NULL, _IONBF, 0); /* so that poll() knows all that was not read */
    for (int number = 1; status == KEDGE_OK;) {
        poll(set, 2, wait_ms);
        if (set[0].revents != 0) {
            if (fgets(line, sizeof line, lines) == NULL) break;
            line[strcspn(line, "\n")] = '\0';
            status = add_note(db, number++, line, error);
        }
        if (status == KEDGE_OK) status = kedge_loop_run(db, &wait_ms, error);
    }
    fclose(lines);
    return status;
}
