/* What the container and pod of a control group are called, by its path and what the node has. */
#ifndef MEMWHY_SERVE_GROUP_NAMES_H
#define MEMWHY_SERVE_GROUP_NAMES_H

#include "sys/group/container_names.h"

enum group_named {
	GROUP_PLAIN,   /* it is of no container and no pod */
	GROUP_UNNAMED, /* something is not known of it, perhaps not yet; ret may have the rest */
	GROUP_NAMED,
};

enum group_named group_names(const char *path, struct container_names *ret);

#endif
