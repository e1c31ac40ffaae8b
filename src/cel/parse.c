/* parse.c - tokens to a tree, macros expanded on the way
 *
 * Recursive descent with a depth counter; chains of && and || become balanced trees. After an
 * error inside brackets the parser goes on behind the next comma or bracket, so that one pass
 * tells several.
 */
#include <errno.h>
#include <math.h>

#include "cel/env_priv.h"
#include "cel/lex_priv.h"

struct parser {
    struct arena *arena;
    const struct cel_env *env;
    struct report *report;
    struct lexer lex;
    struct token tok, next; /* one token ahead */
    uint32_t end;           /* of the last token taken */
    int depth;
    uint32_t n_nodes, n_macros;
    bool no_macros, has_stopped;
};

static struct node *parse_expr(struct parser *p);

/* ---- nodes ---- */

static void measure_child(struct node *n, const struct node *child)
{
    if (!child)
        return;
    n->depth = MAX(n->depth, (uint16_t)(child->depth + 1));
    n->weight = (uint32_t)MIN((uint64_t)n->weight + child->weight, (uint64_t)UINT32_MAX);
}

void ast_measure(struct node *n)
{
    n->depth = 1;
    n->weight = 1;
    switch ((enum node_kind)n->kind) {
    case N_SELECT:
        measure_child(n, n->target);
        break;
    case N_CALL:
        for (uint32_t i = 0; i < n->n; i++)
            measure_child(n, n->args[i]);
        break;
    case N_LIST:
    case N_MAP:
    case N_STRUCT:
        for (uint32_t i = 0; i < n->n; i++) {
            measure_child(n, n->entries[i].key);
            measure_child(n, n->entries[i].value);
        }
        break;
    case N_FOLD:
        measure_child(n, n->fold->range);
        measure_child(n, n->fold->init);
        measure_child(n, n->fold->cond);
        measure_child(n, n->fold->step);
        measure_child(n, n->fold->result);
        break;
    default:
        break;
    }
}

struct node *ast_new(struct arena *a, enum node_kind kind, uint32_t pos)
{
    struct node *n = arena_new(a, struct node);

    n->kind = (uint8_t)kind;
    n->pos = n->from = n->to = pos;
    n->var = n->local = -1;
    n->depth = 1;
    n->weight = 1;
    return n;
}

struct node *ast_const(struct arena *a, struct cel_value v, uint32_t pos)
{
    struct node *n = ast_new(a, N_CONST, pos);

    n->value = v;
    return n;
}

struct node *ast_ident(struct arena *a, struct str name, uint32_t pos)
{
    struct node *n = ast_new(a, N_IDENT, pos);

    n->name = name;
    return n;
}

struct node *ast_call(struct arena *a, struct str name, uint32_t pos, size_t n, ...)
{
    struct node *call = ast_new(a, N_CALL, pos);
    va_list ap;

    call->name = name;
    call->args = arena_array(a, struct node *, MAX(n, (size_t)1));
    call->n = (uint32_t)n;
    va_start(ap, n);
    for (size_t i = 0; i < n; i++) {
        call->args[i] = va_arg(ap, struct node *);
        if (i == 0)
            call->from = call->args[i]->from;
        call->to = MAX(call->to, call->args[i]->to);
    }
    va_end(ap);
    ast_measure(call);
    return call;
}

struct str ast_qualified(struct arena *a, const struct node *n)
{
    if (n->kind == N_IDENT)
        return n->name;
    if (n->kind != N_SELECT || n->is_test || n->is_opt)
        return str_of(NULL, 0);
    struct str head = ast_qualified(a, n->target);
    if (!head.at)
        return head;
    return str_printf(a, "%.*s.%.*s", STR_ARG(head), STR_ARG(n->name));
}

/* ---- tokens ---- */

static struct token fetch(struct parser *p)
{
    struct token t;

    do
        t = lex_next(&p->lex);
    while (t.kind == T_BAD);
    return t;
}

static void take(struct parser *p)
{
    p->end = p->tok.to;
    p->tok = p->next;
    p->next = fetch(p);
}

static struct str text_of(const struct parser *p, struct token t)
{
    return str_slice(p->lex.text, t.from, t.to);
}

static bool at(const struct parser *p, enum token_kind kind)
{
    return p->tok.kind == kind;
}

static bool accept(struct parser *p, enum token_kind kind)
{
    if (!at(p, kind))
        return false;
    take(p);
    return true;
}

static struct node *fail(struct parser *p, const char *expected)
{
    struct str got = at(p, T_END) ? S("<EOF>") : text_of(p, p->tok);

    if (!p->has_stopped)
        issue_report(p->report, p->tok.from,
                     "Syntax error: mismatched input '%.*s' expecting %s", STR_ARG(got),
                     expected);
    return ast_new(p->arena, N_ERROR, p->tok.from);
}

static bool expect(struct parser *p, enum token_kind kind, const char *name)
{
    if (accept(p, kind))
        return true;
    fail(p, name);
    return false;
}

/* Goes to the next comma or closing bracket of this level. */
static void skip_to_comma(struct parser *p)
{
    int open = 0;

    for (; !at(p, T_END); take(p)) {
        enum token_kind k = p->tok.kind;
        bool closes = k == T_RPAREN || k == T_RBRACKET || k == T_RBRACE;
        if (open == 0 && (k == T_COMMA || closes))
            return;
        open += k == T_LPAREN || k == T_LBRACKET || k == T_LBRACE;
        open -= closes;
    }
}

/* Limits on the whole tree; says so once and stops. */
static bool is_over(struct parser *p, const struct node *n)
{
    if (p->has_stopped)
        return true;
    if (p->depth > CEL_MAX_DEPTH)
        issue_report(p->report, 0, "expression recursion limit exceeded: %d", CEL_MAX_DEPTH);
    else if (n && n->depth > CEL_MAX_DEPTH)
        issue_report(p->report, 0, "max recursion depth exceeded");
    else if (++p->n_nodes > CEL_MAX_NODES || (n && n->weight > CEL_MAX_NODES))
        issue_report(p->report, 0, "expression has more than %d parts", CEL_MAX_NODES);
    else
        return false;
    p->has_stopped = true;
    p->lex.at = (uint32_t)p->lex.text.len; /* nothing more to read */
    p->tok = p->next = fetch(p);
    return true;
}

static struct node *done(struct parser *p, struct node *n, uint32_t from)
{
    n->from = from;
    n->to = p->end;
    ast_measure(n);
    if (is_over(p, n))
        n->kind = N_ERROR;
    return n;
}

/* ---- literals ---- */

static struct node *parse_int(struct parser *p, bool is_negative)
{
    struct str s = text_of(p, p->tok);
    uint32_t pos = p->tok.from;
    bool is_uint = at(p, T_UINT), is_hex = str_starts(s, S("0x"));
    char digits[64];
    unsigned long long v = 0;

    if (is_uint)
        s.len--;
    errno = 0;
    while (!is_hex && s.len > 1 && s.at[0] == '0')
        s.at++, s.len--;
    if (s.len >= sizeof(digits)) {
        errno = ERANGE;
    } else {
        memcpy(digits, s.at, s.len);
        digits[s.len] = 0;
        v = strtoull(digits, NULL, is_hex ? 16 : 10);
    }
    if (errno || (!is_uint && v > (unsigned long long)INT64_MAX + is_negative)) {
        issue_report(p->report, pos, "invalid %s literal", is_uint ? "uint" : "int");
        v = 0;
    }
    take(p);
    if (is_uint)
        return ast_const(p->arena, cel_uint(v), pos);
    return ast_const(p->arena, cel_int(is_negative ? (int64_t)(0 - v) : (int64_t)v), pos);
}

static struct node *parse_double(struct parser *p, bool is_negative)
{
    uint32_t pos = p->tok.from;
    double d = strtod(str_z(p->arena, text_of(p, p->tok)), NULL);

    if (isinf(d))
        issue_report(p->report, pos, "invalid double literal");
    take(p);
    return ast_const(p->arena, cel_double(is_negative ? -d : d), pos);
}

static struct node *parse_string(struct parser *p)
{
    struct token t = p->tok;
    struct str s = {0};

    take(p);
    if (!lex_string(&p->lex, p->arena, t, &s))
        return ast_new(p->arena, N_ERROR, t.from);
    return ast_const(p->arena, t.kind == T_BYTES ? cel_bytes(s) : cel_text(s), t.from);
}

static struct node *parse_literal(struct parser *p)
{
    uint32_t pos = p->tok.from;
    struct cel_value v;

    switch (p->tok.kind) {
    case T_INT:
    case T_UINT:
        return parse_int(p, false);
    case T_DOUBLE:
        return parse_double(p, false);
    case T_STRING:
    case T_BYTES:
        return parse_string(p);
    case T_TRUE:
    case T_FALSE:
        v = cel_bool(at(p, T_TRUE));
        break;
    case T_NULL:
        v = cel_null();
        break;
    default:
        return NULL;
    }
    take(p);
    return ast_const(p->arena, v, pos);
}

/* ---- calls, lists, maps, messages ---- */

struct args {
    VEC(struct node *) list;
};

/* Up to the closing parenthesis, which is taken. */
static void parse_args(struct parser *p, struct args *out)
{
    if (accept(p, T_RPAREN))
        return;
    for (;;) {
        struct node *arg = parse_expr(p);
        vec_push_in(p->arena, &out->list, arg);
        if (!at(p, T_COMMA) && !at(p, T_RPAREN) && arg->kind == N_ERROR)
            skip_to_comma(p);
        if (!accept(p, T_COMMA))
            break;
    }
    expect(p, T_RPAREN, "')'");
}

static struct node *make_call(struct parser *p, struct str name, uint32_t pos,
                              struct node *target, struct args *args, uint32_t from)
{
    struct node *call = ast_new(p->arena, N_CALL, pos);
    uint32_t n = (uint32_t)args->list.len + (target != NULL);

    call->name = name;
    call->is_member = target != NULL;
    call->args = arena_array(p->arena, struct node *, MAX(n, 1u));
    if (target)
        call->args[call->n++] = target;
    vec_each (i, &args->list)
        call->args[call->n++] = args->list.at[i];
    done(p, call, from);
    if (call->kind == N_ERROR || p->no_macros)
        return call;
    for (uint32_t i = 0; i < call->n; i++)
        if (call->args[i]->kind == N_ERROR)
            return call;
    struct node *n2 = macro_expand(p->arena, p->env, call, p->report);
    if (n2 == call)
        return call;
    done(p, n2, from);
    if (++p->n_macros > CEL_MAX_MACROS && !p->has_stopped) {
        issue_report(p->report, pos, "more than %d macro calls", CEL_MAX_MACROS);
        p->has_stopped = true;
    }
    return n2;
}

/* `?` before an element or key, where optional syntax is there. */
static bool parse_opt(struct parser *p)
{
    if (!at(p, T_ASK))
        return false;
    if (!env_has(p->env, LIB_OPTIONAL))
        issue_report(p->report, p->tok.from, "unsupported syntax '?'");
    take(p);
    return true;
}

typedef VEC(struct entry) entries;

/* Is there one (more) before the bracket? */
static bool has_entry(const struct parser *p, enum token_kind close)
{
    return !at(p, close) && !at(p, T_COMMA) && !at(p, T_END);
}

/* Behind an entry: takes the comma before the next one; false: there is none. */
static bool next_entry(struct parser *p, const struct node *value, enum token_kind close)
{
    if (value->kind == N_ERROR && !at(p, T_COMMA) && !at(p, close))
        skip_to_comma(p);
    if (!at(p, T_COMMA) || p->next.kind == close)
        return false;
    take(p);
    return has_entry(p, close);
}

static struct node *end_entries(struct parser *p, enum node_kind kind, uint32_t pos,
                                entries *list, uint32_t from)
{
    bool is_list = kind == N_LIST;
    struct node *n = ast_new(p->arena, kind, pos);

    accept(p, T_COMMA);
    expect(p, is_list ? T_RBRACKET : T_RBRACE, is_list ? "']'" : "'}'");
    n->entries = list->at;
    n->n = (uint32_t)list->len;
    return done(p, n, from);
}

static struct node *parse_list(struct parser *p)
{
    uint32_t pos = p->tok.from;
    entries list = {0};

    take(p);
    for (bool more = has_entry(p, T_RBRACKET); more;) {
        struct entry e = {.pos = p->tok.from};
        e.is_opt = parse_opt(p);
        e.value = parse_expr(p);
        vec_push_in(p->arena, &list, e);
        more = next_entry(p, e.value, T_RBRACKET);
    }
    return end_entries(p, N_LIST, pos, &list, pos);
}

static struct node *parse_map(struct parser *p)
{
    uint32_t pos = p->tok.from;
    entries list = {0};

    take(p);
    for (bool more = has_entry(p, T_RBRACE); more;) {
        struct entry e = {.is_opt = parse_opt(p)};
        e.key = parse_expr(p);
        e.pos = p->tok.from;
        if (!expect(p, T_COLON, "':'")) {
            skip_to_comma(p);
            e.value = ast_new(p->arena, N_ERROR, e.pos);
        } else {
            e.value = parse_expr(p);
        }
        vec_push_in(p->arena, &list, e);
        more = next_entry(p, e.value, T_RBRACE);
    }
    return end_entries(p, N_MAP, pos, &list, pos);
}

/* A field's name: an identifier (reserved ones too) or `quoted`. */
static bool parse_field(struct parser *p, struct str *out)
{
    struct str s = text_of(p, p->tok);

    if (at(p, T_QUOTED))
        s = str_slice(s, 1, s.len - 1);
    else if (!at(p, T_IDENT))
        return false;
    *out = str_copy(p->arena, s);
    take(p);
    return true;
}

static struct node *parse_message(struct parser *p, struct node *name)
{
    uint32_t pos = p->tok.from;
    entries list = {0};

    take(p);
    for (bool more = has_entry(p, T_RBRACE); more;) {
        struct entry e = {.is_opt = parse_opt(p)};
        if (!parse_field(p, &e.field)) {
            fail(p, "IDENTIFIER");
            skip_to_comma(p);
        }
        e.pos = p->tok.from;
        e.value = expect(p, T_COLON, "':'") ? parse_expr(p) : ast_new(p->arena, N_ERROR, pos);
        vec_push_in(p->arena, &list, e);
        more = next_entry(p, e.value, T_RBRACE);
    }
    struct node *n = end_entries(p, N_STRUCT, pos, &list, name->from);
    n->name = ast_qualified(p->arena, name);
    for (const struct node *head = name; !n->is_root; head = head->target) {
        n->is_root = head->is_root;
        if (head->kind != N_SELECT)
            break;
    }
    return n;
}

/* ---- primary and what follows it ---- */

static struct node *parse_ident(struct parser *p)
{
    uint32_t from = p->tok.from;
    bool is_root = accept(p, T_DOT);
    struct token t = p->tok;
    struct str name;

    if (!at(p, T_IDENT))
        return fail(p, "IDENTIFIER");
    name = str_copy(p->arena, text_of(p, t));
    take(p);
    if (lex_is_reserved(name)) {
        issue_report(p->report, t.from, "reserved identifier: %.*s", STR_ARG(name));
        return ast_new(p->arena, N_ERROR, t.from);
    }
    if (at(p, T_LPAREN)) {
        struct args args = {0};
        uint32_t pos = p->tok.from;
        take(p);
        parse_args(p, &args);
        struct node *call = make_call(p, name, pos, NULL, &args, from);
        if (call->kind == N_CALL)
            call->is_root = is_root;
        return call;
    }
    struct node *n = done(p, ast_ident(p->arena, name, t.from), from);
    n->is_root = is_root;
    n->is_name = true;
    return n;
}

static struct node *parse_primary(struct parser *p)
{
    struct node *n;

    switch (p->tok.kind) {
    case T_IDENT:
    case T_DOT:
        return parse_ident(p);
    case T_LPAREN:
        take(p);
        n = parse_expr(p);
        n->is_name = false;
        if (n->kind == N_ERROR && !at(p, T_RPAREN))
            skip_to_comma(p);
        expect(p, T_RPAREN, "')'");
        return n;
    case T_LBRACKET:
        return parse_list(p);
    case T_LBRACE:
        return parse_map(p);
    default:
        n = parse_literal(p);
        return n ? done(p, n, n->pos)
                 : fail(p, "{'[', '{', '(', '.', '-', '!', IDENTIFIER, literal}");
    }
}

/* `.f`, `.?f`, `.f(…)` behind n. */
static struct node *parse_dot(struct parser *p, struct node *n)
{
    uint32_t pos = p->tok.from, from = n->from;
    struct node *s = ast_new(p->arena, N_SELECT, pos);

    take(p);
    if (at(p, T_ASK)) {
        if (!env_has(p->env, LIB_OPTIONAL))
            issue_report(p->report, p->tok.from, "unsupported syntax '.?'");
        s->is_opt = true;
        take(p);
    }
    bool is_plain = at(p, T_IDENT) && !s->is_opt;
    if (at(p, T_STRING) || at(p, T_BYTES)) {
        issue_report(p->report, p->tok.from,
                     "Syntax error: no viable alternative at input '.%.*s'",
                     STR_ARG(text_of(p, p->tok)));
        take(p);
        return ast_new(p->arena, N_ERROR, pos);
    }
    if (!parse_field(p, &s->name))
        return fail(p, "IDENTIFIER");
    if (is_plain && at(p, T_LPAREN)) {
        struct args args = {0};
        pos = p->tok.from;
        take(p);
        parse_args(p, &args);
        return make_call(p, s->name, pos, n, &args, from);
    }
    s->target = n;
    s->is_name = n->is_name && is_plain;
    return done(p, s, from);
}

static struct node *parse_index(struct parser *p, struct node *n)
{
    uint32_t pos = p->tok.from, from = n->from;
    bool is_opt;

    take(p);
    is_opt = at(p, T_ASK);
    if (is_opt) {
        if (!env_has(p->env, LIB_OPTIONAL))
            issue_report(p->report, p->tok.from, "unsupported syntax '[?'");
        take(p);
    }
    struct node *key = parse_expr(p);
    if (key->kind == N_ERROR && !at(p, T_RBRACKET))
        skip_to_comma(p);
    expect(p, T_RBRACKET, "']'");
    return done(p, ast_call(p->arena, is_opt ? S("_[?_]") : S("_[_]"), pos, 2, n, key), from);
}

static struct node *parse_member(struct parser *p, struct node *n)
{
    while (!p->has_stopped && n->kind != N_ERROR) {
        if (at(p, T_DOT))
            n = parse_dot(p, n);
        else if (at(p, T_LBRACKET))
            n = parse_index(p, n);
        else if (at(p, T_LBRACE) && n->is_name)
            n = parse_message(p, n);
        else
            break;
    }
    return n;
}

/* ---- operators ---- */

static struct node *parse_unary(struct parser *p)
{
    enum token_kind kind = p->tok.kind;
    uint32_t pos = p->tok.from, n_ops = 0;
    struct node *n;

    if (kind != T_NOT && kind != T_MINUS)
        return parse_member(p, parse_primary(p));
    while (accept(p, kind))
        n_ops++;
    if (at(p, T_NOT) || at(p, T_MINUS))
        return fail(p, "an operand");
    if (kind == T_MINUS && n_ops == 1 && (at(p, T_INT) || at(p, T_DOUBLE))) {
        n = at(p, T_INT) ? parse_int(p, true) : parse_double(p, true);
        n->pos = pos;
        return parse_member(p, done(p, n, pos));
    }
    n = parse_member(p, parse_primary(p));
    if (n_ops % 2 == 0 || n->kind == N_ERROR)
        return n;
    return done(p, ast_call(p->arena, kind == T_NOT ? S("!_") : S("-_"), pos, 1, n), pos);
}

struct level {
    struct {
        enum token_kind token;
        struct str name;
    } ops[7];
    size_t n;
};

static const struct level levels[] = {
    {{{T_LT, S_INIT("_<_")},
      {T_LE, S_INIT("_<=_")},
      {T_GE, S_INIT("_>=_")},
      {T_GT, S_INIT("_>_")},
      {T_EQ, S_INIT("_==_")},
      {T_NE, S_INIT("_!=_")},
      {T_IN, S_INIT("@in")}},
     7                                                                                 },
    {{{T_PLUS, S_INIT("_+_")}, {T_MINUS, S_INIT("_-_")}},                             2},
    {{{T_STAR, S_INIT("_*_")}, {T_SLASH, S_INIT("_/_")}, {T_PERCENT, S_INIT("_%_")}}, 3},
};

/* The operators of a level, left to right. */
static struct node *parse_binary(struct parser *p, size_t level)
{
    struct node *left =
        level + 1 < countof(levels) ? parse_binary(p, level + 1) : parse_unary(p);

    while (left->kind != N_ERROR) {
        size_t i = 0;
        while (i < levels[level].n && levels[level].ops[i].token != p->tok.kind)
            i++;
        if (i == levels[level].n)
            break;
        uint32_t pos = p->tok.from;
        take(p);
        struct node *right =
            level + 1 < countof(levels) ? parse_binary(p, level + 1) : parse_unary(p);
        if (right->kind == N_ERROR)
            return right;
        left = done(p, ast_call(p->arena, levels[level].ops[i].name, pos, 2, left, right),
                    left->from);
    }
    return left;
}

struct chain {
    VEC(struct node *) terms;
    VEC(uint32_t) ops;
};

/* Operators [lo, hi] of a chain as a balanced tree. */
static struct node *balance(struct parser *p, const struct chain *c, struct str name, size_t lo,
                            size_t hi)
{
    size_t mid = (lo + hi + 1) / 2;
    struct node *left = mid == lo ? c->terms.at[mid] : balance(p, c, name, lo, mid - 1);
    struct node *right = mid == hi ? c->terms.at[mid + 1] : balance(p, c, name, mid + 1, hi);

    return ast_call(p->arena, name, c->ops.at[mid], 2, left, right);
}

static struct node *parse_logic(struct parser *p, bool is_or)
{
    struct chain c = {0};

    for (;;) {
        struct node *n = is_or ? parse_logic(p, false) : parse_binary(p, 0);
        if (n->kind == N_ERROR)
            return n;
        vec_push_in(p->arena, &c.terms, n);
        if (!at(p, is_or ? T_OR : T_AND))
            break;
        vec_push_in(p->arena, &c.ops, p->tok.from);
        take(p);
    }
    if (c.ops.len == 0)
        return c.terms.at[0];
    return done(p, balance(p, &c, is_or ? S("_||_") : S("_&&_"), 0, c.ops.len - 1),
                c.terms.at[0]->from);
}

static struct node *parse_expr(struct parser *p)
{
    struct node *cond, *yes, *no;

    p->depth++;
    if (is_over(p, NULL)) {
        p->depth--;
        return ast_new(p->arena, N_ERROR, p->tok.from);
    }
    cond = parse_logic(p, true);
    if (cond->kind != N_ERROR && at(p, T_ASK)) {
        uint32_t pos = p->tok.from;
        take(p);
        yes = parse_logic(p, true);
        if (yes->kind == N_ERROR || !expect(p, T_COLON, "':'"))
            cond = ast_new(p->arena, N_ERROR, pos);
        else if (no = parse_expr(p), no->kind == N_ERROR)
            cond = no;
        else
            cond = done(p, ast_call(p->arena, S("_?_:_"), pos, 3, cond, yes, no), cond->from);
    }
    p->depth--;
    return cond;
}

struct node *ast_parse(struct arena *a, const struct cel_env *env, struct str text,
                       bool no_macros, struct report *r)
{
    struct parser p = {
        .arena = a,
        .env = env,
        .report = r,
        .no_macros = no_macros,
        .lex = {.text = text, .report = r}
    };

    if (!str_is_utf8(text)) {
        issue_report(r, 0, "expression is not valid UTF-8");
        return ast_new(a, N_ERROR, 0);
    }
    if (text.len > CEL_MAX_TEXT && str_runes(text) > CEL_MAX_TEXT) {
        issue_report(r, 0, "expression code point size exceeds limit: size: %zu, limit %d",
                     str_runes(text), CEL_MAX_TEXT);
        return ast_new(a, N_ERROR, 0);
    }
    p.tok = fetch(&p);
    p.next = fetch(&p);
    struct node *n = parse_expr(&p);
    if (n->kind != N_ERROR && !at(&p, T_END))
        fail(&p, "<EOF>");
    return n;
}
