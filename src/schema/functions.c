/* functions.c - finding what a table names */
#include "schema/functions.h"

schema_check_fn *schema_check_find(const struct schema_functions *f, struct str name)
{
    for (size_t i = 0; f && name.len && i < f->n_checks; i++)
        if (str_eq(f->checks[i].name, name))
            return f->checks[i].fn;
    return NULL;
}

schema_defaults_fn *schema_defaults_find(const struct schema_functions *f, struct str name)
{
    for (size_t i = 0; f && name.len && i < f->n_defaults; i++)
        if (str_eq(f->defaults[i].name, name))
            return f->defaults[i].fn;
    return NULL;
}
