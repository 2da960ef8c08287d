/* Pieces of SQL that many statements have in common. A statement names a piece in braces, and its
 * text is put in when the statement is prepared: written out in each statement, the columns of the
 * outbox alone would take more space than all other SQL. */
#ifndef KEDGE_SDK_STORE_PIECES_H
#define KEDGE_SDK_STORE_PIECES_H

/* Gives the whole text in `*whole`, to be freed with sqlite3_free; NULL when `sql` names no piece
 * and is whole itself. Returns SQLite's code. */
int kedge_pieces_put(const char *sql, char **whole);

#endif
