// What is sampled (Problem) and how the rounds are spent (Schedule).
#pragma once
#include <array>

#include "treedgp/leaf/marginal.hpp"
#include "treedgp/prior/split_prior.hpp"

namespace treedgp {

enum class TreeMove { grow, prune, change, shift, swap, rotate };
constexpr int n_tree_moves = 6;

struct Schedule {
  std::array<double, n_tree_moves> weights{0.25, 0.25, 0.2, 0.1, 0.1, 0.1};  // sum to 1
  // Moves a round (range and nugget: a leaf and round); 0.25 is one in every fourth round.
  double tree_moves = 1, range_moves = 1, nugget_moves = 1;
  int tune = 1000;  // rounds in which steps adapt and the likelihood is annealed
  int thin = 1;     // every thin-th round after tuning is kept
  bool anneal = true;

  double log_weight(TreeMove move) const { return std::log(weights[static_cast<int>(move)]); }
};

struct Spec {
  SplitPrior split;
  LeafPrior leaf;
  CoefficientKind coefficients = CoefficientKind::hierarchical;
  InverseGammaPrior sigma2, tau2;
  Schedule schedule;
};

// Everything that stays the same during a run; shared by all chains.
struct Problem {
  Spec spec;
  Partitioner partitioner;
  LeafData data;
};

}  // namespace treedgp
