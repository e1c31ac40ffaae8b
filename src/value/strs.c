/* strs.c - lists and maps of texts */
#include "value/strs.h"

#include "json/json.h"

struct str_map str_map_of(struct arena *a, const struct json *object)
{
    struct str_map m = {arena_array(a, struct str_entry, json_len(object)), 0};

    json_each_member (member, object)
        if (json_is(&member->value, JSON_STRING))
            m.at[m.len++] = (struct str_entry){member->name, json_str(&member->value)};
    return m;
}

struct str_list str_list_of(struct arena *a, const struct json *array)
{
    struct str_list l = {arena_array(a, struct str, json_len(array)), 0};

    json_each (i, array)
        if (json_is(json_at(array, i), JSON_STRING))
            l.at[l.len++] = json_str(json_at(array, i));
    return l;
}
