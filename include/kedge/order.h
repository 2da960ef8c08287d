/* Order keys: texts that give items an order of the app's own. A card is moved by giving it a key
 * between those of its new neighbours; no other card changes. For use in mutators and in apps. */
#ifndef KEDGE_ORDER_H
#define KEDGE_ORDER_H

#include <kedge/error.h>

KEDGE_BEGIN_DECLS

/* Room for any order key with its NUL. */
#define KEDGE_ORDER_KEY_SIZE 256

/* Makes a key that sorts between `before` and `after` when keys are compared byte by byte, as
 * strcmp and SQL do. NULL or "" is no bound on that side. A key consists of digits and letters, and
 * is NUL-terminated. Keys at an end of a list stay short (6 bytes for a million items). When keys
 * are made between the same two neighbours again and again, about every sixth one is a byte longer.
 *
 * Two copies that make a key between the same neighbours get the same key, unless their `random`
 * differs. With 0 the key depends on the neighbours only. Otherwise the key also depends on 18 bits
 * of `random`, and is three or four bytes longer. A mutator has no random numbers. So an app makes
 * the key, with random bits, and puts it into the args of the mutation. Items with equal keys are
 * ordered by their ids. To put an item between two such items, give the second one a new key first.
 *
 * Any thread. KEDGE_INVALID_ARGUMENT "order-invalid": `before` or `after` is no order key, or
 * `before` does not sort before `after`; the message says which. KEDGE_LIMIT_EXCEEDED
 * "order-key-too-long": give the items of the list new keys. `key` may be the buffer of `before` or
 * `after`; it is "" after a failure. */
KEDGE_API kedge_status kedge_order_between(const char *KEDGE_NULLABLE before,
                                           const char *KEDGE_NULLABLE after, uint32_t random,
                                           char key[KEDGE_ORDER_KEY_SIZE],
                                           kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
