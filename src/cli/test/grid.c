/* grid.c - Tables as they stand on a terminal */
#include "cli/grid.h"

#include "base/testing.h"

static const char columns[] = "{\"columnDefinitions\":[{\"name\":\"Name\",\"priority\":0},{"
                              "\"name\":\"Age\",\"priority\":0},"
                              "{\"name\":\"Images\",\"priority\":1}],\"rows\":[";
static const char one[] =
    "{\"cells\":[\"one\",\"5m\",\"busybox\"],\"object\":{\"metadata\":{\"namespace\":\"ns\"}}}";
static const char wide[] =
    "{\"cells\":[\"größer\",7,null],\"object\":{\"metadata\":{\"namespace\":\"other\"}}}";

TEST(grid_write)
{
    static const struct {
        const char *name, *rows[2];
        struct grid_view view;
        const char *want;
        size_t n;
    } cases[] = {
        {"no rows: the head alone",                                                       {""}, {0}, "NAME   AGE\n", 0},
        {"columns of a priority are for the wide view",
         {one},
         {0},
         "NAME   AGE\none    5m\n",                                                                                  1},
        {"the wide view has them",
         {one},
         {.is_wide = true},
         "NAME   AGE   IMAGES\none    5m    busybox\n",                                                              1},
        {"as wide as the widest cell, in characters; numbers and nothing are cells, too",
         {one, wide},
         {.is_wide = true},
         "NAME     AGE   IMAGES\none      5m    busybox\ngrößer   7     \n",                                       2},
        {"the namespace stands in front",
         {one, wide},
         {.has_namespace = true},
         "NAMESPACE   NAME     AGE\nns          one      5m\nother       größer   7\n",                            2},
        {"a name can say its kind",
         {one},
         {.name_lead = S_INIT("job.batch/")},
         "NAME            AGE\njob.batch/one   5m\n",                                                                1},
    };

    for (size_t i = 0; i < countof(cases); i++) {
        scoped(arena_fini) struct arena a = arena_sized(4096);
        struct grid g = {.arena = &a};
        struct buf out = buf_in(&a, 256);

        test_case(cases[i].name);
        for (size_t k = 0; k < countof(cases[i].rows) && cases[i].rows[k]; k++) {
            struct str text = str_printf(&a, "%s%s]}", columns, cases[i].rows[k]);
            grid_add(&g, json_parse(&a, text, NULL, NULL), &cases[i].view);
        }
        check_int(grid_rows(&g), cases[i].n);
        grid_write(&g, &out);
        check_samez(buf_str(&out), cases[i].want);
    }
}
