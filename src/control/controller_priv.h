/* controller_priv.h - the parts of control/ among themselves */
#pragma once

#include "control/control.h"

struct event_book;

/* The caches are ready: what is queued may run. */
void controller_start(struct controller *c);
void controller_free(struct controller *c);
struct str controller_name(const struct controller *c);
void control_add_controller(struct control *c, struct controller *controller);
/* Many requests of clients are under way: what can wait shall. */
bool control_is_pressed(const struct control *c);
struct str control_component(const struct control *c);
struct event_book *control_events(const struct control *c);

struct event_book *event_book_new(struct control *c);
void event_book_free(struct event_book *b);
