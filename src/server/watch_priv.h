/* watch_priv.h - watches under way */
#pragma once

#include "server/server_priv.h"

#define WATCH_MIN_S 1800           /* of a watch that names no timeout; at most twice that */
#define WATCH_KEEPALIVE span_s(15) /* silence after which a reader gets a sign of life */
#define WATCH_TICK span_s(5)

/* The reader is gone: nothing more is sent. */
void watching_cancel(struct request *r);
/* Ends it in order. */
void watching_end(struct request *r);
/* The reader can take more. */
void watching_drained(struct request *r);
void watching_tick(struct request *r);
void watches_tick_all(struct server *s);
void watches_end_all(struct server *s);
