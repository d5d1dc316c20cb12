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
  int latent_sweeps = 1;  // over the classes, in a round
  int tune = 1000;  // rounds in which steps adapt and the likelihood is annealed
  int thin = 1;     // every thin-th round after tuning is kept
  double annealed = 2.0 / 3, coldest = 0.03;  // the share of tuning in which it is, and the power it starts from

  double log_weight(TreeMove move) const { return std::log(weights[static_cast<int>(move)]); }
};

struct Spec {
  SplitPrior split;
  LeafPrior leaf;
  CoefficientKind coefficients = CoefficientKind::hierarchical;
  InverseGammaPrior sigma2, tau2;
  Schedule schedule;
};

enum class LatentSampler { polya_gamma, metropolis };

// Labels, and how they reach the trees.
struct Classes {
  int count = 0;                // M; 0 is regression
  std::vector<int> label;       // (n) 0 .. M-1; M-1 is the base class, whose latent is 0
  bool latent = true;           // false: leaves of class counts (Bayesian CART)
  bool shared_tree = false;     // one tree for the latents of all classes (OTGP), or one each (CTGP)
  LatentSampler sampler = LatentSampler::polya_gamma;
  int block_size = 10;          // latents that a Metropolis step moves at once

  int n_latents() const { return count > 0 && latent ? count - 1 : 0; }
  bool has_counts() const { return count > 0 && !latent; }
};

// Everything that stays the same during a run; shared by all chains.
struct Problem {
  Spec spec;
  Partitioner partitioner;
  LeafData data;
  Vector z;         // (n) the response in regression
  Classes classes;  // in classification
};

}  // namespace treedgp
