/* The commands of kedge-admin: most are one request to the backend. */
#ifndef KEDGE_BACKEND_ADMIN_COMMANDS_H
#define KEDGE_BACKEND_ADMIN_COMMANDS_H

#include "backend/stores/stores.h"

#define KEDGE_ADMIN_ARGUMENTS_MAX 3

/* The parsed command line. Texts are borrowed from argv; NULL: not given. */
typedef struct kedge_admin_line {
    kedge_stores_options stores;
    const char *organization;
    const char *project;
    const char *command;
    const char *arguments[KEDGE_ADMIN_ARGUMENTS_MAX];
    size_t argument_count;
    const char *version;
    const char *before;
    const char *after;
    const char *limit;
    const char *from;
    const char *to;
    const char *expected;
    const char *since;
    const char *mutators;
    const char *keep_versions;
    const char *keep_days;
    const char *grace_hours;
    const char *algorithm;
    const char *issuer;
    const char *audience;
    const char *user;
    const char *role;
    const char *projects;
    const char *minutes;
    const char *claims;
    const char *audit;
    const char *of_stores; /* the last option that says where the data is */
    bool remove;
    bool yes;
    bool repair;
    bool items;
    bool help;
} kedge_admin_line;

typedef struct kedge_admin kedge_admin; /* verbs.h */

typedef struct kedge_admin_command {
    const char *name;
    const char *arguments[KEDGE_ADMIN_ARGUMENTS_MAX]; /* their names; NULL: fewer */
    int (*run)(const kedge_admin *admin);             /* gives the exit code */
    const char *method;  /* of a command that is one request; NULL: another command */
    const char *path;    /* with {o} {p} of the options, {v} the version, {0} {1} the arguments */
    const char *options; /* letters of those that it takes, as line.c has them */
    const char *help;
} kedge_admin_command;

/* KEDGE_INVALID_ARGUMENT with a message that says what is wrong. */
kedge_status kedge_admin_parse(int argc, char **argv, kedge_admin_line *line,
                               const kedge_admin_command **command, kedge_error *error);
/* NULL: there is none of this name. */
const kedge_admin_command *kedge_admin_find(const char *name);
/* False: a command that works on no data of a backend. */
bool kedge_admin_has_stores(const kedge_admin_command *command);
/* True: a command that may come before there is any data. */
bool kedge_admin_makes_data(const kedge_admin_command *command);
void kedge_admin_write_help(kedge_buffer *out);

#endif
