/* unparse.c - the tree as text, in one form: what parses back to the same tree */
#include "cel/value_priv.h"

#include "cel/ast_priv.h"

enum { /* how strongly a node binds; operands of less need parentheses */
       P_TERNARY,
       P_OR,
       P_AND,
       P_REL,
       P_ADD,
       P_MUL,
       P_UNARY,
       P_MEMBER,
};

static const struct {
    struct str name;
    const char *sign;
    int level;
} binary[] = {
    {S_INIT("_||_"), " || ", P_OR },
    {S_INIT("_&&_"), " && ", P_AND},
    {S_INIT("_==_"), " == ", P_REL},
    {S_INIT("_!=_"), " != ", P_REL},
    {S_INIT("_<_"),  " < ",  P_REL},
    {S_INIT("_<=_"), " <= ", P_REL},
    {S_INIT("_>_"),  " > ",  P_REL},
    {S_INIT("_>=_"), " >= ", P_REL},
    {S_INIT("@in"),  " in ", P_REL},
    {S_INIT("_+_"),  " + ",  P_ADD},
    {S_INIT("_-_"),  " - ",  P_ADD},
    {S_INIT("_*_"),  " * ",  P_MUL},
    {S_INIT("_/_"),  " / ",  P_MUL},
    {S_INIT("_%_"),  " % ",  P_MUL},
};

static void put(struct buf *out, const struct node *n, int level);

static int binary_of(const struct node *n)
{
    for (size_t i = 0; n->kind == N_CALL && !n->is_member && n->n == 2 && i < countof(binary);
         i++)
        if (str_eq(binary[i].name, n->name))
            return (int)i;
    return -1;
}

static int level_of(const struct node *n)
{
    int i = binary_of(n);

    if (i >= 0)
        return binary[i].level;
    if (n->kind == N_CALL && !n->is_member && str_eqz(n->name, "_?_:_"))
        return P_TERNARY;
    if (n->kind == N_CALL && !n->is_member &&
        (str_eqz(n->name, "!_") || str_eqz(n->name, "-_")))
        return P_UNARY;
    return P_MEMBER;
}

static void put_const(struct buf *out, struct cel_value v)
{
    scoped(arena_fini) struct arena a = arena_sized(256);

    if (v.kind == CEL_DOUBLE) {
        char text[40];
        snprintf(text, sizeof(text), "%.17g", v.d);
        buf_printf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
        return;
    }
    if (v.kind == CEL_BOOL)
        buf_add(out, v.b ? S("true") : S("false"));
    else
        buf_add(out, cel_show(&a, v));
}

static bool is_plain_name(struct str s)
{
    static const struct str keywords[] = {S_INIT("true"), S_INIT("false"), S_INIT("null"),
                                          S_INIT("in")};

    for (size_t i = 0; i < countof(keywords); i++)
        if (str_eq(keywords[i], s))
            return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.len > 0;
}

static void put_field(struct buf *out, struct str name)
{
    if (is_plain_name(name))
        buf_add(out, name);
    else
        buf_printf(out, "`%.*s`", STR_ARG(name));
}

static void put_args(struct buf *out, const struct node *n, uint32_t from)
{
    buf_byte(out, '(');
    for (uint32_t i = from; i < n->n; i++) {
        if (i > from)
            buf_add(out, S(", "));
        put(out, n->args[i], P_TERNARY);
    }
    buf_byte(out, ')');
}

static void put_target(struct buf *out, const struct node *n)
{
    put(out, n, P_MEMBER);
}

/* Chains of && and || print flat; other operators group to the left. */
static void put_binary(struct buf *out, const struct node *n, int i)
{
    int right = binary_of(n->args[1]), level = binary[i].level;
    bool is_logic = level == P_OR || level == P_AND;

    put(out, n->args[0], level);
    buf_add(out, str_from(binary[i].sign));
    put(out, n->args[1], is_logic && right == i ? level : level + 1);
}

/* Does the operand's text begin with a number? A minus before it would become its own. */
static bool begins_with_number(const struct node *n)
{
    for (;;) {
        n = n->written ? n->written : n;
        if (n->kind == N_SELECT)
            n = n->target;
        else if (n->kind == N_CALL &&
                 (n->is_member || (n->name.at[0] == '_' && !is_plain_name(n->name))))
            n = n->args[0];
        else
            return n->kind == N_CONST && value_is_number(n->value);
    }
}

static void put_unary(struct buf *out, const struct node *n)
{
    buf_byte(out, n->name.at[0]);
    put(out, n->args[0], begins_with_number(n->args[0]) ? P_MEMBER + 1 : P_MEMBER);
}

static void put_call(struct buf *out, const struct node *n)
{
    int i = binary_of(n);

    if (i >= 0) {
        put_binary(out, n, i);
    } else if (n->is_member) {
        put_target(out, n->args[0]);
        buf_byte(out, '.');
        buf_add(out, n->name);
        put_args(out, n, 1);
    } else if (str_eqz(n->name, "_?_:_")) {
        put(out, n->args[0], P_OR);
        buf_add(out, S(" ? "));
        put(out, n->args[1], P_OR);
        buf_add(out, S(" : "));
        put(out, n->args[2], P_TERNARY);
    } else if (level_of(n) == P_UNARY) {
        put_unary(out, n);
    } else if (str_eqz(n->name, "_[_]") || str_eqz(n->name, "_[?_]")) {
        put_target(out, n->args[0]);
        buf_add(out, n->name.len == 5 ? S("[?") : S("["));
        put(out, n->args[1], P_TERNARY);
        buf_byte(out, ']');
    } else {
        if (n->is_root)
            buf_byte(out, '.');
        buf_add(out, n->name);
        put_args(out, n, 0);
    }
}

static void put_entries(struct buf *out, const struct node *n, char open, char close)
{
    buf_byte(out, open);
    for (uint32_t i = 0; i < n->n; i++) {
        const struct entry *e = &n->entries[i];
        if (i)
            buf_add(out, S(", "));
        if (e->is_opt)
            buf_byte(out, '?');
        if (e->field.len)
            put_field(out, e->field);
        else if (e->key)
            put(out, e->key, P_TERNARY);
        if (e->field.len || e->key)
            buf_add(out, S(": "));
        put(out, e->value, P_TERNARY);
    }
    buf_byte(out, close);
}

static void put(struct buf *out, const struct node *n, int level)
{
    if (n->written)
        n = n->written;
    bool needs = level_of(n) < level;

    if (needs)
        buf_byte(out, '(');
    switch ((enum node_kind)n->kind) {
    case N_CONST:
        put_const(out, n->value);
        break;
    case N_IDENT:
        if (n->is_root)
            buf_byte(out, '.');
        buf_add(out, n->name);
        break;
    case N_SELECT:
        put_target(out, n->target);
        buf_add(out, n->is_opt ? S(".?") : S("."));
        put_field(out, n->name);
        break;
    case N_CALL:
        put_call(out, n);
        break;
    case N_LIST:
        put_entries(out, n, '[', ']');
        break;
    case N_MAP:
        put_entries(out, n, '{', '}');
        break;
    case N_STRUCT:
        if (n->is_root)
            buf_byte(out, '.');
        buf_add(out, n->name);
        put_entries(out, n, '{', '}');
        break;
    default:
        buf_byte(out, '?');
    }
    if (needs)
        buf_byte(out, ')');
}

void ast_unparse(struct buf *out, const struct node *n)
{
    put(out, n, P_TERNARY);
}
