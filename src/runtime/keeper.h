/* keeper.h - the process that every container has as its parent
 *
 * main() looks for this branch before anything else, so that no library has started and the
 * keeper stays small: base/ and system calls only.
 */
#pragma once

#include <stdbool.h>

/* True where main() was started as the keeper: `berth keeper DIR`. */
bool keeper_is_asked(int argc, char **argv);
/* Runs the keeper of DIR until nobody is connected and nothing runs; the process's exit code.
 * Descriptor 3, where it is open, gets one byte when the socket is there. */
int keeper_main(int argc, char **argv);
