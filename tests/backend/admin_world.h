/* kedge-admin, run as a program on a data folder, beside a backend that has it open and locked. */
#ifndef KEDGE_TESTS_BACKEND_ADMIN_WORLD_H
#define KEDGE_TESTS_BACKEND_ADMIN_WORLD_H

#include "tests/backend/api_world.h"

#include "backend/embedded/embedded.h"

/* The programs, which main sets. */
extern const char *admin_program;
extern const char *admin_plugin;

/* A world whose ports are those of a folder. */
typedef struct folder_world {
    api_world world;
    char folder[64];
    kedge_embedded *ports;
    cJSON *json; /* what the program printed last */
    char text[65536];
    char complaint[4096];
} folder_world;

/* With the project acme/notes, and three versions in it. */
int admin_set_up(void **state);
int admin_tear_down(void **state);

/* Each gives the exit code. Words end with NULL. */
int run_words(folder_world *folder, char *const words[]);
/* With --data and what stands in `line`, cut at '|'. */
int run(folder_world *folder, const char *line);

#define PROJECT "--org|acme|--project|notes|"
#define COPY    "--org|acme|--project|copy|"
#define COPY2   "--org|acme|--project|copy2|"

/* Of what the program has printed. */
void check_number(folder_world *folder, const char *path, int64_t value);
void check_string(folder_world *folder, const char *path, const char *value);

#endif
