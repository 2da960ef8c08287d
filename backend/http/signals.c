/* See signals.h. */
#include "backend/http/signals.h"

#include <pthread.h>
#include <signal.h>

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

int kedge_signals_await_stop(kedge_reload *reload)
{
    const sigset_t signals = all_signals();
    for (;;) {
        int signal_number = 0;
        if (sigwait(&signals, &signal_number) != 0) continue;
        if (signal_number != SIGHUP) return signal_number;
        kedge_reload_now(reload);
    }
}
