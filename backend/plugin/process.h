/* One mutator process, as the server holds it: starting, talking within limits, killing. */
#ifndef KEDGE_BACKEND_PLUGIN_PROCESS_H
#define KEDGE_BACKEND_PLUGIN_PROCESS_H

#include "backend/plugin/frame.h"
#include "backend/plugin/plugin.h"

#include <sys/types.h>
#include <time.h>

typedef struct kedge_process {
    pid_t pid; /* 0: there is none */
    int socket_fd;
    clockid_t cpu_clock;
    uint64_t mutations; /* that it has been given */
    kedge_buffer sent;
    kedge_buffer received;
    kedge_buffer id;
    kedge_buffer value;
    kedge_buffer changes; /* of the mutation that it runs */
} kedge_process;

/* The limits of one exchange with a process. */
typedef struct kedge_process_watch {
    const kedge_environment *environment;
    int64_t wall_end_ms; /* monotonic */
    int64_t cpu_end_ms;  /* of the process's CPU clock */
} kedge_process_watch;

typedef enum kedge_talk {
    KEDGE_TALK_OK,
    KEDGE_TALK_DEAD,      /* its end is closed */
    KEDGE_TALK_GARBAGE,   /* it sent what no child sends */
    KEDGE_TALK_TIMEOUT,   /* over a limit */
    KEDGE_TALK_STOPPED,   /* by the deadline of the calling thread */
    KEDGE_TALK_NO_MEMORY, /* ours */
} kedge_talk;

void kedge_process_init(kedge_process *process, const kedge_allocator *allocator);
void kedge_process_free(kedge_process *process); /* after kedge_process_end */

/* Starts the program again as a child. The process dies with the calling thread. */
kedge_status kedge_process_spawn(kedge_process *process, const char *library_path,
                                 kedge_error *error);
void kedge_process_end(kedge_process *process); /* kills and reaps */
/* Whether the process runs and has written nothing without being asked. */
bool kedge_process_is_quiet(const kedge_process *process);

kedge_process_watch kedge_process_start_watch(const kedge_process *process,
                                              const kedge_environment *environment,
                                              int64_t cpu_ms_max, int64_t wall_ms_max);
/* Ends and sends process->sent; receives one frame into process->received. */
kedge_talk kedge_process_send(kedge_process *process, const kedge_process_watch *watch);
kedge_talk kedge_process_receive(kedge_process *process, const kedge_process_watch *watch,
                                 kedge_frame_type *type, kedge_frame_reader *payload);

#endif
