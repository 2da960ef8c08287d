/* See signals.h. */
#include "backend/http/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigset_t all_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

void kedge_signals_block(void)
{
    sigset_t signals = all_signals();
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void note(kedge_audit *audit, const siginfo_t *got)
{
    char sender[64];
    snprintf(sender, sizeof sender, "uid %ld, process %ld", (long)got->si_uid, (long)got->si_pid);
    const kedge_audit_entry entry = {.what = got->si_signo == SIGHUP ? "reload" : "stop",
                                     .user = sender,
                                     .detail = strsignal(got->si_signo)};
    kedge_audit_act(audit, &entry);
}

int kedge_signals_await_stop(kedge_reload *reload, kedge_audit *audit)
{
    const sigset_t signals = all_signals();
    for (;;) {
        siginfo_t got;
        if (sigwaitinfo(&signals, &got) < 0) continue;
        note(audit, &got);
        if (got.si_signo != SIGHUP) return got.si_signo;
        kedge_reload_now(reload);
    }
}
