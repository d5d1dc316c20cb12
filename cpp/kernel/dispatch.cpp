// Which table this CPU runs.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "treedgp/kernel/ops.hpp"

namespace treedgp::kernel {

extern const Ops scalar_ops;
#if defined(__GNUC__)
extern const Ops baseline_ops;
#if defined(__x86_64__)
extern const Ops avx2_ops, avx512vl_ops, avx512_ops;
#endif
#endif

namespace {

struct Candidate {
  const Ops* table;
  bool (*supported)();
};

bool always() { return true; }
#if defined(__GNUC__) && defined(__x86_64__)
// Each must ask for every -m flag its translation unit is compiled with (CMakeLists.txt).
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

// Widest first.
constexpr Candidate candidates[] = {
#if defined(__GNUC__)
#if defined(__x86_64__)
    {&avx512_ops, has_avx512},
    {&avx512vl_ops, has_avx512},
    {&avx2_ops, has_avx2},
#endif
    {&baseline_ops, always},
#endif
    {&scalar_ops, always},
};

// The tables for large and for small matrices.
struct Choice {
  const Ops *large, *small;
};

Choice choose() {
  const char* forced = std::getenv("TREEDGP_ISA");
  const bool free_choice = forced == nullptr || *forced == '\0';
  std::string available;
  for (const Candidate& c : candidates) {
    if (!c.supported()) continue;
    if (free_choice || std::strcmp(forced, c.table->name) == 0) {
      const Ops* narrow = c.table->width > 4 ? find("avx512vl") : nullptr;
      return {c.table, narrow ? narrow : c.table};
    }
    available += (available.empty() ? "" : ", ") + std::string(c.table->name);
  }
  throw std::runtime_error("TREEDGP_ISA: expected one of " + available + " on this machine, got '" + forced + "'");
}

}  // namespace

const Ops* find(const char* isa) {
  for (const Candidate& c : candidates)
    if (std::strcmp(isa, c.table->name) == 0 && c.supported()) return c.table;
  return nullptr;
}

const Ops& ops(int n) {
  constexpr int small = 128;  // up to here short dependency chains beat wide registers (benchmarks/kernel.py)
  static const Choice chosen = choose();
  return n <= small ? *chosen.small : *chosen.large;
}

const char* isa() { return ops(1 << 20).name; }

}  // namespace treedgp::kernel
