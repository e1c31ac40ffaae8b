/* jobs.h - the parts of bench-jobs */
#pragma once

void job_decisions(void);
