/* base.h - the door of base/: what every room stands on */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/regex.h"
#include "base/str.h"
#include "base/vec.h"
#include "base/when.h"

#include "base/banned.h"
