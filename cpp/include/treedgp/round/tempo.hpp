// What depends on the round's number (annealing and step adaptation, both in tuning only), and the counts.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "treedgp/state/state.hpp"

namespace treedgp {

struct Tempo {
  double anneal = 1;     // power of what the data say: of the marginal likelihood, or of the labels about a latent
  double gain = 0;       // of the step adaptation; 0 when drawing
  double site_gain = 0;  // of the sites of latents; 0 while annealing, when drawing, and in seven rounds of eight
  bool bridges = false;   // trees of classes also move by bridges
  bool screened = false;  // bridges are: most of them, since it is cheap; in tuning fewer, as sites are yet to learn
  int tree_moves = 1, range_moves = 1, nugget_moves = 1;
  int sigma2_moves = 1;  // few: with latents, scale.hpp moves sigma2 at less cost

  // Robbins-Monro towards 44% acceptance, the optimum of a scalar random walk.
  void adapt(double& log_step, bool accepted) const {
    if (gain > 0) log_step = std::clamp(log_step + gain * ((accepted ? 1 : 0) - 0.44), -7.0, 3.0);
  }
};

// Rounds count from 0. The power rises geometrically from `coldest` to 1 over the share `annealed` of tuning;
// adaptation restarts there.
inline Tempo tempo_of(std::int64_t round, const Schedule& schedule) {
  // How many of a move made `rate` times a round fall in this one.
  auto moves = [&](double rate) { return static_cast<int>(std::floor((round + 1) * rate) - std::floor(round * rate)); };
  // Every so many sweeps over the classes.
  auto every = [&](int sweeps) { return round % std::max(1, sweeps / schedule.latent_sweeps) == 0; };
  Tempo tempo{.bridges = every(2),
              .screened = !every(16),
              .tree_moves = moves(schedule.tree_moves),
              .range_moves = moves(schedule.range_moves),
              .nugget_moves = moves(schedule.nugget_moves),
              .sigma2_moves = moves(0.25)};
  if (round >= schedule.tune) return tempo;
  const std::int64_t annealed = static_cast<std::int64_t>(schedule.tune * schedule.annealed);
  const std::int64_t since = round < annealed ? round : round - annealed;
  tempo.gain = std::pow(1.0 + since, -0.6);
  tempo.screened = !every(6);
  if (round >= annealed && since % 8 == 0) tempo.site_gain = 0.5;
  if (round < annealed) tempo.anneal = std::pow(schedule.coldest, 1 - static_cast<double>(round) / annealed);
  return tempo;
}

struct MoveCount {
  std::int64_t attempted = 0, accepted = 0;
  void add(bool was_accepted) {
    ++attempted;
    accepted += was_accepted;
  }
};

struct Counts {
  std::array<MoveCount, n_tree_moves> tree;
  std::array<MoveCount, n_steps> steps;  // range, nugget: both kinds of step; range: renewals over a bridge too
  MoveCount latents;                     // blocks of the Metropolis sampler
};

}  // namespace treedgp
