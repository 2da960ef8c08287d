/* A kedge-server for a benchmark. */
#include "bench/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t bench_start_server(const char *program, const char *folder, char *url, size_t url_size)
{
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "--data", folder, "--listen", "127.0.0.1:0", "--open",
              "--log-level", "warning", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    char line[256] = "";
    if (!lines || !fgets(line, sizeof line, lines) ||
        strncmp(line, "kedge-server ready on ", 22) != 0) {
        fprintf(stderr, "bench: %s did not start\n", program);
        exit(2);
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(url, url_size, "%s", line + 22);
    fclose(lines);
    return child;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double bench_stop_server(pid_t server)
{
    struct rusage used;
    int status;
    kill(server, SIGTERM);
    if (wait4(server, &status, 0, &used) != server) return 0;
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}
