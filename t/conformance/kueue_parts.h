/* kueue_parts.h - the adapters of suite kueue that stand in files of their own */
#pragma once

#include "conformance.h"

conf_fn kueue_workload_finish;
