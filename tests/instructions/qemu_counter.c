/* A plug-in of qemu-user: counts the instructions that the program executes between its functions
 * counting_begins and counting_ends, all that it calls there included.
 *
 *   qemu-aarch64 -plugin ./libqemu_counter.so,counts=FILE[,trace=FILE] PROGRAM
 *
 * counts gets a line for each time that counting ended: how many. trace gets the address of
 * counting_begins and then, in their order, the blocks of instructions that were executed: address
 * and length in instructions; an empty line where counting ended.
 *
 * One thread. Of QEMU's interface for plug-ins (docs/devel/tcg-plugins in its sources), version 1,
 * Debian has no header: what is used of it is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_translated)(uint64_t id, struct qemu_plugin_tb* block);
typedef void (*on_executed)(unsigned cpu, void* data);
typedef void (*on_end)(uint64_t id, void* data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, on_translated call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* block, on_executed call, int flags,
                                          void* data);
void qemu_plugin_register_atexit_cb(uint64_t id, on_end call, void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t at);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* instruction);

#define PLUGIN __attribute__((visibility("default")))
PLUGIN int qemu_plugin_version = 1;

enum { kPlain, kBegins, kEnds };
struct block {
  uint64_t address, length; /* bytes; instructions */
  int mark;
};

static FILE *counts, *trace;
static uint64_t counted;
static int counting;

static void executed(unsigned cpu, void* data) {
  const struct block* block = data;
  (void)cpu;
  if (block->mark == kBegins) {
    counted = 0, counting = 1;
    if (trace) fprintf(trace, "%" PRIx64 "\n", block->address);
  } else if (block->mark == kEnds && counting) {
    counting = 0;
    fprintf(counts, "%" PRIu64 "\n", counted);
    if (trace) fputs("\n", trace);
  } else if (counting) {
    counted += block->length;
    if (trace) fprintf(trace, "%" PRIx64 " %" PRIu64 "\n", block->address, block->length);
  }
}

/* A function is entered at a block of its own, since a jump leads there. */
static int mark_of(const struct qemu_plugin_tb* tb) {
  const char* name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
  if (!name) return kPlain;
  return strcmp(name, "counting_begins") == 0 ? kBegins
         : strcmp(name, "counting_ends") == 0 ? kEnds
                                              : kPlain;
}

static void translated(uint64_t id, struct qemu_plugin_tb* tb) {
  struct block* block = malloc(sizeof *block); /* QEMU never says that it forgot one */
  (void)id;
  if (!block) abort();
  block->address = qemu_plugin_tb_vaddr(tb);
  block->length = qemu_plugin_tb_n_insns(tb);
  block->mark = mark_of(tb);
  qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, block);
}

static void at_exit(uint64_t id, void* data) {
  (void)id, (void)data;
  fclose(counts);
  if (trace) fclose(trace);
}

static FILE* file_of(const char* argument, const char* name) {
  const size_t n = strlen(name);
  return strncmp(argument, name, n) == 0 && argument[n] == '=' ? fopen(argument + n + 1, "w")
                                                               : NULL;
}

PLUGIN int qemu_plugin_install(uint64_t id, const void* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (!counts) counts = file_of(argv[i], "counts");
    if (!trace) trace = file_of(argv[i], "trace");
  }
  if (!counts) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
