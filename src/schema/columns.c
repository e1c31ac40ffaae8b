/* columns.c - objects as rows of a table */
#include "schema/columns.h"

#include "schema/jsonpath.h"
#include "schema/table.h"
#include "value/time.h"

static const struct kind_column age_columns[] = {
    {.name = S_INIT("Name"),
     .type = S_INIT("string"),
     .format = S_INIT("name"),
     .path = S_INIT(".metadata.name"),
     .doc = S_INIT("Name must be unique within a namespace.")},
    {.name = S_INIT("Age"),
     .type = S_INIT("date"),
     .path = S_INIT(".metadata.creationTimestamp"),
     .doc = S_INIT("How long ago the object was created.")},
};

static const struct kind_column created_columns[] = {
    {.name = S_INIT("Name"),
     .type = S_INIT("string"),
     .format = S_INIT("name"),
     .path = S_INIT(".metadata.name"),
     .doc = S_INIT("Name must be unique within a namespace.")},
    {.name = S_INIT("Created At"),
     .type = S_INIT("date"),
     .path = S_INIT(".metadata.creationTimestamp"),
     .doc = S_INIT("When the object was created.")},
};

size_t columns_of(const struct kind *k, const struct kind_column **out)
{
    if (k->n_columns) {
        *out = k->columns;
        return k->n_columns;
    }
    *out = k->style == KIND_CUSTOM ? age_columns : created_columns;
    return 2;
}

static struct json age_cell(struct arena *a, const struct json *v, struct instant now)
{
    struct instant t;

    if (v->type != JSON_STRING)
        return json_of_null();
    if (v->len == 0)
        return json_of_z("<unknown>");
    if (time_parse(json_str(v), &t, NULL) < 0)
        return json_of_z("<invalid>");
    return json_of_str(age_since(a, t, now));
}

struct json column_cell(struct arena *a, struct str type, const struct json *v,
                        struct instant now)
{
    if (!v || v->type == JSON_NULL)
        return json_of_null();
    if (str_eq(type, S("date")))
        return age_cell(a, v, now);
    if (str_eq(type, S("integer"))) {
        if (v->type == JSON_DOUBLE && v->d > -9e18 && v->d < 9e18)
            return json_of_i64((int64_t)v->d);
        return v->type == JSON_INT ? *v : json_of_null();
    }
    if (str_eq(type, S("number")))
        return v->type == JSON_INT || v->type == JSON_DOUBLE ? *v : json_of_null();
    if (str_eq(type, S("boolean")))
        return v->type == JSON_BOOL ? *v : json_of_null();
    return v->type == JSON_STRING ? *v : json_of_null();
}

/* A string column prints any value that its path finds. */
static struct json path_cell(struct arena *a, const struct kind_column *c,
                             const struct json *object, struct instant now)
{
    const struct json *v = jsonpath_first(a, object, c->path);

    if (v && v->type != JSON_NULL && v->type != JSON_STRING && str_eq(c->type, S("string")))
        return json_of_str(json_text(a, v));
    return column_cell(a, c->type, v, now);
}

/* What a built-in printer shows of an absent field. */
static struct json zero_cell(struct str type)
{
    if (str_eq(type, S("integer")) || str_eq(type, S("number")))
        return json_of_i64(0);
    if (str_eq(type, S("boolean")))
        return json_of_bool(false);
    return json_of_z("");
}

static struct json cell_of(struct arena *a, const struct kind *k, const struct kind_column *c,
                           struct column_cells cells, const struct json *object,
                           struct instant now)
{
    for (size_t i = 0; c->cell.len && i < cells.len; i++)
        if (str_eq(cells.at[i].name, c->cell))
            return cells.at[i].fn(a, object, now);
    if (c->cell.len)
        return json_of_null();
    if (k->style == KIND_NATIVE && str_eq(c->name, S("Created At"))) {
        const struct json *v = jsonpath_first(a, object, c->path);
        return v ? *v : json_of_null();
    }
    struct json cell = path_cell(a, c, object, now);
    return cell.type == JSON_NULL && k->style == KIND_NATIVE ? zero_cell(c->type) : cell;
}

const struct json *columns_row(struct arena *a, const struct kind *k, struct column_cells cells,
                               const struct json *object, struct instant now)
{
    const struct kind_column *c;
    size_t n = columns_of(k, &c);
    struct json_arr row = arr_in(a);

    for (size_t i = 0; i < n; i++)
        arr_add(&row, cell_of(a, k, &c[i], cells, object, now));
    return json_new(a, arr_done(&row));
}

struct json columns_definitions(struct arena *a, const struct kind *k)
{
    const struct kind_column *c;
    size_t n = columns_of(k, &c);
    struct json_arr list = arr_in(a);

    for (size_t i = 0; i < n; i++) {
        struct json_obj o = obj_in(a);
        obj_setz(&o, "name", json_of_str(c[i].name));
        obj_setz(&o, "type", json_of_str(c[i].type));
        obj_setz(&o, "format", json_of_str(c[i].format));
        obj_setz(&o, "description", json_of_str(c[i].doc));
        obj_setz(&o, "priority", json_of_i64(c[i].priority));
        arr_add(&list, obj_done(&o));
    }
    return arr_done(&list);
}
