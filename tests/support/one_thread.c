/* Runs a test that must have one thread. The kernel kills a program that starts a second one,
 * whoever asked for the thread: the test, a library of it, or a process that it starts.
 *
 *   kedge_one_thread PROGRAM ARGUMENT…
 *
 * ThreadSanitizer runs the tests with the label `threads` alone. This shows that the others have
 * nothing for it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* clone3 has its flags in memory, which a filter cannot read; glibc falls back to clone when there
 * is no clone3. The flags of clone are its first argument on every machine but s390. */
static bool allow_one_thread(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int run(char **command)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(125);
        if (!allow_one_thread()) {
            perror("kedge_one_thread: no filter");
            _exit(125);
        }
        execv(command[0], command);
        perror(command[0]);
        _exit(125);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("kedge_one_thread");
        return 125;
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WTERMSIG(status) != SIGSYS) {
        fprintf(stderr, "kedge_one_thread: ended by signal %d, %s\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    fprintf(
        stderr,
        "kedge_one_thread: %s started a thread. Give its test the word THREADS in CMakeLists.txt,\n"
        "so that ThreadSanitizer runs it.\n",
        command[0]);
    return 126;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: kedge_one_thread PROGRAM ARGUMENT...\n", stderr);
        return 2;
    }
    return run(argv + 1);
}
