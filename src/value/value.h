/* value.h - the door of value/: what single fields of the API mean */
#pragma once

#include "value/field_error.h"
#include "value/int_or_string.h"
#include "value/ip.h"
#include "value/names.h"
#include "value/quantity.h"
#include "value/selector.h"
#include "value/semver.h"
#include "value/strs.h"
#include "value/time.h"
#include "value/url.h"
#include "value/zone.h"
