/* kedge-notes: what the program is. */
#include "notes.h"

static const char help[] =
    "  add TITLE [TEXT [FOLDER]]     a new note; prints its id\n"
    "  edit ID title|text VALUE      change a field (ID: its first letters do); merged with\n"
    "                                what others write\n"
    "  move ID FOLDER                put it into a folder\n"
    "  delete ID\n"
    "  list | show ID\n"
    "  pending                       edits that the server has not decided yet\n"
    "  conflicts                     rejected edits\n"
    "  dismiss N | retry N           take rejected edit N out of the list, or make it again\n"
    "  history                       the versions of the project, newest first\n"
    "  sync                          push and pull now, and wait for it\n"
    "  status\n"
    "  live                          a view that redraws when another copy edits; also\n"
    "                                what runs without a command";

static void draw(kedge_db *db)
{
    (void)notes_print_list(db);
}

const terminal_app notes_app = {
    .name = "notes",
    .project = "notes",
    .mutators = notes_mutators,
    .mutator_count = &notes_mutator_count,
    .help = help,
    .title = "Notes  (add, edit, move, delete, show, conflicts, history, sync, quit)",
    .command = notes_command,
    .draw = draw,
};

int main(int argc, char **argv)
{
    return terminal_run(&notes_app, argc, argv);
}
