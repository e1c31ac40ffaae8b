/* printable.h - which code points a person can see */
#pragma once

#include "base/base.h"

/* Letters, marks, numbers, punctuation, symbols, and the ASCII blank, as Unicode has them. */
bool rune_is_printable(int32_t rune);
