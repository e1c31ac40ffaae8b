/* find.c - built-in kinds by name: two sorted lists that kindc wrote */
#include "api/find.h"

static int compare(const struct kind *k, struct str group, struct str version, struct str name,
                   bool plural)
{
    int c = str_cmp(group, k->group);

    if (c == 0)
        c = str_cmp(version, k->version);
    return c ? c : str_cmp(name, plural ? k->plural : k->kind);
}

static const struct kind *search(const uint16_t *order, struct str group, struct str version,
                                 struct str name, bool plural)
{
    size_t from = 0, to = KIND_COUNT;

    while (from < to) {
        size_t mid = (from + to) / 2;
        const struct kind *k = kinds[order[mid]];
        int c = compare(k, group, version, name, plural);
        if (c == 0)
            return k;
        if (c < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const struct kind *kind_find(struct str group, struct str version, struct str kind)
{
    return search(kinds_by_kind, group, version, kind, false);
}

const struct kind *kind_by_resource(struct str group, struct str version, struct str plural)
{
    return search(kinds_by_plural, group, version, plural, true);
}

const struct kind *kind_of(struct str api_version, struct str kind)
{
    struct str group, version;

    if (!str_cut(api_version, '/', &group, &version)) {
        version = group;
        group = (struct str){0};
    }
    return kind_find(group, version, kind);
}
