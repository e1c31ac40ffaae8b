/* dra.c - suite `dra`: devices, from selectors to allocations */
#include "dra_cel.h"

static const struct conf_file files[] = {
    {.name = "cel*",                .run = conf_dra_cel      },
    {.name = "namedresources-cel*", .run = conf_dra_named_cel},
};
const struct conf_suite suite_dra = {"dra", files, sizeof(files) / sizeof(files[0])};
