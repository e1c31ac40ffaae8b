/* printable.c - which code points a person can see; Unicode's tables are RE2's */
#include "value/printable.h"

bool rune_is_printable(int32_t rune)
{
    static struct regex *re; /* a constant, made when it is first needed */
    char text[4];

    if (rune < 0x80)
        return rune >= ' ' && rune <= '~';
    if (!re)
        re = regex_new(S("[\\pL\\pM\\pN\\pP\\pS]"), NULL);
    return regex_match_full(re, str_of(text, str_put_rune(text, rune)));
}
