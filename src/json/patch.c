/* patch.c - JSON patch (RFC 6902)
 *
 * Trees are immutable, but a patch of ten thousand operations on one long list must not copy it
 * ten thousand times. So a container on the way to a change is copied once, with room to grow,
 * and marked as ours (`thawed`); later operations change it in place. Thawed nodes hang
 * together from the root and each has one parent (what `copy` takes is copied deep), so at the
 * end one walk freezes them.
 */
#include "json/patch.h"
#include "json/json_priv.h"

struct work {
    struct arena *arena;
    struct json root;
    size_t copied; /* bytes */
    size_t steps;  /* elements looked at or moved */
    struct err *err;
};

struct op {
    struct str name, path, from;
    const struct json *value; /* NULL where it is absent */
};

/* A place in a container: the last token of a pointer. */
struct place {
    struct json *parent; /* thawed */
    struct str token;    /* of an object, unescaped */
    size_t depth;        /* of the parent, 1 for the root */
};

static bool fail(struct work *w, const char *what)
{
    err_set(w->err, ERR_INVALID, "%s", what);
    return false;
}

static bool spend(struct work *w, size_t steps)
{
    w->steps += steps;
    if (w->steps <= JSON_PATCH_MAX_WORK)
        return true;
    err_set(w->err, ERR_INVALID, "the patch needs more than %d steps", JSON_PATCH_MAX_WORK);
    return false;
}

/* ---- thawing ---- */

static size_t element_size(const struct json *v)
{
    return v->type == JSON_OBJECT ? sizeof(struct json_member) : sizeof(struct json);
}

static struct json *items_of(struct json *v)
{
    return (struct json *)(uintptr_t)v->items; /* thawed: ours to change */
}

static struct json_member *members_of(struct json *v)
{
    return (struct json_member *)(uintptr_t)v->members;
}

/* Makes v's elements ours, with room for one more. */
static bool thaw(struct work *w, struct json *v)
{
    unsigned room = MAX(v->thawed, (unsigned)3);

    if (v->thawed && v->len < (uint32_t)1 << v->thawed)
        return true;
    while (v->len >= (uint32_t)1 << room)
        room++;
    if (!spend(w, v->len))
        return false;
    size_t size = element_size(v);
    void *copy = arena_raw(w->arena, size_mul((size_t)1 << room, size), 8);
    if (v->len)
        memcpy(copy, v->items, v->len * size);
    v->items = copy; /* the same place as `members` */
    v->thawed = (uint8_t)room;
    return true;
}

static void freeze(struct json *v)
{
    if (!v->thawed)
        return;
    v->thawed = 0;
    for (uint32_t i = 0; i < v->len; i++)
        freeze(v->type == JSON_OBJECT ? &members_of(v)[i].value : &items_of(v)[i]);
}

/* ---- pointers ---- */

/* An index that exists; negative ones count from the end. */
static bool index_in(const struct json *list, struct str token, size_t *out)
{
    bool is_negative = token.len > 1 && token.at[0] == '-';

    if (!json_pointer_index(str_slice(token, is_negative, token.len), out))
        return false;
    if (is_negative) {
        if (*out == 0 || *out > list->len)
            return false;
        *out = list->len - *out;
    }
    return *out < list->len;
}

/* The child of v that the (unescaped) token names, or NULL. */
static const struct json *child(struct work *w, const struct json *v, struct str token)
{
    size_t i;

    if (v->type == JSON_ARRAY)
        return index_in(v, token, &i) ? &v->items[i] : NULL;
    return spend(w, json_len(v)) ? json_get(v, token) : NULL;
}

static bool check_pointer(struct work *w, struct str pointer)
{
    if (pointer.len == 0 || pointer.at[0] == '/')
        return true;
    return fail(w, "a pointer must be empty or begin with '/'");
}

/* The value at the pointer, NULL where there is none. Only looks. */
static const struct json *look(struct work *w, struct str pointer)
{
    const struct json *v = &w->root;
    struct str token;

    if (pointer.len == 0)
        return v;
    pointer = str_slice(pointer, 1, pointer.len);
    for (bool is_more = true; is_more && v;) {
        is_more = str_cut(pointer, '/', &token, &pointer);
        v = child(w, v, json_pointer_unescape(w->arena, token));
    }
    return v;
}

/* The place that a pointer other than "" names; all containers down to it are thawed. */
static bool reach(struct work *w, struct str pointer, struct place *out)
{
    struct json *v = &w->root;
    size_t depth = 1;
    struct str token;

    pointer = str_slice(pointer, 1, pointer.len);
    for (;; depth++) {
        bool is_last = !str_cut(pointer, '/', &token, &pointer);
        token = json_pointer_unescape(w->arena, token);
        if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
            return fail(w, "the path leads through a value that holds no others");
        if (!thaw(w, v))
            return false;
        if (is_last)
            break;
        const struct json *next = child(w, v, token);
        if (!next)
            return fail(w, "the path does not exist");
        v = (struct json *)(uintptr_t)next; /* an element of v, which is thawed */
        if (depth == JSON_MAX_DEPTH)
            return fail(w, "the path is too long");
    }
    *out = (struct place){v, token, depth};
    return true;
}

/* ---- limits of what is put in ---- */

/* Is v nested at most `left` levels deep? */
static bool fits(struct work *w, const struct json *v, size_t left)
{
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return true;
    if (left == 0) {
        err_set(w->err, ERR_INVALID, "the result would be nested deeper than %d",
                JSON_MAX_DEPTH);
        return false;
    }
    if (!spend(w, v->len))
        return false;
    for (uint32_t i = 0; i < v->len; i++)
        if (!fits(w, v->type == JSON_OBJECT ? &v->members[i].value : &v->items[i], left - 1))
            return false;
    return true;
}

/* About the bytes of a value's text; stops past the limit. */
static void weigh(struct work *w, const struct json *v)
{
    w->copied += 2 + (v->type == JSON_STRING ? v->len : 0);
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return;
    for (uint32_t i = 0; i < v->len && w->copied <= JSON_PATCH_MAX_COPIED; i++) {
        if (v->type == JSON_OBJECT)
            w->copied += 4 + v->members[i].name.len;
        weigh(w, v->type == JSON_OBJECT ? &v->members[i].value : &v->items[i]);
    }
}

/* ---- changes ---- */

static bool put(struct work *w, struct place at, struct json v, bool is_new)
{
    struct json *parent = at.parent;
    size_t i;

    if (!fits(w, &v, JSON_MAX_DEPTH - at.depth))
        return false;
    if (parent->type == JSON_OBJECT) {
        const struct json *known = child(w, parent, at.token);
        if (known)
            *(struct json *)(uintptr_t)known = v;
        else
            members_of(parent)[parent->len++] = (struct json_member){at.token, v};
        return true;
    }
    if (!is_new) {
        if (!index_in(parent, at.token, &i))
            return fail(w, "the index does not exist");
        items_of(parent)[i] = v;
        return true;
    }
    if (str_eq(at.token, S("-")))
        i = parent->len;
    else if (!json_pointer_index(at.token, &i) || i > parent->len)
        return fail(w, "the index is out of the list");
    if (!spend(w, parent->len - i))
        return false;
    memmove(items_of(parent) + i + 1, items_of(parent) + i,
            (parent->len - i) * sizeof(struct json));
    items_of(parent)[i] = v;
    parent->len++;
    return true;
}

/* Takes the value out, into *out. */
static bool take(struct work *w, struct place at, struct json *out)
{
    struct json *parent = at.parent;
    size_t i;

    if (parent->type == JSON_OBJECT) {
        i = json_index(parent->members, parent->len, at.token);
        if (i == STR_NONE)
            return fail(w, "the path does not exist");
    } else if (!index_in(parent, at.token, &i)) {
        return fail(w, "the index does not exist");
    }
    *out = parent->type == JSON_OBJECT ? parent->members[i].value : parent->items[i];
    if (!spend(w, parent->len))
        return false;
    parent->len--;
    if (parent->type == JSON_OBJECT)
        memmove(members_of(parent) + i, members_of(parent) + i + 1,
                (parent->len - i) * sizeof(struct json_member));
    else
        memmove(items_of(parent) + i, items_of(parent) + i + 1,
                (parent->len - i) * sizeof(struct json));
    return true;
}

static bool put_at(struct work *w, struct str pointer, struct json v, bool is_new)
{
    struct place at;

    if (pointer.len == 0) {
        w->root = v;
        return true;
    }
    return reach(w, pointer, &at) && put(w, at, v, is_new);
}

/* ---- operations ---- */

static bool op_add(struct work *w, const struct op *op)
{
    return put_at(w, op->path, *op->value, true);
}

static bool op_replace(struct work *w, const struct op *op)
{
    return put_at(w, op->path, *op->value, false);
}

static bool op_remove(struct work *w, const struct op *op)
{
    struct place at;
    struct json gone;

    if (op->path.len == 0)
        return fail(w, "the whole document cannot be removed");
    return reach(w, op->path, &at) && take(w, at, &gone);
}

static bool op_move(struct work *w, const struct op *op)
{
    struct place at;
    struct json v;

    if (str_eq(op->from, op->path))
        return look(w, op->from) ? true : fail(w, "the path does not exist");
    if (str_starts(op->path, op->from) &&
        (op->from.len == 0 || op->path.at[op->from.len] == '/'))
        return fail(w, "a value cannot move into itself");
    return reach(w, op->from, &at) && take(w, at, &v) && put_at(w, op->path, v, true);
}

static bool op_copy(struct work *w, const struct op *op)
{
    const struct json *v = look(w, op->from);

    if (!v)
        return fail(w, "the path does not exist");
    weigh(w, v);
    if (w->copied > JSON_PATCH_MAX_COPIED) {
        err_set(w->err, ERR_INVALID, "copies of the patch add more than %zu bytes",
                JSON_PATCH_MAX_COPIED);
        return false;
    }
    return put_at(w, op->path, *json_copy(w->arena, v), true);
}

static bool op_test(struct work *w, const struct op *op)
{
    const struct json *v = look(w, op->path);

    if (!v ? op->value->type == JSON_NULL : json_eq(v, op->value))
        return true;
    return fail(w, v ? "the value is another one" : "the path does not exist");
}

static const struct {
    const char *name;
    bool (*run)(struct work *, const struct op *);
    bool has_value, has_from;
} operations[] = {
    {"add",       op_add,            .has_value = true},
    {"remove",    op_remove        },
    {"replace", op_replace, .has_value = true                 },
    {"move",    op_move,  .has_from = true},
    {"copy",    op_copy,  .has_from = true                 },
    {"test",    op_test, .has_value = true},
};

static bool run(struct work *w, const struct json *v)
{
    const struct json *path = json_getz(v, "path"), *from = json_getz(v, "from");
    struct op op = {json_str(json_getz(v, "op")), json_str(path), json_str(from),
                    json_getz(v, "value")};

    for (size_t i = 0; i < countof(operations); i++) {
        if (!str_eqz(op.name, operations[i].name))
            continue;
        if (!json_is(path, JSON_STRING))
            return fail(w, "'path' is missing or not a text");
        if (operations[i].has_value && !op.value)
            return fail(w, "'value' is missing");
        if (operations[i].has_from && !json_is(from, JSON_STRING))
            return fail(w, "'from' is missing or not a text");
        return check_pointer(w, op.path) && check_pointer(w, op.from) &&
               operations[i].run(w, &op);
    }
    return fail(w, "no such operation");
}

const struct json *json_patch(struct arena *a, const struct json *doc, const struct json *patch,
                              struct err *err)
{
    struct work w = {.arena = a, .root = doc ? *doc : json_of_null(), .err = err};

    if (!json_is(patch, JSON_ARRAY)) {
        err_set(err, ERR_SYNTAX, "a JSON patch must be a list of operations");
        return NULL;
    }
    if (patch->len > JSON_PATCH_MAX_OPS) {
        err_set(err, ERR_LIMIT, "the patch has %u operations, the limit is %d", patch->len,
                JSON_PATCH_MAX_OPS);
        return NULL;
    }
    json_each (i, patch)
        if (patch->items[i].type != JSON_OBJECT) {
            err_set(err, ERR_SYNTAX, "operation %zu of the JSON patch must be an object", i);
            return NULL;
        }
    json_each (i, patch) {
        if (run(&w, &patch->items[i]))
            continue;
        err_wrap(err, "operation %zu of the JSON patch, '%.*s' at '%.*s'", i,
                 STR_ARG(json_str(json_getz(&patch->items[i], "op"))),
                 STR_ARG(json_str(json_getz(&patch->items[i], "path"))));
        return NULL;
    }
    freeze(&w.root);
    return json_new(a, w.root);
}
