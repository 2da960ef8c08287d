/* kedge-sheet: what the program is. */
#include "sheet.h"

static const char help[] =
    "  set CELL TEXT                 for example: set C2 100, or set C3 \"=C2*1.2+SUM(A1:A9)\"\n"
    "  get CELL                      what it shows, and its formula\n"
    "  insert row N [COUNT]          in front of row N; also: insert column C\n"
    "  delete row N [COUNT]          also: delete column C\n"
    "  import FILE                   the lines of a CSV file, as the first rows\n"
    "  show [A1:F12]\n"
    "  dump                          every item of the sheet, as this copy holds it\n"
    "  pending                       edits that the server has not decided yet\n"
    "  conflicts                     rejected edits, with the reason\n"
    "  dismiss N                     take rejected edit N out of the list\n"
    "  sync                          push and pull now, and wait for it\n"
    "  status\n"
    "  live                          a view that redraws when another copy edits; also\n"
    "                                what runs without a command";

static void draw(kedge_db *db)
{
    (void)sheet_show(db, NULL);
}

const terminal_app sheet_app = {
    .name = "sheet",
    .project = "sheet",
    .mutators = sheet_mutators,
    .mutator_count = &sheet_mutator_count,
    .help = help,
    .title = "Sheet  (set, get, insert, delete, import, show, conflicts, sync, quit)",
    .command = sheet_command,
    .draw = draw,
};

int main(int argc, char **argv)
{
    return terminal_run(&sheet_app, argc, argv);
}
