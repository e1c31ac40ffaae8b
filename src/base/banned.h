/* banned.h - what must not be called, as compile errors
 *
 * Included last by base.h: these have no bound, hidden state or no error.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The fortified headers make macros of these for clang. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets atoi atol atoll  \
    atof
#pragma GCC poison localtime gmtime ctime asctime rand srand
