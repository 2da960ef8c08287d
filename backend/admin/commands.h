/* The commands of kedge-admin, most of which are one request to the backend, and its options. */
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

/* An option of kedge-admin; those that say where the data is are in backend/stores. */
typedef struct kedge_admin_option {
    const char *name;
    char letter;   /* in a command's `options`; 0: any command takes it */
    bool is_flag;  /* of a `bool`; otherwise of a text that follows */
    size_t offset; /* of its member in kedge_admin_line */
} kedge_admin_option;

/* What a command does with the data of a backend, and whether it only looks. */
#define KEDGE_ADMIN_HAS_NO_DATA       1  /* works on no data of a backend */
#define KEDGE_ADMIN_OPENS_DATA_ITSELF 2  /* main.c opens no stores for it */
#define KEDGE_ADMIN_MAKES_DATA        4  /* may come before there is any data */
#define KEDGE_ADMIN_LOCKS_DATA        8  /* nobody else may use the data folder meanwhile */
#define KEDGE_ADMIN_LOOKS             16 /* changes nothing; of a request the method says so */
#define KEDGE_ADMIN_LOOKS_UNLESS_TOLD 32 /* changes something with --remove or --repair only */

typedef struct kedge_admin kedge_admin; /* verbs.h */

/* A row of the table. What is not named is NULL or 0. */
typedef struct kedge_admin_command {
    const char *name;
    const char *arguments[KEDGE_ADMIN_ARGUMENTS_MAX]; /* their names */
    int (*run)(const kedge_admin *admin);             /* gives the exit code */
    const char *method;                               /* of a command that is one request */
    const char *path;    /* with {o} {p} of the options, {v} the version, {0} {1} the arguments */
    const char *options; /* letters of those that it takes */
    unsigned traits;     /* KEDGE_ADMIN_… */
    const char *help;
} kedge_admin_command;

/* KEDGE_INVALID_ARGUMENT with a message that says what is wrong. */
kedge_status kedge_admin_parse(int argc, char **argv, kedge_admin_line *line,
                               const kedge_admin_command **command, kedge_error *error);
/* NULL: there is none of this name. */
const kedge_admin_command *kedge_admin_find(const char *name);
/* NULL: there is none of this name here. */
const kedge_admin_option *kedge_admin_find_option(const char *name);
void kedge_admin_write_help(kedge_buffer *out);

#endif
