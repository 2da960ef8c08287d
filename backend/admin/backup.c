/* The commands backup and restore: copies of a whole data folder. */
#include "backend/admin/verbs.h"
#include "backend/embedded/copy.h"
#include "common/error.h"
#include "common/json.h"

typedef kedge_status copy_function(const kedge_environment *environment, const char *from,
                                   const char *to, kedge_embedded_copied *copied,
                                   kedge_error *error);

/* `member` is the name under which the response has the folder. */
static int print_copied(const kedge_admin *admin, const char *member, const char *folder,
                        const kedge_embedded_copied *copied)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"blobs", copied->blobs},
                   {"bytes", copied->bytes},
                   {"linked", copied->linked},
                   {"copied", copied->copied}};
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, member);
    kedge_json_chars(&writer, folder);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kedge_json_key(&writer, numbers[i].name);
        kedge_json_integer(&writer, numbers[i].value);
    }
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&text);
    kedge_buffer_free(&text);
    return code;
}

static int copy(const kedge_admin *admin, copy_function *run, const char *member, const char *from,
                const char *to)
{
    kedge_error error = {0};
    kedge_embedded_copied copied;
    if (admin->line->stores.data == NULL) {
        kedge_fail(&error, KEDGE_INVALID_ARGUMENT, "usage",
                   "%s is for a data folder (--data DIR); on AWS, use the backups of DynamoDB and "
                   "the versions of S3",
                   admin->command->name);
        return kedge_admin_complain(&error);
    }
    kedge_status status = run(admin->environment, from, to, &copied, &error);
    return status == KEDGE_OK ? print_copied(admin, member, to, &copied)
                              : kedge_admin_complain(&error);
}

int kedge_admin_backup(const kedge_admin *admin)
{
    return copy(admin, kedge_embedded_backup, "backup", admin->line->stores.data,
                admin->line->arguments[0]);
}

int kedge_admin_restore(const kedge_admin *admin)
{
    return copy(admin, kedge_embedded_restore, "restored", admin->line->arguments[0],
                admin->line->stores.data);
}
