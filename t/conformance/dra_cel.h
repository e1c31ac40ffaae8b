/* dra_cel.h - the rows of suite `dra` that are about expressions */
#pragma once

#include "conformance.h"

void conf_dra_cel(struct conf *t, const struct json *c);
void conf_dra_named_cel(struct conf *t, const struct json *c);
