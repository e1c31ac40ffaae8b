/* cost.c - what calls cost when they run
 *
 * The unit and the formulas are cel-go's and Kubernetes', number for number: users size their
 * schemas by them.
 */
#include <math.h>

#include "cel/plan_priv.h"

#define CHECK_COST 350000
#define LIST_BASE 10

uint64_t cost_up(double cost)
{
    double d = ceil(cost);

    return d >= 0x1p64 ? UINT64_MAX : (uint64_t)d;
}

uint64_t cost_scale(uint64_t n, double factor)
{
    return cost_up((double)n * factor);
}

int cost_by_name(struct str name)
{
    static const struct {
        struct str name;
        enum cost cost;
    } names[] = {
        {S_INIT("check"),                COST_CHECK        },
        {S_INIT("serviceAccount"),       COST_ONE          },
        {S_INIT("path"),                 COST_ONE          },
        {S_INIT("group"),                COST_ONE          },
        {S_INIT("resource"),             COST_ONE          },
        {S_INIT("subresource"),          COST_ONE          },
        {S_INIT("namespace"),            COST_ONE          },
        {S_INIT("name"),                 COST_ONE          },
        {S_INIT("allowed"),              COST_ONE          },
        {S_INIT("reason"),               COST_ONE          },
        {S_INIT("error"),                COST_ONE          },
        {S_INIT("errored"),              COST_ONE          },
        {S_INIT("fieldSelector"),        COST_SELECTOR     },
        {S_INIT("labelSelector"),        COST_SELECTOR     },
        {S_INIT("isSorted"),             COST_TRAVERSE     },
        {S_INIT("sum"),                  COST_TRAVERSE     },
        {S_INIT("min"),                  COST_TRAVERSE     },
        {S_INIT("max"),                  COST_TRAVERSE     },
        {S_INIT("indexOf"),              COST_TRAVERSE     },
        {S_INIT("lastIndexOf"),          COST_TRAVERSE     },
        {S_INIT("includes"),             COST_INCLUDES     },
        {S_INIT("url"),                  COST_KEEP         },
        {S_INIT("jsonpatch.escapeKey"),  COST_KEEP         },
        {S_INIT("lowerAscii"),           COST_KEEP         },
        {S_INIT("upperAscii"),           COST_KEEP         },
        {S_INIT("substring"),            COST_KEEP         },
        {S_INIT("trim"),                 COST_KEEP         },
        {S_INIT("replace"),              COST_REPLACE      },
        {S_INIT("split"),                COST_SPLIT        },
        {S_INIT("join"),                 COST_JOIN         },
        {S_INIT("find"),                 COST_FIND         },
        {S_INIT("findAll"),              COST_FIND         },
        {S_INIT("cidr"),                 COST_PARSE        },
        {S_INIT("isIP"),                 COST_PARSE        },
        {S_INIT("isCIDR"),               COST_PARSE        },
        {S_INIT("quantity"),             COST_PARSE        },
        {S_INIT("isQuantity"),           COST_PARSE        },
        {S_INIT("semver"),               COST_PARSE        },
        {S_INIT("isSemver"),             COST_PARSE        },
        {S_INIT("ip"),                   COST_IP           },
        {S_INIT("ip.isCanonical"),       COST_ARG2         },
        {S_INIT("masked"),               COST_ONE          },
        {S_INIT("prefixLength"),         COST_ONE          },
        {S_INIT("family"),               COST_ONE          },
        {S_INIT("isUnspecified"),        COST_ONE          },
        {S_INIT("isLoopback"),           COST_ONE          },
        {S_INIT("isLinkLocalMulticast"), COST_ONE          },
        {S_INIT("isLinkLocalUnicast"),   COST_ONE          },
        {S_INIT("isGlobalUnicast"),      COST_ONE          },
        {S_INIT("containsIP"),           COST_CONTAINS_IP  },
        {S_INIT("containsCIDR"),         COST_CONTAINS_CIDR},
        {S_INIT("validate"),             COST_VALIDATE     },
        {S_INIT("format.named"),         COST_ONE          },
        {S_INIT("sign"),                 COST_ONE          },
        {S_INIT("asInteger"),            COST_ONE          },
        {S_INIT("isInteger"),            COST_ONE          },
        {S_INIT("asApproximateFloat"),   COST_ONE          },
        {S_INIT("isGreaterThan"),        COST_ONE          },
        {S_INIT("isLessThan"),           COST_ONE          },
        {S_INIT("compareTo"),            COST_ONE          },
        {S_INIT("add"),                  COST_ONE          },
        {S_INIT("sub"),                  COST_ONE          },
        {S_INIT("major"),                COST_ONE          },
        {S_INIT("minor"),                COST_ONE          },
        {S_INIT("patch"),                COST_ONE          },
        {S_INIT("getScheme"),            COST_ONE          },
        {S_INIT("getHost"),              COST_ONE          },
        {S_INIT("getHostname"),          COST_ONE          },
        {S_INIT("getPort"),              COST_ONE          },
        {S_INIT("getEscapedPath"),       COST_ONE          },
        {S_INIT("getQuery"),             COST_ONE          },
    };

    for (size_t i = 0; i < countof(names); i++)
        if (str_eq(names[i].name, name))
            return names[i].cost;
    return -1;
}

/* Costs that come with a library's overloads and outrank those by name. */
static bool is_bound(enum cost c)
{
    return (c >= COST_INCLUDES_136 && c <= COST_SETS_TWICE) || c == COST_FIXED;
}

enum cost cost_rule(const struct cel_env *env, const struct function *f,
                    const struct overload *const *overloads, uint32_t n)
{
    (void)env;
    if (n == 1 && is_bound((enum cost)overloads[0]->cost))
        return (enum cost)overloads[0]->cost;
    if (f->k8s_cost >= 0)
        return (enum cost)f->k8s_cost;
    if (str_eqz(f->name, "_==_") || str_eqz(f->name, "_!=_"))
        return COST_EQUAL;
    return n == 1 ? (enum cost)overloads[0]->cost : COST_ONE;
}

/* The size as the language's own table sees it: through optionals. */
static uint64_t size_of(struct cel_value v)
{
    while (v.kind == CEL_OPTIONAL && v.len)
        v = v.items[0];
    return cel_size(v);
}

static uint64_t traversal(struct cel_value v)
{
    uint64_t sum = 0;

    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return (uint64_t)((double)v.len * 0.1);
    case CEL_LIST:
        if (v.form == CEL_ARRAY) {
            for (uint32_t i = 0; i < v.len; i++)
                sum += traversal(v.items[i]);
            return sum;
        }
        break;
    case CEL_MAP:
        break;
    default:
        return 1;
    }
    scoped(arena_fini) struct arena a = arena_sized(1 << 10);
    for (uint32_t i = 0; i < v.len; i++) {
        if (v.kind == CEL_MAP)
            sum += traversal(cel_key(&a, v, i)) + traversal(value_entry(&a, v, i));
        else
            sum += traversal(cel_at(&a, v, i));
    }
    return sum;
}

static bool costs_one_to_compare(struct cel_value v)
{
    return v.kind >= CEL_QUANTITY && v.kind <= CEL_FORMAT;
}

static uint64_t sort_cost(struct cel_value keys)
{
    double f = 2;

    if (keys.kind == CEL_LIST && keys.len) {
        uint8_t kind = keys.form == CEL_ARRAY ? keys.items[0].kind : cel_at(NULL, keys, 0).kind;
        if (kind == CEL_STRING || kind == CEL_BYTES)
            f = 2.1;
    }
    double n = (double)size_of(keys);
    return (uint64_t)(f * n * n) + 1 + LIST_BASE;
}

static uint64_t contains_ip_cost(const struct cel_value *args)
{
    uint64_t cost = cost_scale(cel_size(args[0]), 0.2);

    return args[1].kind == CEL_STRING ? cost + cost_scale(cel_size(args[1]), 0.1) : cost;
}

static uint64_t flatten_cost(const struct cel_value *args, size_t n)
{
    int64_t depth = n > 1 && args[1].kind == CEL_INT ? args[1].i : 1;
    uint64_t product;

    if (__builtin_mul_overflow((uint64_t)MAX(depth, (int64_t)0) + (depth < 0), size_of(args[0]),
                               &product))
        return UINT64_MAX;
    return product + 1 + LIST_BASE;
}

uint64_t cost_run(enum cost rule, const struct cel_value *args, size_t n,
                  struct cel_value result)
{
    switch (rule) {
    case COST_NONE:
        return 0;
    case COST_EQUAL:
        if (costs_one_to_compare(args[0]))
            return 1;
        fallthrough;
    case COST_ORDER:
        return cost_scale(MIN(size_of(args[0]), size_of(args[1])), 0.1);
    case COST_CONCAT:
        return cost_scale(size_of(args[0]) + size_of(args[1]), 0.1);
    case COST_NEEDLE:
        return cost_scale(size_of(args[1]), 0.1);
    case COST_ARG:
    case COST_FORMAT:
    case COST_TO_BYTES:
    case COST_TO_STRING:
    case COST_QUOTE:
        return cost_scale(size_of(args[0]), 0.1);
    case COST_PARSE:
    case COST_KEEP:
        return cost_scale(cel_size(args[0]), 0.1);
    case COST_ARG2:
    case COST_REPLACE:
    case COST_SPLIT:
        return cost_scale(cel_size(args[0]), 0.2);
    case COST_JOIN:
        return cost_scale(cel_size(result), 0.2);
    case COST_IN_LIST:
        return size_of(args[1]);
    case COST_MATCH:
    case COST_FIND:
        return cost_scale(size_of(args[0]) + 1, 0.1) * cost_scale(size_of(args[1]), 0.25);
    case COST_CONTAINS:
        return cost_scale(size_of(args[0]), 0.1) * cost_scale(size_of(args[1]), 0.1);
    case COST_TRAVERSE:
    case COST_INCLUDES:
        return traversal(args[0]);
    case COST_IP:
        return args[0].kind == CEL_STRING ? cost_scale(cel_size(args[0]), 0.1) : 1;
    case COST_CONTAINS_IP:
        return contains_ip_cost(args);
    case COST_CONTAINS_CIDR:
        return contains_ip_cost(args) + cost_scale(cel_size(args[0]), 0.1) + 1;
    case COST_VALIDATE:
        return cost_scale(cel_size(args[1]) + 1, 0.1) *
               cost_scale(format_regex_size(args[0]), 0.25);
    case COST_CHECK:
        return CHECK_COST;
    case COST_SELECTOR:
        return LIST_BASE + cost_scale(cel_size(args[1]), 0.1) +
               50 * cost_scale(cel_size(args[1]), 0.5);
    case COST_SLICE:
    case COST_LIST_RANGE:
    case COST_LIST_REVERSE:
        return size_of(result) + 1 + LIST_BASE;
    case COST_FLATTEN:
        return flatten_cost(args, n);
    case COST_DISTINCT:
    case COST_SORT:
        return sort_cost(args[0]);
    case COST_SORT_BY:
        return sort_cost(args[1]);
    case COST_SETS:
        return 1 + size_of(args[0]) * size_of(args[1]);
    case COST_SETS_TWICE:
        return 1 + 2 * size_of(args[0]) * size_of(args[1]);
    default:
        return 1;
    }
}
