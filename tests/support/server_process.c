/* A kedge-server as a child process: see server_process.h. */
#include "tests/support/server_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what, const char *program)
{
    fprintf(stderr, "%s: %s\n", program, what);
    exit(3);
}

void server_process_start(server_process *server, const char *program, const char *data)
{
    server_process_start_with(server, program, data, NULL);
}

void server_process_start_with(server_process *server, const char *program, const char *data,
                               const char *plugin)
{
    int ends[2];
    if (pipe(ends) != 0) fail("no pipe", program);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "--data", data, "--listen", "127.0.0.1:0", "--open", "--log-level",
              "error", "--workers", "4", plugin ? "--mutators" : (char *)NULL, plugin,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    char line[256] = "";
    if (child < 0 || !lines || !fgets(line, sizeof line, lines) ||
        strncmp(line, "kedge-server ready on ", 22) != 0)
        fail("the server did not start", program);
    line[strcspn(line, "\n")] = '\0';
    (void)snprintf(server->url, sizeof server->url, "%.120s", line + 22);
    fclose(lines);
    server->pid = child;
}

void server_process_stop(server_process *server)
{
    if (server->pid <= 0) return;
    kill(server->pid, SIGTERM);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    server->pid = 0;
}
