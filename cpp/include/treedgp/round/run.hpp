// Rounds begin .. end - 1 of a chain. A draw depends on its round alone, so any cutting into chunks gives the
// same draws.
#pragma once
#include "treedgp/rng/random.hpp"
#include "treedgp/round/classes.hpp"
#include "treedgp/round/start.hpp"
#include "treedgp/state/draws.hpp"
#include "treedgp/state/log_posterior.hpp"

namespace treedgp {

// Every thin-th round after tuning is kept.
inline bool is_kept(std::int64_t round, const Schedule& schedule) {
  return round >= schedule.tune && (round - schedule.tune + 1) % schedule.thin == 0;
}

inline void run_rounds(Trees& trees, const Problem& problem, Random& rng, std::int64_t begin, std::int64_t end,
                       Workspace& ws, std::vector<Draws>& kept, Counts& counts) {
  for (std::int64_t round = begin; round < end; ++round) {
    rng.start_round(round + 1);  // the initial state used round 0 of the generator
    play_round(trees, problem, ws, tempo_of(round, problem.spec.schedule), counts, rng);
    if (is_kept(round, problem.spec.schedule)) append(kept, trees, problem, log_posterior(problem, trees));
  }
}

}  // namespace treedgp
