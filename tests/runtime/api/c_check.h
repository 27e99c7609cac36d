/* What the programs that test the C API from C have in common.
 *
 * Threads: one. */
#ifndef PC_TESTS_C_CHECK_H_
#define PC_TESTS_C_CHECK_H_

#include <stdio.h>

#include "promptcache/promptcache.h"

extern int failures;
extern pc_error error; /* of the latest call */

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      ++failures;                                                                              \
      fprintf(stderr, "%s:%d: %s is not so; last error: %s\n", __FILE__, __LINE__, #condition, \
              error.message);                                                                  \
    }                                                                                          \
  } while (0)

void constrain(const pc_engine* engine, const pc_prompt* prompt);

#endif
