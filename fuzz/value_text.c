/* Times, spans, addresses, networks, URLs and versions are refused, or print as something that
 * reads back to the same; names are judged without going astray. */
#include "value/printable.h"
#include "value/value.h"

static void times(struct arena *a, struct str text)
{
    struct instant t, again;
    struct span d, d_again;

    if (time_parse(text, &t, NULL) == 0) {
        struct str micro = time_text_micro(a, t);
        assert(time_parse_micro(micro, &again, NULL) == 0);
        assert(str_eq(time_text_micro(a, again), micro));
        time_text(a, t);
        age_since(a, t, again);
    }
    if (span_parse(text, &d, NULL) == 0) {
        assert(span_parse(span_text(a, d), &d_again, NULL) == 0);
        assert(d.ns == d_again.ns);
        age_text(a, d);
    }
}

static void nets(struct arena *a, struct str text)
{
    struct ip ip, ip_again;
    struct cidr c, c_again;
    struct url u, u_again;
    struct semver v, v_again;

    if (ip_parse(text, &ip, NULL) == 0) {
        assert(ip_parse(ip_text(a, &ip), &ip_again, NULL) == 0);
        assert(ip_eq(&ip, &ip_again));
        ip_is_global_unicast(&ip);
    }
    if (cidr_parse(text, &c, NULL) == 0) {
        assert(cidr_parse(cidr_text(a, &c), &c_again, NULL) == 0);
        assert(cidr_eq(&c, &c_again));
        c_again = cidr_masked(&c);
        assert(cidr_has_ip(&c, &c.ip) && cidr_has_cidr(&c_again, &c));
    }
    if (url_parse(a, text, &u, NULL) == 0) {
        struct str once = url_text(a, &u);
        url_query(a, &u);
        url_hostname(&u);
        url_port(&u);
        if (once.len < URL_MAX_TEXT && url_parse(a, once, &u_again, NULL) == 0)
            assert(str_eq(url_text(a, &u_again), once));
    }
    if (semver_parse(text, &v, NULL) == 0) {
        struct buf b = buf_in(a, 64);
        semver_write(&b, &v);
        assert(semver_parse(buf_str(&b), &v_again, NULL) == 0);
        assert(semver_cmp(&v, &v_again) == 0);
    }
    semver_parse_lax(a, text, &v, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped(arena_fini) struct arena a = arena_sized(1 << 14);
    struct str text = str_of((const char *)data, size);
    int64_t n;
    bool is_percent;

    times(&a, text);
    nets(&a, text);
    for (int rule = 0; rule <= NAME_PATH_SEGMENT_PREFIX; rule++) {
        struct name_faults f = name_check((enum name_rule)rule, text);
        for (size_t i = 0; i < f.n; i++)
            assert(name_fault(&a, &f, i).len > 0);
    }
    int_or_string_value(int_or_string_parse(text), &n, &is_percent, NULL);
    for (size_t i = 0; i < text.len;)
        rune_is_printable(str_rune(text, &i));
    return 0;
}
