// A generator that takes every branch in turn: the same verbs as Random, each discrete choice recorded with its
// probability. Run a move until next() says that all its branches have been seen.
#pragma once
#include <span>
#include <stdexcept>
#include <vector>

namespace treedgp::testing {

class Enumerator {
 public:
  int pick(int n) { return choose(std::vector<double>(n, 1.0 / n)); }
  bool bernoulli(double p) { return p > 0 && (p >= 1 || choose({1 - p, p}) == 1); }
  bool coin() { return bernoulli(0.5); }
  int pick_weighted(std::span<const double> weights) { return choose({weights.begin(), weights.end()}); }

  // One step stands for a continuous random walk: it leaves the atoms of a discrete prior, hence has density zero.
  double normal() { return 0.7; }
  // Two values stand for a continuous draw; a test gives each of them mass 1/2 in the target too.
  double gamma(double) { return coin() ? 2.0 : 0.7; }
  double uniform() { throw std::logic_error("a continuous draw cannot be enumerated"); }

  // Probability of the branch just taken.
  double probability() const { return probability_; }

  // To the next branch; false after the last.
  bool next() {
    while (!script_.empty() && script_.back().taken + 1 == script_.back().options) script_.pop_back();
    if (script_.empty()) return false;
    ++script_.back().taken;
    at_ = 0;
    probability_ = 1;
    return true;
  }

 private:
  struct Choice {
    int taken, options;
  };

  int choose(const std::vector<double>& probabilities) {
    if (at_ == script_.size()) script_.push_back({0, static_cast<int>(probabilities.size())});
    const int taken = script_[at_++].taken;
    probability_ *= probabilities[taken];
    return taken;
  }

  std::vector<Choice> script_;
  std::size_t at_ = 0;
  double probability_ = 1;
};

}  // namespace treedgp::testing
