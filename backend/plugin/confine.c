/* See confine.h: limits of the system, and a filter of system calls (seccomp). */
#include "backend/plugin/confine.h"

#include "backend/plugin/plugin.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void limit(int resource, rlim_t value)
{
    struct rlimit limits = {value, value};
    setrlimit((__rlimit_resource_t)resource, &limits);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* The sanitizers reserve far more address space than they use, and start processes of their own. */
static void confine_further(void)
{
}
#else

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define X32_CALLS      0x40000000 /* the first number of the calls of x86-64's x32 ABI */
#define LOAD(field)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)   BPF_STMT(BPF_RET | BPF_K, what)
#define FAIL(number)   RETURN(SECCOMP_RET_ERRNO | (number))
/* Two instructions: the second is skipped unless the call has the number. */
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), FAIL(EPERM)

static void filter_calls(void)
{
    struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        FAIL(EPERM),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1),
        FAIL(EPERM),
#ifdef SYS_fork
        REFUSE(SYS_fork),
        REFUSE(SYS_vfork),
#endif
        REFUSE(SYS_execve),
        REFUSE(SYS_execveat),
        REFUSE(SYS_setsid),
        REFUSE(SYS_setpgid),
        /* The flags of clone3 are in memory, which a filter cannot read. When clone3 is missing,
         * the C library calls clone. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        FAIL(ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        FAIL(EPERM),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    /* A kernel without filters refuses. Processes that the child starts are then killed with its
     * process group. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
static void filter_calls(void)
{
}
#endif

static void confine_further(void)
{
    limit(RLIMIT_AS, KEDGE_PLUGIN_MEMORY_BYTES_MAX);
    filter_calls();
}
#endif

void kedge_child_confine(void)
{
    limit(RLIMIT_NOFILE, KEDGE_PLUGIN_FILES_MAX);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    /* stderr may be a file: a write to it then fails, and does not end the process. */
    signal(SIGXFSZ, SIG_IGN);
    confine_further();
}
