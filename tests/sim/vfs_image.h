/* What the disk knows of one file: the durable bytes and the writes since. Private to the VFS. */
#ifndef KEDGE_TESTS_SIM_VFS_IMAGE_H
#define KEDGE_TESTS_SIM_VFS_IMAGE_H

#include "tests/sim/vfs.h"

/* The image of a file; `fresh`: the file is empty, so whatever was known of the path is over. */
sim_image *sim_image_of(sim_disk *disk, const char *path, bool fresh);
void sim_image_forget(sim_disk *disk, const char *path);
void sim_images_free(sim_disk *disk);
void sim_image_write(sim_image *image, const void *bytes, size_t size, size_t offset);
void sim_image_truncate(sim_image *image, size_t size);
void sim_image_sync(sim_image *image);

#endif
