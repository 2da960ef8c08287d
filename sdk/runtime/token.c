/* Asking for the token, and refusing what would break a header. */
#include "sdk/runtime/token.h"

#include "common/error.h"
#include "common/hash.h"
#include "common/utf8.h"

#include <string.h>

const char *kedge_token_text(const kedge_token *token)
{
    return token->known ? token->text : NULL;
}

void kedge_token_forget(kedge_token *token)
{
    token->known = false;
    kedge_cleanse(token->text, sizeof token->text);
}

static bool is_token(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7F) return false;
    }
    return size > 0;
}

#define WHY           "error: "
#define WHY_BYTES_MAX 180 /* of the rest, which then fits the message of an error */

/* What a function that gave no token wrote for people. A token that it has written by half does not
 * begin like that, since a token has no space. */
static kedge_bytes why_none(const kedge_token *token)
{
    size_t size = strnlen(token->asked, sizeof token->asked);
    bool told = size < sizeof token->asked && strncmp(token->asked, WHY, strlen(WHY)) == 0;
    if (!told) return (kedge_bytes){"", 0};
    kedge_bytes text = {token->asked + strlen(WHY), size - strlen(WHY)};
    return kedge_utf8_clip(text, WHY_BYTES_MAX);
}

static kedge_status take_asked(kedge_token *token, kedge_status status, kedge_error *error)
{
    if (status != KEDGE_OK) {
        kedge_bytes why = why_none(token);
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "token-missing",
                          "the app's token function returned \"%s\"%s%.*s",
                          kedge_status_name(status), why.size > 0 ? ": " : "", (int)why.size,
                          why.data);
    }
    size_t size = strnlen(token->asked, sizeof token->asked);
    if (size == sizeof token->asked || !is_token(token->asked, size)) {
        return kedge_fail(
            error, KEDGE_UNAUTHORIZED, "token-missing",
            "the app's token function wrote no token: 1 to %d characters of ASCII without"
            " spaces are allowed",
            KEDGE_TOKEN_BYTES - 1);
    }
    memcpy(token->text, token->asked, sizeof token->text);
    token->known = true;
    token->gifts++;
    return KEDGE_OK;
}

kedge_status kedge_token_ask(kedge_token *token, kedge_error *error)
{
    if (token->function == NULL) {
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "token-missing",
                          "the server wants a token, and the database has no token function");
    }
    kedge_status given = token->function(token->userdata, token->asked, sizeof token->asked);
    kedge_status status = take_asked(token, given, error);
    kedge_cleanse(token->asked, sizeof token->asked);
    return status;
}
